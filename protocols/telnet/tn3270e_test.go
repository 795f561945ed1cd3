package telnet

import (
	"io"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// sub is a subnegotiation of TN3270E.
func sub(text string) string { return "\xff\xfa\x28" + text + "\xff\xf0" }

// header is that of a message with data of a type.
func header(kind string) string { return kind + "\x00\x00\x00\x00" }

// extend negotiates like a host with TN3270E (RFC 2355, section 13.4).
func extend(c *telnetd.Conn) {
	c.Send("\xff\xfd\x28")
	c.Expect("\xff\xfb\x28")
	c.Send(sub("\x08\x02"))
	c.Expect(sub("\x02\x07IBM-3278-2-E"))
	c.Send(sub("\x02\x04IBM-3278-2-E\x01LU01"))
	c.Expect(sub("\x03\x07"))
	c.Send(sub("\x03\x04"))
}

func TestExtendedDisplay(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
		extend(c)
		// Responses are not agreed on, so what asks for one gets none.
		c.Send("\x00\x00\x02\x00\x01" + form + eor)
		c.Expect(header("\x00") + "\x7d\x40\xc8\x11\x40\xc6" + ebcdic("jo") + eor)
		c.Send(header("\x03") + "a bind image, not agreed on" + eor)
		c.Send(header("\x00") + "\xf3\x00\x05\x01\xff\xff\x02" + eor)
		c.Expect(header("\x00") + "\x88\x00\x06\x81\x80\x80\x81\x00\x17\x81\x81\x01\x00\x00\x50\x00\x18\x01\x00\x01\x00\x03\x00\x01\x00\x03\x09\x10\x07\x80" + eor)
		c.Send("\xff\xfd\x28") // is already so
		c.Send(header("\x00") + "\xf5\x02\x08\xff\xff" + ebcdic("x") + eor)
	})
	typed := enter(s, "jo\n")
	expect(t, s, " name\n\n?x\n")
	expectEnd(t, s)
	if err := <-typed; err != nil {
		t.Error(err)
	}
}

func TestExtendedDisplayAsText(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
		extend(c)
		c.Send(header("\x05") + "Choose:\r\n" + eor)
		c.Expect(header("\x05") + "cms\r\n" + eor)
		c.Send(header("\x00") + form + eor)
		c.Expect(header("\x00") + "\x7d\x40\xc7\x11\x40\xc6" + ebcdic("j") + eor)
		c.Send(header("\x05") + "bye" + eor)
	})
	expect(t, s, "Choose:\r\n")
	if err := <-enter(s, "cms\n"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, " name\n")
	if err := <-enter(s, "j\n"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "bye")
	expectEnd(t, s)
}

func TestExtendedDisplayAtTerminal(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
		extend(c)
		c.Send(header("\x05") + "? " + eor)
		c.Expect(header("\x05") + "a\xc3\xa9\r\n" + eor)
		c.Send(header("\x00") + "\xf5\x02" + ebcdic("hello") + eor)
		c.Expect("\xff\xf4") // Attn
		c.Send(header("\x05") + "bye" + eor)
	})
	term := s.(fetch.Terminal)
	if err := term.Resize(8, 1); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "\x1b[1;1H\x1b[K        \x1b[1;1H")
	expect(t, s, "? ")
	if got := term.Status(); !strings.Contains(got, "TN3270E") || !strings.Contains(got, "reads lines") {
		t.Error(got)
	}
	io.WriteString(s, "aé\r")
	expect(t, s, "aé\r\n")
	expect(t, s, "\x1b[1;1H\x1b[Khello   \x1b[1;1H")
	if err := term.Break(); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "bye")
	expectEnd(t, s)
}

// After each of these, the host goes on without TN3270E.
func TestExtensionIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*telnetd.Conn){
		"no such device type": func(c *telnetd.Conn) {
			c.Send("\xff\xfd\x28")
			c.Expect("\xff\xfb\x28")
			c.Send(sub("\x08\x02"))
			c.Expect(sub("\x02\x07IBM-3278-2-E"))
			c.Send(sub("\x02\x06\x05\x04"))
			c.Expect("\xff\xfc\x28")
			c.Send("\xff\xfd\x28") // is asked again, and refused
			c.Expect("\xff\xfc\x28")
		},
		"functions that were not asked for": func(c *telnetd.Conn) {
			c.Send("\xff\xfd\x28" + sub("\x08\x02") + sub("\x03\x04\x02"))
			c.Expect("\xff\xfb\x28" + sub("\x02\x07IBM-3278-2-E") + "\xff\xfc\x28")
		},
		"functions without end": func(c *telnetd.Conn) {
			c.Send("\xff\xfd\x28" + strings.Repeat(sub("\x03\x07\x00\x02"), 4))
			c.Expect("\xff\xfb\x28" + strings.Repeat(sub("\x03\x07"), 3) + "\xff\xfc\x28")
		},
		"the host changes its mind": func(c *telnetd.Conn) {
			extend(c)
			c.Send("\xff\xfe\x28")
			c.Expect("\xff\xfc\x28")
		},
		"a subnegotiation without the option": func(c *telnetd.Conn) { c.Send(sub("\x08\x02")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
				script(c)
				negotiate(c)
				c.Send("\xf5\x02" + ebcdic("ok") + eor)
			})
			expect(t, s, "ok\n")
			expectEnd(t, s)
		})
	}
}

func TestFunctionsAreAgreedOnLater(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x28" + sub("\x03\x07\x00\x02"))
		c.Expect("\xff\xfb\x28" + sub("\x03\x07"))
		c.Send(sub("\x03\x07"))
		c.Expect(sub("\x03\x04"))
		c.Send(header("\x00") + "\xf5\x02" + ebcdic("ok") + eor)
	})
	expect(t, s, "ok\n")
	expectEnd(t, s)
}

func TestShortMessages(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "\x00\x00\x00\x00"} {
		s := dial(t, t.Context(), "tn3270", Options{}, func(c *telnetd.Conn) {
			extend(c)
			c.Send(message + eor)
		})
		if n, err := io.Copy(io.Discard, s); n != 0 || fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%q: %d bytes, %v", message, n, err)
		}
	}
}
