// Package telnetd is a server for tests of terminal sessions over telnet, rlogin and tn3270. A
// script defines the bytes that it sends and expects. It fails on request.
package telnetd

import (
	"io"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	// Script handles a connection, which is closed when it returns. Nil means Echo.
	Script func(*Conn)
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string

	errorf func(format string, args ...any)
}

// Start starts a server and closes it when the test ends. It fails the test if a client sends bytes
// that the script does not expect.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	opts.errorf = t.Errorf
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to the bytes of Conn.Send.
func New(opts Options) (*servers.Server, error) {
	cfg := servers.Config{Scheme: "telnet", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	return servers.New(cfg, func(c *servers.Conn) {
		conn := &Conn{c, opts.errorf}
		if opts.Script == nil {
			Echo(conn)
		} else {
			opts.Script(conn)
		}
	})
}

// Echo asks for a name and echoes lines until "exit". It does not negotiate Telnet options.
func Echo(c *Conn) {
	c.Send("login: ")
	name, err := c.ReadLine()
	if err != nil {
		return
	}
	c.Send("Hello, " + name + ".\r\n")
	for {
		line, err := c.ReadLine()
		if err != nil || line == "exit" {
			return
		}
		c.Send("> " + line + "\r\n")
	}
}

// A Conn is a client's connection.
type Conn struct {
	*servers.Conn
	errorf func(format string, args ...any)
}

// Send sends the bytes of s.
func (c *Conn) Send(s string) {
	c.Begin("")
	c.Conn.Send([]byte(s))
	c.Flush()
}

// Expect reads len(want) bytes. If they differ from want, it fails the test and returns false.
func (c *Conn) Expect(want string) bool {
	got := make([]byte, len(want))
	n, err := io.ReadFull(c, got)
	c.Note(string(got[:n]))
	if string(got[:n]) != want {
		if c.errorf != nil {
			c.errorf("the server got %q, want %q (%v)", got[:n], want, err)
		}
		return false
	}
	return true
}

// Flood sends s repeatedly until the client closes the connection. It returns the number of bytes
// accepted by the connection.
func (c *Conn) Flood(s string) (sent int64) {
	for {
		if _, err := io.WriteString(c, s); err != nil {
			return sent
		}
		if c.Flush() != nil {
			return sent
		}
		sent += int64(len(s))
	}
}
