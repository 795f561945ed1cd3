package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// TestLoginsAreBounded checks that a server with many realms cannot fill the memory of refused logins.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	var s Logins
	for i := range 2 * maxLogins {
		s.Record(Login{Realm: fmt.Sprint(i)}, false)
	}
	if n := len(s.known); n != maxLogins {
		t.Errorf("%d logins are remembered", n)
	}
}

// own is the Env of requests of the user or, if foreign is set, of somebody else.
type own struct {
	fetch.Env
	foreign bool
}

func (e own) Foreign(context.Context) bool { return e.foreign }

// TestLoginIsSentOnce checks how often a server receives a login that many requests need at once.
func TestLoginIsSentOnce(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	tests := []struct {
		name    string
		results []error // of the logins in turn; the last one repeats
		want    int     // logins sent
	}{
		{"refused", []error{fetch.ErrAuth}, 1},
		{"accepted", []error{nil}, 8},
		{"lost, then refused", []error{lost, fetch.ErrAuth}, 2},
		{"accepted, then refused for want of rights", []error{nil, fetch.ErrAuth}, 8},
		{"lost", []error{lost}, 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s Logins
				var mu sync.Mutex
				var group sync.WaitGroup
				sent, results := 0, tt.results
				for range 8 {
					group.Go(func() {
						s.Send(t.Context(), own{}, uri.MustParse("ftp://h/"), fetch.Credential{}, func() error {
							time.Sleep(time.Second)
							mu.Lock()
							defer mu.Unlock()
							sent++
							err := results[0]
							if len(results) > 1 {
								results = results[1:]
							}
							return err
						})
					})
				}
				group.Wait()
				if sent != tt.want {
					t.Errorf("%d logins were sent, want %d", sent, tt.want)
				}
			})
		})
	}
}

// TestOtherLoginsAreSent checks that a refused login is only that one, and how long it stays refused.
func TestOtherLoginsAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type login struct {
			server, user, password string
			foreign                bool
		}
		var s Logins
		reply := fetch.Reply{Code: 530, Text: strings.Repeat("no", maxReply)}
		send := func(l login) (sent bool) {
			err := s.Send(t.Context(), own{foreign: l.foreign}, uri.MustParse(l.server),
				fetch.Credential{User: l.user, Password: l.password}, func() error {
					sent = true
					return &fetch.Error{Code: fetch.ErrAuth, Reply: reply}
				})
			var e *fetch.Error
			if !errors.As(err, &e) || e.Code != fetch.ErrAuth || e.Reply.Code != 530 {
				t.Errorf("%+v: %v", l, err)
			} else if n := len(e.Reply.Text); !sent && n != maxReply {
				t.Errorf("%d bytes of the reply were kept", n)
			}
			return sent
		}
		first := login{server: "ftp://h/", user: "me", password: "wrong"}
		others := []login{first, first, first, first}
		others[0].password, others[1].user, others[2].foreign = "right", "you", true
		others[3].server = "ftp://h:2121/"
		if !send(first) || send(first) {
			t.Error("the login was not sent once")
		}
		for _, l := range others {
			if !send(l) {
				t.Errorf("%+v was not sent", l)
			}
		}
		time.Sleep(refusalLifetime - time.Nanosecond)
		if send(first) {
			t.Error("the login was sent again within its lifetime")
		}
		time.Sleep(time.Nanosecond)
		if !send(first) {
			t.Error("the login was not sent again")
		}
	})
}

// TestWaitForALoginEnds checks that a request does not wait for the login of another one after its end.
func TestWaitForALoginEnds(t *testing.T) {
	t.Parallel()
	var s Logins
	_, end, err := s.Try(t.Context(), Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Try(ctx, Login{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cause of the end", err)
	}
}
