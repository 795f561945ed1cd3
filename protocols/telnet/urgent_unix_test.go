//go:build unix

package telnet

import (
	"io"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// sendUrgent sends s with its last byte urgent.
func sendUrgent(c *telnetd.Conn, s string) {
	socket(c.NetConn()).Control(func(fd uintptr) { syscall.Sendto(int(fd), []byte(s), syscall.MSG_OOB, nil) })
}

func TestUrgentDataMark(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Send("a")
		c.Expect("go") // the client has set up its socket
		sendUrgent(c, "\xff\xf2")
		c.Send("b")
	})
	expect(t, s, "a")
	io.WriteString(s, "go")
	expect(t, s, "b")
	expectEnd(t, s)
}

func TestRlogin(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "rlogin", Options{TermType: "vt100"}, func(c *telnetd.Conn) {
		c.Expect("\x00" + localUser() + "\x00joe\x00vt100/38400\x00")
		c.Send("\x00")
		c.Expect("go")
		sendUrgent(c, "\x80")
		c.Send("a\xff\r\x00")
		c.Expect("\xff\xffss\x00\x18\x00\x50\x00\x00\x00\x00")
		c.Expect("\xff\r")
		c.Send("b")
	})
	if err := s.(fetch.Terminal).Resize(80, 24); err != nil {
		t.Fatal(err)
	}
	io.WriteString(s, "go")
	expect(t, s, "a\xff\r\x00")
	io.WriteString(s, "\xff\r")
	expect(t, s, "b")
	expectEnd(t, s)
}
