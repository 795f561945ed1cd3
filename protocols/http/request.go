package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A target is what is asked for, and from whom.
type target struct {
	method string
	url    *url.URL // for net/http: of the proxy, if one relays
	host   string   // for the Host field
	header http.Header
	// cookies is the URL that cookies belong to; nil if it has none.
	cookies *url.URL
	proxy   uri.URI // that relays; zero if none
	// ranged and conditional tell which answers are allowed.
	ranged, conditional bool
	// coded is true if content codings were asked for.
	coded bool
}

// newTarget decides what the request will be.
func (d *driver) newTarget(ctx context.Context, req *fetch.Request, method string) (*target, error) {
	t := &target{method: method}
	if proxy, ok := d.env.Proxy(ctx); ok {
		t.proxy = proxy
	}
	if req.Range.Offset < 0 || req.Range.Length < 0 {
		return nil, &fetch.Error{Code: fetch.ErrRange, Err: errors.New("negative offset or length")}
	}
	if err := t.address(req.URL); err != nil {
		return nil, err
	}
	if err := t.fields(d, req); err != nil {
		return nil, err
	}
	return t, nil
}

// address sets whom to connect to and what stands in the request line. Through
// a proxy that is the whole URL (RFC 9112, section 3.2.2).
func (t *target) address(u uri.URI) error {
	bare := u.WithoutFragment()
	if s := u.Scheme(); s == "http" || s == "https" {
		bare = bare.WithoutUserinfo()
		n, err := bare.NetURL()
		if err != nil {
			return err
		}
		t.url, t.host, t.cookies = n, n.Host, n
		if n.Opaque != "" {
			t.cookies = &url.URL{Scheme: n.Scheme, Host: n.Host, Path: n.Path}
		}
	} else {
		t.host = u.Host()
		if strings.Contains(t.host, ":") {
			t.host = "[" + t.host + "]"
		}
		if port := u.Port(0); port != 0 {
			t.host += ":" + strconv.Itoa(int(port))
		}
	}
	switch {
	case !t.proxy.IsZero():
		n, err := t.proxy.WithoutUserinfo().NetURL()
		if err != nil {
			return err
		}
		t.url = &url.URL{Scheme: n.Scheme, Host: n.Host, Opaque: bare.String()}
	case t.url == nil:
		return &fetch.Error{Code: fetch.ErrScheme, Err: fmt.Errorf("%s URLs need an HTTP proxy", u.Scheme())}
	}
	return nil
}

// own are the fields that follow from the request or belong to the
// connection, so that callers cannot set them.
var own = []string{"Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since",
	"Content-Length", "Transfer-Encoding", "Te", "Trailer", "Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "Expect"}

// fields sets the header fields, the caller's in place of our own.
func (t *target) fields(d *driver, req *fetch.Request) error {
	h := http.Header{"User-Agent": {d.env.Identity().UserAgent}, "Accept": {accept(req.Accept)}}
	t.header = h
	if r := referer(req); r != "" {
		h.Set("Referer", r)
	}
	t.condition(req)
	if d.Compressed && !t.ranged {
		t.coded = true
		h.Set("Accept-Encoding", acceptCodings)
	} else {
		h.Set("Accept-Encoding", "identity")
	}
	for name, values := range req.Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if err := checkField(name, values); err != nil {
			return err
		}
		switch name {
		case "Host":
			t.host = values[0]
		case "Accept-Encoding":
			t.coded = false // the caller decodes
			h[name] = values
		default:
			h[name] = values
		}
	}
	return nil
}

func checkField(name string, values []string) error {
	if slices.Contains(own, name) {
		return fmt.Errorf("the field %s is the client's own to set", name)
	}
	if !httpguts.ValidHeaderFieldName(name) || len(values) == 0 {
		return fmt.Errorf("%q is no header field", name)
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) || name == "Host" && !httpguts.ValidHostHeader(v) {
			return fmt.Errorf("the value of %s cannot be sent", name)
		}
	}
	return nil
}

// condition asks for a range, or for what is not known yet. A range of what
// only a weak entity tag identifies cannot be had safely (RFC 9110, section
// 13.1.5), so all of it is asked for.
func (t *target) condition(req *fetch.Request) {
	v := req.IfChanged
	if req.Range.IsZero() {
		if v.ETag != "" && httpguts.ValidHeaderFieldValue(v.ETag) {
			t.header.Set("If-None-Match", v.ETag)
			t.conditional = true
		}
		if !v.ModTime.IsZero() {
			t.header.Set("If-Modified-Since", v.ModTime.UTC().Format(http.TimeFormat))
			t.conditional = true
		}
		return
	}
	if !v.IsZero() {
		switch {
		case isStrong(v.ETag) && httpguts.ValidHeaderFieldValue(v.ETag):
			t.header.Set("If-Range", v.ETag)
		case v.ETag == "":
			t.header.Set("If-Range", v.ModTime.UTC().Format(http.TimeFormat))
		default:
			return
		}
	}
	t.ranged = true
	last := ""
	if req.Range.Length > 0 && req.Range.Length <= math.MaxInt64-req.Range.Offset {
		last = strconv.FormatInt(req.Range.Offset+req.Range.Length-1, 10)
	}
	t.header.Set("Range", fmt.Sprintf("bytes=%d-%s", req.Range.Offset, last))
}

// isStrong reports whether tag is a strong entity tag.
func isStrong(tag string) bool { return len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }

// accept ranks media types by quality, what is not listed last.
func accept(types []string) string {
	if len(types) == 0 {
		return "*/*"
	}
	var b strings.Builder
	quality := 10
	for _, t := range types {
		if t == "*/*" {
			continue
		}
		if _, _, err := mime.ParseMediaType(t); err != nil {
			continue
		}
		b.WriteString(t)
		if quality < 10 {
			fmt.Fprintf(&b, ";q=0.%d", quality)
		}
		b.WriteString(", ")
		quality = max(quality-1, 2)
	}
	return b.String() + "*/*;q=0.1"
}

// referer names the page that led here to its own server only.
func referer(req *fetch.Request) string {
	from := req.From
	if s := from.Scheme(); s != "http" && s != "https" || from.Origin(0) != req.URL.Origin(0) {
		return ""
	}
	return from.WithoutUserinfo().WithoutFragment().String()
}

// request makes the request to send, with cookies and secrets.
func (d *driver) request(ctx context.Context, t *target, auth []*authenticator) (*http.Request, error) {
	r := (&http.Request{
		Method: t.method, URL: t.url, Host: t.host, Header: t.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if t.cookies != nil {
		for _, c := range d.Jar.Cookies(t.cookies) {
			r.AddCookie(c)
		}
	}
	for _, a := range auth {
		if err := a.sign(r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Explain returns the request as HTTP/1.1 would have it, without cookies and
// secrets.
func (d *driver) Explain(req *fetch.Request) ([]string, error) {
	if req.Op == fetch.OpList || req.Op == fetch.OpDial {
		return nil, errors.ErrUnsupported
	}
	method := http.MethodGet
	if req.Op == fetch.OpStat {
		method = http.MethodHead
	}
	t, err := d.newTarget(context.Background(), req, method)
	if err != nil {
		return nil, err
	}
	lines := []string{method + " " + t.url.RequestURI() + " HTTP/1.1", "Host: " + t.host}
	return append(lines, shown(t.header)...), nil
}
