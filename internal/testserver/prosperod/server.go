// Package prosperod is a small Prospero server for tests and demonstrations.
// It answers as the original one does, window by window, and can be told to
// misbehave. A folder of its tree is a directory, a file an object with
// contents.
package prosperod

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/protocols/prospero/ardp"
	"github.com/urlget/urlget/protocols/prospero/message"
)

// A Fault is a way to misbehave.
type Fault int

// The faults.
const (
	None  Fault = iota
	Stall       // send one packet of the next long reply, and nothing more
	Noise       // answer the next request with what is no message
)

// A Server serves a tree on one UDP socket. It remembers its last answers, to
// repeat what was lost.
type Server struct {
	// Links are further lines of the listing of a directory, by its name.
	Links map[string][]string
	// Attributes are the lines that tell of objects without contents, by name.
	Attributes map[string][]string
	// Forward maps names to "HOST-TYPE HOST TYPE HSONAME VERSION".
	Forward map[string]string
	// Version1 makes the server know version 1 only.
	Version1 bool

	tree fs.FS
	conn net.PacketConn
	wg   sync.WaitGroup

	mu      sync.Mutex
	log     []string
	fault   Fault
	answers map[string]*reply
	order   []string // of answers, oldest first
}

// maxAnswers bounds how many answers are remembered.
const maxAnswers = 64

// A reply is an answer on its way to a client.
type reply struct {
	parts   map[uint16][]byte // of a request in several packets
	total   uint16
	packets [][]byte
	stalled bool
}

// New returns a server of tree. Serve starts it.
func New(tree fs.FS) *Server {
	return &Server{tree: tree, answers: make(map[string]*reply)}
}

// Serve begins to answer on conn, which Close closes.
func (s *Server) Serve(conn net.PacketConn) {
	s.conn = conn
	s.wg.Go(s.loop)
}

// Addr returns the address, host:port.
func (s *Server) Addr() string { return s.conn.LocalAddr().String() }

// Close stops the server.
func (s *Server) Close() error {
	err := s.conn.Close()
	s.wg.Wait()
	return err
}

// Log returns the commands received so far.
func (s *Server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Break arms a fault, for once.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *Server) loop() {
	var buf [4096]byte
	for {
		n, from, err := s.conn.ReadFrom(buf[:])
		if err != nil {
			return
		}
		h, payload, err := ardp.Parse(buf[:n])
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.packet(from, h, bytes.Clone(payload))
		s.mu.Unlock()
	}
}

// packet handles one packet: an acknowledgement, or a part of a request that
// may be a repetition.
func (s *Server) packet(from net.Addr, h ardp.Header, payload []byte) {
	key := fmt.Sprintf("%s %d", from, h.CID)
	r := s.answers[key]
	if h.Seq == 0 {
		if r != nil {
			s.send(from, r, h.Received)
		}
		return
	}
	if r == nil {
		r = &reply{parts: make(map[uint16][]byte)}
		s.remember(key, r)
	}
	if r.packets == nil {
		r.parts[h.Seq] = payload
		r.total = max(r.total, h.Total)
		if len(r.parts) < int(r.total) {
			return
		}
		var request []byte
		for i := range r.total {
			request = append(request, r.parts[i+1]...)
		}
		r.packets = ardp.ReplyPackets(h.CID, s.answer(string(request)))
		if s.fault == Stall && len(r.packets) > ardp.Window {
			s.fault, r.stalled = None, true
		}
	}
	s.send(from, r, 0)
}

func (s *Server) remember(key string, r *reply) {
	if len(s.order) == maxAnswers {
		delete(s.answers, s.order[0])
		s.order = s.order[1:]
	}
	s.answers[key] = r
	s.order = append(s.order, key)
}

// send sends the packets behind what the client has received, up to the next
// that asks for an acknowledgement.
func (s *Server) send(to net.Addr, r *reply, received uint16) {
	if r.stalled {
		if received == 0 {
			s.conn.WriteTo(r.packets[0], to)
		}
		return
	}
	last := (int(received)/ardp.Window + 1) * ardp.Window
	for i := int(received); i < min(last, len(r.packets)); i++ {
		s.conn.WriteTo(r.packets[i], to)
	}
}

// answer runs the commands of a message. The first that fails ends it.
func (s *Server) answer(request string) []byte {
	if s.fault == Noise {
		s.fault = None
		return []byte("\x00\xff what?\n" + strings.Repeat("'", 3))
	}
	var out bytes.Buffer
	var directory string
	sc := message.NewScanner(strings.NewReader(request))
	for {
		l, err := sc.Line()
		if err == io.EOF {
			return out.Bytes()
		}
		if err != nil {
			fmt.Fprintf(&out, "ERROR %v\n", err)
			return out.Bytes()
		}
		s.log = append(s.log, l.Text(0))
		switch l[0] {
		case "VERSION":
			if s.Version1 && l.At(1) != "1" {
				out.WriteString("VERSION-NOT-SUPPORTED TRY 1\n")
				return out.Bytes()
			}
		case "AUTHENTICATE", "AUTHENTICATOR":
		case "DIRECTORY":
			directory = l.At(2)
		case "LIST":
			if !s.list(&out, directory) {
				return out.Bytes()
			}
		case "GET-OBJECT-INFO":
			if !s.info(&out, l.At(1), l.At(3)) {
				return out.Bytes()
			}
		default:
			fmt.Fprintf(&out, "ERROR Unknown message: %s\n", l.Text(0))
			return out.Bytes()
		}
	}
}

// clean is a name of a client as a name of the tree.
func clean(name string) string {
	return path.Clean("." + path.Clean("/"+name))
}

func (s *Server) list(out *bytes.Buffer, directory string) bool {
	if place, ok := s.Forward[directory]; ok {
		fmt.Fprintf(out, "FORWARDED %s\n", place)
		return false
	}
	entries, err := fs.ReadDir(s.tree, clean(directory))
	if err != nil && s.Links[directory] == nil {
		out.WriteString("FAILURE NOT-A-DIRECTORY\n")
		return false
	}
	if len(entries) == 0 && s.Links[directory] == nil {
		out.WriteString("NONE-FOUND\n")
	}
	for _, e := range entries {
		s.link(out, path.Join("/", directory, e.Name()), e)
	}
	for _, l := range s.Links[directory] {
		out.WriteString(l + "\n")
	}
	return true
}

func (s *Server) link(out *bytes.Buffer, name string, e fs.DirEntry) {
	host, port, _ := net.SplitHostPort(s.Addr())
	if s.Version1 {
		fmt.Fprintf(out, "LINK L %s %s INTERNET-D %s(%s) ASCII %s 0 0\n", target(e), e.Name(), host, port, name)
	} else {
		fmt.Fprintf(out, "LINK  L %s %s INTERNET-D %s(%s) ASCII %s 0\n", target(e), message.Quote(e.Name()), host, port, message.Quote(name))
	}
	info, err := e.Info()
	if err != nil || info.IsDir() {
		return
	}
	if s.Version1 {
		fmt.Fprintf(out, "LINK-INFO CACHED SIZE ASCII %d bytes\n", info.Size())
		return
	}
	attributes(out, info)
}

func target(e fs.DirEntry) string {
	if e.IsDir() {
		return "DIRECTORY"
	}
	return "FILE"
}

func attributes(out *bytes.Buffer, info fs.FileInfo) {
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC SIZE SEQUENCE %d' bytes'\n", info.Size())
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC LAST-MODIFIED SEQUENCE %s\n", info.ModTime().UTC().Format("20060102150405Z"))
	fmt.Fprintf(out, "ATTRIBUTE OBJECT INTRINSIC UNIX-MODES SEQUENCE %s\n", info.Mode())
}

func (s *Server) info(out *bytes.Buffer, attribute, name string) bool {
	if place, ok := s.Forward[name]; ok {
		fmt.Fprintf(out, "FORWARDED %s\n", place)
		return false
	}
	info, err := fs.Stat(s.tree, clean(name))
	switch {
	case err == nil && attribute == "CONTENTS" && !info.IsDir():
		data, err := fs.ReadFile(s.tree, clean(name))
		if err != nil {
			out.WriteString("FAILURE SERVER-FAILED\n")
			return false
		}
		out.WriteString("ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA '")
		out.Write(bytes.ReplaceAll(data, []byte("'"), []byte("''")))
		out.WriteString("'\n")
	case err == nil && attribute != "CONTENTS":
		attributes(out, info)
	case s.Attributes[name] != nil && attribute != "CONTENTS":
		for _, l := range s.Attributes[name] {
			out.WriteString(l + "\n")
		}
	default:
		out.WriteString("NONE-FOUND\n")
		return false
	}
	return true
}
