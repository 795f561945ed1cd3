// Package waisd is a small WAIS server for tests and demonstrations. It
// behaves as freeWAIS does on the wire, oddities included, and can be told to
// misbehave. It is not a search engine.
package waisd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/wais/apdu"
)

// Buffer is the largest record that the server sends, in octets, as in
// freeWAIS.
const Buffer = 100_000

// A Fault is a way to misbehave in the midst of a document.
type Fault int

// The faults.
const (
	None  Fault = iota
	Cut         // close within a packet
	Stall       // send nothing more, but stay
	Noise       // send what is no packet
)

// A Server serves the top-level folders of a tree as databases, and the files
// below them as documents.
type Server struct {
	tree fs.FS
	l    net.Listener
	wg   sync.WaitGroup
	quit chan struct{}

	mu    sync.Mutex
	log   []string
	fault Fault
	conns map[net.Conn]bool
}

// Start begins to serve tree on l.
func Start(l net.Listener, tree fs.FS) *Server {
	s := &Server{tree: tree, l: l, quit: make(chan struct{}), conns: make(map[net.Conn]bool)}
	s.wg.Go(s.accept)
	return s
}

// Addr returns the address, host:port.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Log returns what was asked so far, a line each.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Break arms a fault for the next document of more than one chunk, once.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Close ends all connections.
func (s *Server) Close() error {
	close(s.quit)
	err := s.l.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// Document returns the URL of a document in database, by its path there.
func (s *Server) Document(database, name string) string {
	return DocumentURL(s.Addr(), database, name)
}

// DocumentURL is Server.Document for a server at addr, in another process.
func DocumentURL(addr, database, name string) string {
	return fmt.Sprintf("wais://%s/%s/TEXT/%s", addr, uri.Escape(database),
		apdu.IDPath(documentID(addr, database, name), -1))
}

// documentID makes identifiers as freeWAIS does: server, database and a local
// part that only the server understands.
func documentID(server, database, name string) []byte {
	return apdu.EncodeID([]uri.WAISField{
		{Tag: 1, Value: server}, {Tag: 2, Value: database}, {Tag: 3, Value: "0 0 " + name}, {Tag: 7, Value: "\x00"},
	})
}

func (s *Server) accept() {
	for {
		c, err := s.l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

// serve answers the requests of one client.
func (s *Server) serve(c net.Conn) {
	for {
		packet, err := apdu.ReadPacket(c)
		if err != nil {
			return
		}
		answer, err := s.answer(c, packet)
		if err != nil {
			return
		}
		if err := apdu.WritePacket(c, answer); err != nil {
			return
		}
	}
}

var errHangUp = errors.New("no answer")

// answer returns the answer to a request; empty for what the server cannot
// read, an error to hang up.
func (s *Server) answer(c net.Conn, packet []byte) ([]byte, error) {
	if m, err := apdu.DecodeInit(packet); err == nil {
		s.note("INIT " + m.ID)
		return apdu.Init{Size: min(m.Size, Buffer), Accepted: true, ID: "urlget waisd"}.EncodeResponse(), nil
	}
	m, err := apdu.DecodeSearch(packet)
	if err != nil {
		return nil, nil
	}
	if m.Document == nil {
		s.note(fmt.Sprintf("SEARCH %q %q", m.Database, m.Words))
		return s.search(m).Encode(), nil
	}
	s.note(fmt.Sprintf("RETRIEVE %q %q %d-%d", m.Database, m.Type, m.From, m.To))
	if m.Type == "" {
		return nil, errHangUp // freeWAIS dies of it
	}
	if m.To-m.From > Buffer-overhead {
		return nil, nil // the answer would not fit
	}
	if err := s.misbehave(c, m); err != nil {
		return nil, err
	}
	return s.retrieve(m).Encode(), nil
}

const overhead = 1000

func (s *Server) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

// misbehave strikes at the second chunk of a document, or at the first if it
// is noise that is wanted.
func (s *Server) misbehave(c net.Conn, m apdu.Search) error {
	s.mu.Lock()
	fault := s.fault
	if fault == None || m.From == 0 && fault != Noise {
		s.mu.Unlock()
		return nil
	}
	s.fault = None
	s.mu.Unlock()
	switch fault {
	case Cut:
		io.WriteString(c, "0000010000z2wais        0\x00\x0e\x17")
	case Stall:
		<-s.quit
	case Noise:
		io.WriteString(c, strings.Repeat("\r\n500 what?", 200))
	}
	return errHangUp
}

// unavailable is freeWAIS's answer for a database that is not there.
func unavailable(database string) apdu.Response {
	return refuse("S1", "The following database is not available: "+database)
}

func (s *Server) retrieve(m apdu.Search) apdu.Response {
	fields, _, ok := uri.WAIS{WPath: apdu.IDPath(m.Document, -1)}.RawFields()
	if !ok || len(fields) < 3 {
		return refuse(apdu.OutOfRange, "Missing DocID in request")
	}
	database, local := fields[1].Value, strings.SplitN(fields[2].Value, " ", 3)
	f, size, err := s.open(database, local[len(local)-1], m.Type)
	if err != nil {
		return refuse("S1", "Document not found")
	}
	defer f.Close()
	if m.From > size {
		return refuse(apdu.OutOfRange, beyondEnd)
	}
	text := make([]byte, max(min(m.To, size)-m.From, 0))
	if _, err := f.Seek(m.From, io.SeekStart); err != nil {
		return refuse("S1", err.Error())
	}
	if _, err := io.ReadFull(f, text); err != nil {
		return refuse("S1", err.Error())
	}
	r := apdu.Response{HasText: true, Text: text}
	if m.To > size {
		r.Diagnostics = append(r.Diagnostics, apdu.Diagnostic{Code: apdu.OutOfRange, Text: beyondEnd})
	}
	return r
}

const beyondEnd = "Request out of range"

// refuse is a response that holds only a diagnostic.
func refuse(code, text string) apdu.Response {
	return apdu.Response{Diagnostics: []apdu.Diagnostic{{Code: code, Text: text}}}
}

type seekCloser interface {
	io.ReadSeeker
	io.Closer
}

type memory struct{ *strings.Reader }

func (memory) Close() error { return nil }

// open opens a file of a database, or the description of one.
func (s *Server) open(database, name, docType string) (f seekCloser, size int64, err error) {
	if docType == "WSRC" {
		if !s.has(name) {
			return nil, 0, fs.ErrNotExist
		}
		text := s.source(name)
		return memory{strings.NewReader(text)}, int64(len(text)), nil
	}
	file, err := s.tree.Open(path.Join(database, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	seeker, ok := file.(seekCloser)
	if err != nil || info.IsDir() || !ok {
		file.Close()
		return nil, 0, fs.ErrNotExist
	}
	return seeker, info.Size(), nil
}

func (s *Server) has(database string) bool { return slices.Contains(s.databases(), database) }

func (s *Server) databases() []string {
	entries, _ := fs.ReadDir(s.tree, ".")
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
	host, port, _ := net.SplitHostPort(s.Addr())
	return fmt.Sprintf("(:source\n :version 3\n :ip-name %q\n :tcp-port %s\n :database-name %q\n"+
		" :cost 0.00\n :cost-unit :free\n :maintainer \"nobody@localhost\"\n :description \"Files of %s\"\n)\n",
		host, port, database, database)
}
