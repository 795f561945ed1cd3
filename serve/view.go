package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	p := s.newPage(w, r, address{})
	if scheme, ok := s.Client.Scheme(r.URL.Query().Get("scheme")); ok && scheme.Retrieves() {
		p.typed = schemePrefix(scheme)
	}
	p.focus = true
	p.begin(http.StatusOK, "urlget")
	type place struct{ Title, URL, Link, Hue string }
	data := struct {
		Start      []place
		Marks      []place
		Try        []place
		News       []newsRow
		Past       []visitRow
		Schemes    []fetch.Scheme
		Archive    bool
		Only       bool
		Captures   int
		Identities bool
	}{Identities: s.Identities != "", Archive: s.Archive != nil, Only: s.ArchiveOnly}
	if !s.Start.IsZero() {
		name, link := s.Start.Redacted(), s.link("/view", address{url: s.Start, at: s.At})
		data.Start = []place{{name, "", link, hue(s.Start)}}
	}
	listed := func(marks []mark) (list []place) {
		for _, m := range marks {
			list = append(list, place{fetch.Printable(m.title), fetch.Printable(m.url.Redacted()),
				s.link("/view", address{url: m.url}), hue(m.url)})
		}
		return list
	}
	marks, err := s.marks.all()
	if !s.marks.isNew() {
		data.Marks = listed(marks)
	}
	if !s.ArchiveOnly { // the archive does not have them
		data.Try = listed(parseMarks(places))
	}
	news, _, _ := s.news()
	news = slices.DeleteFunc(news, func(n newsRow) bool { return !n.Unread })
	data.News = news[:min(len(news), 5)]
	past, wrong := s.visits(8)
	data.Past, err = past, errors.Join(err, wrong)
	if s.Archive != nil {
		data.Captures = s.Archive.Len()
	}
	for _, scheme := range s.Client.Schemes() {
		if scheme.Retrieves() {
			data.Schemes = append(data.Schemes, scheme)
		}
	}
	p.put("home", data)
	p.putError(err)
	p.end(nil)
}

func schemePrefix(s fetch.Scheme) string {
	if s.Port == 0 {
		return s.Name + ":"
	}
	return s.Name + "://"
}

func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxURL)
	u, err := parseTyped(r.PostFormValue("url"))
	if err != nil {
		p := s.newPage(w, r, address{})
		p.typed, p.focus = r.PostFormValue("url"), true
		p.show(nil, &fetch.Error{Code: fetch.ErrURL, Err: err})
		return
	}
	http.Redirect(w, r, s.link("/view", address{url: s.logins.take(u), at: s.At}), http.StatusSeeOther)
}

// parseTyped parses a URL as users enter it. Text without a scheme is a file name if it starts with a
// slash, and otherwise a web address.
func parseTyped(text string) (uri.URI, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") {
		return uri.File{Path: text}.URI()
	}
	u, err := uri.ParseLoose(text)
	if err == nil && !u.IsAbs() {
		if text == "" {
			return u, errors.New("the URL is empty")
		}
		u, err = uri.ParseLoose(secureWeb + strings.TrimPrefix(text, "//"))
	}
	return u, err
}

func (s *Server) view(w http.ResponseWriter, r *http.Request) {
	p, ok := s.signedPage(w, r, r.URL.Query())
	switch {
	case !ok:
	case s.isSession(p.address.url.Scheme()):
		p.offer()
	default:
		p.respond(r.Context(), &fetch.Request{})
	}
}

func (p *page) respond(ctx context.Context, req *fetch.Request) {
	done, err := p.s.acquire(ctx)
	if err != nil {
		p.show(nil, err)
		return
	}
	defer done()
	resp, err := p.fetch(ctx, req)
	p.show(resp, err)
}

// signedPage returns the page of the address in a query. If its signature is not valid, it responds.
func (s *Server) signedPage(w http.ResponseWriter, r *http.Request, q url.Values) (p *page, ok bool) {
	a, err := s.verify(q)
	p = s.newPage(w, r, a)
	if err != nil {
		p.refuseUnsigned(err)
	}
	return p, err == nil
}

// refuseUnsigned responds to a link without a valid signature, such as one on a web page or from an
// earlier run of the program. Nothing is retrieved unless the user confirms.
func (p *page) refuseUnsigned(err error) {
	a := p.address
	p.address = address{}
	p.begin(http.StatusForbidden, "Open this URL?")
	text := ""
	if err == errSignature {
		text = a.url.Redacted()
	}
	p.put("unsigned", fetch.Printable(text))
	p.end(nil)
}

func (p *page) show(resp *fetch.Response, err error) {
	if p.begun {
		p.putBand()
	}
	if err != nil {
		p.fail(err)
		p.end(nil)
		return
	}
	defer resp.Body.Close()
	p.title = titleOf(resp.URL, p.s.Client.Traits(resp.URL))
	if p.address.part != "" {
		p.title = cmp.Or(resp.Name, "part "+p.address.part+" of "+p.title)
	}
	switch {
	case resp.Kind == fetch.KindListing && resp.Entries != nil:
		p.listing(resp)
	case resp.Kind == fetch.KindNone:
		p.begin(http.StatusOK, p.title)
		p.put("nothing", nil)
	default:
		p.object(resp)
	}
	p.putVisit(p.title)
	if p.failed != nil {
		p.writeTrouble(p.failed)
	}
	p.end(resp)
}

// declaredType returns the media type of a Content-Type, or "" if that is missing, malformed or generic.
func declaredType(contentType string) string {
	name, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) ||
		name == "application/octet-stream" || name == "binary/octet-stream" {
		return ""
	}
	return name
}

// mediaType returns the media type of a body. It sniffs the first bytes if none is declared.
func mediaType(contentType string, first []byte) string {
	name := declaredType(contentType)
	if name == "" {
		name, _, _ = mime.ParseMediaType(http.DetectContentType(first))
		if strings.HasPrefix(name, "text/") && bytes.IndexByte(first, 0) < 0 && contentType != "" {
			return "text/plain" // the server does not declare it as a web page
		}
	}
	return name
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// databaseType describes a database that can be searched (RFC 1738, section 3.8).
const databaseType = "application/x-wais-source"

// sniffSize is the number of bytes that are read to detect a media type.
const sniffSize = 512

var textTypes = map[string]bool{
	"application/json": true, "application/xml": true, "application/yaml": true, "application/sql": true,
	"application/ldif": true, "application/x-ldif": true, "application/x-sh": true,
	"application/javascript": true,
}

func (p *page) object(resp *fetch.Response) {
	var kind string
	var body *bufio.Reader
	var err error
	p.await(func() { kind, body, err = document(resp) })
	if err != nil {
		p.fail(err)
		return
	}
	family, _, _ := strings.Cut(kind, "/")
	p.title = cmp.Or(documentTitle(kind, resp.ContentType, body), p.title)
	if isFeed(kind, body) {
		f, err := links.ReadFeed(body, p.here.url)
		if len(f.Items) == 0 && err != nil {
			p.fail(err)
			return
		}
		p.title = cmp.Or(strings.Join(strings.Fields(f.Title), " "), p.title)
		p.begin(http.StatusOK, p.title)
		p.feed(f, p.followForm(resp))
		p.failed = err
		return
	}
	p.begin(http.StatusOK, p.title)
	p.views(resp)
	switch {
	case isMessage(kind):
		p.failed = p.message(resp, body)
	case kind == gemtextType:
		p.failed = p.gemtext(body, resp)
	case isHTML(kind):
		p.putFeedOf(resp, kind, body)
		p.put("frame", p.frameLink(resp, body))
	case family == "image":
		p.put("image", struct{ Link, Name string }{p.frameLink(resp, body), fetch.Printable(p.title)})
	case family == "audio", family == "video":
		resp.Body.Close() // the player sends its own range requests
		p.put(family, p.s.link("/content", p.address))
	case kind == databaseType:
		p.put("tools", tools{Search: p.s.box(p.here, "Search this database", "here")})
		p.failed = p.text(body, resp.ContentType, fixedWidth)
	case kind == "application/marc":
		p.failed = p.marc(body, p.title, resp.Size)
	case family == "text", family == "message", textTypes[kind],
		strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		p.failed = p.text(body, resp.ContentType, styleOf(kind, body))
	default:
		p.putFile(p.title, kind, resp.Size)
	}
}

// frameLink returns the link that a frame loads the body from. Small bodies are cached for it.
func (p *page) frameLink(resp *fetch.Response, body io.Reader) string {
	a := p.address
	hasWhole := a.part != "" && p.s.bodies.get(a.cacheID) != nil // the message of the part
	if !hasWhole && resp.Size <= maxCachedBody {
		data, err := io.ReadAll(io.LimitReader(body, maxCachedBody+1))
		if err == nil && len(data) <= maxCachedBody {
			a.cacheID = p.s.bodies.add(resp.URL.WithoutPassword(), a.part, resp.Meta, data)
		} else if err != nil {
			p.failed = err
		}
	}
	resp.Body.Close()
	if p.posted {
		a.cachedOnly = true
		if a.cacheID == "" && p.failed == nil {
			p.failed = &fetch.Error{Code: fetch.ErrNotRetrievable,
				Err: fmt.Errorf("the response is longer than %s", sizeText(maxCachedBody))}
		}
	}
	link := p.s.link("/content", a)
	if fragment, ok := a.url.Fragment(); ok {
		link += "#" + fragment
	}
	return link
}
