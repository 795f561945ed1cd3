package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// home shows the first page.
func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(w, r, address{})
	p.begin(http.StatusOK, "urlget")
	type place struct{ Title, URL, Link string }
	data := struct {
		Start     []place
		Marks     []place
		Past      []visit
		Schemes   []fetch.Scheme
		Archive   bool
		Only      bool
		Captures  int
		CanForget bool
	}{Archive: s.Archive != nil, Only: s.ArchiveOnly}
	if !s.Start.IsZero() {
		data.Start = []place{{s.Start.Redacted(), s.Start.Redacted(), s.link("/view", address{url: s.Start})}}
	}
	marks, err := s.marks.all()
	for _, m := range marks {
		data.Marks = append(data.Marks, place{fetch.Printable(m.title), fetch.Printable(m.url.Redacted()), s.link("/view", address{url: m.url})})
	}
	data.Past = s.history.all(10)
	if s.Archive != nil {
		data.Captures = s.Archive.Len()
	}
	for _, scheme := range s.Client.Schemes() {
		if scheme.State() == driver.StateRetrieves {
			data.Schemes = append(data.Schemes, scheme)
		}
	}
	p.put("home", data)
	if err != nil {
		p.put("broken", fetch.Printable(err.Error()))
	}
	p.end(nil)
}

// open goes to what the user typed.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxURL)
	u, err := typed(r.PostFormValue("url"))
	if err != nil {
		p := s.newPage(w, r, address{})
		p.fail(&fetch.Error{Code: fetch.ErrURL, Err: err})
		p.end(nil)
		return
	}
	http.Redirect(w, r, s.link("/view", address{url: s.logins.take(u)}), http.StatusSeeOther)
}

// typed reads a URL as people write it: without a scheme it is a web address or, from a slash on, a
// file.
func typed(text string) (uri.URI, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return uri.File{Path: text}.URI()
	}
	u, err := uri.ParseLoose(text)
	if err == nil && !u.IsAbs() {
		if text == "" {
			return u, errors.New("there is no URL")
		}
		u, err = uri.ParseLoose(secureWeb + strings.TrimPrefix(text, "//"))
	}
	return u, err
}

// view shows what an address leads to.
func (s *Server) view(w http.ResponseWriter, r *http.Request) {
	a, err := s.verify(r.URL.Query())
	p := s.newPage(w, r, a)
	if err != nil {
		p.unsigned(a, err)
		return
	}
	if s.isSession(a.url.Scheme()) {
		p.offer()
		return
	}
	done, err := s.turn(r.Context())
	if err != nil {
		p.fail(err)
		p.end(nil)
		return
	}
	defer done()
	resp, err := p.fetch(r.Context(), &fetch.Request{})
	p.show(resp, err)
}

// unsigned answers a link that is not ours, such as one that a web page made, or that was made
// before the program was started again. Nothing is retrieved unless the user says so.
func (p *page) unsigned(a address, err error) {
	p.address = address{}
	p.begin(http.StatusForbidden, "Open this?")
	text := ""
	if err == errSignature {
		text = a.url.Redacted()
	}
	p.put("unsigned", fetch.Printable(text))
	p.end(nil)
}

// show writes the page for a response, or for an error.
func (p *page) show(resp *fetch.Response, err error) {
	if err != nil {
		p.fail(err)
		p.end(nil)
		return
	}
	defer resp.Body.Close()
	title := titleOf(resp.URL)
	p.s.history.add(visit{Title: fetch.Printable(title), URL: fetch.Printable(p.address.url.WithoutPassword().Redacted()),
		Link: p.s.link("/view", p.address)})
	switch {
	case resp.Kind == fetch.KindListing && resp.Entries != nil:
		p.listing(resp, title)
	case resp.Kind == fetch.KindNone:
		p.begin(http.StatusOK, title)
		p.put("nothing", nil)
	default:
		p.object(resp, title)
	}
	if p.failed != nil {
		p.trouble(p.failed)
	}
	p.end(resp)
}

// titleOf returns a title for what has none.
func titleOf(u uri.URI) string {
	name := u.LastSegment()
	if dir := strings.TrimRight(u.Path(), "/"); name == "" && dir != "" {
		if name = dir[strings.LastIndexByte(dir, '/')+1:]; uri.UnescapeRaw(name) != "" {
			name = uri.UnescapeRaw(name)
		}
	}
	if g, err := uri.ParseGopher(u); err == nil { // whose last segment may be a type
		name = strings.TrimRight(g.Selector, "/")
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	switch {
	case name != "" && u.Host() != "":
		return name + " – " + u.Host()
	case u.Host() != "":
		return u.Host()
	}
	return u.Redacted()
}

// mediaType returns the media type of a content, from its first bytes if the server said nothing
// that helps.
func mediaType(contentType string, first []byte) string {
	name, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		name = ""
	}
	if name == "" || name == "application/octet-stream" || name == "binary/octet-stream" {
		name, _, _ = mime.ParseMediaType(http.DetectContentType(first))
		if strings.HasPrefix(name, "text/") && bytes.IndexByte(first, 0) < 0 && contentType != "" {
			return "text/plain" // it was not meant to be a page
		}
	}
	return name
}

// sniffed is how many bytes are looked at to find the type of a content.
const sniffed = 512

// textTypes are types that are text, besides those that begin with "text/".
var textTypes = map[string]bool{"application/json": true, "application/xml": true, "application/yaml": true, "application/ldif": true,
	"application/x-sh": true, "application/javascript": true, "application/x-ldif": true, "application/sql": true}

// object shows a document.
func (p *page) object(resp *fetch.Response, title string) {
	if err := decode(resp); err != nil {
		p.fail(err)
		return
	}
	first := make([]byte, sniffed)
	n, err := io.ReadFull(resp.Body, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		p.fail(err)
		return
	}
	first = first[:n]
	body := io.MultiReader(bytes.NewReader(first), resp.Body)
	kind := mediaType(resp.ContentType, first)
	family, _, _ := strings.Cut(kind, "/")
	p.begin(http.StatusOK, title)
	p.views(resp)
	switch {
	case kind == "message/rfc822" || kind == "message/news":
		p.failed = p.message(body)
	case kind == "text/html" || kind == "application/xhtml+xml":
		p.put("frame", p.framed(resp, body))
	case family == "image":
		p.put("image", struct{ Link, Name string }{p.framed(resp, body), fetch.Printable(title)})
	case family == "audio", family == "video":
		resp.Body.Close() // the player asks for what it needs
		p.put(family, p.s.link("/content", p.address))
	case kind == "application/marc":
		p.failed = p.marc(body, title, resp.Size)
	case family == "text", family == "message", textTypes[kind], strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		p.failed = p.text(body, resp.ContentType)
	default:
		p.put("file", struct{ Name, Type, Size, Link string }{fetch.Printable(title), fetch.Printable(kind), sizeText(resp.Size),
			p.s.link("/download", p.address)})
	}
}

// framed returns where the frame finds the content. What is small is kept for it.
func (p *page) framed(resp *fetch.Response, body io.Reader) string {
	a := p.address
	if resp.Size <= maxKept {
		data, err := io.ReadAll(io.LimitReader(body, maxKept+1))
		if err == nil && len(data) <= maxKept {
			a.kept = p.s.kept.add(resp.URL.WithoutPassword(), resp.Meta, data)
		} else if err != nil {
			p.failed = err
		}
	}
	resp.Body.Close()
	if p.posted {
		a.once = true
		if a.kept == "" && p.failed == nil {
			p.failed = &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("the answer is longer than %s", sizeText(maxKept))}
		}
	}
	link := p.s.link("/content", a)
	if fragment, ok := a.url.Fragment(); ok {
		link += "#" + fragment
	}
	return link
}
