package http

import (
	"context"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

type target struct {
	method string
	url    *url.URL // for net/http: that of the forward proxy, if there is one
	host   string   // for the Host field
	header http.Header
	// cookies is the URL that selects cookies; nil if there are none or the request is anonymous.
	cookies *url.URL
	proxy   uri.URI // the forward proxy; zero if none
	// ranged and conditional select the acceptable responses.
	ranged, conditional bool
	// coded is true if content codings were requested.
	coded bool
	// body is the request body. It is nil if there is none, or if it was sent and must be reopened.
	body io.ReadCloser
	// listing is set for a PROPFIND of the driver. Its body is not wrapped, so that net/http writes it
	// together with the head, and finds that a connection was lost before the request was sent.
	listing bool
	// versionChanged is set if a server refused the version of HTTP. The other one is used then.
	versionChanged bool
	// unsent is set if no part of the request reached a server.
	unsent bool
	// passwordFrom and passwordTo are the offsets of a password in the request line, or 0.
	passwordFrom, passwordTo int
}

func (d *opener) newTarget(ctx context.Context, req *fetch.Request, method string) (*target, error) {
	proxy, forward := d.env.Proxy(ctx)
	if !forward {
		proxy = uri.URI{}
	}
	return d.targetBy(proxy, req, method)
}

// targetBy returns the target of a request to a forward proxy or, if that is zero, to the server.
func (d *opener) targetBy(proxy uri.URI, req *fetch.Request, method string) (*target, error) {
	t := &target{method: method, listing: method == methodPropfind && req.Method == "", proxy: proxy}
	if method != http.MethodHead {
		t.body = req.Body
	}
	if err := t.address(req.URL); err != nil {
		return nil, err
	}
	if req.Relay {
		return t, t.relay(req)
	}
	if err := t.fields(d, req); err != nil {
		return nil, err
	}
	if req.Anonymous {
		t.cookies = nil
		t.header.Del("Authorization")
		t.header.Del("Cookie")
	}
	return t, nil
}

// address sets the host to connect to and the request target. The target for a forward proxy is the
// complete URL (RFC 9112, section 3.2.2).
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
		t.url = &url.URL{Scheme: n.Scheme, Host: n.Host, Opaque: absoluteForm(bare.String(), t.host)}
		if from, to := password(t.url.Opaque); to > 0 {
			line := len(t.method + " ")
			t.passwordFrom, t.passwordTo = line+from, line+to
		}
	case t.url == nil:
		return &fetch.Error{Code: fetch.ErrScheme,
			Err: fmt.Errorf("%s URLs require an HTTP proxy", u.Scheme())}
	}
	return nil
}

// absoluteForm returns a URL as the target of a request to a proxy. An international host is replaced
// by host, its ASCII form; anything else stays as written.
func absoluteForm(text, host string) string {
	start, end := authority(text)
	if strings.IndexFunc(text[start:end], func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return text
	}
	start += strings.LastIndexByte(text[start:end], '@') + 1
	return text[:start] + host + text[end:]
}

func authority(text string) (start, end int) {
	start = strings.Index(text, "://") + len("://")
	if n := strings.IndexAny(text[start:], "/?#"); n >= 0 {
		return start, start + n
	}
	return start, len(text)
}

func password(text string) (from, to int) {
	start, end := authority(text)
	at := strings.LastIndexByte(text[start:end], '@')
	colon := strings.IndexByte(text[start:end], ':')
	if colon < 0 || colon > at {
		return 0, 0
	}
	return start + colon + 1, start + at
}

// reservedFields follow from the request, so callers cannot set them.
var reservedFields = []string{"Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match",
	"If-Unmodified-Since"}

// wantDigest asks for one of the strong digests (RFC 9530, section 4).
const wantDigest = "sha-256=10, sha-512=5"

// fields sets the header fields. The caller's replace our own.
func (t *target) fields(d *opener, req *fetch.Request) error {
	// In one allocation:
	each := [...]string{d.env.Identity().UserAgent, accept(req.Accept), "identity", referer(req)}
	h := http.Header{"User-Agent": each[0:1:1], "Accept": each[1:2:2], "Accept-Encoding": each[2:3:3]}
	t.header = h
	if each[3] != "" {
		h["Referer"] = each[3:4:4]
	}
	t.condition(req)
	if d.Compressed && !t.ranged {
		t.coded = true
		h.Set("Accept-Encoding", acceptCodings)
	}
	if req.WantDigest {
		h.Set("Want-Repr-Digest", wantDigest)
	}
	for name, values := range req.Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if asksToContinue(name, values) {
			if t.body != nil { // without one, the field is not allowed (RFC 9110, section 10.1.1)
				h[name] = values
			}
			continue
		}
		if err := httphead.CheckField(name, values, reservedFields); err != nil {
			return &fetch.Error{Code: fetch.ErrRequest, Err: err}
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

// condition requests a range, or makes the request conditional. A weak entity tag cannot guard a
// range (RFC 9110, section 13.1.5), so the complete resource is requested.
func (t *target) condition(req *fetch.Request) {
	v := req.IfChanged
	if req.Range.IsZero() && len(req.Ranges) == 0 {
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
	if len(req.Ranges) == 0 {
		t.header.Set("Range", "bytes="+rangeSpec(req.Range))
		return
	}
	list := make([]string, len(req.Ranges))
	for i, r := range req.Ranges {
		list[i] = rangeSpec(r)
	}
	t.header.Set("Range", "bytes="+strings.Join(list, ","))
}

// rangeSpec formats a range (RFC 9110, section 14.1.2).
func rangeSpec(r fetch.Range) string {
	switch {
	case r.Offset < 0:
		return strconv.FormatInt(r.Offset, 10)
	case r.Length == 0 || r.Length > math.MaxInt64-r.Offset:
		return fmt.Sprintf("%d-", r.Offset)
	}
	return fmt.Sprintf("%d-%d", r.Offset, r.Offset+r.Length-1)
}

func isStrong(tag string) bool { return len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }

// accept ranks media types by quality. Types that are not listed rank last.
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

// referer returns the URL of the page that led here. It is only sent to the page's own server.
func referer(req *fetch.Request) string {
	from := req.From
	if s := from.Scheme(); s != "http" && s != "https" || from.Origin() != req.URL.Origin() {
		return ""
	}
	return from.WithoutUserinfo().WithoutFragment().String()
}

// request makes the HTTP request with cookies and secrets. An unsafe request that another origin
// led to is sent without cookies, as browsers do (SameSite).
func (d *opener) request(
	ctx context.Context, r *http.Request, req *fetch.Request, t *target, auth []*authenticator,
) error {
	*r = http.Request{
		Method: t.method, URL: t.url, Host: t.host, Header: t.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if t.body != nil {
		r.Body, r.GetBody, r.ContentLength = t.body, req.GetBody, req.ContentLength
		r.Trailer = http.Header(req.Trailer)
	}
	if t.cookies != nil && !req.NoCookies && d.cookies.Load() &&
		(httphead.IsSafe(t.method) || !d.env.Foreign(ctx)) {
		if list := d.Jar.Cookies(t.cookies); len(list) > 0 {
			r.Header = t.header.Clone()
			cookies.Add(r.Header, list)
		}
	}
	for _, a := range auth {
		if a.login == nil {
			continue
		}
		r.Header = r.Header.Clone()
		if err := a.sign(r); err != nil {
			return err
		}
	}
	if t.listing {
		r.Header = r.Header.Clone()
		r.Header["Idempotency-Key"] = []string{} // net/http may send it again, and omits the field
	}
	// On a connection that is kept, net/http would send the body of a request that was refused.
	r.Close = bindsLogin(r.Header) || r.Header.Get("Expect") != ""
	return nil
}

// perRequest lists the authentication schemes, in lower case, whose logins belong to a request
// (RFC 9110, section 11). NTLM and Negotiate log in the connection, and all that it serves later (RFC
// 4559, section 6). Unknown schemes may do the same.
var perRequest = []string{
	"apikey", "aws", "aws4-hmac-sha256", "basic", "bearer", "digest", "dpop", "gnap", "oauth",
	"privatetoken", "sharedkey", "token", "vapid",
}

func bindsLogin(h http.Header) bool {
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		for _, value := range h[name] {
			scheme, _, _ := strings.Cut(strings.TrimSpace(value), " ")
			if !slices.Contains(perRequest, strings.ToLower(scheme)) {
				return true
			}
		}
	}
	return false
}

// Explain returns the request in the form of HTTP/1.1, without cookies and secrets.
func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	method, err := methodOf(req)
	if err != nil {
		return nil, err
	}
	switch req.Op {
	case fetch.OpStat:
		method = http.MethodHead
	case fetch.OpList:
		if !req.URL.IsDirectory() {
			return nil, noListings(req.URL)
		}
		steps, err := d.explain(withoutOptions(req), http.MethodOptions, uri.URI{})
		if err != nil {
			return nil, err
		}
		more, err := d.explain(propfindRequest(req, "1"), methodPropfind, uri.URI{})
		return append(steps, more...), err
	}
	return d.explain(req, method, uri.URI{})
}

// ExplainForwarded explains a request that a proxy retrieves, of any scheme (see fetch.Explainer).
func (d *opener) ExplainForwarded(req *fetch.Request, proxy uri.URI) ([]string, error) {
	method, err := methodOf(req)
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpStat {
		method = http.MethodHead
	}
	return d.explain(req, method, proxy)
}

func (d *opener) explain(req *fetch.Request, method string, proxy uri.URI) ([]string, error) {
	t, err := d.targetBy(proxy, req, method)
	if err != nil {
		return nil, err
	}
	line := method + " " + t.url.RequestURI() + " HTTP/1.1"
	if t.passwordTo > 0 {
		line = line[:t.passwordFrom] + "xxxxx" + line[t.passwordTo:]
	}
	lines := []string{line, "Host: " + t.host}
	lines = append(lines, shown(t.header)...)
	if req.ContentLength > 0 {
		lines = append(lines, "Content-Length: "+strconv.FormatInt(req.ContentLength, 10))
	}
	return lines, nil
}
