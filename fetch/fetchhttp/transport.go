// Package fetchhttp makes every scheme available over HTTP: to Go programs as an http.RoundTripper,
// and to other programs through a gateway or a proxy.
package fetchhttp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/urlget/urlget/fetch"
)

// Register registers schemes with t. Without names, it registers all schemes of c other than http
// and https, which t supports itself:
//
//	t := http.DefaultTransport.(*http.Transport).Clone()
//	fetchhttp.Register(t, c)
//	client := &http.Client{Transport: t}
//
// The client retrieves any URL of its schemes. A program that accepts untrusted URLs should create c
// without the scheme file, or with a policy. Redirects from servers are subject to the rules for
// remote parties; see [NewTransport].
//
// Register panics if one of the schemes is registered with t already. Schemes that match by a prefix,
// such as "x-", must be named explicitly.
func Register(t *http.Transport, c *fetch.Client, schemes ...string) {
	if len(schemes) == 0 {
		for _, s := range c.Schemes() {
			if s.Name != "http" && s.Name != "https" {
				schemes = append(schemes, s.Name)
			}
		}
	}
	rt := NewTransport(c)
	for _, s := range schemes {
		t.RegisterProtocol(s, rt)
	}
}

// NewTransport returns a RoundTripper that retrieves with c. [Register] makes it part of an
// http.Transport.
//
// # Requests
//
// GET and HEAD are supported, without a body. If-None-Match with a single tag, If-Modified-Since,
// If-Range, Range and Accept work for every scheme as in HTTP; several ranges at once work only for
// http and https. If-Match and If-Unmodified-Since are refused, because ignoring them would be
// wrong. Other fields are passed to the driver, except those that belong to a connection, such as
// Upgrade. Drivers of protocols without header fields ignore them.
//
// If an http.Client sends the request because a server redirected it, the URL counts as supplied by
// that server: the rules of [fetch.Policy] for remote parties apply, and Authorization, Cookie and
// the like are not sent to another origin.
//
// # Responses
//
// Responses of http and https servers are returned with their status, fields and body, including
// error responses. An error page that is longer than MaxErrorBody of the client's options ends with
// io.ErrUnexpectedEOF. Responses of other servers are translated to HTTP: "not found" is status 404,
// "forbidden" 403, and so on. Other failures are errors that match those of package fetch.
//
// The client c follows redirects, also for http and https, and handles cookies. Request.URL and the
// field Content-Location of the response then hold the URL of the content.
func NewTransport(c *fetch.Client) http.RoundTripper { return transport{c} }

type transport struct{ client *fetch.Client }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	req, err := newRequest(r)
	if err != nil {
		return nil, err
	}
	resp, err := retrieve(r.Context(), t.client, r.Method, req)
	if err != nil {
		a := refusal(err)
		if a == nil {
			return nil, err
		}
		return a.response(r), nil
	}
	a := &responseBuilder{status: status(resp), header: fields(resp), body: resp.Body, size: resp.Size}
	if isHTTP(resp.URL.Scheme()) {
		a.text = resp.Reply.Text
		a.header = allFields(resp)
	}
	if resp.URL != req.URL {
		final := resp.URL.WithoutUserinfo().String()
		a.header.Set("Content-Location", final)
		a.header.Del("Set-Cookie") // an http.Client would attribute them to the first server
		if u, err := url.Parse(final); err == nil {
			r = r.Clone(r.Context())
			r.URL = u
		}
	}
	return a.response(r), nil
}

func retrieve(ctx context.Context, c *fetch.Client, method string, req *fetch.Request) (
	*fetch.Response, error) {
	if method == http.MethodHead {
		return c.Stat(ctx, req)
	}
	return c.Do(ctx, req)
}

type responseBuilder struct {
	status int
	text   string // reason phrase from the server; "" means the standard text
	header http.Header
	body   io.ReadCloser
	size   int64 // -1 if unknown
}

func (a *responseBuilder) response(r *http.Request) *http.Response {
	if r.Method == http.MethodHead {
		a.body.Close()
		a.body = http.NoBody
	}
	if a.text == "" {
		a.text = http.StatusText(a.status)
	}
	return &http.Response{
		Status: fmt.Sprintf("%03d %s", a.status, a.text), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: a.body, ContentLength: a.size, Request: r,
	}
}
