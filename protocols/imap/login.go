package imap

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// maxLogins bounds how often credentials are asked for.
const maxLogins = 3

// logIn logs in, by SASL PLAIN if the server has it, else by LOGIN.
func (d *driver) logIn(ctx context.Context, t *target, s *session) error {
	plain := s.caps["AUTH=PLAIN"] || t.auth == "PLAIN"
	switch {
	case t.auth != "" && t.auth != "PLAIN":
		return &fetch.Error{Code: fetch.ErrAuth, Err: fmt.Errorf("urlget has no login by %s, but by PLAIN", fetch.Printable(t.auth))}
	case !s.secure && !d.opts.AllowPlaintext:
		return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the password would travel in plaintext, as the server has no TLS here"),
			Reason: fetch.Reason{Kind: fetch.ReasonPlaintext}, Hint: "use imaps"}
	case !plain && s.caps["LOGINDISABLED"]:
		return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the server has no login by PLAIN or LOGIN")}
	}
	for attempt := 1; ; attempt++ {
		user, _ := t.login.User()
		cred, err := d.env.Credential(ctx, fetch.Challenge{URL: t.login, Mechanism: "imap", Realm: t.host, User: user, Attempt: attempt})
		switch {
		case err == nil:
		case attempt > 1 && errors.Is(err, fetch.ErrAuth):
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the server refused the user name or password")}
		case errors.Is(err, fetch.ErrAuth):
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the server wants a login"),
				Reason: fetch.Reason{Kind: fetch.ReasonNoLogin}}
		default:
			return err
		}
		if plain {
			err = s.plain(cred)
		} else {
			err = s.login(cred)
		}
		if err == nil {
			return s.capabilities() // they may change
		}
		var e *fetch.Error
		if !errors.As(err, &e) || e.Reply.IsZero() {
			return err
		}
		if e.Code == fetch.ErrRefused {
			e.Code = fetch.ErrAuth // older servers say no more than no
		}
		if e.Code != fetch.ErrAuth || attempt == maxLogins || s.lines.Err() != nil {
			return err
		}
	}
}

// login authenticates by LOGIN (RFC 3501, section 6.2.3).
func (s *session) login(cred fetch.Credential) error {
	tag, err := s.send("LOGIN "+quote(cred.User)+" "+quote(cred.Password), "LOGIN "+quote(cred.User)+" ********")
	if err != nil {
		return err
	}
	return s.finish("login", tag, nil)
}

// plain authenticates by SASL PLAIN (RFC 4616), with the answer in the command if the server can
// take it there (RFC 4959).
func (s *session) plain(cred fetch.Credential) error {
	const command = "AUTHENTICATE PLAIN"
	if strings.ContainsRune(cred.User+cred.Password, 0) {
		return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("a NUL in the user name or password")}
	}
	answer := base64.StdEncoding.EncodeToString([]byte("\x00" + cred.User + "\x00" + cred.Password))
	if s.caps["SASL-IR"] {
		tag, err := s.send(command+" "+answer, command+" ********")
		if err != nil {
			return err
		}
		return s.finish("login", tag, nil)
	}
	tag, err := s.send(command, "")
	if err != nil {
		return err
	}
	defer s.inTime()()
	for range maxAnswers {
		r, err := s.next(false)
		if err != nil {
			return err
		}
		if r.tag == "+" {
			if err := s.lines.SendSecret(answer, "********"); err != nil {
				return err
			}
			return s.finish("login", tag, nil)
		}
		if done, err := s.status("login", tag, r); done || err != nil {
			if err == nil {
				err = s.lines.Break(fmt.Errorf("%w: a login without a password", wire.ErrMalformed))
			}
			return err
		}
	}
	return s.lines.Break(fmt.Errorf("%w: more than %d answers to a command", wire.ErrReplyTooLong, maxAnswers))
}
