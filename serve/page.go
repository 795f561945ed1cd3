package serve

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// A page is one that is being written.
type page struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	out  *bufio.Writer
	talk *talk

	address address // what was asked for; zero for pages of our own
	here    address // what it is, after redirects: the base of its links
	posted  bool    // what it shows cannot be retrieved again
	begun   bool
	failed  error // what went wrong after it had begun
}

func (s *Server) newPage(w http.ResponseWriter, r *http.Request, a address) *page {
	return &page{s: s, w: w, r: r, out: bufio.NewWriterSize(w, 32<<10), talk: &talk{}, address: a, here: a}
}

// A head is what the beginning of a page shows.
type head struct {
	Title, URL string
	Up         string // the link to what is above; "" if nothing is
	Reload     string
	Marked     bool
	CanMark    bool
	Download   string
	Captures   string
	At         string
	Archive    bool
	Only       bool
	Own        bool    // it is a page of our own
	Fields     []field // of the address, for forms
}

// begin writes the beginning of the page, once.
func (p *page) begin(status int, title string) {
	if p.begun {
		return
	}
	p.begun = true
	h := head{Title: fetch.Printable(title), Own: p.address.url.IsZero(), Archive: p.s.Archive != nil, Only: p.s.ArchiveOnly}
	if !h.Own {
		a := p.address
		h.URL = fetch.Printable(a.url.Redacted())
		h.Up = p.s.up(p.here)
		h.Reload = p.s.link("/view", a)
		h.Fields = p.s.box(a, "", "").Fields
		h.CanMark, h.Marked = p.s.Bookmarks != "", p.s.marks.has(a.url)
		session := p.s.isSession(a.url.Scheme())
		if !session {
			h.Download = p.s.link("/download", a)
		}
		if p.s.Archive != nil && !session {
			h.Captures = p.s.link("/captures", a)
		}
		if !a.at.IsZero() {
			h.At = a.at.UTC().Format("2006-01-02 15:04:05")
		}
	}
	p.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	p.w.WriteHeader(status)
	p.put("head", h)
}

// put writes a template.
func (p *page) put(name string, data any) {
	if err := pages().Execute(p.out, name, data); err != nil {
		panic(http.ErrAbortHandler) // the browser has gone
	}
}

// flush sends what was written.
func (p *page) flush() {
	if p.out.Flush() != nil || http.NewResponseController(p.w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
}

// A fact is a line of what is known of a resource.
type fact struct {
	Name, Value string
	Link        string
}

// A foot is what the end of a page shows.
type foot struct {
	About  []fact
	Fields []fact
	Talk   []talkLine
	More   int
}

// end writes the end of the page: what is known of the resource, and the conversation.
func (p *page) end(resp *fetch.Response) {
	f := foot{}
	if resp != nil {
		f.About, f.Fields = p.facts(resp), fields(resp.Header)
	}
	p.talk.mu.Lock()
	f.Talk, f.More = slices.Clone(p.talk.lines), p.talk.more
	captured := p.talk.captured
	p.talk.mu.Unlock()
	if !captured.IsZero() {
		f.About = append(f.About, fact{Name: "captured", Value: captured.UTC().Format(timeForm)})
	}
	p.put("foot", f)
	p.out.Flush()
}

const timeForm = "2006-01-02 15:04:05 UTC"

func (p *page) facts(resp *fetch.Response) []fact {
	list := []fact{{Name: "URL", Value: resp.URL.Redacted()}, {Name: "kind", Value: resp.Kind.String()}, {Name: "type", Value: resp.ContentType}}
	if resp.Size >= 0 {
		list = append(list, fact{Name: "size", Value: exactSize(resp.Size)})
	}
	if !resp.ModTime.IsZero() {
		list = append(list, fact{Name: "modified", Value: resp.ModTime.UTC().Format(timeForm)})
	}
	switch {
	case resp.ETag == "":
	case resp.Header.Get("Etag") != "":
		list = append(list, fact{Name: "etag", Value: resp.ETag})
	default: // what the driver made of other things, to know the content again
		list = append(list, fact{Name: "validator", Value: resp.ETag})
	}
	if !resp.Reply.IsZero() {
		list = append(list, fact{Name: "reply", Value: resp.Reply.String()})
	}
	if resp.Framing == driver.FramedByClose {
		list = append(list, fact{Name: "end", Value: "the connection's: whether it is complete cannot be told"})
	}
	for _, via := range resp.Via {
		list = append(list, fact{Name: "by way of", Value: via.Redacted()})
	}
	if !p.address.from.IsZero() {
		list = append(list, fact{Name: "led here", Value: p.address.from.Redacted()})
	}
	for i := range list {
		list[i].Value = fetch.Printable(list[i].Value)
	}
	return list
}

// maxFields bounds the header fields that are shown.
const maxFields = 100

func fields(header map[string][]string) []fact {
	var list []fact
	for name, values := range header {
		for _, v := range values {
			list = append(list, fact{Name: fetch.Printable(name), Value: fetch.Printable(v)})
		}
	}
	slices.SortStableFunc(list, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
	return list[:min(len(list), maxFields)]
}

// up returns the link to what is above a resource, by the slashes of its path; "" if there is none.
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
	parts := uri.Parts{Scheme: u.Scheme(), Login: u.Userinfo(), Host: u.Host(), Port: u.Port(0), Path: path[:at+1]}
	above, err := parts.URI()
	if err != nil {
		return ""
	}
	return s.link("/view", a.to(above))
}

const (
	// patience is how long the beginning of a page waits for a server, so that its status can tell
	// what became of it.
	patience = 400 * time.Millisecond
	// beat is how often a page that waits says what was said last.
	beat = time.Second
)

// fetch retrieves what the page is about. If that takes long, the page begins, and says what it
// waits for.
func (p *page) fetch(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	type result struct {
		resp *fetch.Response
		err  error
	}
	done := make(chan result, 1)
	go func() {
		resp, err := p.s.do(context.WithValue(ctx, talkKey{}, p.talk), p.address, req)
		done <- result{resp, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	said := ""
	for {
		select {
		case res := <-done:
			if res.err == nil {
				p.arrive(res.resp)
			}
			return res.resp, res.err
		case <-timer.C:
			if !p.begun {
				p.begin(http.StatusOK, p.address.url.Redacted())
				p.put("waiting", fetch.Printable(p.address.url.Host()))
			}
			if last := p.talk.last(); last != said {
				said = last
				p.put("said", said)
			}
			if p.out.Flush() == nil {
				http.NewResponseController(p.w).Flush()
			}
			timer.Reset(beat)
		}
	}
}

// arrive takes resp for where the page is.
func (p *page) arrive(resp *fetch.Response) {
	p.here.url = resp.URL.WithoutPassword()
	p.here.foreign = p.address.foreign || resp.URL.Origin() != p.address.url.Origin()
}
