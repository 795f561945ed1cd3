// Package waisd is a WAIS server for tests and demonstrations. It imitates the wire behavior of
// freeWAIS, including its bugs, and fails on request. It is not a search engine.
package waisd

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/apdu"
)

// Buffer is the size of the largest response in bytes, as in freeWAIS.
const Buffer = 100_000

// Options configure a server.
type Options struct {
	// Tree holds the databases as top-level folders, with the documents below them. Nil means none.
	Tree fs.FS
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Public is the address in URLs, as host:port. "" means the address it listens on.
	Public string
	// FreeWAIS identifies and describes documents as freeWAIS-sf 2.2 does: with seven fields, which
	// contain paths on the server and the length of the document.
	FreeWAIS bool
	// Gone lists removed documents, as "DATABASE/NAME", that searches still find. A retrieval
	// returns the diagnostic of freeWAIS-sf that no byte is in range.
	Gone []string
	// Nagle sends the header and the body of a packet separately, with Nagle's algorithm. The body
	// waits until the client acknowledges the header, which it may delay.
	Nagle bool
}

// A Server is a running WAIS server. Faults apply to documents, which are sent in parts. A fault
// occurs in the part that contains its offset. Short and Abort replace that part with the end of
// the document and a diagnostic. Endless sends a document without end.
type Server struct {
	*servers.Server
	opts Options
}

// Start starts a server and closes it when the test ends.
func Start(t servers.TB, opts Options) *Server {
	t.Helper()
	return servers.Bind(t, New, opts)
}

// New starts a server. The caller must call Close.
func New(opts Options) (*Server, error) {
	opts.Tree = cmp.Or[fs.FS](opts.Tree, embed.FS{})
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
	document []byte          // identifier of the current document
	failure  servers.Failure // failure for that document
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, s: s}
	if tcp, ok := conn.NetConn().(*net.TCPConn); ok && s.opts.Nagle {
		tcp.SetNoDelay(false)
	}
	for {
		packet, err := apdu.ReadPacket(c)
		if err != nil || !c.handle(packet) {
			return
		}
	}
}

// handle handles a request and reports whether to continue. The response is empty if the request is
// malformed.
func (c *session) handle(packet []byte) bool {
	if m, err := apdu.DecodeInit(packet); err == nil {
		c.Note("INIT " + m.ID)
		return c.send(apdu.Init{Size: min(m.Size, Buffer), Accepted: true,
			ID: "urlget waisd"}.EncodeResponse())
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
		return false // freeWAIS crashes here
	case m.To-m.From > Buffer-overhead:
		return c.send(nil) // the response would not fit
	}
	return c.retrieve(m)
}

// overhead is the part of the buffer that is not available for text, in bytes.
const overhead = 1000

// send sends a packet and reports whether to continue.
func (c *session) send(payload []byte) bool { return c.sendTo(c, payload) }

func (c *session) sendTo(w io.Writer, payload []byte) bool {
	if c.s.opts.Nagle {
		w = &twoWrites{w, c.Flush}
	}
	return apdu.WritePacket(w, payload) == nil
}

// twoWrites writes the header of a packet before the rest.
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

// source returns the description of a database.
func (s *Server) source(database string) string {
	host, port, _ := net.SplitHostPort(s.Addr)
	return fmt.Sprintf("(:source\n :version 3\n :ip-name %q\n :tcp-port %s\n :database-name %q\n"+
		" :cost 0.00\n :cost-unit :free\n :maintainer \"nobody@localhost\"\n :description \"Files of "+
		"%s\"\n)\n",
		host, port, database, database)
}
