package ftpd

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strings"
)

func (c *session) closePassive() {
	if c.passive != nil {
		c.passive.Close()
		c.passive = nil
	}
}

// listen opens a port for data.
func (c *session) listen(verb string) {
	c.closePassive()
	l, err := net.Listen("tcp", c.s.opts.addr())
	if err != nil {
		c.reply("425 %v", err)
		return
	}
	c.passive, c.active = l, ""
	port := l.Addr().(*net.TCPAddr).Port
	if verb == "EPSV" {
		c.reply("229 Extended passive mode (|||%d|)", port)
	} else {
		host := c.s.opts.Elsewhere
		if host == "" {
			host = "127,0,0,1"
		}
		c.reply("227 Passive mode (%s,%d,%d)", host, port>>8, port&255)
	}
}

// port notes where to connect to.
func (c *session) port(verb, arg string) {
	var b [6]byte
	addr := ""
	if f := strings.Split(arg, "|"); verb == "EPRT" && len(f) == 5 {
		addr = net.JoinHostPort(f[2], f[3])
	} else if n, _ := fmt.Sscanf(arg, "%d,%d,%d,%d,%d,%d", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]); n == 6 {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), uint16(b[4])<<8|uint16(b[5])).String()
	}
	if addr == "" {
		c.reply("501 No address.")
		return
	}
	c.active = addr
	c.reply("200 Noted.")
}

// data announces a transfer and opens its connection; nil if there is none.
func (c *session) data() net.Conn {
	var conn net.Conn
	var err error
	switch {
	case c.active != "":
		c.reply("150 Here it comes.")
		conn, err = net.Dial("tcp", c.active)
	case c.passive != nil:
		c.reply("150 Here it comes.")
		conn, err = c.passive.Accept()
		c.closePassive()
	default:
		c.reply("425 Use EPSV first.")
		return nil
	}
	if err != nil {
		c.reply("425 %v", err)
		return nil
	}
	if !c.s.track(conn) {
		return nil
	}
	if !c.private {
		return conn
	}
	t := tls.Server(conn, c.s.opts.TLS)
	if err := t.Handshake(); err != nil || c.s.opts.Reuse && !t.ConnectionState().DidResume {
		c.s.forget(conn)
		c.reply("522 The TLS session must be taken up again.")
		return nil
	}
	return t
}

// done closes a data connection.
func (c *session) done(conn net.Conn) {
	conn.Close()
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	c.s.forget(conn)
}

// retrieve sends a file, unless a fault strikes.
func (c *session) retrieve(arg string) (over bool) {
	if c.file(arg) == nil {
		return false
	}
	content, err := fs.ReadFile(c.s.tree, c.name(arg))
	if err != nil {
		c.reply("451 %v", err)
		return false
	}
	content = content[min(c.rest, int64(len(content))):]
	c.rest = 0
	fault := c.s.takeFault()
	if fault == Noise {
		c.conn.Write([]byte("\x00\xff\x80 noise\r\n\r\n<html>\r\n"))
		return false
	}
	conn := c.data()
	if conn == nil {
		return false
	}
	defer c.done(conn)
	if fault == None {
		io.Copy(conn, bytes.NewReader(content))
		c.done(conn)
		c.reply("226 Done.")
		return false
	}
	conn.Write(content[:len(content)/2])
	switch fault {
	case Cut:
		return true
	case Stall:
		c.r.ReadByte() // until the client gives up
		return true
	}
	c.done(conn)
	switch fault {
	case Abort:
		c.reply("426 Enough.")
	case Incomplete:
		c.reply("226 Done.")
	}
	return false
}

// list sends a listing.
func (c *session) list(verb, arg string) {
	name := c.name(arg)
	members, err := fs.ReadDir(c.s.tree, name)
	if err != nil {
		c.reply("550 %s: No such directory.", arg)
		return
	}
	conn := c.data()
	if conn == nil {
		return
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
		switch {
		case verb == "NLST":
			if arg != "" {
				b.WriteString(arg + "/")
			}
		case verb == "LIST":
			fmt.Fprintf(&b, "%s 1 owner group %12d %s ", info.Mode(), info.Size(), info.ModTime().UTC().Format("Jan _2  2006"))
		case m.IsDir():
			fmt.Fprintf(&b, "type=dir;modify=%s; ", info.ModTime().UTC().Format("20060102150405"))
		default:
			fmt.Fprintf(&b, "type=file;size=%d;modify=%s; ", info.Size(), info.ModTime().UTC().Format("20060102150405"))
		}
		b.WriteString(m.Name() + "\r\n")
	}
	conn.Write(b.Bytes())
	c.done(conn)
	c.reply("226 Done.")
}
