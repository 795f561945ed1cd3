// Package z3950d is a Z39.50 server for tests and demonstrations. It imitates the wire behavior of
// servers built on YAZ, and fails on request. It is not a search engine.
package z3950d

import (
	"bufio"
	"fmt"
	"io/fs"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/ber"
	"github.com/urlget/urlget/internal/codec/z3950"
)

// Options configure a server.
type Options struct {
	// Tree holds the databases as directories, and the records as files in them: MARC21 for .mrc,
	// XML for .xml, and SUTRS for others. The docid of a record is its path in the directory. Nil
	// means none.
	Tree fs.FS
	// Synthetic is the number of records in the database "many", each a SUTRS of one line.
	Synthetic int
	// Brief limits the records in a response. 0 means no limit.
	Brief int
	// Syntax refuses requests without a record syntax. For records with another syntax, it returns
	// diagnostics.
	Syntax bool
	// NoUse is the only accepted use attribute. 0 accepts all.
	NoUse int64
	// User and Password are the login. If User is empty, none is required.
	User, Password string
	// Indefinite sends lists of records with indefinite lengths and long strings in segments, as
	// some old servers do.
	Indefinite bool
	// Explain adds an Explain database.
	Explain bool
	// Listen is the address to listen on, as host:port. "" means a free port on 127.0.0.1.
	Listen string
	// Public is the address in URLs, as host:port. "" means the address it listens on.
	Public string
}

// A Server is a running Z39.50 server. Faults apply to the records in a response. Endless sends
// records without end.
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
	base, err := servers.Listen(servers.Config{Scheme: "z39.50s", Listen: opts.Listen, Public: opts.Public,
		Cannot: []servers.Fault{servers.Short, servers.Abort}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: base, opts: opts}
	base.Serve(s.session)
	return s, nil
}

// maxRequest limits a message from a client, in bytes.
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
	for c.r.Message(maxRequest) && c.handle() {
	}
}

// handle handles a message and reports whether to continue.
func (c *session) handle() bool {
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
		c.Note(fmt.Sprintf("SEARCH %q %s", m.Databases, formatQuery(m.Query)))
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

// refuse ends the session after a protocol error of the client.
func (c *session) refuse() bool {
	c.send(z3950.Close{Reason: z3950.CloseProtocolError}.Encode())
	return false
}

func (c *session) init(m z3950.Init) bool {
	c.Note("INIT")
	handle := z3950.Init{Version: m.Version,
		Options:              []int{z3950.OptionSearch, z3950.OptionPresent, z3950.OptionScan},
		PreferredMessageSize: m.PreferredMessageSize, ExceptionalRecordSize: m.ExceptionalRecordSize,
		ID: "urlget", Name: "z3950d", Accepted: true}
	if c.s.opts.User != "" && (m.Login == nil || m.Login.User != c.s.opts.User ||
		m.Login.Password != c.s.opts.Password) {
		handle.Accepted = false
	}
	return c.r.Err() == nil && c.send(handle.EncodeResponse()) && handle.Accepted
}

// send sends a message without content and reports whether to continue.
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
