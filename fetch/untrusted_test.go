package fetch_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
)

// TestUntrustedRefuses checks URLs that must not reach the driver, directly or after a redirect.
func TestUntrustedRefuses(t *testing.T) {
	t.Parallel()
	for target, reason := range map[string]string{
		"http://127.0.0.1/":             "private address",
		"http://[::1]/":                 "private address",
		"http://10.0.0.1/":              "private address",
		"http://169.254.169.254/latest": "private address",
		"http://[::ffff:192.168.0.1]/":  "private address", // IPv4-mapped
		"http://[64:ff9b::10.0.0.1]/":   "private address", // NAT64
		"http://[64:ff9b:1::10.0.0.1]/": "private address",
		"http://2130706433/":            "private address",
		"http://o.example:6379/":        "port 6379 is not the default",
		"http://o.example:443/":         "port 443",
		"http://o.example:25/":          "port 25",
		"http://o.example:8080/":        "port 8080 is not the default",
	} {
		web := &fakeWeb{pages: map[string]string{target: "secret", "http://h.example/": "-> " + target}}
		c := fetch.New(fetch.Untrusted(), web.load)
		for _, first := range []string{target, "http://h.example/"} {
			_, err := c.ReadAll(t.Context(), first, 0)
			if fetch.CodeOf(err) != fetch.ErrPolicy || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s from %s: %v", target, first, err)
			}
			for _, asked := range web.urls() {
				if asked != "http://h.example/" {
					t.Errorf("%s was requested", asked)
				}
			}
		}
	}
}

func TestUntrustedAllows(t *testing.T) {
	t.Parallel()
	opts := fetch.Untrusted()
	opts.Policy.AllowPorts = []uint16{8080}
	web := &fakeWeb{pages: map[string]string{"http://h.example:80/": "-> http://o.example:8080/", "http://o.example:8080/": "text"}}
	text, err := fetch.New(opts, web.load).ReadAll(t.Context(), "http://h.example:80/", 0)
	if string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	pages := map[string]string{}
	for i := range 6 {
		pages["http://h.example/"+strings.Repeat("x", i)] = "-> http://h.example/" + strings.Repeat("x", i+1)
	}
	_, err = fetch.New(fetch.Untrusted(), (&fakeWeb{pages: pages}).load).ReadAll(t.Context(), "http://h.example/", 0)
	if fetch.CodeOf(err) != fetch.ErrRedirect {
		t.Errorf("six redirects: %v", err)
	}
}

// TestUntrustedIsLimited retrieves bodies that never end: one that is slow, and one that is large.
func TestUntrustedIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := fetch.DriverFunc(func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(drip{ctx})}, nil
		})
		begun := time.Now()
		_, err := fetch.New(fetch.Untrusted(), fetch.Use("http", slow)).ReadAll(t.Context(), "http://h.example/", 0)
		if took := time.Since(begun); fetch.CodeOf(err) != fetch.ErrNetwork || !strings.Contains(err.Error(), "not finished within 30s") || took > 31*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
	large := fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(zeros{})}, nil
	})
	if _, err := fetch.New(fetch.Untrusted(), fetch.Use("http", large)).ReadAll(t.Context(), "http://h.example/", 1<<30); fetch.CodeOf(err) != fetch.ErrTooLarge {
		t.Error(err)
	}
}

// drip yields a byte each second until the context ends.
type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, context.Cause(d.ctx)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
