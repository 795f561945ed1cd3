// Package popd is a POP3 server for tests. It implements RFC 1939, CAPA, STLS and AUTH PLAIN.
// Optional commands can be disabled, and it fails on request.
package popd

import (
	"crypto/md5"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Timestamp is the timestamp in the greeting, for APOP.
const Timestamp = "<1896.697170952@popd.test>"

// Options configure a server.
type Options struct {
	// User and Password are the login. If User is empty, every login succeeds.
	User, Password string
	Messages       []Message
	// Maildrops maps users to their messages. All other users have Messages.
	Maildrops map[string][]Message
	// Synthetic is the number of generated messages, which only UIDL and LIST show. If it is
	// positive, Messages is ignored.
	Synthetic int
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// TLS is the configuration for TLS. If Implicit is set, TLS starts with the connection, and
	// otherwise with STLS.
	TLS      *tls.Config
	Implicit bool
	// NeedTLS refuses logins without TLS.
	NeedTLS bool
	// APOP adds Stamp to the greeting.
	APOP bool
	// Old disables the optional and later commands UIDL, TOP and CAPA.
	Old bool
	// SASL accepts AUTH PLAIN instead of USER and PASS.
	SASL bool
	// Trailing is sent after the final dot line of a message. It includes its line end.
	Trailing string
	// Replies maps verbs to replies, with line ends, that replace the server's own. The verb ""
	// means the greeting. A reply of "" sends nothing.
	Replies map[string]string
}

// A Message is a message with LF or CR LF line ends.
type Message struct {
	UID  string
	Text string
}

// text returns the message with CR LF, without doubled dots.
func (m Message) text() string {
	text := strings.TrimSuffix(strings.ReplaceAll(m.Text, "\r\n", "\n"), "\n") + "\n"
	return strings.ReplaceAll(text, "\n", "\r\n")
}

// A Server is a running POP3 server. Faults apply to the text that UIDL, RETR and TOP send before
// the final dot line.
type Server struct {
	*servers.Server
	opts Options
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	cfg := servers.Config{Scheme: "pop", Listen: opts.Listen, Cannot: []servers.Fault{servers.Abort}}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "pops", opts.TLS
	}
	base, err := servers.Listen(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// Fail makes the next retrieval of a message fail. Endless applies to the next UIDL.
// [servers.Server.Arm] offers more.
func (s *Server) Fail(f servers.Fault) {
	on := "RETR"
	if f == servers.Endless {
		on = "UIDL"
	}
	s.Arm(servers.Failure{Fault: f, On: on})
}

// A session is one connection.
type session struct {
	*servers.Conn
	opts     *Options
	secure   bool
	user     string
	loggedIn bool

	messages []Message
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, opts: &s.opts, secure: s.opts.Implicit}
	if c.handle("") {
		c.Each(c.handle)
	}
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
		if c.opts.APOP {
			return c.Reply("+OK popd ready %s", Timestamp) == nil
		}
		return c.Reply("+OK popd ready") == nil
	case "QUIT":
		c.Reply("+OK bye")
		return false
	case "CAPA":
		if !c.opts.Old {
			return c.capabilities()
		}
	case "STLS":
		if c.opts.TLS != nil && !c.secure {
			c.Reply("+OK go ahead")
			c.secure = true
			return c.StartTLS(c.opts.TLS) == nil
		}
	case "USER", "PASS", "APOP", "AUTH":
		return c.login(verb, args)
	default:
		if c.loggedIn {
			return c.read(verb, args)
		}
	}
	return c.Reply("-ERR what?") == nil
}

func (c *session) capabilities() bool {
	lines := []string{"+OK capabilities", "TOP", "UIDL", "RESP-CODES"}
	if c.opts.TLS != nil && !c.secure {
		lines = append(lines, "STLS")
	}
	if c.opts.SASL {
		lines = append(lines, "SASL PLAIN")
	} else {
		lines = append(lines, "USER")
	}
	return c.Reply("%s\r\n.", strings.Join(lines, "\r\n")) == nil
}

func (c *session) login(verb, args string) bool {
	user, password := "", ""
	switch {
	case c.opts.NeedTLS && !c.secure:
		return c.Reply("-ERR [AUTH] TLS first") == nil
	case verb == "USER" && !c.opts.SASL:
		c.user = args
		return c.Reply("+OK password?") == nil
	case verb == "PASS":
		user, password = c.user, args
	case verb == "APOP" && c.opts.APOP:
		var digest string
		user, digest, _ = strings.Cut(args, " ")
		if sum := md5.Sum([]byte(Timestamp + c.opts.Password)); digest == hex.EncodeToString(sum[:]) {
			password = c.opts.Password
		}
	case verb == "AUTH" && c.opts.SASL:
		mechanism, response, inCommand := strings.Cut(args, " ")
		if !inCommand {
			c.Printf("+ ")
			response, _ = c.ReadText()
		}
		plain, _ := base64.StdEncoding.DecodeString(response)
		if f := strings.Split(string(plain), "\x00"); strings.EqualFold(mechanism, "PLAIN") && len(f) == 3 {
			user, password = f[1], f[2]
		}
	default:
		return c.Reply("-ERR what?") == nil
	}
	if c.opts.User != "" && (user != c.opts.User || password != c.opts.Password) {
		return c.Reply("-ERR [AUTH] wrong") == nil
	}
	c.loggedIn = true
	c.messages = c.opts.Messages
	if m, ok := c.opts.Maildrops[user]; ok {
		c.messages = m
	}
	return c.Reply("+OK welcome") == nil
}

// read handles the commands that require a login.
func (c *session) read(verb, args string) bool {
	number, rest, _ := strings.Cut(args, " ")
	switch {
	case verb == "STAT":
		return c.Reply("+OK %d 0", c.count()) == nil
	case verb == "LIST" && args == "":
		c.Printf("+OK")
		for n := range c.count() {
			c.Printf("%d %d", n+1, c.size(n))
		}
		return c.Printf(".") == nil
	case c.opts.Old && verb != "RETR" && verb != "LIST":
		return c.Reply("-ERR what?") == nil
	case verb == "UIDL" && args == "":
		b, ok := c.Content(-1)
		if !ok {
			return true
		}
		c.Printf("+OK")
		for n := range c.count() {
			if _, err := fmt.Fprintf(b, "%d %s\r\n", n+1, c.uid(n)); err != nil {
				return false
			}
		}
		return c.end(b)
	}
	n, err := strconv.Atoi(number)
	if n--; err != nil || n < 0 || n >= c.count() {
		return c.Reply("-ERR no such message") == nil
	}
	switch verb {
	case "UIDL":
		return c.Reply("+OK %d %s", n+1, c.uid(n)) == nil
	case "LIST":
		return c.Reply("+OK %d %d", n+1, c.size(n)) == nil
	case "RETR", "TOP":
		if c.opts.Synthetic > 0 {
			break
		}
		text := c.messages[n].text()
		if verb == "TOP" {
			text = top(text, rest)
		}
		return c.block(text)
	}
	return c.Reply("-ERR what?") == nil
}

// top returns the header of a message and the first lines of its body.
func top(text, lines string) string {
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	n, _ := strconv.Atoi(lines)
	kept := strings.SplitAfter(body, "\r\n")
	return head + "\r\n\r\n" + strings.Join(kept[:min(n, len(kept))], "")
}

// block sends a message with doubled dots.
func (c *session) block(text string) bool {
	stuffed := strings.ReplaceAll("\n"+text, "\n.", "\n..")[1:]
	b, ok := c.Content(int64(len(stuffed)))
	if !ok {
		return true
	}
	c.Printf("+OK %d octets", len(text))
	if _, err := io.WriteString(b, stuffed); err != nil || !c.end(b) {
		return false
	}
	io.WriteString(c, c.opts.Trailing)
	return true
}

// end ends a text block with a dot line.
func (c *session) end(b *servers.Content) bool {
	fault, err := b.End()
	if fault == servers.Short {
		c.Printf("") // the fault may have ended within a line
	}
	return err == nil && c.Printf(".") == nil
}

func (c *session) count() int {
	if c.opts.Synthetic > 0 {
		return c.opts.Synthetic
	}
	return len(c.messages)
}

func (c *session) uid(n int) string {
	if c.opts.Synthetic > 0 {
		return fmt.Sprintf("%08x%08x", n+1, n*7)
	}
	return c.messages[n].UID
}

func (c *session) size(n int) int {
	if c.opts.Synthetic > 0 {
		return 2000 + n%500
	}
	return len(c.messages[n].text())
}
