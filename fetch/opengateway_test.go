package fetch_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A gateway of the options is reached whoever named the resource, but nothing else of the user is
// lent to the request.
func TestOpenGatewayIsTheUsersChoice(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for name, tt := range map[string]struct {
		from      string
		untrusted bool
		gateway   bool
		want      fetch.Code
	}{
		"typed":                  {gateway: true},
		"a public page led here": {from: "http://192.0.2.1/", gateway: true},
		"an untrusted job":       {untrusted: true, gateway: true},
		"Open, a public page":    {from: "http://192.0.2.1/", want: fetch.ErrPolicy},
		"Open, an untrusted job": {untrusted: true, want: fetch.ErrPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lent, foreign int
			gateway := func(env fetch.Env, reg *fetch.Registry) {
				open := func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
					c, err := env.Dial(ctx, "tcp", req.URL.HostPort(0))
					if err != nil {
						return nil, err
					}
					c.Close()
					if env.Foreign(ctx) {
						foreign++
					}
					if _, err := env.Credential(ctx, fetch.Challenge{URL: req.URL}); err == nil || !req.NoCookies {
						lent++
					}
					return &fetch.Response{Meta: fetch.Meta{Size: 1}, Body: io.NopCloser(strings.NewReader("x"))}, nil
				}
				reg.Register(fetch.Scheme{Name: "x-gw", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(open)})
			}
			named := func(env fetch.Env, reg *fetch.Registry) {
				open := func(ctx context.Context, _ *fetch.Request) (resp *fetch.Response, err error) {
					ask := env.Open
					if tt.gateway {
						ask = env.OpenGateway
					}
					for range 30 {
						if resp, err = ask(ctx, &fetch.Request{URL: uri.MustParse("x-gw://" + l.Addr().String() + "/b")}); err != nil {
							return nil, err
						}
						resp.Body.Close()
					}
					return &fetch.Response{Meta: fetch.Meta{Size: 0}, Body: fetch.NoBody}, nil
				}
				reg.Register(fetch.Scheme{Name: "x-name", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(open)})
			}
			c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{Untrusted: tt.untrusted},
				Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
					if ch.Foreign {
						return fetch.Credential{}, fetch.ErrAuth
					}
					return fetch.Credential{User: "joe", Password: "secret"}, nil
				})}, gateway, named)
			defer c.Close()
			req := &fetch.Request{URL: uri.MustParse("x-name://n/")}
			if tt.from != "" {
				req.From = uri.MustParse(tt.from)
			}
			resp, err := c.Do(t.Context(), req)
			if err == nil {
				resp.Body.Close()
			}
			if fetch.CodeOf(err) != tt.want || (err == nil) != (tt.want == "") {
				t.Fatalf("%v, want class %q", err, tt.want)
			}
			if tt.gateway && (lent != 0 || foreign != 30) {
				t.Errorf("%d requests with resources of the user, %d foreign, want 0 and 30", lent, foreign)
			}
		})
	}
}

func TestOpenGatewayNeedsARequest(t *testing.T) {
	t.Parallel()
	fetch.New(nil, func(env fetch.Env, _ *fetch.Registry) {
		if _, err := env.OpenGateway(t.Context(), &fetch.Request{URL: uri.MustParse("http://h/")}); err == nil ||
			!strings.Contains(err.Error(), "foreign context") {
			t.Errorf("%v", err)
		}
	})
}
