package main

import (
	"errors"
	"os"
	"testing"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/netrc"
	"github.com/urlget/urlget/fetch/uri"
)

// TestForeignChallengesGetNoLogins checks that foreign requests do not use the user's logins, even
// for servers that the user named.
func TestForeignChallengesGetNoLogins(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/netrc"
	if err := os.WriteFile(file, []byte("machine h.example login u password p\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := uri.MustParse("http://h.example/x")
	l := &logins{opts: flags.New()}
	l.opts.Login.User, l.opts.Login.Password, l.opts.Login.HasPassword = "u", "p", true
	l.name(u)
	byFlag := &flagLogin{logins: l}
	for name, source := range map[string]fetch.Credentials{
		"flags": byFlag,
		"netrc": &netrcLogin{l, netrc.New(file), byFlag},
		"serve": ownLogins{byFlag},
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
