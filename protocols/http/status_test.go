package http_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// TestNoContent checks that no content differs from an empty document.
func TestNoContent(t *testing.T) {
	t.Parallel()
	c := newClient(t, nil, urlhttp.Options{})
	for status, want := range map[int]fetch.Kind{200: fetch.KindObject, 204: fetch.KindNone, 205: fetch.KindNone} {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(u)})
		if err != nil || body != "" || resp.Kind != want {
			t.Errorf("%d: %q, %+v, %v", status, body, resp, err)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		code   fetch.Code
		retry  bool
	}{
		{200, "", false}, {201, "", false}, {203, "", false}, {204, "", false},
		{300, "", false}, {301, fetch.ErrRedirect, false}, {305, fetch.ErrRefused, false}, {306, fetch.ErrRefused, false},
		{400, fetch.ErrRefused, false}, {401, fetch.ErrAuth, false}, {402, fetch.ErrRefused, false}, {403, fetch.ErrRefused, false},
		{404, fetch.ErrNotFound, false}, {405, fetch.ErrRefused, false}, {406, fetch.ErrRefused, false}, {407, fetch.ErrAuth, false},
		{408, fetch.ErrBusy, true}, {410, fetch.ErrNotFound, false}, {414, fetch.ErrRefused, false}, {416, fetch.ErrRange, false},
		{418, fetch.ErrRefused, false}, {429, fetch.ErrBusy, true}, {451, fetch.ErrRefused, false}, {499, fetch.ErrRefused, false},
		{500, fetch.ErrServer, false}, {501, fetch.ErrServer, false}, {502, fetch.ErrServer, true}, {503, fetch.ErrBusy, true},
		{504, fetch.ErrServer, true}, {505, fetch.ErrServer, false}, {599, fetch.ErrServer, false},
	}
	c := newClient(t, nil, urlhttp.Options{})
	for _, tt := range tests {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(tt.status)
			if tt.status >= 300 {
				io.WriteString(w, "an error page, which nobody gets")
			}
		})
		for _, op := range []string{"get", "stat"} {
			var err error
			if op == "stat" {
				_, err = c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u)})
			} else {
				_, err = drive.Get(t, c, u)
			}
			if tt.code == "" {
				if err != nil {
					t.Errorf("%s %d: %v", op, tt.status, err)
				}
				continue
			}
			e := asError(t, err)
			if e.Code != tt.code || e.Retry != tt.retry || e.Reply.Code != tt.status || e.Reply.Text != http.StatusText(tt.status) && http.StatusText(tt.status) != "" {
				t.Errorf("%s %d: %v (retry %v, reply %v), want class %q, retry %v", op, tt.status, err, e.Retry, e.Reply, tt.code, tt.retry)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	retryDate := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	tests := []struct {
		value    string
		min, max time.Duration
	}{
		{"120", 120 * time.Second, 120 * time.Second},
		{" 0 ", 0, 0},
		{retryDate, 60 * time.Second, 90 * time.Second},
		{"Tue, 15 Nov 1994 12:45:26 GMT", 0, 0},
		{"18446744073709551615", 24 * time.Hour, 366 * 24 * time.Hour},
		{"99999999999999999999999999", 0, 0},
		{"-5", 0, 0},
		{"soon", 0, 0},
		{"", 0, 0},
	}
	for _, tt := range tests {
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", tt.value)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		_, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), u)
		if e := asError(t, err); !e.Retry || e.RetryAfter < tt.min || e.RetryAfter > tt.max {
			t.Errorf("%q: %v, want %v to %v", tt.value, e.RetryAfter, tt.min, tt.max)
		}
	}
}

// TestErrorsAreClean checks that displayed texts contain no control characters.
func TestErrorsAreClean(t *testing.T) {
	t.Parallel()
	u := raw(t, "HTTP/1.1 404 Not \x1b[2J\x07Found\r\nContent-Length: 0\r\n\r\n", false)
	if _, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), u); !errors.Is(err, fetch.ErrNotFound) || strings.ContainsAny(err.Error(), "\x1b\x07") {
		t.Errorf("%q", err)
	}
}

// TestErrorPagesAreBounded reads the beginning of an endless page.
func TestErrorPagesAreBounded(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for {
			if _, err := w.Write(make([]byte, 10_000)); err != nil {
				return
			}
		}
	})
	for limit, want := range map[int]int{0: 4 << 10, 10_000: 10_000, 1 << 20: 64 << 10} {
		_, err := drive.Get(t, newClient(t, &fetch.Options{MaxErrorBody: limit}, urlhttp.Options{}), u)
		if e := asError(t, err); e.Code != fetch.ErrRefused || len(e.Body) != want || !e.Partial {
			t.Errorf("MaxErrorBody %d: %v with %d bytes of the page, want %d", limit, err, len(e.Body), want)
		}
	}
}

// The fields of a redirect that cannot be followed tell why, as in Amazon S3.
func TestErrorsOfRedirectsHaveTheFields(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-west-1")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	_, err := drive.Get(t, newClient(t, nil, urlhttp.Options{}), u)
	if e := asError(t, err); e.Code != fetch.ErrRedirect || e.Header.Get("X-Amz-Bucket-Region") != "eu-west-1" {
		t.Errorf("%v with %v", err, e.Header)
	}
}

// A signature is that of one method.
func TestSignedStatIsNotRepeatedAsGet(t *testing.T) {
	t.Parallel()
	var methods []string
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		w.WriteHeader(http.StatusForbidden)
	})
	c := newClient(t, nil, urlhttp.Options{})
	_, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(u),
		Header: map[string][]string{"Authorization": {"AWS4-HMAC-SHA256 Credential=x"}}})
	if asError(t, err).Code != fetch.ErrRefused || len(methods) != 1 || methods[0] != "HEAD" {
		t.Errorf("%v after %q", err, methods)
	}
}
