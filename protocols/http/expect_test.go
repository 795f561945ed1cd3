package http_test

import (
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestExpectContinue checks that a caller may ask a server whether it takes a body, and that a request
// without one does not ask.
func TestExpectContinue(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s, %q, %q", r.Method, r.Header.Get("Expect"), body)
	})
	request := func(path, method, expect, body string) *fetch.Request {
		req := &fetch.Request{URL: uri.MustParse(base + path), Method: method,
			Header: textproto.MIMEHeader{"Expect": {expect}}}
		if body != "" {
			req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		}
		return req
	}
	c := newClient(t, nil, urlhttp.Options{})
	for _, tt := range []struct {
		req  *fetch.Request
		want string
		code fetch.Code
	}{
		{req: request("/", http.MethodPut, "100-continue", "abc"), want: `PUT, "100-continue", "abc"`},
		{req: request("/", http.MethodPut, "100-Continue", "abc"), want: `PUT, "100-Continue", "abc"`},
		{req: request("/", "", "100-continue", ""), want: `GET, "", ""`},
		{req: request("/refused", http.MethodPut, "100-continue", "abc"), code: fetch.ErrRefused},
		{req: request("/", http.MethodPut, "more", "abc"), code: fetch.ErrRequest},
	} {
		body, _, err := drive.Do(t, c, tt.req)
		if fetch.CodeOf(err) != tt.code || body != tt.want {
			t.Errorf("%q, %v, want %q, %s", body, err, tt.want, tt.code)
		}
	}
}
