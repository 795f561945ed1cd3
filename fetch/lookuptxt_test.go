package fetch_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestLookupTXT(t *testing.T) {
	t.Parallel()
	found := func(_ context.Context, name string) ([]string, error) { return []string{"of " + name}, nil }
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") }
	for name, tt := range map[string]struct {
		opts fetch.Options
		code fetch.Code
		want []string
	}{
		"found": {opts: fetch.Options{Proxy: noProxy, LookupTXT: found, DialContext: dial}, want: []string{"of x.example"}},
		"missing": {opts: fetch.Options{Proxy: noProxy, LookupTXT: func(context.Context, string) ([]string, error) {
			return nil, &net.DNSError{IsNotFound: true}
		}}, code: fetch.ErrNotFound},
		"broken": {opts: fetch.Options{Proxy: noProxy, LookupTXT: func(context.Context, string) ([]string, error) {
			return nil, &net.DNSError{IsTemporary: true}
		}}, code: fetch.ErrNetwork},
		"another network": {opts: fetch.Options{Proxy: noProxy, DialContext: dial}, code: fetch.ErrNotRetrievable},
		"a proxy": {opts: fetch.Options{LookupTXT: found, Proxy: func(uri.URI) (uri.URI, error) {
			return uri.MustParse("socks5://192.0.2.1"), nil
		}}, code: fetch.ErrPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := lookUp(t, &tt.opts)
			if !slices.Equal(got, tt.want) || fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") {
				t.Errorf("%q, %v, want class %q", got, err, tt.code)
			}
		})
	}
}

func TestLookupTXTTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &fetch.Options{Proxy: noProxy, Timeouts: fetch.Timeouts{Connect: 3 * time.Second},
			LookupTXT: func(ctx context.Context, _ string) ([]string, error) {
				<-ctx.Done()
				return nil, errors.New("the error of a resolver")
			}}
		begun := time.Now()
		if _, err := lookUp(t, o); fetch.CodeOf(err) != fetch.ErrNetwork || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// lookUp makes a driver look up the records of x.example.
func lookUp(t *testing.T, o *fetch.Options) (records []string, err error) {
	t.Helper()
	c := fetch.New(o, func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-txt", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
				var err error
				if records, err = env.LookupTXT(ctx, "x.example"); err != nil {
					return nil, err
				}
				return &fetch.Response{Body: fetch.NoBody}, nil
			})})
	})
	defer c.Close()
	resp, err := c.Get(t.Context(), "x-txt://h/")
	if err == nil {
		resp.Body.Close()
	}
	return records, err
}
