// Package telnetd is a server for tests of terminal sessions: telnet, rlogin, tn3270. It says and
// expects what a test's script tells it, byte by byte, and fails on request.
package telnetd

import (
	"io"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server does.
type Options struct {
	// Script talks to a client. The connection is closed when it returns. Nil means Echo.
	Script func(*Conn)
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string

	errorf func(format string, args ...any)
}

// A Server is a running server. What Send sends is its content, for faults.
type Server struct {
	*servers.Server
}

// Start starts a server until the test ends. The test fails if the client says what the script does
// not expect.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	opts.errorf = t.Errorf
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "telnet", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	base, err := servers.New(cfg, func(c *servers.Conn) {
		conn := &Conn{c, opts.errorf}
		if opts.Script == nil {
			Echo(conn)
		} else {
			opts.Script(conn)
		}
	})
	if err != nil {
		return nil, err
	}
	return &Server{base}, nil
}

// Echo asks for a name and sends back the lines that it gets, until "exit". It knows nothing of
// Telnet's options.
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

// A Conn is a connection of a client.
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

// Expect reads as many bytes as want has. The test fails, and Expect returns false, if they are
// others.
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

// Flood sends s again and again, until the client is gone. It returns how many bytes the client's
// side took.
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
