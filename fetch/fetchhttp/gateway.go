package fetchhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// NewGateway returns a Handler that retrieves URLs with c on behalf of HTTP clients (RFC 1738,
// section 4). The path "/gopher/host/1/menu" stands for "gopher://host/1/menu". It serves only the
// given schemes.
//
// Requests are untrusted, so their URLs are subject to the stricter rules of fetch.Policy for remote
// parties: no local files and no private addresses. URLs with userinfo are refused. Listings become
// HTML pages whose links lead through the gateway. Content is served in a sandbox, because it is
// untrusted but has the origin of the gateway. It sends no cookies, because its clients may be of
// several users.
func NewGateway(c *fetch.Client, schemes ...string) http.Handler {
	return &gateway{client: c, schemes: schemes}
}

type gateway struct {
	client  *fetch.Client
	schemes []string
	// own is the host and port of a proxy's gateway. Links of the same scheme are then absolute,
	// because the client of a proxy knows the scheme.
	own string
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	u, err := g.target(r)
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), http.StatusNotFound)
		return
	}
	req := &fetch.Request{URL: u, From: unknownOrigin(), NoCookies: true}
	Ask(req, r.Header)
	resp, err := retrieve(r.Context(), g.client, r.Method, req)
	if err != nil {
		refuse(w, r, err)
		return
	}
	defer resp.Body.Close()
	sandbox(w)
	if resp.Kind == fetch.KindListing && resp.Entries != nil {
		g.listing(w, r, resp)
		return
	}
	w.WriteHeader(Describe(w.Header(), resp))
	if r.Method != http.MethodHead {
		send(w, r, resp.Body)
	}
}

// sandbox keeps untrusted content from acting in the gateway's origin.
func sandbox(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", "sandbox")
	w.Header().Set("X-Content-Type-Options", "nosniff")
}

// send copies the content of a response to w. If that fails, it ends the connection of r, so that the
// client detects the incomplete body.
func send(w io.Writer, r *http.Request, content io.Reader) {
	if _, err := io.Copy(w, content); err != nil {
		abort(r.Context())
	}
}

// refuse writes the response to a request that failed with err: the server's refusal if there is one,
// otherwise the text of err.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	a := refusal(err)
	status := Status(err)
	if a == nil {
		http.Error(w, err.Error(), status)
		return
	}
	a.status = status
	sandbox(w)
	set(w.Header(), "Content-Type", a.header.Get("Content-Type"))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead && a.status != http.StatusNotModified {
		send(w, r, a.body)
	}
}

// Status returns the HTTP status for a request that failed with err.
func Status(err error) int {
	a := refusal(err)
	switch {
	case a == nil && fetch.CodeOf(err) == fetch.ErrPolicy:
		return http.StatusForbidden
	case a == nil && fetch.CodeOf(err) == fetch.ErrURL:
		return http.StatusBadRequest
	case a == nil:
		return http.StatusBadGateway
	case a.status == http.StatusUnauthorized, a.status == http.StatusProxyAuthRequired:
		return http.StatusForbidden // the client cannot log in to that server
	}
	return a.status
}

func (g *gateway) target(r *http.Request) (uri.URI, error) {
	scheme, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if !ok || !slices.Contains(g.schemes, scheme) {
		return uri.URI{}, fmt.Errorf("request /SCHEME/HOST/PATH, where SCHEME is one of %s",
			strings.Join(g.schemes, ", "))
	}
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	u, err := uri.Parse(scheme + "://" + rest)
	if err != nil {
		return uri.URI{}, err
	}
	if _, ok := u.User(); ok {
		return uri.URI{}, errors.New("the URL must not contain userinfo")
	}
	return u, nil
}

// path is the inverse of target. It returns "" for URLs that the gateway does not serve.
func (g *gateway) path(u uri.URI) string {
	if !slices.Contains(g.schemes, u.Scheme()) || u.Host() == "" {
		return ""
	}
	_, rest, _ := strings.Cut(u.WithoutUserinfo().String(), "://")
	return "/" + u.Scheme() + "/" + rest
}

// link returns the reference to u on a page at base, or "" if there is none.
func (g *gateway) link(u, base uri.URI, absolute bool) string {
	path := g.path(u)
	switch {
	case !absolute || path == "":
		return path
	case u.Scheme() == base.Scheme() || isHTTP(u.Scheme()):
		return u.WithoutUserinfo().String()
	}
	return "http://" + g.own + path
}

// escapeHTML is used instead of package html, which each program that links it initializes.
var escapeHTML = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")
})

// markup returns text as HTML in ASCII, which old browsers read whatever charset they expect.
func markup(text string) string {
	text = escapeHTML().Replace(strings.ToValidUTF8(text, "\uFFFD"))
	if !strings.ContainsFunc(text, isNotASCII) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isNotASCII(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isNotASCII(r rune) bool { return r >= utf8.RuneSelf }

// listing writes entries as they arrive.
func (g *gateway) listing(w http.ResponseWriter, r *http.Request, resp *fetch.Response) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method == http.MethodHead {
		return
	}
	absolute := g.own != "" && r.URL.Scheme != "" && r.URL.Host != g.own
	title := markup(resp.URL.Redacted())
	if _, err := fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%s</title>\n<ul>\n", title); err != nil {
		return // the client has disconnected
	}
	for e, err := range resp.Entries {
		if err != nil {
			abort(r.Context())
		}
		line := markup(e.Name)
		if ref := g.link(e.URL, resp.URL, absolute); ref != "" {
			line = `<a href="` + markup(ref) + `">` + line + "</a>"
		} else if !e.URL.IsZero() {
			line += " (" + markup(e.URL.Redacted()) + ")"
		}
		if _, err := io.WriteString(w, "<li>"+line+"\n"); err != nil {
			return
		}
	}
	io.WriteString(w, "</ul>\n")
}
