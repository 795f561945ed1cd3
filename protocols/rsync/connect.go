package rsync

import (
	"context"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/rsync"
)

// maxLogins limits the logins for a request. Each needs a connection, because servers close it after a
// refusal.
const maxLogins = 3

// connect returns a session for the module of t.
func (d *opener) connect(ctx context.Context, t *target) (*session, error) {
	var cred fetch.Credential
	for attempt := 1; ; attempt++ {
		s, challenge, err := d.enter(ctx, t)
		if err != nil || challenge == "" {
			return s, err
		}
		if attempt == 1 {
			cred, err = d.credential(ctx, t, attempt)
		}
		if err == nil {
			err = d.login(ctx, s, t, cred, challenge)
		}
		if err == nil {
			return s, nil
		}
		s.close()
		if !errors.Is(err, errRefused) || attempt == maxLogins {
			return nil, err
		}
		var end error
		if cred, end = d.credential(ctx, t, attempt+1); errors.Is(end, fetch.ErrAuth) {
			return nil, err
		} else if end != nil {
			return nil, end
		}
	}
}

// enter returns a session for the module of t, and the challenge of its server, if any.
func (d *opener) enter(ctx context.Context, t *target) (s *session, challenge string, err error) {
	if s, err = d.dial(ctx, t); err != nil {
		return nil, "", err
	}
	defer s.replyTimeout()()
	if challenge, err = s.selectModule(t.module); err != nil {
		s.close()
		return nil, "", err
	}
	return s, challenge, nil
}

func (d *opener) dial(ctx context.Context, t *target) (*session, error) {
	lease, err := d.pool.Get(ctx, t.addr, nil, func(ctx context.Context) (*fetch.Conn, error) {
		return d.env.Dial(ctx, "tcp", t.addr)
	})
	if err != nil {
		return nil, err
	}
	conn := lease.Conn
	conn.Bind(ctx)
	s := &session{env: d.env, conn: conn, close: lease.Discard, r: wire.NewReader(conn, rsync.MaxLine)}
	defer s.replyTimeout()()
	if err := s.greet(d.protocol); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (d *opener) credential(ctx context.Context, t *target, attempt int) (fetch.Credential, error) {
	cred, err := d.env.Credential(ctx, fetch.Challenge{URL: t.url, Mechanism: "rsync", Realm: t.module,
		Attempt: attempt})
	switch {
	case errors.Is(err, fetch.ErrAuth):
		err = &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the module requires a login"),
			Hint: "supply a user name and password"}
	case err == nil && (cred.User == "" || strings.Contains(cred.User, " ")):
		err = fetch.ErrAuth.Errorf("the login needs a user name, without spaces")
	}
	return cred, err
}

// login sends a login, unless the module has refused it before.
func (d *opener) login(ctx context.Context, s *session, t *target, cred fetch.Credential,
	challenge string) error {
	l := driver.Login{Origin: t.url.Origin(), Foreign: d.env.Foreign(ctx), Realm: t.module,
		User: cred.User, Password: cred.Password}
	known, end, err := d.tried.Try(ctx, l)
	if err != nil {
		return err
	}
	defer end()
	if known {
		return &fetch.Error{Code: fetch.ErrAuth, Err: errRefused}
	}
	defer s.replyTimeout()()
	err = s.login(cred, challenge)
	if isRefused := errors.Is(err, errRefused); err == nil || isRefused {
		d.tried.Record(l, !isRefused)
	}
	return err
}
