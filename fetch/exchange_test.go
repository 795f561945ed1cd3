package fetch_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An exchange of another scheme has the provenance of the exchange that it is a part of.
func TestExchangeHasTheProvenanceOfItsRequest(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) { io.WriteString(c, "content") })
	for name, tt := range map[string]struct {
		from    string
		policy  fetch.Policy
		inner   string
		foreign bool
		code    fetch.Code
	}{
		"of the user":           {inner: "x-inner://" + addr + "/"},
		"of a page":             {from: "http://192.0.2.1/", inner: "x-inner://" + addr + "/", code: fetch.ErrPolicy},
		"of a page, allowed":    {from: "http://192.0.2.1/", policy: fetch.Policy{AllowPrivate: true}, inner: "x-inner://" + addr + "/", foreign: true},
		"of a queue":            {policy: fetch.Policy{Untrusted: true}, inner: "x-inner://" + addr + "/", code: fetch.ErrPolicy},
		"to a risky port":       {inner: "x-inner://127.0.0.1:25/", code: fetch.ErrPolicy},
		"to an unknown scheme":  {inner: "x-other://h/", code: fetch.ErrScheme},
		"a body for a download": {inner: "x-inner://" + addr + "/body", code: fetch.ErrRequest},
		"a redirect":            {inner: "x-inner://" + addr + "/redirect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foreign, recorded := false, 0
			load := func(env fetch.Env, reg *fetch.Registry) {
				reg.Register(fetch.Scheme{Name: "x-outer", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
					func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
						inner := &fetch.Request{URL: uri.MustParse(tt.inner)}
						if inner.URL.Path() == "/body" {
							inner.Method = "PUT"
						}
						resp, err := env.Exchange(ctx, inner)
						if err == nil && len(resp.Location) > 0 {
							resp.Location = nil // as it is not followed
						}
						return resp, err
					})})
				reg.Register(fetch.Scheme{Name: "x-inner", Port: 7070, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
					func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
						foreign = env.Foreign(ctx)
						conn, err := env.Dial(ctx, "tcp", req.URL.HostPort(0))
						if err != nil {
							return nil, err
						}
						resp := &fetch.Response{Meta: fetch.Meta{Size: 7}, Body: conn}
						if req.URL.Path() == "/redirect" {
							resp.Location = []uri.URI{uri.MustParse("/elsewhere")}
						}
						return resp, nil
					})})
			}
			c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &tt.policy, NoRedirects: true,
				Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording { recorded++; return nil })}, load)
			req := &fetch.Request{URL: uri.MustParse("x-outer://bucket/")}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			resp, err := c.Do(t.Context(), req)
			if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Fatalf("%v, want class %q", err, tt.code)
			}
			if recorded != 1 || foreign != tt.foreign {
				t.Errorf("%d exchanges recorded, foreign %v", recorded, foreign)
			}
			if err != nil {
				return
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(text) != "content" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
}

// A listing of a private server may lead to that server, as the user's own URL did.
func TestExchangeRecordsThatAServerIsPrivate(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) { io.WriteString(c, "content") })
	load := func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-outer", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				return env.Exchange(ctx, &fetch.Request{URL: uri.MustParse("x-inner://" + addr + "/")})
			})})
		reg.Register(fetch.Scheme{Name: "x-inner", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				conn, err := env.Dial(ctx, "tcp", req.URL.HostPort(0))
				if err != nil {
					return nil, err
				}
				return &fetch.Response{Meta: fetch.Meta{Size: 7}, Body: conn}, nil
			})})
	}
	c := fetch.New(&fetch.Options{Proxy: noProxy}, load)
	for _, tt := range []struct {
		url, from string
		code      fetch.Code
	}{
		{"x-outer://bucket/a", "x-outer://bucket/", fetch.ErrPolicy}, // not known yet
		{"x-outer://bucket/", "", ""},
		{"x-outer://bucket/a", "x-outer://bucket/", ""},
		{"x-outer://bucket/a", "x-inner://bucket/", fetch.ErrPolicy},
		{"x-outer://bucket/a", "http://bucket/", fetch.ErrPolicy},
		{"x-outer://other/a", "x-outer://other/", fetch.ErrPolicy},
	} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), From: uri.MustParse(tt.from)})
		if err == nil {
			resp.Body.Close()
		}
		if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
			t.Errorf("%s from %q: %v, want class %q", tt.url, tt.from, err, tt.code)
		}
	}
}

// The proxy is that of the URL of the exchange.
func TestExchangeUsesTheProxyOfItsURL(t *testing.T) {
	t.Parallel()
	var asked []string
	o := &fetch.Options{Proxy: func(u uri.URI) (uri.URI, error) {
		asked = append(asked, u.String())
		return uri.URI{}, nil
	}}
	load := func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-outer", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				return env.Exchange(ctx, &fetch.Request{URL: uri.MustParse("x-inner://server/")})
			})})
		reg.Register(fetch.Scheme{Name: "x-inner", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) { return nil, fetch.ErrNotFound })})
	}
	_, err := fetch.New(o, load).Get(t.Context(), "x-outer://bucket/")
	if !errors.Is(err, fetch.ErrNotFound) || len(asked) != 2 || asked[1] != "x-inner://server/" {
		t.Errorf("%v after proxies of %q", err, asked)
	}
}
