package telnet

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/tn3270"
)

const (
	// displayType is the terminal type that selects the 3270 data stream, for 24 lines of 80
	// characters (RFC 1576).
	displayType = "IBM-3278-2"
	// maxRecord limits a record of the host, in bytes. A screen takes several thousand.
	maxRecord = 64 << 10
)

func (d *opener) tn3270(ctx context.Context, addr string, _ *fetch.Request) (io.ReadWriteCloser, error) {
	l, err := d.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	l.term = displayType
	l.accept = func(command, option byte) bool {
		switch option {
		case optBinary, optEOR:
			return true
		case optTN3270E:
			return command == cmdDO && !l.extension.over
		}
		return option == optTType && command == cmdDO
	}
	s := &display{link: l, buf: make([]byte, 4<<10), changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s, nil
}

type display struct {
	link   *link
	ctx    context.Context // done when the session ends
	cancel context.CancelCauseFunc

	// Used by the reader only.
	buf    []byte // input buffer
	record []byte // the record so far
	out    []byte // output that the caller has not yet read
	shown  bool   // a screen was returned

	mu      sync.Mutex
	screen  tn3270.Screen
	changed chan struct{} // closed and replaced when the host changes the screen
	dirty   bool          // the screen must be redrawn
	columns int           // of the caller's terminal; 0 without one
	rows    int
	keys    []byte // incomplete key or character
	asText  bool   // the host has sent text instead of a screen (RFC 2355, section 9.1)
	line    []byte // typed meanwhile
	echo    []byte // of that at a terminal
}

// Read returns the screen after each change by the host and, for a terminal, by typing. Data before
// the agreement on records are text.
func (s *display) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	done := s.link.conn.Piece() // data without output are not progress
	defer func() { done() }()
	for {
		s.draw()
		if len(s.out) > 0 {
			n := copy(p, s.out)
			s.out = s.out[n:]
			return n, nil
		}
		n, eor, err := s.link.read(s.buf)
		switch {
		case err == errWoken:
			done()
			done = s.link.conn.Piece()
			continue
		case err == io.EOF && len(s.record) > 0:
			err = fetch.ErrTruncated.Errorf("the host closed the connection within a record")
		case err != nil:
		case s.link.inRecord:
			err = s.appendRecord(s.buf[:n], eor)
		default:
			s.out = append(s.out, plainText(s.buf[:n])...)
		}
		if err != nil {
			s.cancel(err)
			return 0, err
		}
	}
}

func (s *display) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(s.out, s.echo...)
	s.echo = s.echo[:0]
	if s.dirty && !s.asText && len(s.out) == 0 {
		s.out, s.dirty = s.screen.Draw(s.out[:0], s.columns, s.rows), false
	}
}

func (s *display) appendRecord(p []byte, eor bool) error {
	if len(s.record)+len(p) > maxRecord {
		return fetch.ErrProtocol.Errorf("record of more than %d bytes", maxRecord)
	}
	s.record = append(s.record, p...)
	if !eor {
		return nil
	}
	record := s.record
	s.record = s.record[:0]
	if s.link.extended() {
		if len(record) < extHeader {
			return fetch.ErrProtocol.Errorf("a TN3270E record of %d bytes has no header", len(record))
		}
		kind := record[0]
		record = record[extHeader:]
		switch kind {
		case extText:
			s.setMode(true)
			s.out = append(s.out, plainText(record)...)
			return nil
		case ext3270:
			s.setMode(false)
		default:
			return nil // of a function that was not agreed on
		}
	}
	reply, err := s.apply(record)
	if err != nil {
		return fetch.ErrProtocol.Errorf("3270 data stream: %w", err)
	}
	if reply == nil {
		return nil
	}
	return s.send(ext3270, reply)
}

// send sends a record with data of a type.
func (s *display) send(kind byte, data []byte) error {
	if s.link.extended() {
		data = append([]byte{kind, 0, 0, 0, 0}, data...)
	}
	return s.link.sendRecord(data)
}

// setMode clears the screen when the host changes between a screen and text.
func (s *display) setMode(text bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asText == text {
		return
	}
	s.asText, s.screen, s.dirty, s.line = text, tn3270.Screen{}, false, nil
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *display) apply(record []byte) (reply []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.screen.Text()
	if reply, err = s.screen.Apply(record); err != nil {
		return nil, err
	}
	close(s.changed)
	s.changed = make(chan struct{})
	text := s.screen.Text()
	switch {
	case s.columns > 0:
		s.dirty = true
	case text == "" || text == before:
	case s.shown:
		s.out = append(append(s.out, '\n'), text...)
	default:
		s.out, s.shown = append(s.out, text...), true
	}
	return reply, nil
}

// plainText removes control characters other than tabs and line endings.
func plainText(p []byte) []byte {
	var out []byte
	for _, c := range p {
		if c == '\t' || c == '\r' || c == '\n' || c >= ' ' && c < 0x7f {
			out = append(out, c)
		}
	}
	return out
}

func (s *display) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = append(s.keys, p...)
	if s.columns > 0 {
		return len(p), s.pressKeys()
	}
	for len(s.keys) > 0 && utf8.FullRune(s.keys) {
		r, n := utf8.DecodeRune(s.keys)
		if err := s.typeRune(r); err != nil {
			s.keys = nil // discard the rest
			return 0, err
		}
		s.keys = s.keys[n:]
	}
	return len(p), nil
}

// While the keyboard is locked, only keys that unlock it take effect.
func (s *display) pressKeys() error {
	for len(s.keys) > 0 {
		k, n := tn3270.ParseKey(s.keys)
		if n == 0 {
			break
		}
		s.keys = s.keys[n:]
		switch {
		case s.asText:
			if err := s.typeAsText(k); err != nil {
				return err
			}
			continue
		case k.AID != 0:
			if err := s.attention(k.AID); err != nil {
				return err
			}
		case k.Rune != 0:
			s.screen.Type(k.Rune)
		case k.Reset:
			s.screen.Reset()
		case k.Move != 0:
			s.screen.Move(k.Move)
		}
		s.dirty = true
	}
	s.link.wake()
	return nil
}

// typeRune types a character of a text after the keyboard is unlocked.
func (s *display) typeRune(r rune) error {
	if r != '\n' && r != '\t' && unicode.IsControl(r) {
		return nil
	}
	for !s.screen.Ready() && !s.asText {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.ctx.Done():
		}
		s.mu.Lock()
		if err := context.Cause(s.ctx); err == io.EOF {
			return fetch.ErrNetwork.Errorf("the host closed the connection before all text was typed")
		} else if err != nil {
			return sessionError(err)
		}
	}
	switch {
	case s.asText:
		return s.typeInLine(r)
	case r == '\n':
		return s.attention(tn3270.Enter)
	case r == '\t':
		s.screen.Move(tn3270.Tab)
	case !s.screen.Type(r):
		row, column := s.screen.Cursor()
		return fetch.ErrRefused.Errorf("the screen does not accept %q in line %d, column %d", r, row+1,
			column+1)
	}
	return nil
}

// maxLine limits a line that is typed, in bytes. What exceeds it is lost.
const maxLine = 4 << 10

// typeInLine types a character for a host that has sent text. Lines are sent as a whole.
func (s *display) typeInLine(r rune) error {
	if r == '\n' {
		line := append(s.line, "\r\n"...)
		s.line = nil
		return s.send(extText, line)
	}
	if len(s.line) < maxLine {
		s.line = utf8.AppendRune(s.line, r)
	}
	return nil
}

func (s *display) typeAsText(k tn3270.Key) error {
	switch {
	case k.AID == tn3270.Enter:
		s.echo = append(s.echo, "\r\n"...)
		return s.typeInLine('\n')
	case k.Rune != 0:
		s.echo = utf8.AppendRune(s.echo, k.Rune)
		return s.typeInLine(k.Rune)
	}
	return nil
}

// attention sends a key to the host. The caller holds s.mu, so that keys are sent in order.
func (s *display) attention(key tn3270.AID) error {
	if record := s.screen.Press(key); record != nil && s.link.inRecordMode() {
		return s.send(ext3270, record)
	}
	return nil
}

func (s *display) Close() error {
	s.cancel(net.ErrClosed)
	return s.link.Close()
}

// Resize implements fetch.Terminal. The size is not sent, because the host's screen has a fixed
// size.
func (s *display) Resize(columns, rows int) error {
	if columns <= 0 || rows <= 0 {
		return fetch.ErrProtocol.Errorf("invalid window size: %d by %d", columns, rows)
	}
	s.mu.Lock()
	s.columns, s.rows, s.dirty = columns, rows, true
	s.mu.Unlock()
	s.link.wake()
	return nil
}

// Break implements fetch.Terminal. Hosts treat the command BRK as the Attn key (RFC 1576), with TN3270E
// the command IP (RFC 2355, section 11).
func (s *display) Break() error {
	if s.link.extended() {
		return s.link.sendCommand(cmdIP)
	}
	return s.link.Break()
}

func (s *display) Status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := []string{s.link.Status(), "the host has locked the keyboard (Ctrl-R unlocks it)"}
	if !s.link.inRecordMode() {
		words[1] = "no 3270 session was negotiated"
	} else if s.asText {
		words[1] = "the host reads lines"
	} else if s.screen.Ready() {
		row, column := s.screen.Cursor()
		words[1] = fmt.Sprintf("cursor in line %d, column %d", row+1, column+1)
	}
	return strings.Join(words, "; ")
}

var _ fetch.Terminal = (*display)(nil)
