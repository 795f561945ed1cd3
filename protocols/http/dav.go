package http

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// davSchemes maps the schemes of WebDAV, as GNOME and KDE name them, to those of its messages.
var davSchemes = map[string]string{"dav": "http", "davs": "https", "webdav": "http", "webdavs": "https"}

// maxDAV limits the servers and pages whose support of WebDAV is remembered.
const maxDAV = 1024

// A davPlace is a server with WebDAV, or a page without it: a server may have it only below some path.
type davPlace struct {
	scope  string // see Env.Scope
	server uri.Origin
	page   string // "" for a server with WebDAV
}

// propfind asks for the properties that entries have (RFC 4918, section 9.1).
const (
	methodPropfind = "PROPFIND"
	propfindBody   = `<?xml version="1.0" encoding="utf-8"?>` + "\n" +
		`<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/>` +
		"<getetag/><getcontenttype/></prop></propfind>\n"
)

// A davDriver serves the schemes of WebDAV: HTTP in which directories are listed by PROPFIND. It takes a
// URL with a slash at its end for a directory, and asks about others only if GET shows no file.
type davDriver struct{ web *opener }

func registerDAV(d *opener, reg *fetch.Registry) {
	for name, over := range davSchemes {
		s := fetch.Scheme{Name: name, Port: 80, Ops: []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
			Ranges: true, RangeSets: true, Driver: &davDriver{d},
			Traits:  fetch.Traits{Tree: true, Stateless: true},
			Summary: "WebDAV: files and directories over HTTP (RFC 4918)"}
		if over == "https" {
			s.Port, s.Summary = 443, "WebDAV over TLS (RFC 4918)"
		}
		reg.Register(s)
	}
}

func (d *davDriver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	over, err := overHTTP(req)
	if err != nil {
		return nil, err
	}
	var resp *fetch.Response
	if req.Op == fetch.OpList || req.URL.IsDirectory() {
		resp, err = d.web.list(ctx, over, req.URL)
	} else {
		resp, err = d.file(ctx, over, req.URL)
	}
	if err != nil {
		return nil, err
	}
	for i, to := range resp.Location {
		resp.Location[i] = overDAV(to, req.URL)
	}
	return resp, nil
}

// file retrieves a URL without a slash at its end. Servers respond with an error, or with a page about
// themselves, if it is a collection.
func (d *davDriver) file(ctx context.Context, req *fetch.Request, u uri.URI) (*fetch.Response, error) {
	resp, err := d.web.Open(ctx, req)
	if !maybeCollection(resp, err) {
		return resp, err
	}
	if err == nil {
		resp.Body.Close()
	}
	if self, _, selfErr := d.web.properties(ctx, req, u); selfErr == nil && self.collection {
		return &fetch.Response{Location: []uri.URI{asDirectory(u)}, Body: fetch.NoBody}, nil
	}
	if err != nil {
		return nil, err
	}
	return d.web.Open(ctx, req)
}

func maybeCollection(resp *fetch.Response, err error) bool {
	if err != nil {
		switch replyCode(err) {
		case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
			return true
		}
		return false
	}
	return len(resp.Location) == 0 && resp.Validator.IsZero() &&
		strings.HasPrefix(resp.ContentType, "text/html")
}

// list lists the collection at u, or returns its metadata. Req has the URL of its messages.
func (d *opener) list(ctx context.Context, req *fetch.Request, u uri.URI) (*fetch.Response, error) {
	if req.Op == fetch.OpStat || !u.IsDirectory() {
		self, resp, err := d.properties(ctx, req, u)
		switch {
		case err != nil || len(resp.Location) > 0:
			return resp, err
		case !u.IsDirectory() && !self.collection:
			return nil, notCollection()
		case !u.IsDirectory():
			return &fetch.Response{Location: []uri.URI{asDirectory(u)}, Body: fetch.NoBody}, nil
		}
		return resp, nil
	}
	resp, err := d.propfind(ctx, req, "1")
	if err != nil || len(resp.Location) > 0 {
		return resp, err
	}
	resp.Kind, resp.Validator = fetch.KindListing, fetch.Validator{}
	idle := d.env.Timeouts().Idle
	resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] { return davEntries(r, u, idle) }
	return resp, nil
}

// properties requests the properties of u alone. The response has them as metadata.
func (d *opener) properties(
	ctx context.Context, req *fetch.Request, u uri.URI,
) (*davResource, *fetch.Response, error) {
	resp, err := d.propfind(ctx, req, "0")
	if err != nil || len(resp.Location) > 0 {
		return &davResource{}, resp, err
	}
	body := resp.Body
	defer body.Close()
	resp.Body = fetch.NoBody
	var self *davResource
	for r, err := range newMultistatus(body, d.env.Timeouts().Idle).resources() {
		if err != nil {
			return nil, nil, err
		}
		if _, _, isSelf := r.entry(u); isSelf && self == nil {
			self = r
		}
	}
	if self == nil {
		return nil, nil, malformedListing(errors.New("it does not contain the resource"))
	}
	if err := self.refusal(); err != nil {
		return nil, nil, err
	}
	resp.Size, resp.ContentType = self.length(), self.mediaType()
	resp.Validator = fetch.Validator{ETag: self.etag, ModTime: self.modTime()}
	if self.collection {
		resp.Kind, resp.Validator = fetch.KindListing, fetch.Validator{} // its listing has none
	}
	return self, resp, nil
}

func (d *opener) propfind(ctx context.Context, req *fetch.Request, depth string) (*fetch.Response, error) {
	resp, err := d.exchange(ctx, propfindRequest(req, depth), methodPropfind, newRecord(ctx, d.env))
	var refused *fetch.Error
	switch code := replyCode(err); {
	case code == http.StatusMethodNotAllowed, code == http.StatusNotImplemented:
		errors.As(err, &refused)
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Reply: refused.Reply,
			Err: errors.New("the server has no WebDAV there"), Hint: "try the scheme http or https"}
	case err != nil:
		return nil, err
	case len(resp.Location) == 0 && resp.Reply.Code != http.StatusMultiStatus:
		resp.Body.Close()
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Reply: resp.Reply,
			Err: errors.New("the response is not a WebDAV listing")}
	}
	return resp, nil
}

func propfindRequest(req *fetch.Request, depth string) *fetch.Request {
	find := withoutOptions(req)
	find.Header.Set("Depth", depth)
	find.Header.Set("Content-Type", "application/xml; charset=utf-8")
	find.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(propfindBody)), nil }
	find.Body, _ = find.GetBody()
	find.ContentLength = int64(len(propfindBody))
	return find
}

// withoutOptions returns a copy of req without its range, conditions and preferences.
func withoutOptions(req *fetch.Request) *fetch.Request {
	dup := *req
	dup.Op, dup.Range, dup.Ranges, dup.IfChanged = fetch.OpGet, fetch.Range{}, nil, fetch.Validator{}
	dup.WantDigest, dup.Accept = false, nil
	dup.Header = make(textproto.MIMEHeader, len(req.Header)+2)
	maps.Copy(dup.Header, req.Header)
	return &dup
}

// listPage lists a URL of http or https with a slash at its end, if its server announces WebDAV there (RFC
// 4918, section 10.1).
func (d *opener) listPage(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if !req.URL.IsDirectory() {
		return nil, noListings(req.URL)
	}
	server := davPlace{scope: d.env.Scope(ctx), server: req.URL.Origin()}
	page := server
	page.page = cmp.Or(req.URL.Path(), "/")
	switch {
	case d.davPlaces.Has(server):
		return d.list(ctx, req, req.URL)
	case d.davPlaces.Has(page):
		return nil, noListings(req.URL)
	}
	resp, err := d.exchange(ctx, withoutOptions(req), http.MethodOptions, newRecord(ctx, d.env))
	switch {
	case err != nil && !refusesMethod(err):
		return nil, err
	case err == nil && len(resp.Location) > 0:
		return resp, nil
	case err == nil:
		resp.Body.Close()
	}
	if err != nil || !announcesDAV(resp.Header) {
		d.davPlaces.Add(page)
		return nil, noListings(req.URL)
	}
	d.davPlaces.Add(server)
	return d.list(ctx, req, req.URL)
}

// refusesMethod reports whether a server has decided about a request, and would do so again.
func refusesMethod(err error) bool {
	_, transient := fetch.Transient(err)
	return replyCode(err) != 0 && fetch.CodeOf(err) != fetch.ErrAuth && !transient
}

func announcesDAV(h textproto.MIMEHeader) bool {
	for _, value := range h["Dav"] {
		for class := range strings.SplitSeq(value, ",") {
			if strings.TrimSpace(class) == "1" {
				return true
			}
		}
	}
	return false
}

func noListings(u uri.URI) error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: fmt.Errorf("%s has no listings: %w", u.Scheme(), errors.ErrUnsupported)}
}

func notCollection() error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.New("it is a file, not a directory")}
}

// overHTTP returns a copy of req with the URL of its messages.
func overHTTP(req *fetch.Request) (*fetch.Request, error) {
	dup := *req
	var err error
	dup.URL, err = withScheme(req.URL, davSchemes[req.URL.Scheme()])
	return &dup, err
}

// overDAV returns a target of a redirect from the URL from with a scheme of WebDAV. A reference remains
// relative.
func overDAV(to, from uri.URI) uri.URI {
	family := strings.TrimSuffix(from.Scheme(), "s")
	for _, name := range []string{family, family + "s"} {
		if to.Scheme() == davSchemes[name] {
			if u, err := withScheme(to, name); err == nil {
				return u
			}
		}
	}
	return to
}

func withScheme(u uri.URI, scheme string) (uri.URI, error) {
	_, rest, _ := strings.Cut(u.String(), ":")
	return uri.Parse(scheme + ":" + rest)
}

// asDirectory returns u with a slash at the end of its path.
func asDirectory(u uri.URI) uri.URI {
	if u.IsDirectory() {
		return u
	}
	dir, err := u.JoinPath("/")
	if err != nil {
		return u
	}
	return dir
}

func (d *davDriver) Expect(req *fetch.Request) (fetch.Meta, bool) {
	if req.URL.IsDirectory() {
		return fetch.Meta{Kind: fetch.KindListing}, true
	}
	return fetch.Meta{}, false
}

func (d *davDriver) Explain(req *fetch.Request) ([]string, error) {
	over, err := overHTTP(req)
	if err != nil {
		return nil, err
	}
	isDir := req.URL.IsDirectory()
	switch {
	case !isDir && req.Op != fetch.OpList:
		return d.web.Explain(over)
	case isDir && req.Op != fetch.OpStat:
		return d.web.explain(propfindRequest(over, "1"), methodPropfind, uri.URI{})
	}
	return d.web.explain(propfindRequest(over, "0"), methodPropfind, uri.URI{})
}

func (d *davDriver) CloseIdleConnections() { d.web.CloseIdleConnections() }

// Upgrade implements fetch.Upgrader like that of http.
func (d *davDriver) Upgrade(u uri.URI) (uri.URI, bool) {
	web, err := withScheme(u, davSchemes[u.Scheme()])
	if err != nil {
		return u, false
	}
	upgraded, ok := d.web.Upgrade(web)
	return overDAV(upgraded, u), ok
}

var (
	_ fetch.Expecter  = (*davDriver)(nil)
	_ fetch.Explainer = (*davDriver)(nil)
	_ fetch.Upgrader  = (*davDriver)(nil)
)
