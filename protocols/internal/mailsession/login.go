package mailsession

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

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
	return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the password would be sent in plaintext, because the server does not offer TLS"),
		Reason: driver.Reason{Kind: driver.ReasonPlaintext}, Hint: "use " + scheme + "s"}
}

// LogIn calls try with credentials, and again with others while the server refuses them, at most
// most times.
func (s *Session) LogIn(ctx context.Context, srv *Server, mechanism string, limit int, try func(driver.Credential) error) error {
	for attempt := 1; ; attempt++ {
		user, _ := srv.Login.User()
		cred, err := s.env.Credential(ctx, driver.Challenge{URL: srv.Login, Mechanism: mechanism, Realm: srv.Host, User: user, Attempt: attempt})
		switch {
		case err == nil:
		case attempt > 1 && errors.Is(err, driver.ErrAuth):
			return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the server refused the user name or password")}
		case errors.Is(err, driver.ErrAuth):
			return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the server requires a login"),
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
			e.Code = driver.ErrAuth // many servers give no reason
		}
		if e.Code != driver.ErrAuth || attempt == limit || s.Lines.Err() != nil {
			return err
		}
	}
}

// Plain returns the initial response of SASL PLAIN (RFC 4616), in base64.
func Plain(cred driver.Credential) (string, error) {
	if strings.ContainsRune(cred.User+cred.Password, 0) {
		return "", &driver.Error{Code: driver.ErrAuth, Err: errors.New("the user name or password contains NUL")}
	}
	return base64.StdEncoding.EncodeToString([]byte("\x00" + cred.User + "\x00" + cred.Password)), nil
}
