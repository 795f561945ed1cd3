package ftpd

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"strings"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/internal/treefile"
)

// A listener waits for a data connection.
type listener struct {
	net.Listener
	close func()
}

func (c *session) closePassive() {
	if c.passive != nil {
		c.passive.close()
		c.passive = nil
	}
}

// listen opens a port for a data connection.
func (c *session) listen(verb string) {
	c.closePassive()
	l, err := net.Listen("tcp", net.JoinHostPort(c.s.opts.host(), "0"))
	if err != nil {
		c.Reply("425 %v", err)
		return
	}
	c.passive, c.active = &listener{l, c.Track(l)}, ""
	port := l.Addr().(*net.TCPAddr).Port
	if verb == "EPSV" {
		c.Reply("229 Extended passive mode (|||%d|)", port)
	} else {
		host := c.s.opts.Elsewhere
		if host == "" {
			host = "127,0,0,1"
		}
		c.Reply("227 Passive mode (%s,%d,%d)", host, port>>8, port&255)
	}
}

// port records the address for the data connection.
func (c *session) port(verb, arg string) {
	var b [6]byte
	addr := ""
	if f := strings.Split(arg, "|"); verb == "EPRT" && len(f) == 5 {
		addr = net.JoinHostPort(f[2], f[3])
	} else if n, _ := fmt.Sscanf(arg, "%d,%d,%d,%d,%d,%d", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]); n == 6 {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), uint16(b[4])<<8|uint16(b[5])).String()
	}
	if addr == "" {
		c.Reply("501 No address.")
		return
	}
	c.active = addr
	c.Reply("200 Noted.")
}

// data announces a transfer and opens its connection. It returns nil on failure.
func (c *session) data(announcement string) *servers.Conn {
	var conn net.Conn
	var err error
	switch {
	case c.active != "":
		c.Printf("%s", announcement)
		c.Flush()
		conn, err = net.Dial("tcp", c.active)
	case c.passive != nil:
		c.Printf("%s", announcement)
		c.Flush()
		conn, err = c.passive.Accept()
		c.closePassive()
	default:
		c.Printf("425 Use EPSV first.")
		return nil
	}
	if err != nil {
		c.Printf("425 %v", err)
		return nil
	}
	data := c.Open(conn)
	if data == nil || !c.private {
		return data
	}
	if err := data.StartTLS(c.s.opts.TLS); err != nil || c.s.opts.Reuse && !data.ConnectionState().DidResume {
		data.Close()
		c.Printf("522 The TLS session must be resumed.")
		return nil
	}
	return data
}

// buffer is the maximum size of the pieces in which content is sent.
const buffer = 256 << 10

// done is the reply that ends a transfer.
const done = "226 Done.\r\n"

// send sends content of size bytes over a data connection, sends the final reply, and reports whether
// the session is over.
func (c *session) send(content io.Reader, size int64, announcement, final string) (over bool) {
	var data *servers.Conn
	b, ok := c.ContentOn(size, func() *servers.Conn {
		data = c.data(announcement)
		return data
	})
	if !ok {
		return false
	}
	_, writeErr := io.CopyBuffer(b, struct{ io.Reader }{content}, make([]byte, min(max(size, 1), buffer)))
	fault, err := b.End()
	if c.s.opts.NoNotify {
		data.Cut()
	} else {
		data.Close()
	}
	switch {
	case err != nil && b.Fault() != servers.None:
		return true
	case writeErr != nil && c.s.opts.Deaf:
		io.Copy(io.Discard, c)
		return true
	case writeErr != nil:
		c.Printf("426 The data connection is lost.")
	case fault == servers.Abort:
		c.Printf("426 Enough.")
	default:
		io.WriteString(c, final)
	}
	io.WriteString(c, c.s.opts.Stray)
	return false
}

// begin is the reply that starts the transfer of a listing.
const begin = "150 Here it comes."

// retrieve sends a file.
func (c *session) retrieve(arg string) (over bool) {
	if c.file(arg) == nil {
		return false
	}
	f, err := treefile.Open(c.s.opts.Tree, c.name(arg))
	if err != nil {
		c.Reply("451 %v", err)
		return false
	}
	defer f.Close()
	start := min(c.rest, f.Size)
	c.rest = 0
	announcement := begin
	if c.s.opts.Announce {
		announcement = fmt.Sprintf("150 Opening BINARY mode data connection for %s (%d bytes).", arg,
			f.Size-start)
	}
	return c.send(io.NewSectionReader(f, start, f.Size-start), f.Size-start, announcement, done)
}

// list sends a listing.
func (c *session) list(verb, arg string) (over bool) {
	if verb == "LIST" { // "LIST -a": servers take options of ls, and clients send them
		for strings.HasPrefix(arg, "-") {
			_, arg, _ = strings.Cut(arg, " ")
		}
	}
	if c.s.opts.Listing != nil {
		if lines, end := c.s.opts.Listing(verb, path.Join(c.dir, arg)); lines != "" || end != "" {
			return c.send(strings.NewReader(lines), int64(len(lines)), begin, cmp.Or(end, done))
		}
	}
	members, err := fs.ReadDir(c.s.opts.Tree, c.name(arg))
	if err != nil {
		c.Reply("550 %s: No such directory.", arg)
		return false
	}
	var b bytes.Buffer
	if verb == "MLSD" {
		b.WriteString("type=cdir; .\r\ntype=pdir; ..\r\n")
	}
	for _, m := range members {
		info, err := m.Info()
		if err != nil {
			continue
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			target, _ = fs.ReadLink(c.s.opts.Tree, path.Join(c.name(arg), m.Name()))
		}
		switch {
		case verb == "NLST":
			if arg != "" {
				b.WriteString(arg + "/")
			}
		case verb == "LIST":
			fmt.Fprintf(&b, "%s 1 owner group %12d %s ", strings.Replace(info.Mode().String(), "L", "l", 1),
				info.Size(), info.ModTime().UTC().Format("Jan _2  2006"))
		default:
			b.WriteString(facts(info, target))
		}
		b.WriteString(m.Name())
		if verb == "LIST" && target != "" {
			b.WriteString(" -> " + target)
		}
		b.WriteString("\r\n")
	}
	return c.send(&b, int64(b.Len()), begin, done)
}

// facts returns what MLSD and MLST say of a file (RFC 3659, section 7.2). The target is that of a
// symbolic link.
func facts(info fs.FileInfo, target string) string {
	modify := info.ModTime().UTC().Format("20060102150405")
	switch {
	case target != "":
		return fmt.Sprintf("type=OS.unix=slink:%s;modify=%s; ", target, modify)
	case info.IsDir():
		return fmt.Sprintf("type=dir;modify=%s; ", modify)
	}
	return fmt.Sprintf("type=file;size=%d;modify=%s; ", info.Size(), modify)
}

// facts replies to MLST, the listing of one file or directory, over the control connection.
func (c *session) facts(arg string) {
	name := c.name(arg)
	info, err := fs.Stat(c.s.opts.Tree, name)
	if err != nil {
		c.Reply("550 %s: No such file or directory.", arg)
		return
	}
	c.Reply("250-Facts:\r\n %s%s\r\n250 End", facts(info, ""), path.Join("/", name))
}
