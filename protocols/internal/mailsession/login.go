package mailsession

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// MaxLogins limits the logins tried.
const MaxLogins = 3

// CheckPlaintext returns an error if a password would be sent without TLS, unless allowed is set.
// Scheme is the variant without TLS.
func (s *Session) CheckPlaintext(allowed bool, scheme string) error {
	if s.Secure || allowed {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrAuth,
		Err:    errors.New("the password would be sent in plaintext, because the server does not offer TLS"),
		Reason: fetch.Reason{Kind: fetch.ReasonPlaintext}, Hint: "use " + scheme + "s"}
}

// LogIn calls try with credentials that are not known to be refused, and again with others while the
// server refuses them, up to limit times.
func (s *Session) LogIn(ctx context.Context, srv *Server, mechanism string, limit int, tried *driver.Logins,
	try func(fetch.Credential) error) error {
	var refused fetch.Reply
	for attempt := 1; ; attempt++ {
		user, _ := srv.Login.User()
		cred, err := s.env.Credential(ctx, fetch.Challenge{URL: srv.Login, Mechanism: mechanism,
			Realm: srv.Host, User: user, Attempt: attempt})
		switch {
		case err == nil:
		case attempt > 1 && errors.Is(err, fetch.ErrAuth):
			return &fetch.Error{Code: fetch.ErrAuth, Reply: refused,
				Err: errors.New("the server refused the user name or password")}
		case errors.Is(err, fetch.ErrAuth):
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the server requires a login"),
				Reason: fetch.Reason{Kind: fetch.ReasonNoLogin}}
		default:
			return err
		}
		err = tried.Send(ctx, s.env, srv.Login, cred, func() error {
			err := try(cred)
			if e := Refusal(err); e != nil && e.Code == fetch.ErrRefused {
				e.Code = fetch.ErrAuth // many servers give no reason
			}
			return err
		})
		e := Refusal(err)
		if e == nil {
			return err
		}
		refused = e.Reply
		if e.Code != fetch.ErrAuth || attempt == limit || s.Lines.Err() != nil {
			return err
		}
	}
}

// Plain returns the initial response of SASL PLAIN (RFC 4616), in base64.
func Plain(cred fetch.Credential) (string, error) {
	if strings.ContainsRune(cred.User+cred.Password, 0) {
		return "", fetch.ErrAuth.Errorf("the user name or password contains NUL")
	}
	return base64.StdEncoding.EncodeToString([]byte("\x00" + cred.User + "\x00" + cred.Password)), nil
}
