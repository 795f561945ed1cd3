// Package nntpd is a small news server for tests, on a loopback address. It
// knows the reading half of RFC 3977, STARTTLS and AUTHINFO, can pretend to be
// a server of RFC 977, and can fail on request.
package nntpd

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A Group is a newsgroup. Its articles are numbered from First.
type Group struct {
	Name, Description string
	First             int // 0 means 1
	Articles          []Article
	// Synthetic is a number of articles that exist as overview lines only,
	// made when asked for. Articles is then ignored.
	Synthetic int
}

// An Article is a message with LF or CR LF line ends.
type Article struct {
	ID   string // with angle brackets
	Text string
}

// Config says what a server has and how it behaves.
type Config struct {
	Groups []Group
	// Legacy is RFC 977 with XOVER: no CAPABILITIES, no OVER, no AUTHINFO.
	Legacy bool
	// NoOverview leaves out OVER and XOVER.
	NoOverview bool
	// TLS is the server's certificate. It is used from the start if Implicit
	// is set, else after STARTTLS.
	TLS      *tls.Config
	Implicit bool
	// NeedTLS answers 483 to what is asked without TLS.
	NeedTLS bool
	// User and Password are asked for by 480 if set; SASL leaves only
	// AUTHINFO SASL PLAIN.
	User, Password string
	SASL           bool
	// Greeting replaces the first line.
	Greeting string
	// Cut closes the connection after so many bytes of a multi-line answer
	// to ARTICLE or OVER.
	Cut int
	// Stall falls silent there instead.
	Stall bool
}

// A Fault is a way to fail once.
type Fault int

// The faults.
const (
	NoFault Fault = iota
	Cut           // close the connection in the body of the next article
	Stall         // fall silent there
	Noise         // answer the next ARTICLE with what is no reply
)

// A Server is a running news server.
type Server struct {
	Addr string // host:port

	cfg  Config
	done chan struct{}
	wg   sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]bool
	accepted int
	commands []string
	armed    Fault
}

// Fail arms a fault for the next ARTICLE.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = f
}

// fault disarms and returns what is armed.
func (s *Server) fault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.armed
	s.armed = NoFault
	return f
}

// Start runs a server until the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Addr: l.Addr().String(), cfg: cfg, done: make(chan struct{}), conns: make(map[net.Conn]bool)}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = true
			s.accepted++
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		close(s.done)
		l.Close()
		s.HangUp()
		s.wg.Wait()
	})
	return s
}

// HangUp closes all connections.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Accepted returns how many connections were made.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Commands returns all lines received.
func (s *Server) Commands() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

// A session is one connection.
type session struct {
	*Server
	conn   net.Conn
	r      *bufio.Reader
	w      *bufio.Writer
	secure bool
	user   string
	known  bool
	group  *Group
}

func (s *Server) serve(raw net.Conn) {
	defer func() {
		raw.Close()
		s.mu.Lock()
		delete(s.conns, raw)
		s.mu.Unlock()
	}()
	c := &session{Server: s, known: s.cfg.User == ""}
	c.use(raw)
	if s.cfg.Implicit {
		c.use(tls.Server(raw, s.cfg.TLS))
		c.secure = true
	}
	greeting := s.cfg.Greeting
	if greeting == "" {
		greeting = "200 nntpd ready"
	}
	c.say("%s", greeting)
	for {
		if c.r.Buffered() == 0 && c.w.Flush() != nil {
			return // answers to pipelined commands travel together
		}
		line, err := c.r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.commands = append(s.commands, line)
		s.mu.Unlock()
		if !c.handle(line) {
			c.w.Flush()
			return
		}
	}
}

func (c *session) use(conn net.Conn) {
	c.conn, c.r, c.w = conn, bufio.NewReader(conn), bufio.NewWriterSize(conn, 64<<10)
}

func (c *session) say(format string, args ...any) { fmt.Fprintf(c.w, format+"\r\n", args...) }

// handle answers one command and reports whether to go on.
func (c *session) handle(line string) bool {
	verb, args, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	switch verb {
	case "QUIT":
		c.say("205 bye")
		return false
	case "MODE":
		c.say("200 readers welcome")
		return true
	case "CAPABILITIES", "STARTTLS", "AUTHINFO", "OVER":
		if c.cfg.Legacy {
			c.say("500 what?")
			return true
		}
	}
	switch verb {
	case "CAPABILITIES":
		c.capabilities()
		return true
	case "STARTTLS":
		if c.cfg.TLS == nil || c.secure {
			c.say("502 no")
			return true
		}
		c.say("382 go ahead")
		c.w.Flush()
		c.use(tls.Server(c.conn, c.cfg.TLS))
		c.secure, c.group = true, nil
		return true
	case "AUTHINFO":
		c.authinfo(args)
		return true
	}
	switch {
	case c.cfg.NeedTLS && !c.secure:
		c.say("483 TLS first")
		return true
	case !c.known:
		c.say("480 who are you?")
		return true
	}
	return c.read(verb, args)
}

func (c *session) capabilities() {
	c.say("101 capabilities\r\nVERSION 2\r\nREADER\r\nLIST ACTIVE NEWSGROUPS")
	if !c.cfg.NoOverview {
		c.say("OVER MSGID")
	}
	if c.cfg.TLS != nil && !c.secure {
		c.say("STARTTLS")
	}
	if c.cfg.User != "" && c.cfg.SASL {
		c.say("AUTHINFO SASL\r\nSASL PLAIN")
	} else if c.cfg.User != "" {
		c.say("AUTHINFO USER")
	}
	c.say(".")
}

// blockWriter stuffs dots and fails as it should.
type blockWriter struct {
	c     *session
	left  int // bytes until it fails; 0 means never
	stall bool
}

// line writes one line; it reports false if the connection is to end.
func (b *blockWriter) line(s string) bool {
	if strings.HasPrefix(s, ".") {
		s = "." + s
	}
	s += "\r\n"
	if b.left > 0 && b.left <= len(s) {
		io.WriteString(b.c.w, s[:b.left])
		b.c.w.Flush()
		if b.stall {
			<-b.c.done
		}
		return false
	}
	if b.left > 0 {
		b.left -= len(s)
	}
	_, err := io.WriteString(b.c.w, s)
	return err == nil
}

func (c *session) block() *blockWriter { return &blockWriter{c, c.cfg.Cut, c.cfg.Stall} }

func (g *Group) first() int { return max(g.First, 1) }

// exists reports whether there is an article n; one without a text was
// cancelled.
func (g *Group) exists(n int) bool {
	return n >= g.first() && n <= g.last() && (g.Synthetic > 0 || g.Articles[n-g.first()].Text != "")
}

func (g *Group) count() int {
	n := 0
	for i := g.first(); i <= g.last(); i++ {
		if g.exists(i) {
			n++
		}
	}
	return n
}

func (g *Group) last() int {
	if g.Synthetic > 0 {
		return g.first() + g.Synthetic - 1
	}
	return g.first() + len(g.Articles) - 1
}

// parseRange reads "5", "5-" and "5-7".
func (g *Group) parseRange(s string) (from, to int) {
	lo, hi, dash := strings.Cut(s, "-")
	from, _ = strconv.Atoi(lo)
	switch {
	case !dash:
		to = from
	case hi == "":
		to = g.last()
	default:
		to, _ = strconv.Atoi(hi)
	}
	return max(from, g.first()), min(to, g.last())
}
