package telnet

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

const eor = "\xff\xef"

// ebcdic encodes text for a host.
func ebcdic(s string) string {
	out, err := charmap.CodePage037.NewEncoder().String(s)
	if err != nil {
		panic(err)
	}
	return out
}

// negotiate negotiates like a host (RFC 1576).
func negotiate(c *telnetd.Conn) {
	c.Send("\xff\xfd\x18")
	c.Expect("\xff\xfb\x18")
	c.Send("\xff\xfa\x18\x01\xff\xf0")
	c.Expect("\xff\xfa\x18\x00IBM-3278-2\xff\xf0")
	c.Send("\xff\xfd\x19\xff\xfb\x19\xff\xfd\x00\xff\xfb\x00")
	c.Expect("\xff\xfb\x19\xff\xfd\x19\xff\xfb\x00\xff\xfd\x00")
}

// host runs a script after the negotiation.
func host(script func(*telnetd.Conn)) func(*telnetd.Conn) {
	return func(c *telnetd.Conn) { negotiate(c); script(c) }
}

// form is a screen with a field of four characters and the cursor in it.
var form = "\xf5\x03\x1d\x60" + ebcdic("name") + "\x1d\x40\x13\x00\x00\x00\x00\x1d\xf0"

// enter writes text concurrently with the reader.
func enter(s io.Writer, text string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(s, text)
		done <- err
	}()
	return done
}

func TestDisplayAsText(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
		c.Send("\x1b[2JWelcome\r\n")
		negotiate(c)
		c.Send(form + eor)
		c.Expect("\x7d\x40\xc8\x11\x40\xc6" + ebcdic("jo") + eor)
		c.Send("\xf1\x00" + eor) // changes nothing
		// The keyboard is unlocked.
		c.Send("\xf1\x02\x11\x40\x40" + ebcdic("Hello") + "\x11\x40\xc6\x13" + eor)
		c.Expect("\x7d\x40\xc6" + "\x11\x40\xc6" + ebcdic("jo") + eor)
		c.Send("\xf5\x02\x08\xff\xff" + ebcdic("x") + eor)
	})
	typed := enter(s, "jo\r\n\n")
	expect(t, s, "[2JWelcome\r\n name\n\nHello jo\n\n?x\n")
	expectEnd(t, s)
	if err := <-typed; err != nil {
		t.Error(err)
	}
}

func TestDisplayAtTerminal(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) {
		c.Send(form + eor)
		c.Expect("\xf3\x40\xc7\x11\x40\xc6" + ebcdic("j") + eor)
		c.Expect("\xff\xf3")
		c.Send("\xf5\x00" + ebcdic("bye") + eor)
	}))
	term := s.(fetch.Terminal)
	if err := term.Resize(10, 1); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "\x1b[1;1H\x1b[K          \x1b[1;1H")
	expect(t, s, "\x1b[1;1H\x1b[K name     \x1b[1;7H")
	if got := term.Status(); !strings.Contains(got, "cursor in line 1, column 7") {
		t.Error(got)
	}
	io.WriteString(s, "j")
	expect(t, s, "\x1b[1;1H\x1b[K name j   \x1b[1;8H")
	io.WriteString(s, "\x1b")
	io.WriteString(s, "3x") // the x is lost: the keyboard is locked
	expect(t, s, "\x1b[1;1H\x1b[K name j   \x1b[1;8H")
	if got := term.Status(); !strings.Contains(got, "locked") {
		t.Error(got)
	}
	if err := term.Break(); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "\x1b[1;1H\x1b[Kbye       \x1b[1;1H")
	expectEnd(t, s)
	if err := term.Resize(0, 24); fetch.CodeOf(err) != fetch.ErrProtocol {
		t.Errorf("a window without columns: %v", err)
	}
}

func TestDisplayRepliesToQuery(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) {
		c.Send("\xf3\x00\x05\x01\xff\xff\x02" + eor)
		c.Expect("\x88\x00\x06\x81\x80\x80\x81\x00\x17\x81\x81\x01\x00\x00\x50\x00\x18\x01\x00\x01\x00\x03\x00\x01\x00\x03\x09\x10\x07\x80" + eor)
		c.Send("\xf5\x00" + ebcdic("ok") + eor)
	}))
	expect(t, s, "ok\n")
	expectEnd(t, s)
}

func TestDisplayErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, send, typed string
		read, write       fetch.Code
	}{
		{"an address beyond the screen", "\xf5\x00\x11\x07\x80" + eor, "", fetch.ErrProtocol, ""},
		{"no command", "hello" + eor, "", fetch.ErrProtocol, ""},
		{"the end within a record", "\xf5\x00", "", fetch.ErrTruncated, ""},
		{"closed before all was typed", "", "x", "", fetch.ErrNetwork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) { c.Send(tt.send) }))
			typed := enter(s, tt.typed)
			if _, err := io.Copy(io.Discard, s); fetch.CodeOf(err) != tt.read {
				t.Errorf("read: %v", err)
			}
			if err := <-typed; fetch.CodeOf(err) != tt.write {
				t.Errorf("write: %v", err)
			}
		})
	}
}

func TestDisplayProtectedScreen(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) {
		c.Send("\xf5\x02" + ebcdic("a") + "\x1d\x60\x13" + ebcdic("b") + eor)
		c.Expect("\x7d\x40\xc2" + eor)
	}))
	typed := enter(s, "x")
	expect(t, s, "a b\n")
	if err := <-typed; fetch.CodeOf(err) != fetch.ErrRefused || !strings.Contains(err.Error(), "line 1, column 3") {
		t.Error(err)
	}
	if err := <-enter(s, "\n"); err != nil { // the x was discarded
		t.Error(err)
	}
	expectEnd(t, s)
}

func TestDisplayEndlessRecord(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, host(func(c *telnetd.Conn) {
		c.Send("\xf1")
		c.Flood(strings.Repeat("\x40", 4096))
	}))
	if n, err := io.Copy(io.Discard, s); n != 0 || fetch.CodeOf(err) != fetch.ErrProtocol {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestDisplayWriteEnds has text that waits for a locked keyboard.
func TestDisplayWriteEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := dial(t, ctx, "tn3270", Options{}, (*telnetd.Conn).Wait)
	typed := enter(s, "x")
	cancel()
	if err := <-typed; !errors.Is(err, context.Canceled) || fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Errorf("cancelled: %v", err)
	}
	s = dial(t, t.Context(), "tn3270", Options{}, (*telnetd.Conn).Wait)
	typed = enter(s, "x")
	s.Close()
	if err := <-typed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("written after the end: %v", err)
	}
}
