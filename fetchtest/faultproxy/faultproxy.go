// Package faultproxy relays connections between a client and a real server, and disturbs the
// server's data at a chosen byte.
//
//	p := &faultproxy.Proxy{Pick: func() faultproxy.Fault {
//		return faultproxy.Fault{Kind: faultproxy.Cut, After: 1000}
//	}}
//	defer p.Close()
//	c := fetch.New(&fetch.Options{DialContext: p.DialContext}, protocols.All)
//
// Every connection of the client passes through the proxy, including later data connections such as
// FTP's. Programs that cannot use another dialer connect to an address of Forward instead.
package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// A Kind is a kind of fault.
type Kind uint8

// The faults. Over UDP, After lies within a datagram.
const (
	None  Kind = iota
	Delay      // delays everything, in both directions, by Fault.Delay
	// splits everything, in both directions, into small pieces; UDP: swaps a datagram with the next
	Chop
	Stall     // sends nothing more and keeps the connection open
	Cut       // closes the connection; UDP: drops a datagram
	Reset     // resets the connection; UDP: closes the port
	HalfClose // closes the server's direction only; UDP: like Stall
	Flip      // changes one bit
	Duplicate // repeats some bytes; UDP: repeats a datagram
)

var kindNames = [...]string{"none", "delay", "chop", "stall", "cut", "reset", "half-close", "bit flip",
	"duplicate"}

// String returns the fault's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Kinds returns all kinds except None.
func Kinds() []Kind {
	return []Kind{Delay, Chop, Stall, Cut, Reset, HalfClose, Flip, Duplicate}
}

// A Fault is the fault of one connection. It occurs after the server has sent After bytes. Delay
// and, over TCP, Chop apply from the first byte on, and Proxy.Limit does not limit them.
type Fault struct {
	Kind  Kind
	After int64
	Delay time.Duration
}

// A Proxy disturbs the connections dialed through it. Its fields must not be changed after first
// use. The zero value disturbs nothing.
type Proxy struct {
	// Pick returns the fault of a new connection. It may be called concurrently. Nil means no
	// fault.
	Pick func() Fault
	// Limit is the number of connections to disturb. 0 means all.
	Limit int

	wg      sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	links   map[*link]bool
	ports   map[net.Listener]bool
	struck  int
	longest int64
}

// A link is one connection. Its ends are closed together.
type link struct {
	p     *Proxy
	fault Fault
	got   int64 // bytes from the server
	hit   bool  // the fault has occurred

	once  sync.Once
	ended chan struct{} // closed by end
	ends  []interface{ Close() error }
}

// DialContext connects to addr through the proxy. The remote address of the connection is the
// proxy's. The network must be TCP or UDP.
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if strings.HasPrefix(network, "udp") {
		return p.dialUDP(ctx, network, addr)
	}
	return p.dialTCP(ctx, network, addr)
}

// Struck returns the number of disturbed connections.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// Longest returns the largest number of bytes that a server has sent on one connection.
func (p *Proxy) Longest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}

// Close closes all connections and waits for their goroutines.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	for port := range p.ports {
		port.Close()
	}
	p.mu.Unlock()
	for _, l := range all {
		l.end()
	}
	p.wg.Wait()
	return nil
}

var errClosed = errors.New("faultproxy: closed")

// link registers a connection. It fails if the proxy is closed.
func (p *Proxy) link(ends ...interface{ Close() error }) (*link, error) {
	l := &link{p: p, ended: make(chan struct{}), ends: ends}
	if p.Pick != nil {
		l.fault = p.Pick()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		for _, e := range ends {
			e.Close()
		}
		return nil, errClosed
	}
	if p.links == nil {
		p.links = make(map[*link]bool)
	}
	p.links[l] = true
	return l, nil
}

// end closes both ends of the link.
func (l *link) end() {
	l.once.Do(func() {
		close(l.ended)
		for _, e := range l.ends {
			e.Close()
		}
		l.p.mu.Lock()
		delete(l.p.links, l)
		l.p.mu.Unlock()
	})
}

// due counts n bytes from the server. It returns the index among them at which the fault occurs, or
// -1.
func (l *link) due(n int) int {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	from := l.got
	l.got += int64(n)
	l.p.longest = max(l.p.longest, l.got)
	at := l.fault.After - from
	if l.hit || l.fault.Kind == None || at < 0 || at >= int64(n) || l.p.Limit > 0 && l.p.struck >= l.p.Limit {
		return -1
	}
	l.hit = true
	l.p.struck++
	return int(at)
}

// pause waits for the link's delay, and reports whether the link is still open.
func (l *link) pause() bool {
	timer := time.NewTimer(l.fault.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
		return false
	}
}
