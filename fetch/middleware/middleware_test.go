package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
)

func client(m fetch.Middleware, open fetch.DriverFunc) *fetch.Client {
	return fetch.New(&fetch.Options{Middleware: []fetch.Middleware{m}}, fetch.Use("x-test", open))
}

func body(n int) fetch.DriverFunc {
	return func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: int64(n)}, Body: io.NopCloser(bytes.NewReader(make([]byte, n)))}, nil
	}
}

// Transfers of one client share the rate.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(middleware.RateLimit(1000), body(5000))
		start := time.Now()
		done := make(chan error)
		for range 2 {
			go func() {
				_, err := drive.Get(t, c, "x-test://h/")
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("10,000 bytes at 1,000 a second took %v", took)
		}
	})
}

func TestRateLimitEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(middleware.RateLimit(1), body(100))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		resp, err := c.Get(ctx, "x-test://h/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.Copy(io.Discard, resp.Body); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestPerHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := client(middleware.PerHost(2), body(1))
		open := func(ctx context.Context, url string) (*fetch.Response, error) { return c.Get(ctx, url) }
		first, _ := open(t.Context(), "x-test://a/")
		if _, err := open(t.Context(), "x-test://a/"); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t.Context(), "x-test://b/"); err != nil {
			t.Errorf("another host has to wait: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := open(ctx, "x-test://a/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third exchange: %v", err)
		}
		third := make(chan error)
		go func() {
			_, err := open(t.Context(), "x-test://a/")
			third <- err
		}()
		synctest.Wait()
		select {
		case err := <-third:
			t.Fatalf("a third exchange did not wait: %v", err)
		default:
		}
		first.Body.Close()
		first.Body.Close()
		if err := <-third; err != nil {
			t.Error(err)
		}
	})
}

// A driver that opens another URL of the same host does not wait for itself.
func TestPerHostNested(t *testing.T) {
	t.Parallel()
	load := func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-test", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				if strings.HasSuffix(req.URL.Path(), "/inner") {
					return body(7)(ctx, req)
				}
				inner := *req
				inner.URL = req.URL.Resolve(uri.MustParse("inner"))
				return env.Open(ctx, &inner)
			})})
	}
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{middleware.PerHost(1)}}, load)
	resp, err := c.Get(t.Context(), "x-test://h/outer")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); err != nil || len(data) != 7 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
