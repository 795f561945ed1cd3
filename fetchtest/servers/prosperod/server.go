// Package prosperod is a Prospero server for tests and demonstrations. It answers as the original
// one does, window by window, and fails on request.
package prosperod

import (
	"bytes"
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

// Options say what a server has and how it behaves.
type Options struct {
	// Tree holds the files: a folder is a directory, a file an object with contents. Nil means
	// none.
	Tree fs.FS
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Public is the address that clients are told, host:port; "" means the one that is listened on.
	Public string
	// Links are further lines of the listing of a directory, by its name, such as external links
	// with their ACCESS-METHOD. In them, in Attributes and in Forward, "$HOST" is the server itself.
	Links map[string][]string
	// Unions are directories, by name, whose members belong to another: it lists a union link to
	// each.
	Unions map[string][]string
	// Attributes are the lines that tell of objects without contents, by name.
	Attributes map[string][]string
	// Forward maps names to "HOST-TYPE HOST TYPE HSONAME VERSION".
	Forward map[string]string
	// Version1 makes the server know version 1 only.
	Version1 bool
	// Queue makes clients wait for the reply to each request.
	Queue Queue
	// Chatter is what a server says that has stopped in mid-reply.
	Chatter Chatter
}

// A Queue is what a server does that is busy: it tells clients to wait, and answers later.
type Queue struct {
	// Times is how often a client is told to wait before it gets the reply: less than 0 means for
	// ever. The first time is at once.
	Times int
	// Wait is how long the client is told to wait, in whole seconds up to 65,535.
	Wait time.Duration
	// Position is the place in the queue that the client is told; 0 means that it is told none.
	Position uint16
	// Every is the time to the next packet or to the reply; 0 means that these come when the client
	// asks again.
	Every time.Duration
}

// A Chatter is what a server sends every so often to a client whose reply suffers servers.Stall,
// until it is closed.
type Chatter struct {
	Every   time.Duration // 0 means silence
	Garbage bool          // a datagram that is no packet
	Repeat  bool          // the last packet that the client has, if there is one
}

// A Server is a running server. Its content, for faults, is listings and the contents of files.
// Faults strike between two packets: Cut and Stall send nothing more, which is the same in UDP;
// Abort goes on with a refusal; Short makes the packet before the last one; Endless goes on up to
// the highest number that a packet can have; Drip waits before each packet, by default for 50
// milliseconds; and Split makes them as small as the number of packets allows.
type Server struct {
	*servers.Server
	opts Options
	host string // "HOST(PORT)"
}

// Start starts a server until the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server until Close.
func New(opts Options) (*Server, error) {
	if opts.Tree == nil {
		opts.Tree = embed.FS{}
	}
	base, err := servers.ListenPacket(servers.Config{Scheme: "prospero", Listen: opts.Listen, Public: opts.Public,
		Cannot: []servers.Fault{servers.Reset, servers.HalfClose}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	host, port, _ := net.SplitHostPort(s.Addr)
	s.host = host + "(" + port + ")"
	base.ServePackets(func(p *servers.Packets) {
		c := &correspondence{Packets: p, s: s, answers: make(map[string]*reply)}
		c.loop()
		c.later.Wait()
	})
	return s, nil
}

// A correspondence is all that the server does. It remembers its last answers, to repeat what was
// lost.
type correspondence struct {
	*servers.Packets
	s     *Server
	later sync.WaitGroup // what is not sent at once

	mu      sync.Mutex
	answers map[string]*reply
	order   []string // of answers, those first that were not asked for the longest time
}

const (
	maxAnswers = 1024 // that are remembered
	maxParts   = 64   // packets of a request
)

func (c *correspondence) loop() {
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

// packet handles one packet: an acknowledgement, or a part of a request that may be a repetition.
func (c *correspondence) packet(from net.Addr, h ardp.Header, payload []byte) {
	key := fmt.Sprintf("%s %d", from, h.CID)
	r := c.answers[key]
	if r != nil { // it is still wanted
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
		c.forget(key) // it is another request under the same number, from a port that is used again
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
		r.asked = max(r.asked, h.Total)
		if len(r.parts) < int(r.asked) {
			return
		}
		var request []byte
		for i := range r.asked {
			request = append(request, r.parts[i+1]...)
		}
		message, failure := c.answer(string(request))
		r.fill(message, failure)
		r.waits = c.s.opts.Queue.Times
	}
	if r.waits != 0 {
		c.wait(from, r)
		return
	}
	c.send(from, r, 0)
}

func (c *correspondence) forget(key string) {
	delete(c.answers, key)
	i := slices.Index(c.order, key)
	c.order = slices.Delete(c.order, i, i+1)
}

func (c *correspondence) remember(key string, r *reply) {
	if len(c.order) == maxAnswers {
		c.forget(c.order[0])
	}
	c.answers[key] = r
	c.order = append(c.order, key)
}
