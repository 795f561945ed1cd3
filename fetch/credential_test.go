package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// namedProvider returns a provider whose password is its name and the attempt. If has is false, it has no
// credential.
func namedProvider(name string, has bool) fetch.Credentials {
	return fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if !has {
			return fetch.Credential{}, fmt.Errorf("%s: %w", name, fetch.ErrAuth)
		}
		return fetch.Credential{User: ch.User, Password: fmt.Sprintf("%s%d", name, ch.Attempt)}, nil
	})
}

func TestChainCredentials(t *testing.T) {
	t.Parallel()
	failing := fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{}, context.Canceled
	})
	tests := []struct {
		name  string
		chain []fetch.Credentials
		want  []string // passwords by attempt; "" for ErrAuth
	}{
		{"nobody", nil, []string{"", ""}},
		{"one, which is asked again", []fetch.Credentials{namedProvider("a", true)}, []string{"a1", "a2", "a3"}},
		{"the first that has one", []fetch.Credentials{namedProvider("a", false), namedProvider("b", true), namedProvider("c", true)}, []string{"b1", "c1", "c2"}},
		{"the next after one that was refused", []fetch.Credentials{namedProvider("a", true), namedProvider("b", true), namedProvider("c", true)}, []string{"a1", "b1", "c1", "c2"}},
		{"the last is asked again", []fetch.Credentials{namedProvider("a", false), namedProvider("b", true)}, []string{"b1", "b2", "b3"}},
		{"the last has none", []fetch.Credentials{namedProvider("a", true), namedProvider("b", false)}, []string{"a1", "", ""}},
		{"a chain in a chain", []fetch.Credentials{namedProvider("a", true), fetch.ChainCredentials(namedProvider("b", true), namedProvider("c", true))}, []string{"a1", "b1", "c1"}},
	}
	for _, tt := range tests {
		c := fetch.ChainCredentials(tt.chain...)
		for i, want := range tt.want {
			got, err := c.Credential(t.Context(), fetch.Challenge{Attempt: i + 1})
			if got.Password != want || (want == "") != errors.Is(err, fetch.ErrAuth) {
				t.Errorf("%s: attempt %d: %q, %v; want %q", tt.name, i+1, got.Password, err, want)
			}
		}
	}
	if _, err := fetch.ChainCredentials(failing, namedProvider("b", true)).Credential(t.Context(), fetch.Challenge{Attempt: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a provider that failed: %v, want its error and no question to the next", err)
	}
}

// withEnv calls f with the Env of a client during a request for rawURL.
func withEnv(t *testing.T, o *fetch.Options, rawURL string, f func(context.Context, fetch.Env, *fetch.Request)) {
	t.Helper()
	ran := false
	c := fetch.New(o, func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-env", Port: 7, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				ran = true
				f(ctx, env, req)
				return nil, fetch.ErrNotFound
			})})
	})
	if _, err := c.Get(t.Context(), rawURL); !ran {
		t.Fatalf("the driver did not run: %v", err)
	}
}

func TestEnvCredential(t *testing.T) {
	t.Parallel()
	tests := []struct {
		url         string
		credentials fetch.Credentials
		want        []string // user:password by attempt; "" for ErrAuth
	}{
		{"x-env://h/", nil, []string{"", ""}},
		{"x-env://u:p@h/", nil, []string{"u:p", ""}},
		{"x-env://u:@h/", nil, []string{"u:", ""}},
		{"x-env://u@h/", nil, []string{""}},
		{"x-env://h/", namedProvider("a", true), []string{":a1", ":a2"}},
		{"x-env://u@h/", namedProvider("a", true), []string{"u:a1"}},
		{"x-env://u:p@h/", namedProvider("a", true), []string{"u:p", "u:a1", "u:a2"}},
	}
	for _, tt := range tests {
		withEnv(t, &fetch.Options{Proxy: noProxy, Credentials: tt.credentials}, tt.url, func(ctx context.Context, env fetch.Env, req *fetch.Request) {
			for i, want := range tt.want {
				cred, err := env.Credential(ctx, fetch.Challenge{URL: req.URL, Attempt: i + 1})
				got := cred.User + ":" + cred.Password
				if err != nil {
					got = ""
				}
				if got != want || (want == "") != errors.Is(err, fetch.ErrAuth) {
					t.Errorf("%s: attempt %d: %q, %v; want %q", tt.url, i+1, got, err, want)
				}
			}
		})
	}
}

func TestChallengeHasReferrer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, from string
		untrusted bool
		foreign   bool
	}{
		{url: "x://h/"},
		{url: "x://h/", from: "x://h/page"},
		{url: "x://h/", from: "http://evil.example/", foreign: true},
		{url: "http://h/", from: "https://h/", foreign: true},
		{url: "http://h:8080/", from: "http://h/", foreign: true},
		{url: "x://h/", from: "file:///list", foreign: true},
		{url: "x://h/", untrusted: true, foreign: true},
		{url: "x://h/", from: "x://h/page", untrusted: true, foreign: true},
		{url: "x://h/", from: "http://evil.example/", untrusted: true, foreign: true},
	} {
		var got fetch.Challenge
		o := &fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{Untrusted: tt.untrusted}, Credentials: &lastChallenge{&got}}
		c := fetch.New(o, func(env fetch.Env, reg *fetch.Registry) {
			for _, name := range []string{"x", "http"} {
				reg.Register(fetch.Scheme{Name: name, Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
					func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
						if env.Foreign(ctx) != tt.foreign || env.ForeignRequest(req) != tt.foreign {
							t.Errorf("%+v: Foreign %v, ForeignRequest %v", tt, env.Foreign(ctx), env.ForeignRequest(req))
						}
						_, err := env.Credential(ctx, fetch.Challenge{URL: req.URL, Realm: "r", Foreign: !tt.foreign})
						return nil, err
					})})
			}
		})
		req := &fetch.Request{URL: uri.MustParse(tt.url)}
		if tt.from != "" {
			req.From = uri.MustParse(tt.from)
		}
		if _, err := c.Do(t.Context(), req); fetch.CodeOf(err) != fetch.ErrAuth {
			t.Errorf("%+v: error %v", tt, err)
		}
		if got.From != req.From || got.Foreign != tt.foreign || got.Realm != "r" || got.Attempt != 1 {
			t.Errorf("%+v: challenge %+v", tt, got)
		}
		if _, err := c.Explain(req); err != nil || got.Foreign != tt.foreign || got.Realm != "" {
			t.Errorf("%+v: explained by %+v, %v", tt, got, err)
		}
	}
}

// lastChallenge stores the last challenge.
type lastChallenge struct{ last *fetch.Challenge }

func (a *lastChallenge) Credential(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
	*a.last = ch
	return fetch.Credential{}, fetch.ErrAuth
}

func (a *lastChallenge) Source(ch fetch.Challenge) string {
	*a.last = ch
	return ""
}

// A redirect through another origin back to the user's origin stays foreign.
func TestRedirectBackFromAnotherOriginIsForeign(t *testing.T) {
	t.Parallel()
	for _, untrusted := range []bool{false, true} {
		var foreign []bool
		web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/", "http://b/": "-> http://a/2", "http://a/2": "-> http://a/3", "http://a/3": "end"}}
		c := fetch.New(&fetch.Options{Proxy: noProxy, Policy: &fetch.Policy{Untrusted: untrusted}}, func(env fetch.Env, reg *fetch.Registry) {
			web.load(env, reg)
			s, _ := reg.Lookup("http")
			next := s.Driver
			s.Driver = fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				foreign = append(foreign, env.Foreign(ctx))
				return next.Open(ctx, req)
			})
			reg.Replace(s)
		})
		if _, err := c.Get(t.Context(), "http://a/"); err != nil {
			t.Fatal(err)
		}
		if want := []bool{untrusted, true, true, true}; !slices.Equal(foreign, want) {
			t.Errorf("untrusted %v: foreign %v, want %v", untrusted, foreign, want)
		}
	}
}
