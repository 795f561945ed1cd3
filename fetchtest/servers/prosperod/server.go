// Package prosperod is a Prospero server for tests and demonstrations. It replies like the original
// server, with flow control by windows, and fails on request.
package prosperod

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/ardp"
)

// Options configure a server.
type Options struct {
	// Tree holds the files. Its folders are directories; its files are objects with contents. Nil
	// means no files.
	Tree fs.FS
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Public is the address in URLs, as host:port. "" means the address it listens on.
	Public string
	// Links maps directories to additional lines of their listings, such as external links with
	// their ACCESS-METHOD. In Links, Attributes and Forward, "$HOST" stands for the server.
	Links map[string][]string
	// Unions maps directories to other directories, whose members they include by union links.
	Unions map[string][]string
	// Attributes maps names of objects without contents to their attribute lines.
	Attributes map[string][]string
	// Forward maps names to "HOST-TYPE HOST TYPE HSONAME VERSION".
	Forward map[string]string
	// Version1 limits the server to version 1.
	Version1 bool
	// Queue makes clients wait for each reply.
	Queue Queue
	// Chatter is sent after servers.Stall.
	Chatter Chatter
}

// A Queue describes a busy server, which sends wait packets and replies later.
type Queue struct {
	// Times is the number of wait packets before the reply. A negative number means no reply. The
	// first packet is sent at once.
	Times int
	// Wait is the time in the wait packets, in whole seconds up to 65,535.
	Wait time.Duration
	// Position is the queue position in the wait packets. 0 means none.
	Position uint16
	// Every is the time before the next packet or the reply. 0 means that they are sent when the
	// client repeats its request.
	Every time.Duration
}

// Chatter describes packets that are sent repeatedly after servers.Stall, until the server is
// closed.
type Chatter struct {
	Every   time.Duration // 0 means no packets
	Garbage bool          // a datagram that is not a packet
	Repeat  bool          // the last packet that the client has received, if any
}

// A Server is a running Prospero server. Faults apply to listings and file contents, and occur
// between two packets. Cut and Stall both stop sending. Abort sends a refusal. Short ends the reply
// with the packet before. Endless continues up to the highest packet number. Drip waits before each
// packet, 50 milliseconds by default. Split uses the smallest possible packets.
type Server struct {
	*servers.Server
	opts Options
	host string // "HOST(PORT)"
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
	base, err := servers.ListenPacket(servers.Config{Scheme: "prospero", Listen: opts.Listen,
		Public: opts.Public,
		Cannot: []servers.Fault{servers.Reset, servers.HalfClose}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	host, port, _ := net.SplitHostPort(s.Addr)
	s.host = host + "(" + port + ")"
	base.ServePackets(func(p *servers.Packets) {
		c := &responder{Packets: p, s: s, replies: make(map[string]*reply)}
		c.loop()
		c.wg.Wait()
	})
	return s, nil
}

// A responder handles all packets. It keeps the last replies to repeat lost packets.
type responder struct {
	*servers.Packets
	s  *Server
	wg sync.WaitGroup // delayed packets

	mu      sync.Mutex
	replies map[string]*reply
	order   []string // keys of replies, least recently requested first
}

const (
	maxReplies = 1024 // replies to keep
	maxParts   = 64   // packets of a request
)

func (c *responder) loop() {
	var buf [4096]byte
	for {
		n, from, err := c.ReadFrom(buf[:])
		if err != nil {
			return
		}
		h, payload, err := ardp.Parse(buf[:n])
		if err != nil {
			continue
		}
		c.mu.Lock()
		c.packet(from, h, bytes.Clone(payload))
		c.mu.Unlock()
	}
}

// packet handles one packet: an acknowledgment, or a part of a request, which may be repeated.
func (c *responder) packet(from net.Addr, h ardp.Header, payload []byte) {
	key := fmt.Sprintf("%s %d", from, h.CID)
	r := c.replies[key]
	if r != nil { // keep it longer
		c.forget(key)
		c.remember(key, r)
	}
	if h.Seq == 0 {
		if r != nil && r.complete && r.waits == 0 {
			c.send(from, r, int(h.Received))
		}
		return
	}
	if r != nil && r.parts[h.Seq] != nil && !bytes.Equal(r.parts[h.Seq], payload) {
		c.forget(key) // another request with the same number, from a reused port
		r = nil
	}
	if r == nil {
		r = &reply{cid: h.CID, parts: make(map[uint16][]byte)}
		c.remember(key, r)
	}
	if !r.complete {
		if h.Seq > maxParts || h.Total > maxParts {
			return
		}
		r.parts[h.Seq] = payload
		r.requestPackets = max(r.requestPackets, h.Total)
		if len(r.parts) < int(r.requestPackets) {
			return
		}
		var request []byte
		for i := range r.requestPackets {
			request = append(request, r.parts[i+1]...)
		}
		message, failure := c.respond(string(request))
		r.fill(message, failure)
		r.waits = c.s.opts.Queue.Times
	}
	if r.waits != 0 {
		c.wait(from, r)
		return
	}
	c.send(from, r, 0)
}

func (c *responder) forget(key string) {
	delete(c.replies, key)
	i := slices.Index(c.order, key)
	c.order = slices.Delete(c.order, i, i+1)
}

func (c *responder) remember(key string, r *reply) {
	if len(c.order) == maxReplies {
		c.forget(c.order[0])
	}
	c.replies[key] = r
	c.order = append(c.order, key)
}
