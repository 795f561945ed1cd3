package crawl

import (
	"cmp"
	"fmt"
	"mime"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// A Scope decides which links are followed. The zero value stays on the servers of the seeds and
// follows up to five links from a seed.
type Scope struct {
	// MaxDepth is the maximum number of links between a seed and a URL. 0 means 5; if MaxDepth is
	// negative, there is no limit.
	MaxDepth int `json:"max_depth,omitempty"`
	// SeedsOnly follows no links except, with Requisites, those to the requisites of the seeds.
	SeedsOnly bool `json:"seeds_only,omitempty"`
	// Requisites follows links to the parts of a page, such as images and style sheets, even if
	// MaxDepth or NoParent would exclude them.
	Requisites bool `json:"requisites,omitempty"`
	// NoParent stays below the directories of the seeds.
	NoParent bool `json:"no_parent,omitempty"`
	// SpanHosts follows links to other servers and schemes. If Domains is not empty, only hosts in
	// these domains are visited.
	SpanHosts      bool     `json:"span_hosts,omitempty"`
	Domains        []string `json:"domains,omitempty"`
	ExcludeDomains []string `json:"exclude_domains,omitempty"`
	// Accept and Reject are suffixes of file names. If one contains any of "*?[]", it is a pattern
	// (see path.Match; "[!" is an alias of "[^"). A file is saved if it matches one of Accept,
	// unless Accept is empty, and none of Reject. The file name of a URL that ends in a slash is
	// index.html. Pages that do not match are read for links, but not saved. Directories always
	// match.
	Accept []string `json:"accept,omitempty"`
	Reject []string `json:"reject,omitempty"`
	// AcceptURL must match somewhere in a URL, RejectURL must not. Nil accepts every URL.
	AcceptURL *regexp.Regexp `json:"accept_url,omitempty"`
	RejectURL *regexp.Regexp `json:"reject_url,omitempty"`
	// AcceptTypes are the media types of saved files, such as "image/png" or "image/*". If empty,
	// all types are saved.
	AcceptTypes []string `json:"accept_types,omitempty"`
}

// A Link is a URL that a crawl has found, and how. Scope, robots.txt and budgets decide whether it
// becomes a page.
type Link struct {
	URL, From, Seed uri.URI // From is zero for seeds
	Depth           int     // number of links from the seed to URL
	Rel             string
	Kind            fetch.EntryKind
	Size            int64 // from a listing; -1 if unknown
	ModTime         time.Time
	Save            bool // the page is saved, and not only read for its links
	Guessed         bool // no link leads to it: a usual place, such as /sitemap.xml
	// Via are the URLs that redirected to URL, oldest first. From links to the first of them.
	Via []uri.URI

	seed int // index of the seed in State.Seeds

	// Text is the text of an anchor or the name in a listing. If Kind is fetch.EntryError, URL is
	// zero, and Text is an invalid reference and the reason, or an error in a menu. It is empty for
	// links that were queued before.
	Text   string
	Listed bool         // found in a listing, not on a page
	Traits fetch.Traits // of the scheme of URL
}

// Source returns the URL that a request for the page comes from, or zero for a seed.
func (l *Link) Source() uri.URI {
	if n := len(l.Via); n > 0 {
		return l.Via[n-1]
	}
	return l.From
}

// Returns reports whether a redirect leads back to a page that redirected to it.
func (l *Link) Returns() bool {
	return slices.ContainsFunc(l.Via, func(u uri.URI) bool { return u.Key() == l.URL.Key() })
}

// A Reason is a token that explains why a link is not followed: no_target, scheme, host, domain,
// depth, parent, pattern, regex, length, repetition, alike, robots, nofollow, not_requisite,
// parent_listing or form.
type Reason string

// Reasons that programs may handle.
const (
	Followed      Reason = ""
	NoTarget      Reason = "no_target"      // text, a form, a session, or an invalid reference
	OtherScheme   Reason = "scheme"         // a scheme different from the seed's, or one without data
	TooManyAlike  Reason = "alike"          // the limit for its form is reached (see Options.MaxAlike)
	NoFollow      Reason = "nofollow"       // the page asks robots not to follow its links
	ParentListing Reason = "parent_listing" // the link to the parent directory in a listing
	NeedsForm     Reason = "form"           // the server requires a form or search words
	RobotsForbid  Reason = "robots"         // disallowed by robots.txt
)

// Reasons why a visited page is not one of the crawl, for Visitor.Visit.
const (
	Moved   Reason = "moved"     // it redirects to another page
	Missing Reason = "not_found" // its URL was guessed, and does not exist
)

// The other reasons.
const (
	otherHost    Reason = "host"          // on another server than the seed
	otherDomain  Reason = "domain"        // not in Domains, or in ExcludeDomains
	tooDeep      Reason = "depth"         // more than MaxDepth links away
	notBelow     Reason = "parent"        // not below the directory of the seed
	notAccepted  Reason = "pattern"       // excluded by Accept or Reject
	notMatched   Reason = "regex"         // excluded by AcceptURL or RejectURL
	tooLong      Reason = "length"        // more than 2,000 bytes or more than 100 path segments
	repeats      Reason = "repetition"    // repeated path segments, as circular links produce
	notRequisite Reason = "not_requisite" // SeedsOnly
)

var reasonTexts = sync.OnceValue(func() map[Reason]string {
	return map[Reason]string{
		NoTarget:      "nothing to retrieve",
		OtherScheme:   "another scheme",
		otherHost:     "another host",
		otherDomain:   "outside the allowed domains",
		tooDeep:       "depth limit exceeded",
		notBelow:      "not below the start directory",
		notAccepted:   "excluded by file name",
		notMatched:    "excluded by regular expression",
		tooLong:       "URL too long",
		repeats:       "repeating path",
		TooManyAlike:  "too many similar URLs",
		RobotsForbid:  "disallowed by robots.txt",
		NoFollow:      "the page asks robots not to follow its links",
		notRequisite:  "not a page requisite",
		ParentListing: "parent directory",
		NeedsForm:     "requires a form or search words",
	}
})

// Text returns a description of the reason.
func (r Reason) Text() string { return reasonTexts()[r] }

const (
	defaultDepth = 5
	maxURL       = 2000 // length of a URL in bytes
	maxNames     = 100  // number of path segments
	maxRepeats   = 3    // consecutive repetitions of path segments
	maxPeriod    = 4    // number of segments that may repeat together
)

// Limit returns the maximum number of links between a seed and a URL, or -1 if there is no limit.
func (s *Scope) Limit() int {
	switch {
	case s.SeedsOnly:
		return 0
	case s.MaxDepth == 0:
		return defaultDepth
	}
	return max(s.MaxDepth, -1)
}

// Follow decides whether to follow a link and, if so, whether to keep the page or only read its
// links. If it is not followed, why is the reason. The result depends only on the scope and the
// link.
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
	requisite := s.Requisites && links.Requisite(l.Rel)
	isSitemap := l.Rel == "sitemap" // only read, wherever it is on the server
	limit := s.Limit()
	if limit >= 0 && l.Depth > limit && !requisite {
		if s.SeedsOnly {
			return false, notRequisite
		}
		return false, tooDeep
	}
	if why := s.checkLocation(l, requisite || isSitemap); why != Followed {
		return false, why
	}
	if why := endlessReason(l.URL); why != Followed {
		return false, why
	}
	if isSitemap {
		return false, Followed
	}
	text := l.URL.WithoutUserinfo().WithoutFragment().String()
	if s.AcceptURL != nil && !s.AcceptURL.MatchString(text) ||
		s.RejectURL != nil && s.RejectURL.MatchString(text) {
		return false, notMatched
	}
	if s.acceptsName(l) {
		return true, Followed
	}
	if mayLink(l) && (limit < 0 || l.Depth < limit) {
		return false, Followed
	}
	return false, notAccepted
}

func (s *Scope) checkLocation(l Link, requisite bool) Reason {
	host := l.URL.Host()
	switch {
	case inDomains(host, s.ExcludeDomains):
		return otherDomain
	case l.URL.SameSite(l.Seed):
	case !s.SpanHosts && l.URL.PlainScheme() != l.Seed.PlainScheme():
		return OtherScheme
	case !s.SpanHosts:
		return otherHost
	case len(s.Domains) > 0 && !inDomains(host, s.Domains):
		return otherDomain
	}
	if s.NoParent && !requisite &&
		!(l.URL.SameSite(l.Seed) && strings.HasPrefix(l.URL.TreePath(), l.Seed.TreeDir())) {
		return notBelow
	}
	return Followed
}

func inDomains(host string, domains []string) bool {
	return slices.ContainsFunc(domains, func(d string) bool {
		d = strings.ToLower(strings.Trim(d, "."))
		return d != "" && (host == d || strings.HasSuffix(host, "."+d))
	})
}

func (s *Scope) acceptsName(l Link) bool {
	if l.Kind == fetch.EntryListing {
		return true
	}
	name := cmp.Or(l.URL.LastSegment(), l.Traits.IndexName())
	if len(s.Accept) > 0 && !match(s.Accept, name) {
		return false
	}
	return name == "" || !match(s.Reject, name)
}

// KeepsSeed reports whether the resource of a seed is kept; t are the traits of its scheme. Pages
// that are not accepted are only read for links. Other seeds are always kept.
func (s *Scope) KeepsSeed(u uri.URI, t fetch.Traits) bool {
	l := Link{URL: u, Traits: t}
	return !t.Pages || !mayLink(l) || s.acceptsName(l)
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

// matchName is path.Match, but also accepts "[!" for a negated class, as shells do.
func matchName(pattern, name string) (bool, error) {
	return path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
}

// CheckNames returns an error that wraps path.ErrBadPattern if a pattern for Scope.Accept or
// Scope.Reject is invalid.
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

// mayLink reports whether the URL, judged by its name, may be a page with links.
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

// KeepsType reports whether responses of a content type are kept.
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

// endlessReason detects URLs that a server may generate without end.
func endlessReason(u uri.URI) Reason {
	if len(u.String()) > maxURL {
		return tooLong
	}
	names := strings.Split(strings.Trim(u.Path(), "/"), "/")
	if len(names) > maxNames {
		return tooLong
	}
	for period := 1; period <= maxPeriod; period++ {
		same := 0 // consecutive segments that equal the segment one period before
		for i := period; i < len(names); i++ {
			if names[i] != names[i-period] {
				same = 0
				continue
			}
			if same++; same >= period*maxRepeats {
				return repeats
			}
		}
	}
	return Followed
}

// formOf returns a string that URLs of one form share: the path with a "0" for each number, and the
// names of the query's parameters. It is "" for a URL that has neither, because it is the only one
// of its form.
func formOf(u uri.URI) string {
	site := u.Site()
	var b strings.Builder
	b.Grow(len(site) + len(u.Path()))
	b.WriteString(site)
	number, parameter, varies := false, false, false
	for _, c := range []byte(u.Path()) {
		if parameter = (parameter || c == ';') && c != '/'; parameter { // often a session id
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
