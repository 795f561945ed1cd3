// Package nntpd is a news server for tests. It implements the reader commands of RFC 3977, STARTTLS
// and AUTHINFO. It can imitate a server of RFC 977, and fails on request.
package nntpd

import (
	"crypto/tls"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Options configure a server.
type Options struct {
	Groups []Group
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Legacy imitates RFC 977 with XOVER: no CAPABILITIES, OVER and AUTHINFO.
	Legacy bool
	// NoOverview disables OVER and XOVER.
	NoOverview bool
	// TLS is the configuration for TLS. If Implicit is set, TLS starts with the connection, and
	// otherwise with STARTTLS.
	TLS      *tls.Config
	Implicit bool
	// NeedTLS refuses commands without TLS with reply 483.
	NeedTLS bool
	// User and Password are the login, required by reply 480 if User is set. SASL allows only
	// AUTHINFO SASL PLAIN.
	User, Password string
	SASL           bool
	// NoModeReader greets with 201 and replies 502 to MODE READER, as old servers without posting
	// do.
	NoModeReader bool
	// Trailing is sent after the final dot line of an article. It includes its line end.
	Trailing string
	// WrongID is a false message-id for the replies that start an article.
	WrongID string
	// Replies maps verbs to replies, with line ends, that replace the server's own. The verb ""
	// means the greeting. A reply of "" sends nothing.
	Replies map[string]string
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *servers.Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close. Faults apply to all text that ends with a dot
// line, except the reply to CAPABILITIES.
func New(opts Options) (*servers.Server, error) {
	cfg := servers.Config{Scheme: "nntp", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "nntps", opts.TLS
	}
	return servers.New(cfg, func(conn *servers.Conn) {
		c := &session{Conn: conn, opts: &opts, secure: opts.Implicit, loggedIn: opts.User == ""}
		c.handle("")
		c.Each(c.handle)
	})
}

// A session is one connection.
type session struct {
	*servers.Conn
	opts     *Options
	secure   bool
	user     string
	loggedIn bool
	group    *Group
}

// handle handles one command and reports whether to continue. The command "" is the greeting.
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
	case !c.loggedIn:
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
