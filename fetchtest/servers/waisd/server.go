// Package waisd is a WAIS server for tests and demonstrations. It behaves as freeWAIS does on the
// wire, oddities included, and fails on request. It is not a search engine.
package waisd

import (
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// Buffer is the largest record that the server sends, in bytes, as in freeWAIS.
const Buffer = 100_000

// Options say what a server has.
type Options struct {
	// Tree holds the databases, which are its top-level folders; the files below them are the
	// documents. Nil means none.
	Tree fs.FS
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Public is the address that clients are told, host:port; "" means the one that is listened on.
	Public string
	// FreeWAIS identifies and describes documents as freeWAIS-sf 2.2 does: by seven fields, with
	// paths of the server's machine, and the length of the document in the local one.
	FreeWAIS bool
	// Gone are documents, as "DATABASE/NAME", that searches find and that are not there any more.
	// The answer to a retrieval is that no byte is in range, as freeWAIS-sf says it.
	Gone []string
	// Nagle sends the header of a packet and what follows by themselves, and leaves it to the
	// network to put them together: the second waits until the client acknowledges the first, which
	// it may delay.
	Nagle bool
}

// A Server is a running server. Its content, for faults, is documents, which travel in parts: a
// fault strikes in the part that holds its place. Short and Abort send, in place of that part, the
// end of the document and a diagnostic; with Endless, the document has no end.
type Server struct {
	*servers.Server
	opts Options
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
	base, err := servers.Listen(servers.Config{Scheme: "wais", Listen: opts.Listen, Public: opts.Public})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// A session is one connection.
type session struct {
	*servers.Conn
	s        *Server
	document []byte          // the identifier of the one being retrieved
	failure  servers.Failure // of it
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, s: s}
	if tcp, ok := conn.NetConn().(*net.TCPConn); ok && s.opts.Nagle {
		tcp.SetNoDelay(false)
	}
	for {
		packet, err := apdu.ReadPacket(c)
		if err != nil || !c.answer(packet) {
			return
		}
	}
}

// answer answers a request and reports whether to go on. The answer is empty for what the server
// cannot read.
func (c *session) answer(packet []byte) bool {
	if m, err := apdu.DecodeInit(packet); err == nil {
		c.Note("INIT " + m.ID)
		return c.send(apdu.Init{Size: min(m.Size, Buffer), Accepted: true, ID: "urlget waisd"}.EncodeResponse())
	}
	m, err := apdu.DecodeSearch(packet)
	if err != nil {
		return c.send(nil)
	}
	if m.Document == nil {
		c.Note(fmt.Sprintf("SEARCH %q %q", m.Database, m.Words))
		return c.send(c.s.search(m).Encode())
	}
	c.Note(fmt.Sprintf("RETRIEVE %q %q %d-%d", m.Database, m.Type, m.From, m.To))
	switch {
	case m.Type == "":
		return false // freeWAIS dies of it
	case m.To-m.From > Buffer-overhead:
		return c.send(nil) // it would not fit
	}
	return c.retrieve(m)
}

// overhead is how much of the buffer is not for the text.
const overhead = 1000

// send sends a packet and reports whether to go on.
func (c *session) send(payload []byte) bool { return c.sendTo(c, payload) }

func (c *session) sendTo(w io.Writer, payload []byte) bool {
	if c.s.opts.Nagle {
		w = &twoWrites{w, c.Flush}
	}
	return apdu.WritePacket(w, payload) == nil
}

// twoWrites sends the header of a packet before the rest.
type twoWrites struct {
	io.Writer
	flush func() error
}

func (w *twoWrites) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p[:min(len(p), apdu.HeaderSize)])
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return n, err
	}
	m, err := w.Writer.Write(p[n:])
	return n + m, err
}

func (s *Server) has(database string) bool { return slices.Contains(s.databases(), database) }

func (s *Server) databases() []string {
	entries, _ := fs.ReadDir(s.opts.Tree, ".")
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// source is the record that describes a database.
func (s *Server) source(database string) string {
	host, port, _ := net.SplitHostPort(s.Addr)
	return fmt.Sprintf("(:source\n :version 3\n :ip-name %q\n :tcp-port %s\n :database-name %q\n"+
		" :cost 0.00\n :cost-unit :free\n :maintainer \"nobody@localhost\"\n :description \"Files of %s\"\n)\n",
		host, port, database, database)
}
