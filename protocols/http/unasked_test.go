package http_test

import (
	"context"
	"crypto/md5"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	urlhttp "github.com/urlget/urlget/protocols/http"
)

// Logins are sent unasked once, to the origin that they are for, and never again if they are refused.
func TestLoginsUnasked(t *testing.T) {
	t.Parallel()
	g := basicGuard()
	hidden := &guard{status: http.StatusNotFound, check: g.check}
	digest := digestGuard("MD5", md5.New, true)
	other := &guard{check: func(*http.Request, string) bool { return true }}
	otherURL := strings.Replace(serve(t, other.ServeHTTP), "127.0.0.1", "localhost", 1)
	mux := http.NewServeMux()
	mux.Handle("/asks", g)
	mux.Handle("/hidden", hidden)
	mux.Handle("/digest", digest)
	mux.HandleFunc("/leave", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, otherURL, http.StatusFound) })
	site := serve(t, mux.ServeHTTP)
	var right, wrong fetch.Credential = fetch.Credential{User: "me", Password: "pa:ss"}, fetch.Credential{User: "me", Password: "x"}
	for _, tt := range []struct {
		name, path string
		anonymous  bool
		cred       fetch.Credential
		code       fetch.Code
		at         *guard
		want       []string // the logins that the server got
	}{
		{"hidden", "/hidden", false, right, "", hidden, []string{goodBasic}},
		{"wrong and hidden", "/hidden", false, wrong, fetch.ErrNotFound, hidden, []string{"Basic bWU6eA=="}},
		{"wrong", "/asks", false, wrong, fetch.ErrAuth, g, []string{"Basic bWU6eA=="}},
		{"none", "/asks", false, fetch.Credential{}, fetch.ErrAuth, g, []string{""}},
		{"anonymous", "/hidden", true, right, fetch.ErrNotFound, hidden, []string{""}},
		{"another origin", "/leave", false, right, "", other, []string{""}},
		{"a given field", "/hidden?field", false, right, fetch.ErrNotFound, hidden, []string{"Bearer x"}},
		{"digest", "/digest", false, right, "", digest, []string{goodBasic, "Digest"}},
	} {
		tt.at.mu.Lock()
		tt.at.answers = nil
		tt.at.mu.Unlock()
		c := newClient(t, &fetch.Options{Credentials: fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
			if ch.Foreign || tt.cred.User == "" || ch.Attempt > 1 {
				return fetch.Credential{}, fetch.ErrAuth
			}
			return tt.cred, nil
		})}, urlhttp.Options{Unasked: true})
		req := &fetch.Request{URL: uri.MustParse(site + tt.path), Anonymous: tt.anonymous}
		if strings.HasSuffix(tt.path, "?field") {
			req.Header = map[string][]string{"Authorization": {"Bearer x"}}
		}
		_, _, err := drive.Do(t, c, req)
		if fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
		got := tt.at.answers
		for i := range got {
			if scheme, _, _ := strings.Cut(got[i], " "); scheme == "Digest" {
				got[i] = scheme
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: logins %q", tt.name, got)
		}
	}
}
