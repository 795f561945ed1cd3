package faultproxy

import (
	"bytes"
	"fmt"
	"net"
	"regexp"
	"strconv"
)

// Forward listens on addr, as host:port, and relays each TCP connection to target until Close. It
// returns the address that it listens on. Port 0 means a free port.
func (p *Proxy) Forward(addr, target string) (string, error) {
	return p.forward(addr, target, func() func([]byte) []byte { return nil })
}

// ForwardFTP is Forward for an FTP server. It replaces the addresses in replies to PASV and EPSV by
// its own, so that data connections pass through the proxy too. The control connection must not use
// TLS.
func (p *Proxy) ForwardFTP(addr, target string) (string, error) {
	host, _, err := net.SplitHostPort(target)
	if err != nil {
		return "", err
	}
	return p.forward(addr, target, func() func([]byte) []byte { return (&control{p: p, host: host}).rewrite })
}

func (p *Proxy) forward(addr, target string, rewriter func() func([]byte) []byte) (string, error) {
	l, err := p.listen(addr)
	if err != nil {
		return "", err
	}
	p.wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.connect(client, target, rewriter())
		}
	})
	return l.Addr().String(), nil
}

// listen returns a listener that Close closes.
func (p *Proxy) listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return nil, errClosed
	}
	if p.ports == nil {
		p.ports = make(map[net.Listener]bool)
	}
	p.ports[l] = true
	return l, nil
}

// connect relays client to target. If target does not accept the connection, it closes client.
func (p *Proxy) connect(client net.Conn, target string, rewrite func([]byte) []byte) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		client.Close()
		return
	}
	p.relay(client.(*net.TCPConn), server.(*net.TCPConn), rewrite)
}

// A control is the control connection of an FTP session.
type control struct {
	p    *Proxy
	host string // the server's
	line []byte // incomplete line
}

var (
	epsv = regexp.MustCompile(`^229 .*\(\|\|\|(\d+)\|\)`)
	pasv = regexp.MustCompile(`^227 .*?(\d+),(\d+),(\d+),(\d+),(\d+),(\d+)`)
)

// rewrite returns the complete lines of the server's replies, with the proxy's addresses. At the
// end it returns the incomplete line.
func (c *control) rewrite(b []byte) (lines []byte) {
	if len(b) == 0 {
		return c.line
	}
	c.line = append(c.line, b...)
	for {
		line, rest, ok := bytes.Cut(c.line, []byte("\n"))
		if !ok {
			return lines
		}
		lines = append(append(lines, c.replace(string(line))...), '\n')
		c.line = bytes.Clone(rest)
	}
}

// replace returns a line with the address of a data port of the proxy.
func (c *control) replace(line string) string {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	if m := epsv.FindStringSubmatch(line); m != nil {
		if port := c.p.dataPort(c.host, number(m[1])); port != 0 {
			return fmt.Sprintf("229 Entering Extended Passive Mode (|||%d|)\r", port)
		}
	}
	if m := pasv.FindStringSubmatch(line); m != nil {
		if port := c.p.dataPort(c.host, number(m[5])<<8|number(m[6])); port != 0 {
			return fmt.Sprintf("227 Entering Passive Mode (127,0,0,1,%d,%d)\r", port>>8, port&0xff)
		}
	}
	return line
}

// dataPort returns a port of the proxy for one data connection to the server, or 0.
func (p *Proxy) dataPort(host string, port int) int {
	l, err := p.listen("127.0.0.1:0")
	if err != nil {
		return 0
	}
	p.wg.Go(func() {
		client, err := l.Accept()
		l.Close()
		p.mu.Lock()
		delete(p.ports, l)
		p.mu.Unlock()
		if err == nil {
			p.connect(client, net.JoinHostPort(host, strconv.Itoa(port)), nil)
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}
