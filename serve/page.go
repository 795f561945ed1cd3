package serve

import (
	"bufio"
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

type page struct {
	s            *Server
	w            http.ResponseWriter
	r            *http.Request
	out          *bufio.Writer
	conversation *conversation

	address address // the requested URL; zero for the server's own pages
	title   string  // of the resource
	here    address // the URL after redirects, the base of links
	typed   string  // text in the address bar that is not a URL

	sections []section // table of contents
	posted   bool      // the content is the response to a form and cannot be retrieved again
	begun    bool
	started  time.Time
	waiting  bool   // the page says that it waits
	refresh  bool   // load the page again in two seconds
	focus    bool   // start in the address bar
	failed   error  // error after the page was begun
	class    string // class of the error that the page shows
	kicker   string // of an error: a word or two above the heading
}

func (s *Server) newPage(w http.ResponseWriter, r *http.Request, a address) *page {
	return &page{s: s, w: w, r: r, out: bufio.NewWriterSize(w, 32<<10), conversation: &conversation{},
		address: a, here: a, started: time.Now()}
}

type head struct {
	Title, URL string
	Static     string // path of the style sheet and the script
	Class      string // hue and typeface
	OtherFace  string // that the menu offers
	Kicker     string
	Up         string // link to the parent; "" if there is none
	Reload     string
	Marked     bool
	CanMark    bool
	Download   string
	Captures   string
	Refresh    bool
	Focus      bool // start in the address bar
	Queue      bool
	Identities string // link to the choice of an identity
	Identity   string // name of the current one
	At         string
	Archive    bool
	Own        bool       // a page of the server itself
	Fields     []field    // the signed address, for forms
	Crumbs     []fact     // directories above
	Past       []visitRow // suggestions of the address bar
}

// begin writes the response header and the page header. Later calls do nothing.
func (p *page) begin(status int, title string) {
	if p.begun {
		return
	}
	p.begun = true
	own := p.address.url.IsZero()
	h := head{Title: fetch.Printable(title), Static: staticFiles().path,
		URL: fetch.Printable(p.typed), Own: own, Past: p.s.completions(),
		Archive: p.s.Archive != nil, Queue: p.s.Queue != nil,
		Refresh: p.refresh, Focus: p.focus, Kicker: p.kicker}
	h.Class, h.OtherFace = p.look()
	if !h.Own {
		a := p.address
		h.URL = fetch.Printable(a.url.Redacted())
		h.Up, h.Crumbs = p.s.up(p.here), p.s.crumbs(p.here)
		if a.part != "" {
			whole := p.here
			whole.part = a.part[:max(0, strings.LastIndexByte(a.part, '.'))]
			h.Up, h.Crumbs = p.s.link("/view", whole), nil
		}
		h.Reload = p.s.link("/view", a)
		h.Fields = p.s.hiddenFields(a)
		h.Marked = p.s.marks.has(a.url)
		h.CanMark = p.s.Bookmarks != "" && (h.Marked || status < http.StatusBadRequest)
		session := p.s.isSession(a.url.Scheme())
		if !session && status < http.StatusBadRequest {
			h.Download = p.s.link("/download", a)
		}
		if !session && p.s.Archive != nil && len(p.s.Archive.Captures(a.url, 1)) > 0 {
			h.Captures = p.s.link("/captures", a)
		}
		h.Identities, h.Identity = p.s.identityLink(p.here)
		h.Identity = fetch.Printable(h.Identity)
		if !a.at.IsZero() {
			h.At = a.at.UTC().Format("2006-01-02 15:04:05")
		}
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.w.WriteHeader(status)
	p.put("head", h)
	p.putBand()
}

func (p *page) put(name string, data any) {
	if err := pages().Execute(p.out, name, data); err != nil {
		panic(http.ErrAbortHandler) // the browser closed the connection
	}
}

func (p *page) flush() {
	if p.out.Flush() != nil || http.NewResponseController(p.w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
}

type fact struct {
	Name, Value string
	Link        string
}

type facts []fact

func (f *facts) add(name, value string) {
	*f = append(*f, fact{Name: name, Value: fetch.Printable(value)})
}

type foot struct {
	Sections    []section
	About       facts
	Fields      facts
	Certificate facts
	Talk        []conversationLine
	More        int
	Command     string // the shell command that saves the content; "" if there is none
	Own, Only   bool
	Line        string // the most important facts
	Listing     string // link to the listing that led to the page
	Previous    string // link to the entry before it
	Next        string // link to the entry after it
}

func (p *page) end(resp *fetch.Response) {
	f := foot{Sections: p.sections, Own: p.address.url.IsZero(), Only: p.s.ArchiveOnly}
	if listing, previous, next, ok := p.s.readings.around(p.address); ok {
		f.Listing, f.Previous, f.Next = p.s.linkTo(listing), p.s.linkTo(previous), p.s.linkTo(next)
	}
	p.conversation.mu.Lock()
	if p.class != "" {
		f.About.add("error class", p.class)
	}
	f.Talk, f.More = slices.Clone(p.conversation.lines), p.conversation.more
	captured := p.conversation.captured
	f.Certificate = p.s.certificateFacts(p.here.url, p.conversation.secured)
	secured := p.conversation.secured
	p.conversation.mu.Unlock()
	if resp != nil {
		f.About, f.Fields = append(f.About, p.facts(resp)...), fields(resp.Header)
		f.Line = p.summary(resp, secured)
	}
	if !captured.IsZero() && (resp == nil || resp.Capture == nil) {
		f.About.add("captured", captured.UTC().Format(timeForm))
	} else if resp != nil {
		f.Command = p.saveCommand(resp)
	}
	p.put("foot", f)
	p.out.Flush()
}

// saveCommand returns the shell command that saves the content and can resume, or "" for content that
// the command would not get: a capture, one of several representations, a part, the response to a form.
func (p *page) saveCommand(resp *fetch.Response) string {
	a := p.address
	if resp.Kind != fetch.KindObject || resp.Capture != nil || p.posted || a.view != "" || a.part != "" {
		return ""
	}
	return "urlget -c " + shellQuoted(a.url)
}

const (
	timeForm   = "2006-01-02 15:04:05 UTC"
	minuteForm = "2006-01-02 15:04"
)

func (p *page) facts(resp *fetch.Response) facts {
	var list facts
	list.add("URL", resp.URL.Redacted())
	list.add("kind", resp.Kind.String())
	list.add("type", resp.ContentType)
	if resp.Size >= 0 {
		list.add("size", exactSize(resp.Size))
	}
	if !resp.ModTime.IsZero() {
		list.add("modified", resp.ModTime.UTC().Format(timeForm))
	}
	switch {
	case resp.ETag == "":
	case resp.Header.Get("Etag") != "":
		list.add("etag", resp.ETag)
	default: // the driver derived the validator from other metadata
		list.add("validator", resp.ETag)
	}
	if !resp.Reply.IsZero() {
		list.add("reply", resp.Reply.String())
	}
	if resp.Framing == fetch.FramedByClose {
		list.add("length", "unknown: the body ends when the connection closes and may be incomplete")
	}
	if resp.Capture != nil {
		list.add("captured", resp.Capture.String())
	}
	for _, via := range resp.Via {
		list.add("redirected via", via.Redacted())
	}
	if !p.address.from.IsZero() {
		list.add("linked from", p.address.from.Redacted())
	}
	return list
}

const maxFields = 100

func fields(header map[string][]string) facts {
	var list facts
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, v := range header[name] {
			list.add(fetch.Printable(name), v)
		}
	}
	return list[:min(len(list), maxFields)]
}

func (s *Server) up(a address) string {
	u := a.url
	if !s.Client.Traits(u).Tree {
		return ""
	}
	path := strings.TrimRight(u.Path(), "/")
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return ""
	}
	return s.directory(a, path[:at+1])
}

func (s *Server) directory(a address, path string) string {
	u := a.url
	parts := uri.Parts{Scheme: u.Scheme(), Login: u.Userinfo(), Host: u.Host(), Port: u.Port(0), Path: path}
	dir, err := parts.URI()
	if err != nil {
		return ""
	}
	return s.link("/view", a.to(dir))
}

const maxCrumbs = 20

func (s *Server) crumbs(a address) []fact {
	if !s.Client.Traits(a.url).Tree {
		return nil
	}
	var list []fact
	path := strings.TrimRight(a.url.Path(), "/")
	for i := range path {
		if path[i] != '/' {
			continue
		}
		name := a.url.Host()
		if i > 0 {
			name = uri.UnescapeRaw(path[strings.LastIndexByte(path[:i], '/')+1 : i])
		}
		link := s.directory(a, path[:i+1])
		if link == "" || len(list) == maxCrumbs {
			return list
		}
		if name == "" {
			name = "/"
		}
		list = append(list, fact{Name: fetch.Printable(name), Link: link})
	}
	return list
}

const (
	// maxDelay is how long a page waits for the response before it is begun. Until then, the status
	// code can depend on the result.
	maxDelay         = 400 * time.Millisecond
	progressInterval = time.Second
)

func (p *page) fetch(ctx context.Context, req *fetch.Request) (resp *fetch.Response, err error) {
	p.await(func() {
		resp, err = p.s.do(context.WithValue(ctx, conversationKey{}, p.conversation), p.address, req)
	})
	if err == nil {
		p.here = p.address.after(resp)
	}
	return resp, err
}

// await calls read. If that takes longer than p.s.delay, it begins the page and shows progress: what is
// waited for, for how long, and a link that stops it because it leaves the page.
func (p *page) await(read func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		read()
	}()
	timer := time.NewTimer(p.s.delay)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
			p.progress()
			timer.Reset(progressInterval)
		}
	}
}

func (p *page) progress() {
	if p.out.Flush() != nil {
		return // the browser is gone, which ends what is waited for
	}
	if !p.begun {
		p.begin(http.StatusOK, p.address.url.Redacted())
	}
	if !p.waiting {
		p.waiting = true
		p.put("waiting", fetch.Printable(p.address.url.Host()))
	}
	stop := address{url: p.address.from, at: p.address.at, live: p.address.live}
	p.put("latest", struct {
		Text, Stop string
		Seconds    int
	}{p.conversation.last(), cmp.Or(p.s.linkTo(stop), "/"), int(time.Since(p.started).Seconds())})
	if p.out.Flush() == nil {
		http.NewResponseController(p.w).Flush()
	}
}
