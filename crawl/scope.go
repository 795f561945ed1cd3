package crawl

import (
	"fmt"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A Scope says which links are followed. The zero value stays at the servers of the seeds, up to
// five links away.
type Scope struct {
	// MaxDepth is how many links a URL may be away from a seed; 0 means 5, and less than 0 that there
	// is no limit.
	MaxDepth int `json:"max_depth,omitempty"`
	// SeedsOnly follows no links but, with Requisites, those to what the seeds need.
	SeedsOnly bool `json:"seeds_only,omitempty"`
	// Requisites follows links to what a page needs to be shown, also where MaxDepth or NoParent
	// would not.
	Requisites bool `json:"requisites,omitempty"`
	// NoParent stays in the directories of the seeds and below them.
	NoParent bool `json:"no_parent,omitempty"`
	// SpanHosts leaves the servers and the schemes of the seeds. Domains, if there are any, are then
	// the only names of hosts to go to, with all below them.
	SpanHosts      bool     `json:"span_hosts,omitempty"`
	Domains        []string `json:"domains,omitempty"`
	ExcludeDomains []string `json:"exclude_domains,omitempty"`
	// Accept and Reject are suffixes of file names or, if they have one of "*?[]", patterns for them
	// (see path.Match; "[!" is as good as "[^"). With Accept, files must match one; none may match
	// one of Reject. The page of a URL that ends in a slash is index.html. Pages that do not match
	// are read for their links, and not kept. Directories always match.
	Accept []string `json:"accept,omitempty"`
	Reject []string `json:"reject,omitempty"`
	// AcceptURL must match all of a URL, RejectURL none. Nil means every URL.
	AcceptURL *regexp.Regexp `json:"accept_url,omitempty"`
	RejectURL *regexp.Regexp `json:"reject_url,omitempty"`
	// AcceptTypes are the media types of what is kept, such as "image/png" or "image/*"; none means
	// all.
	AcceptTypes []string `json:"accept_types,omitempty"`
}

// A Link is what a Scope decides on.
type Link struct {
	URL, From, Seed uri.URI
	Depth           int // of URL: links from the seed
	Rel             string
	Kind            fetch.EntryKind
	Listed          bool         // a listing named it, not a page
	Traits          fetch.Traits // of the scheme of URL
}

// A Reason says why a link is not followed. Its value is a token.
type Reason string

// The reasons.
const (
	Followed      Reason = ""
	NoTarget      Reason = "no_target"      // text, a form, a session, or a reference that is no URL
	OtherScheme   Reason = "scheme"         // of another scheme than the seed, or one without data
	OtherHost     Reason = "host"           // at another server than the seed
	OtherDomain   Reason = "domain"         // not among Domains, or among ExcludeDomains
	TooDeep       Reason = "depth"          // more than MaxDepth links away
	NotBelow      Reason = "parent"         // not below the directory of the seed
	NotAccepted   Reason = "pattern"        // by Accept or Reject
	NotMatched    Reason = "regex"          // by AcceptURL or RejectURL
	TooLong       Reason = "length"         // a URL of more than 2,000 bytes, or of too many names
	Repeats       Reason = "repetition"     // a path that repeats itself, as links in circles make it
	TooManyAlike  Reason = "alike"          // the budget of its shape is spent (see Options.MaxAlike)
	RobotsForbid  Reason = "robots"         // robots.txt forbids it
	NotRequisite  Reason = "not_requisite"  // SeedsOnly
	ParentListing Reason = "parent_listing" // a listing's way up
)

var reasonTexts = map[Reason]string{
	NoTarget:      "nothing to retrieve",
	OtherScheme:   "another scheme",
	OtherHost:     "another host",
	OtherDomain:   "not one of the domains",
	TooDeep:       "too deep",
	NotBelow:      "not below the directory of the start",
	NotAccepted:   "its name is not accepted",
	NotMatched:    "the regular expressions do not accept it",
	TooLong:       "its URL is too long",
	Repeats:       "its path repeats itself",
	TooManyAlike:  "too many URLs of its form",
	RobotsForbid:  "robots.txt forbids it",
	NotRequisite:  "not needed by the page",
	ParentListing: "the way up",
}

// Text returns the reason in words.
func (r Reason) Text() string { return reasonTexts[r] }

const (
	defaultDepth = 5
	maxURL       = 2000 // bytes of a URL that is followed
	maxNames     = 100  // names in its path
	maxRepeats   = 3    // times in a row that names of a path may stand there
	maxPeriod    = 4    // names that are looked at together for that
)

// Limit returns how many links a URL may be away from a seed, -1 for any number.
func (s *Scope) Limit() int {
	switch {
	case s.SeedsOnly:
		return 0
	case s.MaxDepth == 0:
		return defaultDepth
	}
	return max(s.MaxDepth, -1)
}

// Follow decides on a link: whether to follow it, else why not, and whether to keep what is there
// and not only to read its links. It does not depend on anything but the scope and the link.
func (s *Scope) Follow(l Link) (keep bool, why Reason) {
	switch l.Kind {
	case fetch.EntryObject, fetch.EntryListing:
	default:
		return false, NoTarget
	}
	if l.URL.IsZero() || l.URL.IsData() {
		return false, NoTarget
	}
	if l.Rel == "parent" {
		return false, ParentListing
	}
	needed := s.Requisites && links.Requisite(l.Rel)
	limit := s.Limit()
	if limit >= 0 && l.Depth > limit && !needed {
		if s.SeedsOnly {
			return false, NotRequisite
		}
		return false, TooDeep
	}
	if why := s.place(l, needed); why != Followed {
		return false, why
	}
	if why := trap(l.URL); why != Followed {
		return false, why
	}
	text := l.URL.WithoutUserinfo().WithoutFragment().String()
	if s.AcceptURL != nil && !s.AcceptURL.MatchString(text) || s.RejectURL != nil && s.RejectURL.MatchString(text) {
		return false, NotMatched
	}
	if s.accepts(l) {
		return true, Followed
	}
	if mayLink(l) && (limit < 0 || l.Depth < limit) {
		return false, Followed
	}
	return false, NotAccepted
}

// place decides by where the link leads.
func (s *Scope) place(l Link, needed bool) Reason {
	host := l.URL.Host()
	switch {
	case under(host, s.ExcludeDomains):
		return OtherDomain
	case l.URL.SameSite(l.Seed):
	case !s.SpanHosts && l.URL.PlainScheme() != l.Seed.PlainScheme():
		return OtherScheme
	case !s.SpanHosts:
		return OtherHost
	case len(s.Domains) > 0 && !under(host, s.Domains):
		return OtherDomain
	}
	if s.NoParent && !needed && !(l.URL.SameSite(l.Seed) && strings.HasPrefix(l.URL.TreePath(), Directory(l.Seed))) {
		return NotBelow
	}
	return Followed
}

// under reports whether host is one of the domains or below one.
func under(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool {
		d = strings.ToLower(strings.Trim(d, "."))
		return d != "" && (host == d || strings.HasSuffix(host, "."+d))
	})
}

// Directory returns the path of the directory that u is or is in, with a slash at its end: it is what
// Scope.NoParent stays in if u is a seed. In gopher it is that of selectors.
func Directory(u uri.URI) string {
	p := u.TreePath()
	if g, err := uri.ParseGopher(u); err == nil && (g.Type == '1' || g.Type == 0) {
		return strings.TrimSuffix(p, "/") + "/" // a menu
	}
	return p[:strings.LastIndexByte(p, '/')+1]
}

// accepts decides by the name of the file.
func (s *Scope) accepts(l Link) bool {
	if l.Kind == fetch.EntryListing {
		return true
	}
	name := l.URL.LastSegment()
	if name == "" && l.Traits.Pages {
		name = indexPage
	}
	if len(s.Accept) > 0 && !match(s.Accept, name) {
		return false
	}
	return name == "" || !match(s.Reject, name)
}

// indexPage is what people call the page of a directory of the web.
const indexPage = "index.html"

// KeepsSeed reports whether what a seed names, a URL of a scheme with these traits, is kept. Pages
// that are not accepted are read for their links; what else was named is wanted.
func (s *Scope) KeepsSeed(u uri.URI, t fetch.Traits) bool {
	l := Link{URL: u, Traits: t}
	return !t.Pages || !mayLink(l) || s.accepts(l)
}

func match(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		if !isPattern(pattern) {
			return pattern != "" && strings.HasSuffix(name, pattern)
		}
		ok, err := matchName(pattern, name)
		return ok && err == nil
	})
}

func isPattern(text string) bool { return strings.ContainsAny(text, "*?[]") }

// matchName is path.Match with the way in which shells write that a character is not in a class.
func matchName(pattern, name string) (bool, error) {
	return path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
}

// CheckNames returns what is wrong with the patterns of a list for Scope.Accept or Scope.Reject: an
// error that wraps path.ErrBadPattern.
func CheckNames(list []string) error {
	for _, text := range list {
		if !isPattern(text) {
			continue
		}
		if _, err := matchName(text, ""); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

// mayLink reports whether there may be a page with links, as far as the name tells.
func mayLink(l Link) bool {
	if l.Listed && !l.Traits.HTML {
		return false
	}
	switch name := l.URL.LastSegment(); path.Ext(strings.ToLower(name)) {
	case ".html", ".htm", ".xhtml", ".shtml", ".gmi":
		return true
	default:
		return name == ""
	}
}

// KeepsType reports whether what is of a media type is kept.
func (s *Scope) KeepsType(contentType string) bool {
	if len(s.AcceptTypes) == 0 {
		return true
	}
	mediaType, _, _ := mime.ParseMediaType(contentType)
	return slices.ContainsFunc(s.AcceptTypes, func(pattern string) bool {
		if group, ok := strings.CutSuffix(pattern, "/*"); ok {
			return strings.HasPrefix(mediaType, strings.ToLower(group)+"/")
		}
		return strings.EqualFold(pattern, mediaType)
	})
}

// trap finds URLs of which there may be more without end.
func trap(u uri.URI) Reason {
	if len(u.String()) > maxURL {
		return TooLong
	}
	names := strings.Split(strings.Trim(u.Path(), "/"), "/")
	if len(names) > maxNames {
		return TooLong
	}
	for period := 1; period <= maxPeriod; period++ {
		same := 0 // names in a row that are those a period before
		for i := period; i < len(names); i++ {
			if names[i] != names[i-period] {
				same = 0
				continue
			}
			if same++; same >= period*maxRepeats {
				return Repeats
			}
		}
	}
	return Followed
}

// Form returns what URLs of one form have in common: the path with a "0" for each number, and the
// names of the query's parameters. It is "" for a URL without numbers and query, of whose form
// there is only one.
func Form(u uri.URI) string {
	var b strings.Builder
	b.WriteString(u.Site())
	number, parameter, varies := false, false, false
	for _, c := range []byte(u.Path()) {
		if parameter = (parameter || c == ';') && c != '/'; parameter { // often the number of a session
			varies = true
			continue
		}
		if c >= '0' && c <= '9' {
			if !number {
				b.WriteByte('0')
			}
			number, varies = true, true
			continue
		}
		number = false
		b.WriteByte(c)
	}
	query, ok := u.Query()
	if ok {
		varies = true
		for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
			name, _, _ := strings.Cut(part, "=")
			b.WriteString("?" + name)
		}
	}
	if !varies {
		return ""
	}
	return b.String()
}
