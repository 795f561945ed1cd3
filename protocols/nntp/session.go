package nntp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// maxLine limits replies and overview lines, in bytes. Overview lines contain complete header fields.
const maxLine = 60 << 10

type session struct {
	mailsession.Session
	noPosting bool              // the greeting was 201: posting is not allowed
	caps      map[string]string // arguments by label, in upper case; nil for servers of RFC 977
	group     string            // the selected group
}

func (d *opener) dial(ctx context.Context, srv *mailsession.Server) (*session, error) {
	s := &session{}
	return s, s.Dial(ctx, d.env, srv, maxLine, func() error { return d.handshake(ctx, s) })
}

func (d *opener) handshake(ctx context.Context, s *session) error {
	s.Conn.PieceLines()
	greeting, err := s.reply()
	if err != nil {
		return err
	}
	if greeting.Code != replyPosting && greeting.Code != replyNoPosting {
		return failure("the server rejected the session", greeting)
	}
	s.noPosting = greeting.Code == replyNoPosting
	if d.opts.StartTLS && !s.Secure {
		if err := s.startTLS(ctx); err != nil {
			return err
		}
	}
	return s.enterReaderMode()
}

func (s *session) enterReaderMode() error {
	if err := s.capabilities(); err != nil {
		return err
	}
	_, transitMode := s.caps["MODE-READER"]
	if s.caps != nil && !transitMode {
		return nil
	}
	r, err := s.cmd("MODE READER")
	switch {
	case err != nil:
		return err
	case r.Code == replyNotPermitted && s.noPosting && !transitMode:
		return nil // a reader server of RFC 977 that does not support MODE READER
	case r.Code == replyDiscontinued || r.Code == replyNotPermitted:
		return failure("the server does not accept readers", r)
	case transitMode:
		return s.capabilities()
	}
	return nil // servers of RFC 977 may not support MODE READER
}

func (s *session) capabilities() error {
	s.caps = nil
	r, err := s.cmd("CAPABILITIES")
	if err != nil || r.Code != replyCapabilities {
		return err
	}
	s.caps, err = s.Capabilities()
	return err
}

// hasCapability reports whether the server advertises a capability and, unless arg is "", the argument.
func (s *session) hasCapability(label, arg string) bool {
	args, ok := s.caps[label]
	return ok && (arg == "" || strings.Contains(" "+args+" ", " "+arg+" "))
}

// reply reads one reply within the reply timeout.
func (s *session) reply() (wire.Reply, error) {
	defer s.ReplyTimeout()()
	return s.Lines.Reply()
}

func (s *session) cmd(line string) (wire.Reply, error) {
	if err := s.Lines.Send(line); err != nil {
		return wire.Reply{}, err
	}
	return s.reply()
}

func (s *session) expect(code int, desc, line string) (wire.Reply, error) {
	r, err := s.cmd(line)
	if err == nil && r.Code != code {
		err = s.unexpectedReply(desc, r)
	}
	return r, err
}

// A reply code below 400 means that replies are out of step with commands.
func (s *session) unexpectedReply(desc string, r wire.Reply) error {
	err := failure(desc, r)
	if r.Code < 400 {
		return s.Lines.Break(err)
	}
	return err
}

// startTLS sends STARTTLS and starts TLS. The server then discards its state (RFC 4642, section
// 2.2.2).
func (s *session) startTLS(ctx context.Context) error {
	r, err := s.cmd("STARTTLS")
	if err == nil && r.Code != replyStartTLS {
		err = failure("the server refused STARTTLS", r)
	}
	if err = s.StartTLS(ctx, err); err == nil {
		s.group, s.caps = "", nil
	}
	return err
}

func (s *session) selectGroup(group string) (wire.Reply, error) {
	s.group = ""
	r, err := s.expect(replyGroup, "newsgroup "+group, "GROUP "+group)
	if err != nil {
		return r, err
	}
	s.group = group
	return r, s.checkGroup(r)
}

// checkGroup returns an error if the reply "211 number low high group" selects another group (RFC 3977,
// section 6.1.1.2). Servers of RFC 977 may add words.
func (s *session) checkGroup(r wire.Reply) error {
	words := strings.Fields(r.Lines[0])
	isGroup := func(word string) bool { return strings.EqualFold(word, s.group) }
	if _, err := parseGroupReply(r); err != nil || len(words) < 4 || slices.ContainsFunc(words[3:], isGroup) {
		return nil
	}
	return s.Lines.Break(&fetch.Error{Code: fetch.ErrProtocol,
		Reply: fetch.Reply{Code: r.Code, Text: r.Text()},
		Err:   fmt.Errorf("the server selected another newsgroup than %s", s.group)})
}

// A lease is a session in use, bound to the context of one request.
type lease struct {
	*session
	mailsession.Lease[*session]

	// pending lists the articles that were requested for later requests of the pipeline, and whose
	// replies are unread. All of them have the same server and scope. pipeline is nil without one.
	pending  []*target
	pipeline fetch.Pipeline
	key      mailsession.Key
	scope    string
}

// If replies are outstanding, Put keeps the lease for the next request of the pipeline.
func (l *lease) Put() {
	switch {
	case len(l.pending) == 0:
		l.Lease.Put()
	case !l.Unbind() || l.Lines.Err() != nil || !l.pipeline.Keep(l, l.Discard):
		l.Discard()
	}
}

// leaseSession leases a session and calls op with it, after a login or STARTTLS if the server
// requires one. If leaseSession succeeds, the caller must put or discard the lease.
func (d *opener) leaseSession(ctx context.Context, t *target, op func(*lease) error) (*lease, error) {
	var l *lease
	inGroup := func(s *session) bool { return t.group != "" && s.group == t.group }
	_, err := d.pool.Lease(ctx, &t.Server, inGroup, func(leased mailsession.Lease[*session]) error {
		l = &lease{session: leased.Conn, Lease: leased}
		err := d.attempt(ctx, t, l, op)
		if replyCode(err) == replyDiscontinued {
			l.Lines.Break(err) // servers also send 400 before they close an idle connection
		}
		return err
	})
	return l, err
}

// attempt calls op. If the server requires a login or TLS, it calls op again afterwards.
func (d *opener) attempt(ctx context.Context, t *target, l *lease, op func(*lease) error) error {
	for try := 1; ; try++ {
		err := op(l)
		switch code := replyCode(err); {
		case code == replyLoginRequired && try <= 2:
			if err := d.login(ctx, t, l.session); err != nil {
				return err
			}
		case code == replyTLSRequired && !l.Secure && l.hasCapability("STARTTLS", ""):
			if err := l.upgrade(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (s *session) upgrade(ctx context.Context) error {
	if err := s.startTLS(ctx); err != nil {
		return err
	}
	return s.enterReaderMode()
}
