package mailsession

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestServersOfURLs(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]struct {
		server                Server // without Login
		addr, login, password string
	}{
		"imap://h/":                      {Server{Host: "h", Port: 143}, "h:143", "", ""},
		"imaps://h/":                     {Server{Host: "h", Port: 993, TLS: true}, "h:993", "", ""},
		"imaps://[::1]:1/":               {Server{Host: "::1", Port: 1, TLS: true}, "[::1]:1", "", ""},
		"imap://joe:pw@h/":               {Server{Host: "h", Port: 143}, "h:143", "joe", "pw"},
		"imap://joe;auth=scram:pw@h/":    {Server{Host: "h", Port: 143, Auth: "SCRAM"}, "h:143", "joe", "pw"},
		"imap://joe;AUTH=*@h/":           {Server{Host: "h", Port: 143}, "h:143", "joe", ""},
		"imap://;AUTH=PLAIN@h/":          {Server{Host: "h", Port: 143, Auth: "PLAIN"}, "h:143", "", ""},
		"imap://a%3Bb;AUTH=X;AUTH=Y@h/x": {Server{Host: "h", Port: 143, Auth: "X;AUTH=Y"}, "h:143", "a;b", ""},
	} {
		s, err := Parse(uri.MustParse(rawURL), 143, 993)
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		user, _ := s.Login.User()
		password, _ := s.Login.Password()
		if s.Addr() != want.addr || user != want.login || password != want.password || s.Login.Path() != "" && s.Login.Path() != "/" {
			t.Errorf("%s: log in at %s as %q with %q by %s", rawURL, s.Addr(), user, password, s.Login)
		}
		if s.Login = (uri.URI{}); s != want.server {
			t.Errorf("%s: got %+v, want %+v", rawURL, s, want.server)
		}
	}
	if _, err := Parse(uri.MustParse("imap:///x"), 143, 993); fetch.CodeOf(err) != fetch.ErrURL {
		t.Errorf("a URL without a host: %v", err)
	}
}

// TestPlainSendsThreeFields checks that a NUL cannot add a field.
func TestPlainSendsThreeFields(t *testing.T) {
	t.Parallel()
	got, err := Plain(fetch.Credential{User: "joe", Password: "pw"})
	if text, _ := base64.StdEncoding.DecodeString(got); err != nil || string(text) != "\x00joe\x00pw" {
		t.Errorf("%q, %v", text, err)
	}
	for _, cred := range []fetch.Credential{{User: "joe\x00x"}, {User: "joe", Password: "p\x00w"}} {
		if _, err := Plain(cred); !errors.Is(err, fetch.ErrAuth) {
			t.Errorf("%+v: %v", cred, err)
		}
	}
}
