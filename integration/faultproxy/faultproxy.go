// Package faultproxy stands between a client and a real server and disturbs what the server sends,
// at a chosen byte.
//
//	p := &faultproxy.Proxy{Pick: func() faultproxy.Fault {
//		return faultproxy.Fault{Kind: faultproxy.Cut, After: 1000}
//	}}
//	defer p.Close()
//	c := fetch.New(&fetch.Options{DialContext: p.DialContext}, protocols.All)
//
// As every connection of the client passes through it, also those that are made later for data, as
// FTP's, are disturbed.
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

// A Kind is what happens to the bytes of a server.
type Kind uint8

// The faults. With UDP, After lies within some datagram.
const (
	None      Kind = iota
	Delay          // everything, both ways, comes later by Fault.Delay
	Chop           // everything, both ways, comes in small pieces; UDP: a datagram changes places with the next
	Stall          // nothing more comes, but the connection stays
	Cut            // the connection is closed in order; UDP: a datagram is lost
	Reset          // the connection is reset; UDP: the port is closed
	HalfClose      // the server's direction ends, the client's stays open; UDP: as Stall
	Flip           // one bit is another
	Duplicate      // some bytes come twice; UDP: a datagram
)

var kindNames = [...]string{"none", "delay", "chop", "stall", "cut", "reset", "half-close", "bit flip", "duplicate"}

// String returns the fault's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", k)
}

// Kinds returns all kinds but None.
func Kinds() []Kind {
	return []Kind{Delay, Chop, Stall, Cut, Reset, HalfClose, Flip, Duplicate}
}

// A Fault says what happens on a connection, and when: once the server has sent After bytes. Delay
// and, with TCP, Chop are there from the first byte, and not subject to Proxy.Limit.
type Fault struct {
	Kind  Kind
	After int64
	Delay time.Duration
}

// A Proxy disturbs connections that are dialled through it. Its fields must not be changed once it
// is in use. The zero value passes everything on.
type Proxy struct {
	// Pick chooses the fault of a new connection. It may be called by several goroutines at once.
	// Nil means none.
	Pick func() Fault
	// Limit is how many connections are disturbed; 0 means all.
	Limit int

	wg      sync.WaitGroup
	mu      sync.Mutex
	closed  bool
	links   map[*link]bool
	struck  int
	longest int64
}

// A link is one connection: what belongs to it is closed together.
type link struct {
	p     *Proxy
	fault Fault
	got   int64 // bytes from the server
	hit   bool  // the fault has happened

	once sync.Once
	gone chan struct{} // closed by end
	ends []interface{ Close() error }
}

// DialContext connects to addr through the proxy. The remote address of the connection is the
// proxy's. network is one of TCP or UDP.
func (p *Proxy) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if strings.HasPrefix(network, "udp") {
		return p.dialUDP(ctx, network, addr)
	}
	return p.dialTCP(ctx, network, addr)
}

// Struck returns how many connections were disturbed.
func (p *Proxy) Struck() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// Longest returns the most bytes that a server has sent on one connection.
func (p *Proxy) Longest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}

// Close ends all connections and waits until nothing of them is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	var all []*link
	for l := range p.links {
		all = append(all, l)
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
	l := &link{p: p, gone: make(chan struct{}), ends: ends}
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

// end closes all of the link.
func (l *link) end() {
	l.once.Do(func() {
		close(l.gone)
		for _, e := range l.ends {
			e.Close()
		}
		l.p.mu.Lock()
		delete(l.p.links, l)
		l.p.mu.Unlock()
	})
}

// due counts n bytes that came from the server, and returns the place among them at which the fault
// happens, or -1.
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

// pause waits for the link's delay, and says whether the link is still there.
func (l *link) pause() bool {
	timer := time.NewTimer(l.fault.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.gone:
		return false
	}
}
