package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A teller is a provider that answers with its name and the attempt, or has nothing to say.
func teller(name string, has bool) fetch.Credentials {
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
		{"one, which is asked again", []fetch.Credentials{teller("a", true)}, []string{"a1", "a2", "a3"}},
		{"the first that has one", []fetch.Credentials{teller("a", false), teller("b", true), teller("c", true)}, []string{"b1", "c1", "c2"}},
		{"the next after one that was refused", []fetch.Credentials{teller("a", true), teller("b", true), teller("c", true)}, []string{"a1", "b1", "c1", "c2"}},
		{"the last is asked again", []fetch.Credentials{teller("a", false), teller("b", true)}, []string{"b1", "b2", "b3"}},
		{"the last has none", []fetch.Credentials{teller("a", true), teller("b", false)}, []string{"a1", "", ""}},
		{"a chain in a chain", []fetch.Credentials{teller("a", true), fetch.ChainCredentials(teller("b", true), teller("c", true))}, []string{"a1", "b1", "c1"}},
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
	if _, err := fetch.ChainCredentials(failing, teller("b", true)).Credential(t.Context(), fetch.Challenge{Attempt: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a provider that failed: %v, want its error and no question to the next", err)
	}
}

// withEnv runs f with the Env of a client, within a request for rawURL.
func withEnv(t *testing.T, o *fetch.Options, rawURL string, f func(context.Context, *fetch.Env, *fetch.Request)) {
	t.Helper()
	ran := false
	c := fetch.New(o, func(env *fetch.Env, reg *fetch.Registry) {
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
		{"x-env://h/", teller("a", true), []string{":a1", ":a2"}},
		{"x-env://u@h/", teller("a", true), []string{"u:a1"}},
		{"x-env://u:p@h/", teller("a", true), []string{"u:p", "u:a1", "u:a2"}},
	}
	for _, tt := range tests {
		withEnv(t, &fetch.Options{Proxy: noProxy, Credentials: tt.credentials}, tt.url, func(ctx context.Context, env *fetch.Env, req *fetch.Request) {
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

func TestChallengeSaysWhoLedThere(t *testing.T) {
	t.Parallel()
	var got fetch.Challenge
	o := &fetch.Options{Proxy: noProxy, Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		got = ch
		return fetch.Credential{}, fetch.ErrAuth
	})}
	c := fetch.New(o, func(env *fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				_, err := env.Credential(ctx, fetch.Challenge{URL: req.URL, Realm: "r"})
				return nil, err
			})})
	})
	from := uri.MustParse("http://evil.example/")
	if _, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("x://h/"), From: from}); fetch.CodeOf(err) != fetch.ErrAuth {
		t.Errorf("error %v", err)
	}
	if got.From != from || got.Realm != "r" || got.Attempt != 1 {
		t.Errorf("challenge %+v", got)
	}
}
