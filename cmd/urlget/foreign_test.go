package main

import (
	"errors"
	"os"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// Foreign challenges get none of the user's logins, even those of servers that the user named.
func TestForeignChallengesGetNoLogins(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/netrc"
	if err := os.WriteFile(file, []byte("machine h.example login u password p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := uri.MustParse("http://h.example/x")
	a := &app{}
	a.set.user, a.set.password, a.set.hasPassword = "u", "p", true
	a.typed.add(u)
	flags := &flagLogin{app: a}
	for name, source := range map[string]fetch.Credentials{
		"flags": flags,
		"netrc": &netrcLogin{a, netrc.New(file), flags},
		"serve": ownLogins{flags},
	} {
		for _, from := range []uri.URI{{}, u, uri.MustParse("http://evil.example/")} {
			ch := fetch.Challenge{URL: u, From: from, Attempt: 1}
			if cred, err := source.Credential(t.Context(), ch); err != nil || cred.Password != "p" {
				t.Errorf("%s, from %s: %+v, %v", name, from, cred, err)
			}
			ch.Foreign = true
			if cred, err := source.Credential(t.Context(), ch); !errors.Is(err, fetch.ErrAuth) || cred != (fetch.Credential{}) {
				t.Errorf("%s, from %s, foreign: %+v, %v", name, from, cred, err)
			}
			if s, ok := source.(fetch.CredentialSource); ok && s.Source(ch) != "" {
				t.Errorf("%s, from %s, foreign: source %q", name, from, s.Source(ch))
			}
		}
	}
}
