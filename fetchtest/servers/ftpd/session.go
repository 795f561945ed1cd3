package ftpd

import (
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A session is one control connection.
type session struct {
	*servers.Conn
	s *Server

	user     string
	loggedIn bool
	private  bool // set by PROT P
	dir      string
	rest     int64
	passive  *listener
	active   string // address to connect to
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, s: s, dir: "/"}
	defer c.closePassive()
	if c.do("", "") {
		return
	}
	for {
		line, err := c.ReadText()
		if err != nil {
			return
		}
		if s.opts.OneByOne {
			c.Discard(c.Buffered())
		}
		line = strings.ReplaceAll(line, "\xff\xff", "\xff")
		c.Note(line)
		verb, arg, _ := strings.Cut(line, " ")
		if c.do(strings.ToUpper(verb), arg) {
			return
		}
	}
}

// do handles a command and reports whether the session is over. The command "" is the greeting.
func (c *session) do(verb, arg string) (over bool) {
	if text, ok := c.s.opts.Replies[verb]; ok {
		c.Write([]byte(text))
		return false
	}
	if c.s.unknown(verb) {
		c.Reply("502 Command not implemented.")
		return false
	}
	switch verb {
	case "":
		c.Reply("220 Ready.")
	case "QUIT":
		c.Reply("221 Goodbye.")
		return true
	case "AUTH":
		return c.auth()
	case "PBSZ":
		c.Reply("200 PBSZ=0")
	case "PROT":
		c.private = arg == "P"
		c.Reply("200 Protection level set.")
	case "USER":
		c.user, c.loggedIn = arg, false
		c.Reply("331 Password please.")
	case "PASS":
		c.pass(arg)
	case "ACCT":
		if arg != c.s.opts.Account {
			c.Reply("530 No such account.")
			return false
		}
		c.login()
	case "FEAT":
		c.Reply("%s", c.s.features())
	default:
		if !c.loggedIn {
			c.Reply("530 Please log in.")
			return false
		}
		return c.serve(verb, arg)
	}
	return false
}

func (c *session) auth() (over bool) {
	if c.s.opts.TLS == nil {
		c.Reply("502 No TLS here.")
		return false
	}
	c.Reply("234 Begin.")
	return c.StartTLS(c.s.opts.TLS) != nil
}

func (c *session) pass(password string) {
	want, known := c.s.opts.Users[c.user]
	switch {
	case c.s.opts.Users != nil && (!known || want != password):
		c.Reply("530 Login incorrect.")
	case c.s.opts.Account != "":
		c.Reply("332 Account please.")
	default:
		c.login()
	}
}

func (c *session) login() {
	c.loggedIn = true
	c.s.logins.Add(1)
	c.Reply("230 Logged in.")
}

// serve handles the commands that require a login.
func (c *session) serve(verb, arg string) (over bool) {
	switch verb {
	case "PWD":
		c.Reply(`257 "%s" is where you are.`, strings.ReplaceAll(c.dir, `"`, `""`))
	case "CWD":
		c.cwd(arg)
	case "CDUP":
		c.cwd("..")
	case "NOOP":
		c.Reply("200 Still here.")
	case "MLST":
		c.facts(arg)
	case "SYST":
		c.Reply("215 UNIX Type: L8")
	case "TYPE":
		c.Reply("200 Type set.")
	case "SIZE":
		if info := c.file(arg); info != nil {
			size, ok := c.s.opts.Sizes[c.name(arg)]
			if !ok {
				size = info.Size()
			}
			c.Reply("213 %d", size)
		}
	case "MDTM":
		if info := c.file(arg); info != nil {
			c.Reply("213 %s", info.ModTime().UTC().Format("20060102150405"))
		}
	case "REST":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || n < 0 {
			c.Reply("501 A number, please.")
			return false
		}
		if !c.s.opts.NoRestart {
			c.rest = n
		}
		c.Reply("350 Restarting at %d.", n)
	case "EPSV", "PASV":
		c.listen(verb)
	case "EPRT", "PORT":
		c.port(verb, arg)
	case "ABOR": // no transfer is in progress: it has ended or has lost its data connection
		c.Reply("226 Aborted.")
	case "RETR":
		return c.retrieve(arg)
	case "LIST", "NLST", "MLSD":
		return c.list(verb, arg)
	default:
		c.Reply("500 What?")
	}
	return false
}

// name returns the name of arg in the tree.
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
	if info, err := fs.Stat(c.s.opts.Tree, name); err != nil || !info.IsDir() {
		c.Reply("550 %s: No such directory.", arg)
		return
	}
	c.dir = "/" + strings.TrimPrefix(name, ".")
	if name != "." {
		c.dir = "/" + name
	}
	c.Reply("250 Done.")
}

// file returns the information of a regular file. If there is none, it sends a reply and returns
// nil.
func (c *session) file(arg string) fs.FileInfo {
	info, err := fs.Stat(c.s.opts.Tree, c.name(arg))
	switch {
	case err != nil:
		c.Reply("550 %s: No such file or directory.", arg)
	case info.IsDir():
		c.Reply("550 %s: not a plain file.", arg)
	default:
		return info
	}
	return nil
}
