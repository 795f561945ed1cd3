package telnet

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
)

// A session is a network virtual terminal.
//
// A call of Resize, before any other, means that a user types. A CR is then the Enter key and is
// sent at once. Otherwise the input is text, and CR LF may be split between two calls of Write.
type session struct {
	*link
	login    *autoLogin // nil without automatic login
	terminal atomic.Bool
}

func acceptTerminal(command, option byte) bool {
	switch option {
	case optBinary, optSGA:
		return true
	case optEcho:
		return command == cmdWILL
	case optTType, optNAWS:
		return command == cmdDO
	}
	return false
}

func (s *session) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	defer s.conn.Piece()() // commands without data are not progress
	for {
		n, _, err := s.read(p)
		if reply := s.login.respond(p[:n]); reply != nil {
			if _, err := s.write(reply, false); err != nil {
				return n, err
			}
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write sends p. If the server does not echo, p is echoed locally, and Enter ends a line (RFC 854).
func (s *session) Write(p []byte) (int, error) {
	if !s.terminal.Load() {
		return s.write(p, true)
	}
	if s.echoed() {
		return s.write(p, false)
	}
	typed := bytes.ReplaceAll(p, []byte{'\r'}, []byte("\r\n"))
	s.queueLocal(typed) // first, so that it precedes the server's output
	if _, err := s.write(typed, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *session) Resize(columns, rows int) error {
	s.terminal.Store(true)
	return s.resize(columns, rows)
}

func (l *link) Break() error { return l.sendCommand(cmdBRK) }

func (l *link) sendCommand(command byte) error {
	l.record.command(true, command)
	return l.send(false, func(dst []byte) []byte { return append(dst, cmdIAC, command) })
}

func (l *link) Status() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.negotiated {
		return "connected; the server negotiates no telnet options"
	}
	return fmt.Sprintf("terminal type %s; client options: %s; server options: %s", l.term,
		enabledOptions(&l.opts.us), enabledOptions(&l.opts.him))
}

func enabledOptions(sides *[256]bool) string {
	var names []string
	for i := range sides {
		if sides[i] {
			names = append(names, optionName(byte(i)))
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

var _ fetch.Terminal = (*session)(nil)
