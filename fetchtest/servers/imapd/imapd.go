// Package imapd is an IMAP server (RFC 3501) for tests. It implements the commands that read mail,
// and fails on request.
package imapd

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"maps"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
)

// UIDValidity is the UIDVALIDITY of all mailboxes.
const UIDValidity = 385759045

// Options configure a server.
type Options struct {
	// User and Password are the login. If User is empty, every login succeeds.
	User, Password string
	// Mailboxes maps mailbox names, as the protocol encodes them, to messages. The first message
	// has UID 1.
	Mailboxes map[string][]Message
	// Synthetic is the number of generated messages in the mailbox "synthetic". Only listings show
	// them.
	Synthetic int
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// TLS is the configuration for TLS. If Implicit is set, TLS starts with the connection, and
	// otherwise with STARTTLS.
	TLS      *tls.Config
	Implicit bool
	// NeedTLS refuses logins without TLS.
	NeedTLS bool
	// SASL accepts AUTHENTICATE PLAIN instead of LOGIN.
	SASL bool
	// Replies maps verbs to replies, with line ends, that replace the server's own. "$" stands for
	// the tag. The verb "" means the greeting. A reply of "" sends nothing.
	Replies map[string]string
}

// A Message is a message in a mailbox.
type Message struct {
	Text []byte
	Date time.Time // INTERNALDATE
}

// A Server is a running IMAP server. Faults apply to BODY.PEEK[] without headers, and to the lines
// of a listing of messages.
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
	cfg := servers.Config{Scheme: "imap", Listen: opts.Listen,
		Cannot: []servers.Fault{servers.Abort, servers.Short}}
	if opts.Implicit {
		cfg.Scheme, cfg.TLS = "imaps", opts.TLS
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
	opts     *Options
	secure   bool
	loggedIn bool
	box      string // the selected mailbox
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, opts: &s.opts, secure: s.opts.Implicit}
	if c.override("", "") || c.Reply("* OK imapd ready") == nil {
		for {
			line, err := c.ReadText()
			if err != nil {
				return
			}
			tag, command, _ := strings.Cut(line, " ")
			c.Note(line)
			c.Begin(command) // Failure.On matches the command without its tag
			if !c.handle(tag, command) {
				return
			}
		}
	}
}

// override sends the reply of the options for a command, if there is one.
func (c *session) override(tag, verb string) bool {
	text, ok := c.opts.Replies[verb]
	if ok {
		c.Write([]byte(strings.ReplaceAll(text, "$", tag)))
	}
	return ok
}

// handle handles one command and reports whether to continue.
func (c *session) handle(tag, command string) bool {
	verb, args, _ := strings.Cut(command, " ")
	verb = strings.ToUpper(verb)
	if verb == "UID" {
		var second string
		second, args, _ = strings.Cut(args, " ")
		verb += " " + strings.ToUpper(second)
	}
	if c.override(tag, verb) {
		return true
	}
	switch verb {
	case "CAPABILITY":
		return c.Reply("* CAPABILITY %s\r\n%s OK done", c.capabilities(), tag) == nil
	case "NOOP":
		return c.Reply("%s OK done", tag) == nil
	case "LOGOUT":
		c.Reply("* BYE\r\n%s OK bye", tag)
		return false
	case "STARTTLS":
		if c.opts.TLS != nil && !c.secure {
			c.Reply("%s OK go ahead", tag)
			c.secure = true
			return c.StartTLS(c.opts.TLS) == nil
		}
	case "LOGIN", "AUTHENTICATE":
		return c.login(tag, verb, args)
	default:
		if c.loggedIn {
			return c.read(tag, verb, args)
		}
	}
	return c.Reply("%s BAD what?", tag) == nil
}

func (c *session) capabilities() string {
	caps := "IMAP4rev1"
	if c.opts.TLS != nil && !c.secure {
		caps += " STARTTLS"
	}
	if c.opts.SASL {
		caps += " LOGINDISABLED AUTH=PLAIN"
	}
	return caps
}

func (c *session) login(tag, verb, args string) bool {
	user, password := "", ""
	switch {
	case c.opts.NeedTLS && !c.secure:
		return c.Reply("%s NO [PRIVACYREQUIRED] TLS first", tag) == nil
	case verb == "LOGIN" && !c.opts.SASL:
		first, second, _ := strings.Cut(args, `" "`)
		user, password = unquote(first+`"`), unquote(`"`+second)
	case verb == "AUTHENTICATE" && c.opts.SASL:
		c.Printf("+ ")
		response, _ := c.ReadText()
		plain, _ := base64.StdEncoding.DecodeString(response)
		if f := strings.Split(string(plain), "\x00"); len(f) == 3 {
			user, password = f[1], f[2]
		}
	default:
		return c.Reply("%s BAD what?", tag) == nil
	}
	if c.opts.User != "" && (user != c.opts.User || password != c.opts.Password) {
		return c.Reply("%s NO [AUTHENTICATIONFAILED] wrong", tag) == nil
	}
	c.loggedIn = true
	return c.Reply("%s OK welcome", tag) == nil
}

// unquote decodes a quoted string.
func unquote(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`,
		`"`).Replace(strings.TrimSuffix(strings.TrimPrefix(s, `"`), `"`))
}

func quote(s string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"` }

// read handles the commands that require a login.
func (c *session) read(tag, verb, args string) bool {
	switch verb {
	case "LIST":
		for _, name := range slices.Sorted(maps.Keys(c.opts.Mailboxes)) {
			c.Printf(`* LIST (\HasNoChildren) "/" %s`, quote(name))
		}
	case "EXAMINE":
		c.box = unquote(args)
		if c.count() < 0 {
			return c.Reply("%s NO [NONEXISTENT] no such mailbox", tag) == nil
		}
		c.Printf("* %d EXISTS\r\n* OK [UIDVALIDITY %d] valid", c.count(), UIDValidity)
	case "UID SEARCH":
		var found strings.Builder
		word := unquote(args[strings.LastIndexByte(args, ' ')+1:])
		for i, m := range c.opts.Mailboxes[c.box] {
			if bytes.Contains(m.Text, []byte(word)) {
				fmt.Fprintf(&found, " %d", i+1)
			}
		}
		c.Printf("* SEARCH%s", found.String())
	case "UID FETCH":
		set, items, _ := strings.Cut(args, " ")
		if _, section, ok := strings.Cut(items, "BODY.PEEK["); ok && !strings.Contains(items, "RFC822.SIZE") {
			if !c.body(set, section) {
				return false
			}
			break
		}
		if !c.describe(set, strings.Contains(items, "HEADER")) {
			return false
		}
	default:
		return c.Reply("%s BAD what?", tag) == nil
	}
	return c.Reply("%s OK done", tag) == nil
}

func (c *session) count() int {
	if c.box == "synthetic" && c.opts.Synthetic > 0 {
		return c.opts.Synthetic
	}
	if messages, ok := c.opts.Mailboxes[c.box]; ok {
		return len(messages)
	}
	return -1
}

// uids returns the UIDs in a set.
func (c *session) uids(set string) (list []int) {
	for part := range strings.SplitSeq(set, ",") {
		if part == "1:*" {
			for n := range c.count() {
				list = append(list, n+1)
			}
		} else if n, err := strconv.Atoi(part); err == nil && n > 0 && n <= c.count() {
			list = append(list, n)
		}
	}
	return list
}

// field returns the value of a header field, which is on one line.
func field(head []byte, name string) []byte {
	_, value, _ := bytes.Cut(append([]byte("\r\n"), head...), []byte("\r\n"+name+": "))
	value, _, _ = bytes.Cut(value, []byte("\r\n"))
	return value
}

func literal(text []byte) string {
	if len(text) == 0 {
		return "NIL"
	}
	return fmt.Sprintf("{%d}\r\n%s", len(text), text)
}

// author returns the addresses of the From field as in an envelope (RFC 3501, section 7.4.2).
func author(head []byte) string {
	from, err := mail.ParseAddress(string(field(head, "From")))
	if err != nil {
		return "NIL"
	}
	name, host, _ := strings.Cut(from.Address, "@")
	return fmt.Sprintf("((%s NIL %s %s))", literal([]byte(from.Name)), literal([]byte(name)), literal([]byte(host)))
}

// describe sends the attributes of messages. Faults apply if the set is the whole mailbox.
func (c *session) describe(set string, header bool) bool {
	line := func(n int) []byte {
		if c.box == "synthetic" {
			return fmt.Appendf(nil,
				"* %d FETCH (UID %d RFC822.SIZE %d INTERNALDATE \"29-Feb-2020 12:34:56 +0000\""+
					" ENVELOPE (NIL \"Message %d\" NIL NIL NIL NIL NIL NIL NIL "+
					"\"<%d@x.invalid>\"))\r\n", n, n, 2000+n%500, n, n)
		}
		m := c.opts.Mailboxes[c.box][n-1]
		head, _, _ := bytes.Cut(m.Text, []byte("\r\n\r\n"))
		text := fmt.Appendf(nil,
			"* %d FETCH (UID %d FLAGS () RFC822.SIZE %d INTERNALDATE \"%s\" ENVELOPE (%s %s %s NIL NIL "+
				"NIL NIL NIL %s %s)",
			n, n, len(m.Text), m.Date.Format("_2-Jan-2006 15:04:05 -0700"),
			literal(field(head, "Date")), literal(field(head, "Subject")), author(head),
			literal(field(head, "In-Reply-To")), literal(field(head, "Message-ID")))
		if header {
			head = append(bytes.Clone(head), "\r\n\r\n"...)
			text = fmt.Appendf(text, " BODY[HEADER] {%d}\r\n%s", len(head), head)
		}
		return append(text, ")\r\n"...)
	}
	if !strings.Contains(set, "*") {
		for _, n := range c.uids(set) {
			c.Write(line(n))
		}
		return true
	}
	b, ok := c.Content(-1)
	if !ok {
		return true
	}
	for _, n := range c.uids(set) {
		if _, err := b.Write(line(n)); err != nil {
			return false
		}
	}
	_, err := b.End()
	return err == nil
}

// body sends a message or a part of it, and reports whether to continue.
func (c *session) body(set, section string) bool {
	section, partial, _ := strings.Cut(section, "]")
	for _, n := range c.uids(set) {
		text := c.opts.Mailboxes[c.box][n-1].Text
		head, rest, _ := bytes.Cut(text, []byte("\r\n\r\n"))
		switch section {
		case "":
		case "HEADER":
			text = append(bytes.Clone(head), "\r\n\r\n"...)
		case "TEXT", "1":
			text = rest
		default:
			c.Printf("* %d FETCH (UID %d BODY[%s] NIL)", n, n, section)
			continue
		}
		where := ""
		var offset, length int
		if _, err := fmt.Sscanf(partial, "<%d.%d>", &offset, &length); err == nil {
			text = text[min(offset, len(text)):]
			text = text[:min(length, len(text))]
			where = fmt.Sprintf("<%d>", offset)
		}
		b, ok := c.Content(int64(len(text)))
		if !ok {
			return true
		}
		fmt.Fprintf(c, "* %d FETCH (BODY[%s]%s {%d}\r\n", n, section, where, len(text))
		if _, err := b.Write(text); err != nil {
			return false
		}
		if _, err := b.End(); err != nil {
			return false
		}
		c.Printf(" UID %d)", n)
	}
	return true
}

// Fail makes the next retrieval of a message fail. Endless applies to the next listing.
// [servers.Server.Arm] offers more.
func (s *Server) Fail(f servers.Fault) {
	if f == servers.Endless {
		s.Arm(servers.Failure{Fault: f, On: "UID FETCH 1:*"})
		return
	}
	s.Server.Fail(f)
}
