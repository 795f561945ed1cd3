package ldap

import (
	"context"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
)

// conversations covers each kind of login and search.
var conversations = []struct {
	name   string
	secure bool // TLS from the start
	login  bool
	client Options
	find   finder
}{
	{name: "anonymous", find: respond(searchEntry("cn=x", "description", longValue), searchEntry("cn=y", "a", "b"), searchDone(0))},
	{name: "nothing", find: respond(searchDone(0))},
	{name: "intermediate", find: respond(searchEntry("cn=x", "a", "b"), searchReference("ldap://h.example/"), searchEntry("cn=y", "a", "b"), searchDone(0))},
	{name: "bind", login: true, client: Options{AllowPlaintext: true}, find: respond(searchEntry("cn=x", "a", "b"), searchDone(0))},
	{name: "StartTLS", login: true, client: Options{StartTLS: true}, find: respond(searchEntry("cn=x", "a", "b"), searchDone(0))},
	{name: "TLS", secure: true, login: true, find: respond(searchEntry("cn=x", "description", longValue), searchDone(0))},
}

// longValue is a value that takes long if it is sent byte by byte.
var longValue = strings.Repeat("long ", 100)

// credentials supplies the password of every user.
var credentials = fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
	return fetch.Credential{Password: "secret"}, nil
})

func target(addr string, secure, login bool) uri.URI {
	scheme, extensions := "ldap", ""
	if secure {
		scheme = "ldaps"
	}
	if login {
		extensions = "????!bindname=cn=me"
	}
	return uri.MustParse(scheme + "://" + addr + "/cn=x" + extensions)
}

// TestRetrievalsOverAFailingNetwork injects a failure into each network operation of the conversations.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range conversations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.secure, tt.find)
			fetchtest.RunFailures(t, fetchtest.Failures{Codes: []fetch.Code{fetch.ErrTLS}, Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				o.TLS, o.Credentials = clientTLS, credentials
				c := fetch.New(o, With(tt.client))
				defer c.Close()
				body, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: target(s.Addr, tt.secure, tt.login)}))
				return []byte(body), err
			}})
		})
	}
}

// TestEveryWaitEnds runs the conversations with servers that send very slowly or without end.
func TestEveryWaitEnds(t *testing.T) {
	t.Parallel()
	const intermediate = "\x30\x05\x02\x01\x01\x79\x00"
	for _, tt := range conversations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.secure, tt.find)
			fetchtest.RunDrips(t, fetchtest.Drips{Pieces: true, Says: []string{intermediate, strings.Replace(intermediate, "\x01\x79", "\x02\x79", 1)}, Open: func(t testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request) {
				o.TLS, o.Credentials = clientTLS, credentials
				return fetch.New(o, With(tt.client)), &fetch.Request{URL: target(s.Addr, tt.secure, tt.login)}
			}})
		})
	}
}
