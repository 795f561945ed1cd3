package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/fetchhttp"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// maxRewritten bounds a page or a style sheet in a frame, in bytes.
const maxRewritten = 32 << 20

// content serves untrusted content to the frames of pages and to resources in them. Such a frame
// has no origin and sends no cookie, so that only the signature of the link is checked.
func (s *Server) content(w http.ResponseWriter, r *http.Request) {
	a, ok := s.verifyUntrusted(w, r)
	if !ok {
		return
	}
	if resp, err := s.cached(a); err != nil {
		refuse(w, err)
		return
	} else if resp != nil {
		s.write(w, r, a.after(resp), resp)
		return
	}
	if a.cachedOnly {
		http.Error(w, "The response to the form is no longer cached. Send the form again.", http.StatusGone)
		return
	}
	req := &fetch.Request{}
	fetchhttp.Ask(req, r.Header)
	s.retrieve(w, r, a, req, func(resp *fetch.Response) { s.write(w, r, a.after(resp), resp) })
}

// cached returns the cached body of an address, or the part of it. It returns nil if there is none.
func (s *Server) cached(a address) (*fetch.Response, error) {
	c := s.bodies.get(a.cacheID)
	if c == nil {
		return nil, nil
	}
	resp := &fetch.Response{Meta: c.meta, URL: c.url, Body: io.NopCloser(bytes.NewReader(c.data))}
	if a.part == c.part {
		return resp, nil
	}
	return resp, openPart(resp, strings.TrimPrefix(a.part, c.part+"."))
}

func (s *Server) verifyUntrusted(w http.ResponseWriter, r *http.Request) (address, bool) {
	setUntrustedHeaders(w, r)
	a, err := s.verify(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
	}
	return a, err == nil
}

func (s *Server) retrieve(w http.ResponseWriter, r *http.Request, a address, req *fetch.Request,
	pass func(*fetch.Response)) {
	done, err := s.acquire(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer done()
	resp, err := s.do(r.Context(), a, req)
	if err != nil {
		refuse(w, err)
		return
	}
	defer resp.Body.Close()
	pass(resp)
}

func refuse(w http.ResponseWriter, err error) {
	status := fetchhttp.Status(err)
	if status == http.StatusNotModified {
		w.WriteHeader(status)
		return
	}
	http.Error(w, fetch.Printable(err.Error()), status)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, a address, resp *fetch.Response) {
	kind, body, err := document(resp)
	if err != nil {
		refuse(w, err)
		return
	}
	h := w.Header()
	status := fetchhttp.Describe(h, resp)
	_, params, _ := mime.ParseMediaType(resp.ContentType)
	label := params["charset"]
	var rewrite func(io.Writer, io.Reader) error
	isSVG := kind == "image/svg+xml"
	if isSVG {
		h.Add("Vary", "Sec-Fetch-Dest")
	}
	switch {
	case resp.Kind != fetch.KindObject:
		http.Error(w, "The resource is not a document.", http.StatusNotFound)
		return
	case isHTML(kind) || isSVG && isFrame(r):
		kind, label = "text/html", "utf-8"
		rewrite = func(w io.Writer, r io.Reader) error {
			return links.RewriteFramed(w, r, resp.ContentType, a.url, "_top", s.convert(a), s.sender(a))
		}
	case kind == "text/css":
		if enc, _ := charset.Lookup(label); enc != nil {
			label = "utf-8"
		}
		rewrite = func(w io.Writer, r io.Reader) error {
			return links.RewriteCSS(w, r, resp.ContentType, a.url, s.convert(a))
		}
	case !isServedUnchanged(kind):
		kind = "text/plain" // prevents scripts and plugins
	}
	if label != "" {
		kind = mime.FormatMediaType(kind, map[string]string{"charset": label})
	}
	h.Set("Content-Type", kind)
	if rewrite == nil {
		w.WriteHeader(status)
		pass(w, body)
		return
	}
	for _, name := range []string{"Content-Length", "Etag", "Last-Modified", "Content-Range"} {
		h.Del(name) // they describe the body before rewriting
	}
	limited := &io.LimitedReader{R: body, N: maxRewritten}
	err = rewrite(w, limited)
	if fetch.CodeOf(err) == fetch.ErrNotRetrievable { // the charset is not supported, and nothing was written
		refuse(w, err)
		return
	}
	if err != nil || limited.N <= 0 {
		panic(http.ErrAbortHandler) // lets the browser detect the truncation
	}
}

// isFrame reports whether a browser shows the response as a document. In a document, an SVG picture has
// links and loads resources; as an image it has none.
func isFrame(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "document", "iframe", "frame", "embed", "object":
		return true
	}
	return false
}

// document returns the media type of a response and its body without content coding.
func document(resp *fetch.Response) (kind string, body *bufio.Reader, err error) {
	if err := decode(resp); err != nil {
		return "", nil, err
	}
	body = bufio.NewReaderSize(resp.Body, maxHead)
	need := 1
	if declaredType(resp.ContentType) == "" { // it is detected
		need = sniffSize
	}
	first, err := body.Peek(need)
	if err != nil && err != io.EOF {
		return "", nil, err
	}
	return mediaType(resp.ContentType, first), body, nil
}

// decode removes a content coding that was not requested, as found in archives. Responses to range
// requests are not changed.
func decode(resp *fetch.Response) error {
	coding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	if coding == "" || coding == "identity" || resp.Decoded || !resp.Range.IsZero() ||
		resp.Kind != fetch.KindObject {
		return nil
	}
	if coding != "gzip" && coding != "x-gzip" {
		return &fetch.Error{Op: "read", URL: resp.URL.Redacted(), Code: fetch.ErrNotRetrievable,
			Hint: "download the file",
			Err:  fmt.Errorf("unsupported content coding %s", fetch.Printable(coding))}
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		return &fetch.Error{Op: "read", URL: resp.URL.Redacted(), Code: fetch.ErrProtocol, Err: err}
	}
	resp.Body = readCloser{z, resp.Body}
	resp.Size, resp.Decoded = -1, true
	return nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

func isServedUnchanged(kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	switch family {
	case "image", "audio", "video", "font":
		return true
	}
	return strings.HasPrefix(kind, "application/font")
}

func pass(w io.Writer, content io.Reader) {
	if _, err := io.Copy(w, content); err != nil {
		panic(http.ErrAbortHandler) // lets the browser detect the truncation
	}
}

func (s *Server) convert(a address) func(fetch.Entry) (string, bool) {
	return func(e fetch.Entry) (string, bool) {
		switch fragment, ok := e.URL.Fragment(); {
		case e.Kind == fetch.EntryError, s.strays(a.url, e.URL):
			return "#", true
		case ok && e.URL.WithoutFragment() == a.url.WithoutFragment() && !links.Requisite(e.Rel):
			return "#" + fragment, true
		case e.URL.IsData() && links.Requisite(e.Rel):
			return "", false // data: URLs contain the resource
		case e.Rel == "script":
			return "#", true
		case a.part != "" && links.Requisite(e.Rel): // a mail loads nothing but its own parts
			return s.pictureLink(a, e.URL), true
		case links.Requisite(e.Rel):
			return s.link("/content", a.to(e.URL)), true
		}
		return s.link("/view", a.to(e.URL)), true
	}
}

// strays reports whether a page in a local file refers to another local file outside of its directory
// and of the directory that is served. It may have been saved from a server, which must not choose files.
func (s *Server) strays(page, target uri.URI) bool {
	for _, u := range []uri.URI{page, target} {
		if scheme, ok := s.Client.Scheme(u.Scheme()); !ok || !scheme.Local {
			return false
		}
	}
	below := func(dir, u uri.URI) bool {
		d, err1 := uri.ParseFile(dir)
		f, err2 := uri.ParseFile(u)
		if err1 != nil || err2 != nil || d.Host != f.Host {
			return false
		}
		return strings.HasPrefix(path.Clean("/"+f.Path)+"/",
			strings.TrimSuffix(path.Clean("/"+d.Path), "/")+"/")
	}
	return !below(page.Resolve(uri.MustParse(".")), target) &&
		!(below(s.Start, page) && below(s.Start, target))
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	a, ok := s.verifyUntrusted(w, r)
	if !ok {
		return
	}
	req := &fetch.Request{}
	fetchhttp.Ask(req, r.Header)
	req.Accept = nil
	s.retrieve(w, r, a, req, func(resp *fetch.Response) {
		attach(w, resp, download.Name(a.url, &resp.Meta))
	})
}

func attach(w http.ResponseWriter, resp *fetch.Response, name string) {
	status := fetchhttp.Describe(w.Header(), resp)
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name})
	w.Header().Set("Content-Disposition", disposition)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	w.WriteHeader(status)
	pass(w, resp.Body)
}
