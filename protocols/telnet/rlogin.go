package telnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

const (
	rloginPort = 513
	// Servers trust clients with these ports (RFC 1282), which are reserved to privileged programs.
	highestTrusted, lowestTrusted = 1023, 1016
	// sizeRequested is the urgent byte by which a server requests the window size, now and after
	// every change (RFC 1282).
	sizeRequested = 0x80
	// maxRefusal limits the reason of a refusal, in bytes.
	maxRefusal = 512
)

func (d *opener) rlogin(ctx context.Context, addr string, req *fetch.Request) (io.ReadWriteCloser, error) {
	g, err := d.autoLogin(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	localName := localUser()
	remoteName := localName
	if g != nil && g.cred.User != "" {
		remoteName = g.cred.User
	} else if name, ok := req.URL.User(); ok && name != "" {
		remoteName = name
	}
	hello := []string{localName, remoteName, d.opts.terminalType() + "/38400"}
	for _, s := range hello {
		if err := wire.CheckLine(s); err != nil {
			return nil, err
		}
	}
	conn, trusted, err := d.dialTrusted(ctx, addr)
	if err != nil {
		return nil, err
	}
	conn.Bind(ctx)
	s := &rlogin{conn: conn, login: g, record: newTranscript(d.opts.Transcript, driver.Line(ctx))}
	timeouts := d.env.Timeouts()
	done := s.conn.ReplyTimeout(timeouts.Reply)
	if err := s.hello(hello, trusted); err != nil {
		s.Close()
		return nil, err
	}
	done()
	return s, nil
}

func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

func (d *opener) dialTrusted(ctx context.Context, addr string) (conn *fetch.Conn, trusted bool, err error) {
	for port := uint16(highestTrusted); port >= lowestTrusted; port-- {
		conn, err := d.env.DialFrom(ctx, "tcp", addr, port)
		switch {
		case err == nil:
			return conn, true, nil
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
			continue
		case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		default:
			return nil, false, err
		}
		break
	}
	conn, err = d.env.Dial(ctx, "tcp", addr)
	return conn, false, err
}

// An rlogin is an rlogin session: plain bytes, with messages for the window size.
type rlogin struct {
	conn   *fetch.Conn
	login  *autoLogin // nil without automatic login
	record *transcript

	mu            sync.Mutex
	columns, rows int
	sendsSize     bool // the server requested the window size
}

// hello sends the user names and waits for the server's acknowledgement, a NUL.
func (s *rlogin) hello(fields []string, trusted bool) error {
	out := []byte{0}
	for _, f := range fields {
		out = append(append(out, f...), 0)
	}
	s.record.data(true, out)
	if _, err := s.conn.Write(out); err != nil {
		return err
	}
	reply := make([]byte, 1)
	_, err := io.ReadFull(s.conn, reply)
	switch {
	case err == nil && reply[0] == 0:
		s.record.data(false, reply)
		return nil
	case err == nil:
		text, _ := io.ReadAll(io.LimitReader(s.conn, maxRefusal))
		s.record.data(false, append(reply, text...))
		if reply[0] != 1 { // added by rcmd(3)
			text = append(reply, text...)
		}
		e := &fetch.Error{Code: fetch.ErrRefused, Reply: fetch.Reply{Text: wire.Text(string(text))},
			Err: errors.New("the server refused the login")}
		if isBusy(e.Reply.Text) {
			e.Code, e.Retry = fetch.ErrBusy, true
		}
		return e
	case trusted || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET):
		return err
	}
	return &fetch.Error{Code: fetch.ErrRefused,
		Err:  fmt.Errorf("the server closed the connection: %w", err),
		Hint: "connect from a port below 1024, which requires privileges"}
}

// isBusy reports whether a server refuses because it lacks terminals, processes or ports now. The
// protocol has no codes.
func isBusy(reason string) bool {
	reason = strings.ToLower(reason)
	return slices.ContainsFunc([]string{"in use", "try again", "too many", "no more", "out of", "busy"},
		func(words string) bool { return strings.Contains(reason, words) })
}

func (s *rlogin) Read(p []byte) (int, error) {
	if c, ok := urgent(s.conn); ok && c&sizeRequested != 0 {
		s.mu.Lock()
		s.sendsSize = true
		err := s.sendSize()
		s.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
	n, err := s.conn.Read(p)
	s.record.data(false, p[:n])
	if reply := s.login.respond(p[:n]); reply != nil {
		if _, err := s.Write(reply); err != nil {
			return n, err
		}
	}
	if err == nil {
		err = s.record.failed()
	}
	return n, sessionError(err)
}

func (s *rlogin) Write(p []byte) (int, error) {
	s.record.data(true, p)
	n, err := s.conn.WriteMasked(p, nil) // it may be a password
	return n, sessionError(err)
}

// Close ends the session without waiting for the server.
func (s *rlogin) Close() error {
	s.conn.Close()
	return nil
}

func (s *rlogin) Resize(columns, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.columns, s.rows = min(max(columns, 0), 1<<16-1), min(max(rows, 0), 1<<16-1)
	return s.sendSize()
}

func (s *rlogin) sendSize() error {
	if !s.sendsSize || s.columns == 0 {
		return nil
	}
	_, err := s.Write([]byte{0xff, 0xff, 's', 's', byte(s.rows >> 8), byte(s.rows),
		byte(s.columns >> 8), byte(s.columns), 0, 0, 0, 0})
	return err
}

// Break implements fetch.Terminal. The protocol has no break.
func (s *rlogin) Break() error {
	return fetch.ErrNotRetrievable.Errorf("rlogin has no break: %w", errors.ErrUnsupported)
}

func (s *rlogin) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sendsSize {
		return "connected; the server receives the window size"
	}
	return "connected; the server does not request the window size"
}

var _ fetch.Terminal = (*rlogin)(nil)
