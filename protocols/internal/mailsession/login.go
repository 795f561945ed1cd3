package mailsession

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
)

// MaxLogins limits how often credentials are asked for.
const MaxLogins = 3

// PlaintextAllowed returns an error if a password would be sent without TLS, unless allowed is set.
// Scheme is the one without TLS.
func (s *Session) PlaintextAllowed(allowed bool, scheme string) error {
	if s.Secure || allowed {
		return nil
	}
	return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the password would travel in plaintext, as the server has no TLS here"),
		Reason: driver.Reason{Kind: driver.ReasonPlaintext}, Hint: "use " + scheme + "s"}
}

// LogIn calls try with credentials, and with others while the server refuses them.
func (s *Session) LogIn(ctx context.Context, srv *Server, mechanism string, try func(driver.Credential) error) error {
	for attempt := 1; ; attempt++ {
		user, _ := srv.Login.User()
		cred, err := s.env.Credential(ctx, driver.Challenge{URL: srv.Login, Mechanism: mechanism, Realm: srv.Host, User: user, Attempt: attempt})
		switch {
		case err == nil:
		case attempt > 1 && errors.Is(err, driver.ErrAuth):
			return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the server refused the user name or password")}
		case errors.Is(err, driver.ErrAuth):
			return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the server wants a login"),
				Reason: driver.Reason{Kind: driver.ReasonNoLogin}}
		default:
			return err
		}
		err = try(cred)
		e := Refusal(err)
		if e == nil {
			return err
		}
		if e.Code == driver.ErrRefused {
			e.Code = driver.ErrAuth // many servers say no more than no
		}
		if e.Code != driver.ErrAuth || attempt == MaxLogins || s.Lines.Err() != nil {
			return err
		}
	}
}

// Plain returns the initial response of SASL PLAIN (RFC 4616), in base64.
func Plain(cred driver.Credential) (string, error) {
	if strings.ContainsRune(cred.User+cred.Password, 0) {
		return "", &driver.Error{Code: driver.ErrAuth, Err: errors.New("a NUL in the user name or password")}
	}
	return base64.StdEncoding.EncodeToString([]byte("\x00" + cred.User + "\x00" + cred.Password)), nil
}
