package ftpd

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strconv"
	"strings"
)

// A session is one control connection.
type session struct {
	s    *Server
	conn net.Conn
	r    *bufio.Reader

	user     string
	loggedIn bool
	private  bool // PROT P
	dir      string
	rest     int64
	passive  net.Listener
	active   string // address to connect to
}

func (s *Server) session(conn net.Conn) {
	c := &session{s: s, conn: conn, dir: "/"}
	defer c.closePassive()
	if s.opts.Implicit {
		c.conn = tls.Server(conn, s.opts.TLS)
	}
	c.r = bufio.NewReader(c.conn)
	if c.do("", "") {
		return
	}
	for {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return
		}
		if s.opts.OneByOne {
			c.r.Discard(c.r.Buffered())
		}
		line = strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\xff\xff", "\xff")
		s.note(line)
		verb, arg, _ := strings.Cut(line, " ")
		if c.do(strings.ToUpper(verb), arg) {
			return
		}
	}
}

// reply sends a reply.
func (c *session) reply(format string, args ...any) {
	fmt.Fprintf(c.conn, format+"\r\n", args...)
}

// do obeys a command and reports whether the session is over. The command "" is the greeting.
func (c *session) do(verb, arg string) (over bool) {
	if verb != "" && verb == c.s.opts.Silent {
		return false
	}
	if text, ok := c.s.opts.Replies[verb]; ok {
		c.conn.Write([]byte(text))
		return false
	}
	if c.s.unknown(verb) {
		c.reply("502 Command not implemented.")
		return false
	}
	switch verb {
	case "":
		c.reply("220 Ready.")
	case "QUIT":
		c.reply("221 Goodbye.")
		return true
	case "AUTH":
		return c.auth()
	case "PBSZ":
		c.reply("200 PBSZ=0")
	case "PROT":
		c.private = arg == "P"
		c.reply("200 Protection level set.")
	case "USER":
		c.user, c.loggedIn = arg, false
		c.reply("331 Password please.")
	case "PASS":
		c.pass(arg)
	case "ACCT":
		if arg != c.s.opts.Account {
			c.reply("530 No such account.")
			return false
		}
		c.login()
	case "FEAT":
		c.reply("%s", c.s.features())
	default:
		if !c.loggedIn {
			c.reply("530 Please log in.")
			return false
		}
		return c.serve(verb, arg)
	}
	return false
}

func (c *session) auth() (over bool) {
	if c.s.opts.TLS == nil {
		c.reply("502 No TLS here.")
		return false
	}
	c.reply("234 Begin.")
	t := tls.Server(c.conn, c.s.opts.TLS)
	if t.Handshake() != nil {
		return true
	}
	c.conn, c.r = t, bufio.NewReader(t)
	return false
}

func (c *session) pass(password string) {
	want, known := c.s.opts.Users[c.user]
	switch {
	case c.s.opts.Users != nil && (!known || want != password):
		c.reply("530 Login incorrect.")
	case c.s.opts.Account != "":
		c.reply("332 Account please.")
	default:
		c.login()
	}
}

func (c *session) login() {
	c.loggedIn = true
	c.s.mu.Lock()
	c.s.logins++
	c.s.mu.Unlock()
	c.reply("230 Logged in.")
}

// serve obeys the commands of those who are logged in.
func (c *session) serve(verb, arg string) (over bool) {
	switch verb {
	case "PWD":
		c.reply(`257 "%s" is where you are.`, strings.ReplaceAll(c.dir, `"`, `""`))
	case "CWD":
		c.cwd(arg)
	case "TYPE":
		c.reply("200 Type set.")
	case "SIZE":
		if info := c.file(arg); info != nil {
			c.reply("213 %d", info.Size())
		}
	case "MDTM":
		if info := c.file(arg); info != nil {
			c.reply("213 %s", info.ModTime().UTC().Format("20060102150405"))
		}
	case "REST":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			c.reply("501 A number, please.")
			return false
		}
		c.rest = n
		c.reply("350 Restarting at %d.", n)
	case "EPSV", "PASV":
		c.listen(verb)
	case "EPRT", "PORT":
		c.port(verb, arg)
	case "RETR":
		return c.retrieve(arg)
	case "LIST", "NLST", "MLSD":
		c.list(verb, arg)
	default:
		c.reply("500 What?")
	}
	return false
}

// name returns the name in the tree of what arg names.
func (c *session) name(arg string) string {
	if !strings.HasPrefix(arg, "/") {
		arg = c.dir + "/" + arg
	}
	if name := strings.TrimPrefix(path.Clean(arg), "/"); name != "" {
		return name
	}
	return "."
}

func (c *session) cwd(arg string) {
	if arg == "" {
		arg = "/"
	}
	name := c.name(arg)
	if info, err := fs.Stat(c.s.tree, name); err != nil || !info.IsDir() {
		c.reply("550 %s: No such directory.", arg)
		return
	}
	c.dir = "/" + strings.TrimPrefix(name, ".")
	if name != "." {
		c.dir = "/" + name
	}
	c.reply("250 Done.")
}

// file returns what a plain file is, or replies that there is none.
func (c *session) file(arg string) fs.FileInfo {
	info, err := fs.Stat(c.s.tree, c.name(arg))
	switch {
	case err != nil:
		c.reply("550 %s: No such file or directory.", arg)
	case info.IsDir():
		c.reply("550 %s: not a plain file.", arg)
	default:
		return info
	}
	return nil
}
