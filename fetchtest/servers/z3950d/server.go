// Package z3950d is a Z39.50 server for tests and demonstrations. It behaves as servers on YAZ do on
// the wire, and fails on request. It is not a search engine.
package z3950d

import (
	"bufio"
	"fmt"
	"io/fs"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/ber"
	"github.com/urlget/urlget/internal/codec/z3950"
)

// Options say what a server has.
type Options struct {
	// Tree holds the databases, which are its directories, and the records, which are the files in
	// them: MARC21 if they end in .mrc, XML if they end in .xml, and else SUTRS. The docid of a
	// record is its path from the directory on. Nil means none.
	Tree fs.FS
	// Synthetic is the number of records in a database called "many": SUTRS of one line each.
	Synthetic int
	// Brief is how many records at most an answer has; 0 means as many as were asked for.
	Brief int
	// Syntax refuses requests that do not ask for a record syntax, and for records that have another
	// one, with a diagnostic for each record.
	Syntax bool
	// NoUse refuses all use attributes but this one; 0 refuses none.
	NoUse int64
	// User and Password are wanted to begin a session, if User is not "".
	User, Password string
	// Indefinite sends all lists of records with end marks in place of lengths, and long strings in
	// segments, as some old servers do.
	Indefinite bool
	// Explain is set for a server that has an Explain database.
	Explain bool
	// Listen is the address to listen on, host:port; "" means a free port of 127.0.0.1.
	Listen string
	// Public is the address that clients are told, host:port; "" means the one that is listened on.
	Public string
}

// A Server is a running server. Its content, for faults, is the records that an answer has; with
// Endless, there is no end of them.
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
	base, err := servers.Listen(servers.Config{Scheme: "z39.50s", Listen: opts.Listen, Public: opts.Public,
		Cannot: []servers.Fault{servers.Short, servers.Abort}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// maxRequest bounds a message of a client, in bytes.
const maxRequest = 1 << 20

// A session is one connection.
type session struct {
	*servers.Conn
	s      *Server
	r      *ber.Reader
	result []record
}

func (s *Server) session(conn *servers.Conn) {
	c := &session{Conn: conn, s: s, r: ber.NewReader(bufio.NewReader(conn))}
	for c.r.Message(maxRequest) && c.answer() {
	}
}

// answer answers a message and reports whether to go on.
func (c *session) answer() bool {
	h := c.r.Header()
	if h.Class != ber.Context || !h.Constructed {
		return c.refuse()
	}
	switch h.Tag {
	case z3950.TagInit:
		return c.init(z3950.ReadInit(c.r))
	case z3950.TagSearch:
		m := z3950.ReadSearch(c.r)
		if c.r.Err() != nil {
			return c.refuse()
		}
		c.Note(fmt.Sprintf("SEARCH %q %s", m.Databases, show(m.Query)))
		return c.send(c.search(m).Encode())
	case z3950.TagPresent:
		m := z3950.ReadPresent(c.r)
		c.Note(fmt.Sprintf("PRESENT %d %d %q %q", m.Start, m.Count, m.Syntax, m.ElementSet))
		return c.r.Err() == nil && c.present(m)
	case z3950.TagScan:
		m := z3950.ReadScan(c.r)
		if c.r.Err() != nil {
			return c.refuse()
		}
		c.Note(fmt.Sprintf("SCAN %q %q", m.Databases, m.From.Term))
		return c.send(c.scan(m).Encode())
	case z3950.TagClose:
		c.Note("CLOSE")
		c.send(z3950.Close{Reason: z3950.CloseFinished}.Encode())
		return false
	}
	return c.refuse()
}

// refuse ends the session with a client that does not keep to the protocol.
func (c *session) refuse() bool {
	c.send(z3950.Close{Reason: z3950.CloseProtocol}.Encode())
	return false
}

func (c *session) init(m z3950.Init) bool {
	c.Note("INIT")
	answer := z3950.Init{Version: m.Version, Options: []int{z3950.OptionSearch, z3950.OptionPresent, z3950.OptionScan},
		Message: m.Message, Record: m.Record, ID: "urlget", Name: "z3950d", Accepted: true}
	if c.s.opts.User != "" && (m.Login == nil || m.Login.User != c.s.opts.User || m.Login.Password != c.s.opts.Password) {
		answer.Accepted = false
	}
	return c.r.Err() == nil && c.send(answer.EncodeResponse()) && answer.Accepted
}

// send sends a message that has no content and reports whether to go on.
func (c *session) send(message []byte) bool {
	f := c.TakeFor()
	if f.Fault == servers.None {
		_, err := c.Write(message)
		return err == nil
	}
	b, ok := c.ContentWith(f, int64(len(message)))
	if !ok {
		return true
	}
	if _, err := b.Write(message); err != nil {
		return false
	}
	_, err := b.End()
	return err == nil
}
