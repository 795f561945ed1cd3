package remotefile

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

var errLost = errors.New("connection lost")

// A server responds to reads of a file according to a script.
type server struct {
	content     []byte // of the file, which may be shorter than its metadata says
	script      []byte // one per response: bytes less than requested; see receive
	credit      int    // reads that may be in flight; 0 means any number
	inFlight    int
	maxInFlight int // maximum of inFlight
	unreleased  int // unreleased data
	requested   int64
	arrived     int
	complete    error
	ends        []error
}

type read struct {
	offset int64
	size   int
}

// Responses in a script that are not data.
const (
	atEnd = 255 - iota
	lost
	refused
	tooMuch
)

func (s *server) send(offset int64, size int, ahead bool) (read, int, error) {
	if ahead && s.credit > 0 && s.inFlight >= s.credit {
		return read{}, 0, nil
	}
	s.inFlight++
	s.maxInFlight = max(s.maxInFlight, s.inFlight)
	s.requested = max(s.requested, offset+int64(size))
	return read{offset, size}, size, nil
}

func (s *server) receive(r read, requested int) ([]byte, error) {
	s.inFlight--
	s.unreleased++
	missing := byte(0)
	if len(s.script) > 0 {
		missing, s.script = s.script[0], s.script[1:]
	}
	switch missing {
	case lost:
		return nil, errLost
	case refused:
		return nil, &fetch.Error{Code: fetch.ErrRefused}
	case tooMuch:
		return make([]byte, requested+1), nil
	}
	rest := s.content[min(r.offset, int64(len(s.content))):]
	if len(rest) == 0 || missing == atEnd {
		return nil, io.EOF
	}
	return rest[:min(max(1, requested-int(missing)), requested, len(rest))], nil
}

func (s *server) body(meta *fetch.Meta, window int) *Body[read] {
	return NewBody(Reads[read]{MinWindow: min(2, window), MaxWindow: window, Size: 4, Send: s.send, Receive: s.receive,
		Release: func() { s.unreleased = 0 }, Arrived: func() { s.arrived++ }, Complete: func() error { return s.complete },
		Lost: func(err error) bool { return errors.Is(err, errLost) }}, meta)
}

func (s *server) start(meta *fetch.Meta, window int) io.ReadCloser {
	return s.body(meta, window).Start(func(err error) { s.ends = append(s.ends, err) })
}

func TestBodyIsCompleteOrTruncated(t *testing.T) {
	t.Parallel()
	const content = "0123456789abcdefghij"
	for name, tt := range map[string]struct {
		server server
		meta   fetch.Meta
		want   string
		code   fetch.Code
		text   string
	}{
		"a file":            {meta: fetch.Meta{Size: 20}, want: content},
		"a part":            {meta: fetch.Meta{Size: 7, Range: fetch.Range{Offset: 5, Length: 7}}, want: "56789ab"},
		"an empty part":     {meta: fetch.Meta{Size: 0, Range: fetch.Range{Offset: 20}}},
		"an unknown size":   {meta: fetch.Meta{Size: -1}, want: content},
		"short responses":   {server: server{script: []byte{3, 1, 2, 3, 0, 3, 3}}, meta: fetch.Meta{Size: 20}, want: content},
		"short, unknown":    {server: server{script: []byte{3, 1, 2, 3, 0, 3, 3}}, meta: fetch.Meta{Size: -1}, want: content},
		"one credit":        {server: server{credit: 1, script: []byte{2}}, meta: fetch.Meta{Size: 20}, want: content},
		"it shrank":         {meta: fetch.Meta{Size: 30}, want: content, code: fetch.ErrTruncated, text: "after 20 of 30 bytes: it shrank"},
		"a lost connection": {server: server{script: []byte{0, 0, lost}}, meta: fetch.Meta{Size: 20}, want: content[:8], code: fetch.ErrTruncated, text: "after 8 of 20 bytes: connection lost"},
		"lost, unknown":     {server: server{script: []byte{lost}}, meta: fetch.Meta{Size: -1}, code: fetch.ErrTruncated, text: "after 0 bytes: connection lost"},
		"a refusal":         {server: server{script: []byte{0, refused}}, meta: fetch.Meta{Size: 20}, want: content[:4], code: fetch.ErrRefused},
		"too much":          {server: server{script: []byte{tooMuch}}, meta: fetch.Meta{Size: 20}, code: fetch.ErrProtocol, text: "5 bytes in response to a READ of 4"},
		"a failing end":     {server: server{complete: errLost}, meta: fetch.Meta{Size: 20}, want: content, text: "connection lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &tt.server
			s.content = []byte(content)
			b := s.start(&tt.meta, 3)
			got, err := io.ReadAll(b)
			if string(got) != tt.want || fetch.CodeOf(err) != tt.code || (err != nil) != (tt.code != "" || tt.text != "") || err != nil && !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%q, %v; want %q, class %q and %q", got, err, tt.want, tt.code, tt.text)
			}
			b.Close()
			if want := cmpEOF(err); len(s.ends) != 1 || s.ends[0] != want {
				t.Errorf("the body ended with %v, want once %v", s.ends, want)
			}
			if s.maxInFlight > 3 || s.credit > 0 && s.maxInFlight > s.credit {
				t.Errorf("%d reads in flight", s.maxInFlight)
			}
		})
	}
}

func cmpEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

func TestClosedBodyEndsOnce(t *testing.T) {
	t.Parallel()
	s := &server{content: make([]byte, 100)}
	b := s.start(&fetch.Meta{Size: 100}, 3)
	if _, err := io.CopyN(io.Discard, b, 6); err != nil {
		t.Fatal(err)
	}
	b.Close()
	b.Close()
	if _, err := b.Read(make([]byte, 1)); err != net.ErrClosed {
		t.Errorf("reading after Close: %v", err)
	}
	if len(s.ends) != 1 || s.ends[0] != net.ErrClosed {
		t.Errorf("the body ended with %v", s.ends)
	}
}

// TestFirstDoesNotEndBody checks that First does not end the body, so that the driver may repeat the
// request on the connection.
func TestFirstDoesNotEndBody(t *testing.T) {
	t.Parallel()
	s := &server{content: []byte("x"), script: []byte{refused}}
	if err := s.body(&fetch.Meta{Size: 1}, 3).First(); fetch.CodeOf(err) != fetch.ErrRefused || s.ends != nil {
		t.Errorf("%v, and the body ended with %v", err, s.ends)
	}
}

func TestEmptyFileEndsAtStart(t *testing.T) {
	t.Parallel()
	s := &server{}
	b := s.body(&fetch.Meta{Size: -1}, 3)
	if err := b.First(); err != io.EOF {
		t.Fatal(err)
	}
	b.Start(func(err error) { s.ends = append(s.ends, err) })
	if len(s.ends) != 1 || s.ends[0] != io.EOF {
		t.Errorf("the body ended with %v", s.ends)
	}
}

// FuzzBody has a server with arbitrary responses. The data must be correct, and complete without an
// error.
func FuzzBody(f *testing.F) {
	f.Add([]byte("content"), int64(7), int64(0), []byte{1, 2}, uint8(0))
	f.Add([]byte("content"), int64(-1), int64(0), []byte{3, 0, lost}, uint8(1))
	f.Add([]byte("content of a file"), int64(20), int64(3), []byte{0, 1, atEnd}, uint8(2))
	f.Add([]byte("x"), int64(9), int64(1), []byte{tooMuch}, uint8(7))
	f.Fuzz(func(t *testing.T, content []byte, size, offset int64, script []byte, credit uint8) {
		if offset < 0 || offset > 1<<20 || size > 1<<20 || size < 0 && offset > 0 {
			t.Skip()
		}
		s := &server{content: content, script: script, credit: int(credit)}
		b := s.start(&fetch.Meta{Size: size, Range: fetch.Range{Offset: offset}}, 5)
		got, err := io.ReadAll(b)
		rest := content[min(offset, int64(len(content))):]
		if size >= 0 {
			rest = rest[:min(size, int64(len(rest)))]
		}
		if !bytes.HasPrefix(rest, got) {
			t.Fatalf("%q is not a prefix of %q", got, rest)
		}
		if size >= 0 && (err == nil) != (int64(len(got)) == size) || size >= 0 && s.requested > offset+size {
			t.Errorf("%d of %d bytes, %v; requested up to %d", len(got), size, err, s.requested)
		}
		if len(s.ends) != 1 || s.ends[0] != cmpEOF(err) || s.maxInFlight > 5 || s.arrived > 1 {
			t.Errorf("ended with %v for %v; %d reads in flight, all arrived %d times", s.ends, err, s.maxInFlight, s.arrived)
		}
	})
}
