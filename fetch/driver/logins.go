package driver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Login is a user and a password for one server or, over HTTP, for one protection space of it (RFC 9110,
// section 11.5).
type Login struct {
	Origin         uri.Origin
	Foreign        bool   // of Env.Foreign: the author of a URL must not learn what the user has tried
	Realm          string // "" if the server names none
	User, Password string
}

// Logins remembers which logins servers have accepted or refused, so that a wrong password is sent once,
// however many requests need it: servers lock accounts after a few failures. Its zero value is ready to
// use.
type Logins struct {
	mu     sync.Mutex
	known  map[Login]verdict
	trials map[Login]chan struct{}
}

type verdict struct {
	accepted bool
	at       time.Time
	reply    fetch.Reply // of a refusal
}

const (
	maxLogins = 1024
	maxReply  = 512 // bytes of a reply that are kept
	// refusalLifetime is the time after which a refused login is sent again, for programs that run for days:
	// the account may have been unlocked.
	refusalLifetime = time.Hour
)

// Send calls send, which sends cred to the server of a URL and returns an error that matches fetch.ErrAuth
// if the server refused it. If that happened before, Send returns such an error, with the server's reply,
// without calling send. Logins that are not known yet are sent one at a time.
func (s *Logins) Send(ctx context.Context, env fetch.Env, server uri.URI, cred fetch.Credential,
	send func() error) error {
	l := Login{Origin: server.Origin(), Foreign: env.Foreign(ctx), User: cred.User, Password: cred.Password}
	refused, end, err := s.Try(ctx, l)
	if err != nil {
		return err
	}
	defer end()
	if refused {
		return &fetch.Error{Code: fetch.ErrAuth, Reply: s.reply(l),
			Err: errors.New("the user name or password was already refused")}
	}
	err = send()
	switch e, ok := errors.AsType[*fetch.Error](err); {
	case err == nil:
		s.Record(l, true)
	case ok && e.Code == fetch.ErrAuth:
		s.record(l, verdict{reply: e.Reply})
	case errors.Is(err, fetch.ErrAuth):
		s.Record(l, false)
	}
	return err
}

func (s *Logins) reply(l Login) fetch.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[l].reply
}

// Try reports whether l was refused. Otherwise it may be sent. If that was never done, others that call
// Try wait until end is called.
func (s *Logins) Try(ctx context.Context, l Login) (refused bool, end func(), err error) {
	for {
		s.mu.Lock()
		v, known := s.known[l]
		known = known && (v.accepted || time.Since(v.at) < refusalLifetime)
		other := s.trials[l]
		if !known && other == nil {
			defer s.mu.Unlock()
			if s.trials == nil {
				s.trials = make(map[Login]chan struct{})
			}
			done := make(chan struct{})
			s.trials[l] = done
			return false, sync.OnceFunc(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.trials, l)
				close(done)
			}), nil
		}
		s.mu.Unlock()
		if known {
			return !v.accepted, func() {}, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return false, nil, context.Cause(ctx)
		}
	}
}

// Record stores whether a server accepted l. A login that was accepted once stays so: servers also refuse
// a login for one resource to which the user has no right, or while they are out of order.
func (s *Logins) Record(l Login, accepted bool) { s.record(l, verdict{accepted: accepted}) }

func (s *Logins) record(l Login, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[Login]verdict)
	}
	old, known := s.known[l]
	if !known && len(s.known) >= maxLogins {
		for any := range s.known {
			delete(s.known, any)
			break
		}
	}
	v.at, v.accepted = time.Now(), v.accepted || old.accepted
	v.reply.Text = strings.Clone(v.reply.Text[:min(len(v.reply.Text), maxReply)])
	s.known[l] = v
}
