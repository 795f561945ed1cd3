package fetchhttp

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// NewGateway returns a Handler that retrieves by c for HTTP clients (RFC
// 1738, section 4): "/gopher/host/1/menu" stands for "gopher://host/1/menu".
// Only the schemes named are served.
//
// As anybody may ask, URLs count as supplied by a remote party, with the
// stricter rules of fetch.Policy: no local files and no private addresses.
// User names and passwords are refused. Listings become HTML pages whose
// links lead through the gateway. As what comes is other people's content
// under the gateway's name, it is served in a sandbox.
func NewGateway(c *fetch.Client, schemes ...string) http.Handler {
	return &gateway{client: c, schemes: schemes}
}

type gateway struct {
	client  *fetch.Client
	schemes []string
}

// asker is where a gateway's URLs come from, as far as the policy knows: not
// from this machine or its network.
var asker = uri.MustParse("http://gateway.invalid/")

// ServeHTTP implements http.Handler.
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
	req := request(u, r)
	req.From = asker
	resp, err := retrieve(r.Context(), g.client, r.Method, req)
	if err != nil {
		status := statusOf(err)
		switch {
		case status == http.StatusNotModified:
			w.WriteHeader(status)
			return
		case fetch.CodeOf(err) == fetch.ErrPolicy:
			status = http.StatusForbidden
		case fetch.CodeOf(err) == fetch.ErrURL:
			status = http.StatusBadRequest
		case status == 0:
			status = http.StatusBadGateway
		}
		http.Error(w, err.Error(), status)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Security-Policy", "sandbox")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if resp.Kind == fetch.KindListing && resp.Entries != nil {
		g.listing(w, r, resp)
		return
	}
	h, status := header(resp)
	for k, v := range h {
		w.Header()[k] = v
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // so that the client sees that it is incomplete
	}
}

// target returns the URL that a request stands for.
func (g *gateway) target(r *http.Request) (uri.URI, error) {
	scheme, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	if !ok || !slices.Contains(g.schemes, scheme) {
		return uri.URI{}, fmt.Errorf("ask for /SCHEME/HOST/PATH, with a scheme of %s", strings.Join(g.schemes, ", "))
	}
	if r.URL.RawQuery != "" {
		rest += "?" + r.URL.RawQuery
	}
	u, err := uri.Parse(scheme + "://" + rest)
	if err != nil {
		return uri.URI{}, err
	}
	if _, ok := u.User(); ok {
		return uri.URI{}, errors.New("no user names here")
	}
	return u, nil
}

// path is the inverse of target; "" for what the gateway does not serve.
func (g *gateway) path(u uri.URI) string {
	if !slices.Contains(g.schemes, u.Scheme()) || u.Host() == "" {
		return ""
	}
	_, rest, _ := strings.Cut(u.WithoutUserinfo().String(), "://")
	return "/" + u.Scheme() + "/" + rest
}

var (
	pageHead = template.Must(template.New("").Parse("<!DOCTYPE html>\n<meta charset=utf-8>\n<title>{{.}}</title>\n<ul>\n"))
	pageLine = template.Must(template.New("").Parse("<li>{{if .Path}}<a href=\"{{.Path}}\">{{.Name}}</a>{{else}}{{.Name}}{{if .URL}} ({{.URL}}){{end}}{{end}}\n"))
)

// listing writes entries as they come.
func (g *gateway) listing(w http.ResponseWriter, r *http.Request, resp *fetch.Response) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if r.Method == http.MethodHead {
		return
	}
	if pageHead.Execute(w, resp.URL.Redacted()) != nil {
		return // the client has gone
	}
	for e, err := range resp.Entries {
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		line := struct{ Path, Name, URL string }{g.path(e.URL), strings.ToValidUTF8(e.Name, "\uFFFD"), e.URL.Redacted()}
		if pageLine.Execute(w, line) != nil {
			return
		}
	}
	io.WriteString(w, "</ul>\n")
}
