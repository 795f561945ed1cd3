package nntp

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

var errPlaintext = errors.New("the server requires a login, and the password would be sent in plaintext")

// login authenticates after a 480 reply (RFC 4643). It starts TLS first if the server offers
// STARTTLS.
func (d *opener) login(ctx context.Context, t *target, s *session) error {
	if !s.Secure && s.hasCapability("STARTTLS", "") {
		if err := s.upgrade(ctx); err != nil {
			return err
		}
	}
	limit := mailsession.MaxLogins
	if !s.Secure && !d.opts.AllowPlaintext {
		_, hasPassword := t.Login.Password()
		if !hasPassword || d.env.Foreign(ctx) {
			return &fetch.Error{Code: fetch.ErrAuth, Err: errPlaintext,
				Reason: fetch.Reason{Kind: fetch.ReasonPlaintext}, Hint: "use nntps or snews"}
		}
		if d.warnedServers.Add(t.Addr()) {
			d.env.Logger().Warn("the password in the URL is sent in plaintext", "server", t.Addr())
		}
		limit = 1 // only the first credential comes from the URL
	}
	err := s.LogIn(ctx, &t.Server, "nntp", limit, &d.tried, s.authenticate)
	if err == nil && s.caps != nil {
		return s.capabilities() // a login changes them (RFC 4643, section 2.2)
	}
	return err
}

// SASL PLAIN is used if the server supports it but not AUTHINFO USER.
func (s *session) authenticate(cred fetch.Credential) error {
	if s.hasCapability("SASL", "PLAIN") && s.hasCapability("AUTHINFO", "SASL") &&
		!s.hasCapability("AUTHINFO", "USER") {
		return s.authenticatePlain(cred)
	}
	r, err := s.cmd("AUTHINFO USER " + cred.User)
	if err != nil {
		return err
	}
	if r.Code == replyPassword {
		if err := s.Lines.SendSecret("AUTHINFO PASS "+cred.Password, "AUTHINFO PASS ********"); err != nil {
			return err
		}
		if r, err = s.reply(); err != nil {
			return err
		}
	}
	if r.Code != replyLoggedIn {
		return failure("login", r)
	}
	return nil
}

// authenticatePlain authenticates with SASL PLAIN (RFC 4616). It sends the initial response in the
// command, or separately if the command would be too long (RFC 4643, section 2.4).
func (s *session) authenticatePlain(cred fetch.Credential) error {
	const command, maxCommand = "AUTHINFO SASL PLAIN", 510
	initial, err := mailsession.Plain(cred)
	if err != nil {
		return err
	}
	line := command + " " + initial
	if len(line) > maxCommand {
		line = command
	}
	if err := s.Lines.SendSecret(line, command+" ********"); err != nil {
		return err
	}
	r, err := s.reply()
	if err == nil && r.Code == replySASLContinue && line == command {
		if err = s.Lines.SendSecret(initial, "********"); err == nil {
			r, err = s.reply()
		}
	}
	switch {
	case err != nil:
		return err
	case r.Code == replySASLContinue:
		return s.Lines.Break(failure("the server continues the login after the password", r))
	case r.Code != replyLoggedIn:
		return failure("login", r)
	}
	return nil
}
