package imap

import (
	"context"
	"fmt"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/quoted"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

func (d *opener) logIn(ctx context.Context, srv *mailsession.Server, s *session) error {
	plain := s.caps["AUTH=PLAIN"] || srv.Auth == "PLAIN"
	if srv.Auth != "" && srv.Auth != "PLAIN" {
		return fetch.ErrAuth.Errorf("unsupported login mechanism %s: urlget supports PLAIN",
			fetch.Printable(srv.Auth))
	}
	if err := s.CheckPlaintext(d.opts.AllowPlaintext, "imap"); err != nil {
		return err
	}
	if !plain && s.caps["LOGINDISABLED"] {
		return fetch.ErrAuth.Errorf("the server supports neither PLAIN nor LOGIN")
	}
	err := s.LogIn(ctx, srv, "imap", mailsession.MaxLogins, &d.tried, func(cred fetch.Credential) error {
		if plain {
			return s.authenticatePlain(cred)
		}
		return s.login(cred)
	})
	if err != nil {
		return err
	}
	return s.capabilities() // a login may change them
}

// login authenticates with LOGIN (RFC 3501, section 6.2.3).
func (s *session) login(cred fetch.Credential) error {
	tag, err := s.send("LOGIN "+quoted.String(cred.User)+" "+quoted.String(cred.Password),
		"LOGIN "+quoted.String(cred.User)+" ********")
	if err != nil {
		return err
	}
	return s.finish("login", tag, nil)
}

// With SASL-IR (RFC 4959), the command includes the initial response.
func (s *session) authenticatePlain(cred fetch.Credential) error {
	const command = "AUTHENTICATE PLAIN"
	initial, err := mailsession.Plain(cred)
	if err != nil {
		return err
	}
	if s.caps["SASL-IR"] {
		tag, err := s.send(command+" "+initial, command+" ********")
		if err != nil {
			return err
		}
		return s.finish("login", tag, nil)
	}
	tag, err := s.send(command, "")
	if err != nil {
		return err
	}
	defer s.ReplyTimeout()()
	for range maxResponses {
		r, err := s.next(false)
		if err != nil {
			return err
		}
		if r.tag == "+" {
			if err := s.Lines.SendSecret(initial, "********"); err != nil {
				return err
			}
			return s.finish("login", tag, nil)
		}
		if done, err := s.status("login", tag, r); done || err != nil {
			if err == nil {
				err = fmt.Errorf("%w: the server accepted the login without a password", wire.ErrMalformed)
				err = s.Lines.Break(err)
			}
			return err
		}
	}
	return s.Lines.Break(fmt.Errorf("%w: more than %d responses to a command", wire.ErrReplyTooLong,
		maxResponses))
}
