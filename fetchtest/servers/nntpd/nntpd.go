// Package nntpd is a news server for tests. It knows the reading half of RFC 3977, STARTTLS and
// AUTHINFO, can pretend to be a server of RFC 977, and fails on request.
package nntpd

import (
	"crypto/tls"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options say what a server has and how it behaves.
type Options struct {
	Groups []Group
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Legacy is RFC 977 with XOVER: no CAPABILITIES, no OVER, no AUTHINFO.
	Legacy bool
	// NoOverview leaves out OVER and XOVER.
	NoOverview bool
	// TLS is the server's certificate. It is used from the start if Implicit is set, else after
	// STARTTLS.
	TLS      *tls.Config
	Implicit bool
	// NeedTLS answers 483 to what is asked without TLS.
	NeedTLS bool
	// User and Password are asked for by 480 if set; SASL leaves only AUTHINFO SASL PLAIN.
	User, Password string
	SASL           bool
	// NoModeReader greets with 201 and answers 502 to MODE READER, as an old server does that is not
	// to be posted to.
	NoModeReader bool
	// Trailing is what the server sends behind the line with a dot that ends an article, with its
	// line end.
	Trailing string
	// WrongID is the message-id in the reply that an article begins with, in place of the right one.
	WrongID string
	// Replies are replies to commands, by verb, in place of those that are right, with their line
	// ends; the command "" is the greeting. "" means that the command is never answered.
	Replies map[string]string
}

// A Server is a running news server. Its content, for faults, is all that ends in a line with a
// dot, but for the reply to CAPABILITIES.
type Server struct {
	*servers.Server
	opts Options
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "nntp", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "nntps", opts.TLS
	}
	base, err := servers.Listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// A session is one connection.
type session struct {
	*servers.Conn
	opts   *Options
	secure bool
	user   string
	known  bool
	group  *Group
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, opts: &s.opts, secure: s.opts.Implicit, known: s.opts.User == ""}
	c.handle("")
	for {
		line, err := c.ReadLine()
		if err != nil || !c.handle(line) {
			return
		}
	}
}

// handle answers one command and reports whether to go on. The command "" is the greeting.
func (c *session) handle(line string) bool {
	verb, args, _ := strings.Cut(line, " ")
	verb = strings.ToUpper(verb)
	if text, ok := c.opts.Replies[verb]; ok {
		c.Write([]byte(text))
		return true
	}
	switch verb {
	case "":
		if c.opts.NoModeReader {
			c.Reply("201 nntpd ready, no posting")
		} else {
			c.Reply("200 nntpd ready")
		}
		return true
	case "QUIT":
		c.Reply("205 bye")
		return false
	case "MODE":
		if c.opts.NoModeReader {
			c.Reply("502 no")
		} else {
			c.Reply("200 readers welcome")
		}
		return true
	case "CAPABILITIES", "STARTTLS", "AUTHINFO", "OVER":
		if c.opts.Legacy {
			c.Reply("500 what?")
			return true
		}
	}
	switch verb {
	case "CAPABILITIES":
		c.capabilities()
		return true
	case "STARTTLS":
		if c.opts.TLS == nil || c.secure {
			c.Reply("502 no")
			return true
		}
		c.Reply("382 go ahead")
		c.secure, c.group = true, nil
		return c.StartTLS(c.opts.TLS) == nil
	case "AUTHINFO":
		c.authinfo(args)
		return true
	}
	switch {
	case c.opts.NeedTLS && !c.secure:
		c.Reply("483 TLS first")
		return true
	case !c.known:
		c.Reply("480 who are you?")
		return true
	}
	return c.read(verb, args)
}

func (c *session) capabilities() {
	lines := []string{"101 capabilities", "VERSION 2", "READER", "LIST ACTIVE NEWSGROUPS"}
	if !c.opts.NoOverview {
		lines = append(lines, "OVER MSGID")
	}
	if c.opts.TLS != nil && !c.secure {
		lines = append(lines, "STARTTLS")
	}
	if c.opts.User != "" && c.opts.SASL {
		lines = append(lines, "AUTHINFO SASL", "SASL PLAIN")
	} else if c.opts.User != "" {
		lines = append(lines, "AUTHINFO USER")
	}
	c.Reply("%s\r\n.", strings.Join(lines, "\r\n"))
}
