package fetchhttp

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/urlget/urlget/internal/drain"
)

// helloTimeout limits the time until a client has said what it wants.
const helloTimeout = 10 * time.Second

// Serve serves HTTP and SOCKS5 clients on l until ctx ends. It closes l. Tunnels end at once then, and
// requests have half a second to finish, so that what a client has received is recorded.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	web := &sniffer{Listener: l, accepted: make(chan net.Conn), hall: newHall(), ctx: ctx}
	web.running.Go(func() { web.run(p) })
	err := drain.Serve(ctx, newServer(p), web)
	cancel()
	web.running.Wait()
	return err
}

func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: helloTimeout, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 1 << 20, DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if rw, ok := c.(readWriter); ok && rw.visit != nil {
				ctx = withVisit(ctx, rw.visit)
			}
			return ctx
		}}
}

// A sniffer is a listener that accepts the connections of HTTP clients, and serves those of SOCKS5
// clients itself.
type sniffer struct {
	net.Listener
	accepted chan net.Conn
	hall     *hall
	running  sync.WaitGroup
	ctx      context.Context
	err      error // of Listener; it is set when accepted is closed
}

func (s *sniffer) Accept() (net.Conn, error) {
	c, ok := <-s.accepted
	if !ok {
		return nil, s.err
	}
	return c, nil
}

func (s *sniffer) run(p *Proxy) {
	var sniffing sync.WaitGroup
	for {
		free := p.Login != nil || s.hall.reserve(s.ctx)
		c, err := s.Listener.Accept()
		if err != nil {
			s.err = err
			sniffing.Wait()
			close(s.accepted)
			return
		}
		if !free {
			c.Close()
			continue
		}
		v := s.hall.enter(c, p.Login == nil)
		sniffing.Go(func() { s.sniff(p, c, v) })
	}
}

// sniff serves or accepts a connection by its first byte.
func (s *sniffer) sniff(p *Proxy, conn net.Conn, v *visit) {
	r := bufio.NewReader(conn)
	c := readWriter{Reader: r, Conn: conn, visit: v}
	stop := context.AfterFunc(s.ctx, func() { c.Close() })
	c.SetReadDeadline(time.Now().Add(helloTimeout))
	first, err := r.Peek(1)
	if err == nil && first[0] == '\r' { // an empty line before a request (RFC 9112, section 2.2)
		if line, _ := r.Peek(2); string(line) == "\r\n" {
			r.Discard(2)
		}
		first, err = r.Peek(1)
	}
	if err != nil {
		stop()
		c.Close()
		return
	}
	if first[0] == socksVersion {
		s.running.Go(func() {
			defer stop()
			defer c.Close()
			p.socks(withVisit(s.ctx, v), c)
		})
		return
	}
	if target, ok := simpleRequest(r); ok {
		s.running.Go(func() {
			defer stop()
			defer c.Close()
			c.SetReadDeadline(time.Time{})
			p.serveSimple(withVisit(s.ctx, v), c, target)
		})
		return
	}
	stop()
	c.SetReadDeadline(time.Time{})
	select {
	case s.accepted <- c:
	case <-s.ctx.Done():
		c.Close()
	}
}
