// Package fetchhttp lets programs that speak HTTP reach every scheme: as an
// http.RoundTripper within the program, or through a gateway.
package fetchhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// NewTransport returns a RoundTripper that retrieves by c. Register it for
// the schemes that an http.Client is to learn:
//
//	t := &http.Transport{}
//	t.RegisterProtocol("gopher", fetchhttp.NewTransport(c))
//
// GET and HEAD are known, with If-None-Match, If-Modified-Since and a Range
// of one part. What the server says is put into the terms of HTTP: that there
// is no such thing is status 404, that it is forbidden 403, and so on. Other
// failures are errors that match those of package fetch. Redirects are
// followed by c; Content-Location then says where the content came from.
func NewTransport(c *fetch.Client) http.RoundTripper { return transport{c} }

type transport struct{ client *fetch.Client }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	u, err := uri.Parse(r.URL.String())
	if err != nil {
		return nil, err
	}
	if r.Method != "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil, fmt.Errorf("fetchhttp: method %s: %w", r.Method, errors.ErrUnsupported)
	}
	req := request(u, r)
	resp, err := retrieve(r.Context(), t.client, r.Method, req)
	if err != nil {
		status := statusOf(err)
		if status == 0 {
			return nil, err
		}
		h := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
		return answer(r, status, h, io.NopCloser(strings.NewReader(err.Error()+"\n")), -1), nil
	}
	h, status := header(resp)
	if resp.URL != u {
		h.Set("Content-Location", resp.URL.WithoutUserinfo().String())
	}
	return answer(r, status, h, resp.Body, resp.Size), nil
}

func answer(r *http.Request, status int, h http.Header, body io.ReadCloser, size int64) *http.Response {
	if r.Method == http.MethodHead {
		body.Close()
		body = http.NoBody
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: size, Request: r,
	}
}

// request puts the conditions of an HTTP request into the terms of package
// fetch.
func request(u uri.URI, r *http.Request) *fetch.Request {
	req := &fetch.Request{URL: u}
	if tag := r.Header.Get("If-None-Match"); tag != "" && tag != "*" && !strings.Contains(tag, ",") {
		req.IfChanged.ETag = tag
	}
	if at, err := http.ParseTime(r.Header.Get("If-Modified-Since")); err == nil {
		req.IfChanged.ModTime = at
	}
	req.Range = parseRange(r.Header.Get("Range"))
	if !req.Range.IsZero() {
		req.IfChanged = fetch.Validator{ETag: r.Header.Get("If-Range")}
		if at, err := http.ParseTime(req.IfChanged.ETag); err == nil {
			req.IfChanged = fetch.Validator{ModTime: at}
		}
	}
	return req
}

// parseRange reads "bytes=3-" and "bytes=3-7". Everything else, which a
// server may ignore (RFC 9110, section 14.2), is the zero Range.
func parseRange(s string) fetch.Range {
	first, last, ok := strings.Cut(strings.TrimPrefix(s, "bytes="), "-")
	from, err := strconv.ParseInt(first, 10, 64)
	if !ok || err != nil || from < 0 || !strings.HasPrefix(s, "bytes=") {
		return fetch.Range{}
	}
	if last == "" {
		return fetch.Range{Offset: from}
	}
	to, err := strconv.ParseInt(last, 10, 64)
	if err != nil || to < from || to-from+1 <= 0 {
		return fetch.Range{}
	}
	return fetch.Range{Offset: from, Length: to - from + 1}
}

// retrieve does a GET or HEAD.
func retrieve(ctx context.Context, c *fetch.Client, method string, req *fetch.Request) (*fetch.Response, error) {
	if method == http.MethodHead {
		stat := *req
		stat.Op = fetch.OpStat
		resp, err := c.Do(ctx, &stat)
		if !errors.Is(err, errors.ErrUnsupported) {
			return resp, err
		}
	}
	return c.Do(ctx, req)
}

// header returns the fields and the status of a response in terms of HTTP.
func header(resp *fetch.Response) (http.Header, int) {
	h := http.Header{}
	set := func(key, value string) {
		if value != "" && !strings.ContainsAny(value, "\r\n\x00") {
			h.Set(key, value)
		}
	}
	set("Content-Type", resp.ContentType)
	if resp.Size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(resp.Size, 10))
	}
	if !resp.ModTime.IsZero() {
		h.Set("Last-Modified", resp.ModTime.UTC().Format(http.TimeFormat))
	}
	if strings.HasSuffix(resp.ETag, `"`) { // others' validators are no entity tags
		set("ETag", resp.ETag)
	}
	for _, k := range []string{"Content-Encoding", "Content-Language", "Cache-Control", "Expires"} {
		set(k, textproto.MIMEHeader(resp.Header).Get(k))
	}
	if resp.Range.IsZero() || resp.Size <= 0 {
		return h, http.StatusOK
	}
	total := "*"
	if resp.Total > 0 {
		total = strconv.FormatInt(resp.Total, 10)
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", resp.Range.Offset, resp.Range.Offset+resp.Size-1, total))
	return h, http.StatusPartialContent
}

// statusOf returns the status that says what err says; 0 if it is not what a
// server said of the resource.
func statusOf(err error) int {
	switch fetch.CodeOf(err) {
	case fetch.ErrNotModified:
		return http.StatusNotModified
	case fetch.ErrNotFound:
		return http.StatusNotFound
	case fetch.ErrRefused, fetch.ErrAuth:
		return http.StatusForbidden
	case fetch.ErrRange:
		return http.StatusRequestedRangeNotSatisfiable
	case fetch.ErrBusy:
		return http.StatusServiceUnavailable
	}
	return 0
}
