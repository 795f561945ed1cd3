package imap

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/quoted"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

type session struct {
	mailsession.Session
	tag  int
	caps map[string]bool // in upper case

	mailbox  string // the selected mailbox, in modified UTF-7
	validity uint32 // UIDVALIDITY of the selected mailbox
}

type lease = mailsession.Lease[*session]

func (d *opener) dial(ctx context.Context, srv *mailsession.Server) (*session, error) {
	s := &session{}
	return s, s.Dial(ctx, d.env, srv, maxLine, func() error { return d.handshake(ctx, srv, s) })
}

func (d *opener) handshake(ctx context.Context, srv *mailsession.Server, s *session) error {
	done := s.ReplyTimeout()
	greeting, err := s.next(false)
	done()
	if err != nil {
		return err
	}
	condition, text, _ := strings.Cut(string(greeting.data), " ")
	condition = strings.ToUpper(condition)
	switch {
	case greeting.tag == "*" && condition == "BYE":
		return failure("the server rejected the session", condition, text)
	case greeting.tag != "*" || condition != "OK" && condition != "PREAUTH":
		return s.Lines.Break(fmt.Errorf("%w %.80q as a greeting", wire.ErrMalformed, greeting.data))
	}
	if err := s.capabilities(); err != nil {
		return err
	}
	if !s.Secure && (s.caps["STARTTLS"] || d.opts.StartTLS) && condition == "OK" {
		err := s.StartTLS(ctx, s.cmd("the server refused STARTTLS", "STARTTLS", nil))
		if err == nil {
			err = s.capabilities()
		}
		if err != nil {
			return err
		}
	}
	if condition == "PREAUTH" {
		if d.opts.StartTLS && !s.Secure {
			return fetch.ErrTLS.Errorf("the server requires no login and cannot start TLS afterwards")
		}
		return nil
	}
	return d.logIn(ctx, srv, s)
}

// A server that refuses the command has no capabilities (IMAP2, RFC 1176).
func (s *session) capabilities() error {
	s.caps = make(map[string]bool)
	err := s.cmd("CAPABILITY", "CAPABILITY", func(r response) error {
		name, list, _ := strings.Cut(string(r.data), " ")
		if strings.EqualFold(name, "CAPABILITY") {
			for _, c := range strings.Fields(list) {
				s.caps[strings.ToUpper(c)] = true
			}
		}
		return nil
	})
	if mailsession.Refusal(err) != nil && s.Lines.Err() == nil {
		return nil
	}
	return err
}

// cmd calls handle, which may be nil, for each untagged response. A refusal starts with desc.
func (s *session) cmd(desc, line string, handle func(response) error) error {
	tag, err := s.send(line, "")
	if err != nil {
		return err
	}
	return s.finish(desc, tag, handle)
}

// send returns the command's tag. If redacted is not empty, the trace shows it instead of line.
func (s *session) send(line, redacted string) (tag string, err error) {
	s.tag++
	tag = "u" + strconv.Itoa(s.tag)
	if redacted != "" {
		return tag, s.Lines.SendSecret(tag+" "+line, tag+" "+redacted)
	}
	return tag, s.Lines.Send(tag + " " + line)
}

// maxResponses limits the untagged responses to one command, except in listings.
const maxResponses = 100_000

// finish reads the responses to a command up to its status, all within one reply timeout.
func (s *session) finish(desc, tag string, handle func(response) error) error {
	defer s.ReplyTimeout()()
	for range maxResponses {
		r, err := s.next(false)
		if err != nil {
			return err
		}
		done, err := s.status(desc, tag, r)
		if done || err != nil {
			return err
		}
		if handle != nil {
			if err := handle(r); err != nil {
				return s.Lines.Break(err)
			}
		}
	}
	return s.Lines.Break(fmt.Errorf("%w: more than %d responses to a command", wire.ErrReplyTooLong,
		maxResponses))
}

// status reports whether r completes the command with the tag.
func (s *session) status(desc, tag string, r response) (done bool, err error) {
	condition, text, _ := strings.Cut(string(r.data), " ")
	condition = strings.ToUpper(condition)
	switch {
	case r.tag == "*" && condition == "BYE":
		return true, s.Lines.Break(failure(desc, condition, text))
	case r.tag == "*":
		return false, nil
	case r.tag != tag:
		return true, s.Lines.Break(fmt.Errorf("%w: %.80q instead of the tagged response",
			wire.ErrMalformed, r.tag+" "+string(r.data)))
	case condition == "OK":
		return true, nil
	case condition == "NO" || condition == "BAD":
		return true, failure(desc, condition, text)
	}
	return true, s.Lines.Break(fmt.Errorf("%w %.80q", wire.ErrMalformed, r.data))
}

// If force is set, examine selects the mailbox even if it is already selected.
func (s *session) examine(t *target, force bool) error {
	name := encodeName(t.mailbox)
	if s.mailbox != name || force {
		s.mailbox, s.validity = "", 0
		err := s.cmd("mailbox "+t.mailbox, "EXAMINE "+quoted.String(name), func(r response) error {
			_, text, _ := strings.Cut(string(r.data), " ")
			if value, ok := strings.CutPrefix(code(text), "UIDVALIDITY "); ok {
				n, _ := strconv.ParseUint(value, 10, 32)
				s.validity = uint32(n)
			}
			return nil
		})
		var e *fetch.Error
		if errors.As(err, &e) && strings.HasPrefix(e.Reply.Text, "NO") && e.Code == fetch.ErrRefused {
			e.Code = fetch.ErrNotFound // older servers send NO without a response code
		}
		if e != nil && e.Code == fetch.ErrNotFound {
			e.Hint = t.messageHint()
		}
		if err != nil {
			return err
		}
		s.mailbox = name
	}
	if t.validity != 0 && t.validity != s.validity {
		return fetch.ErrNotFound.Errorf(
			"the UIDVALIDITY of the mailbox is %d, which is not the one in the URL", s.validity)
	}
	return nil
}

// leaseSession prefers a session that has selected the mailbox of t. The caller must end the lease.
func (d *opener) leaseSession(ctx context.Context, t *target, op func(*session) error) (lease, error) {
	name := encodeName(t.mailbox)
	return d.pool.Lease(ctx, &t.Server, func(s *session) bool { return s.mailbox == name },
		func(l lease) error { return op(l.Conn) })
}
