package ipfs

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/blake2b"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A server is a trustless gateway that lies on request.
type server struct {
	url  string
	root cid
	done chan struct{}

	mu      sync.Mutex
	blocks  map[cid][]byte
	records map[string][]byte // of IPNS, by name
	log     []string
	fault   *servers.Fault
	armed   int // number of parts of a file until a fault
	// lie, if not nil, may write another response than the block or record.
	lie func(w http.ResponseWriter, r *http.Request, content []byte) bool
}

func startServer(t testing.TB) *server {
	t.Helper()
	s := &server{blocks: make(map[cid][]byte), records: make(map[string][]byte), done: make(chan struct{})}
	h := httptest.NewServer(s)
	t.Cleanup(func() { close(s.done); h.Close() })
	s.url = h.URL
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	s.log = append(s.log, r.Method+" "+r.URL.Path)
	content, ok := s.records[name]
	if id, err := parseCID(name); err == nil && kind == "ipfs" && r.URL.RawQuery == "format=raw" {
		content, ok = s.blocks[id]
	}
	fault, lie := s.fault, s.lie
	if fault != nil && *fault != servers.Noise && len(content) == chunk {
		s.armed--
	}
	if fault != nil && *fault != servers.Noise && s.armed > 0 {
		fault = nil
	} else {
		s.fault = nil
	}
	s.mu.Unlock()
	switch {
	case lie != nil && lie(w, r, content):
	case !ok:
		http.Error(w, "no such block", http.StatusNotFound)
	case fault != nil:
		s.fail(w, r, *fault, content)
	default:
		w.Header().Set("Content-Type", blockType)
		w.Write(content)
	}
}

func (s *server) fail(w http.ResponseWriter, r *http.Request, f servers.Fault, content []byte) {
	if f == servers.Noise {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			io.WriteString(conn, "\x00\xff this is \r\n\r\n no reply\r\n")
			conn.Close()
		}
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:len(content)/2])
	http.NewResponseController(w).Flush()
	if f == servers.Stall {
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
	}
	panic(http.ErrAbortHandler)
}

func (s *server) Fail(f servers.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.armed = &f, 3
}

func (s *server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *server) requests() int { return len(s.Log()) }

func (s *server) urlOf(path string) string { return "ipfs://" + s.root.String() + path }

// chunk is the size of the parts of files, in bytes.
const chunk = 1000

// A child is a block with the number of bytes of a file in it.
type child struct {
	id   cid
	name string
	size int64
}

func (s *server) add(codec uint64, block []byte) cid {
	sum := sha256.Sum256(block)
	return s.put(cid{codec, hashSHA256, string(sum[:])}, block)
}

func (s *server) put(id cid, block []byte) cid {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks[id] = block
	return id
}

// addFile adds a file as a tree of blocks with at most 8 links.
func (s *server) addFile(content []byte) child {
	var level []child
	for part := range slices.Chunk(content, chunk) {
		level = append(level, child{id: s.add(codecRaw, part), size: int64(len(part))})
	}
	if len(level) == 0 {
		return child{id: s.add(codecRaw, nil)}
	}
	for len(level) > 1 {
		var next []child
		for group := range slices.Chunk(level, 8) {
			next = append(next, s.addNode(typeFile, nil, group))
		}
		level = next
	}
	return level[0]
}

func (s *server) addNode(kind uint64, data []byte, links []child, extra ...byte) child {
	size := int64(len(data))
	for _, l := range links {
		size += l.size
	}
	return child{id: s.add(codecDagPB, encode(kind, data, links, size, extra...)), size: size}
}

// encode returns a dag-pb block with UnixFS data. Extra is added to the data.
func encode(kind uint64, data []byte, links []child, size int64, extra ...byte) []byte {
	var block []byte
	for _, l := range links {
		m := message(nil, 1, l.id.binary())
		m = message(m, 2, []byte(l.name))
		block = message(block, 2, number(m, 3, uint64(l.size)))
	}
	fs := number(nil, 1, kind)
	if data != nil {
		fs = message(fs, 2, data)
	}
	if kind == typeFile {
		fs = number(fs, 3, uint64(size))
		for _, l := range links {
			fs = number(fs, 4, uint64(l.size))
		}
	}
	return message(block, 1, append(fs, extra...))
}

func (c cid) binary() []byte {
	b := binary.AppendUvarint(binary.AppendUvarint(nil, 1), c.codec)
	b = binary.AppendUvarint(binary.AppendUvarint(b, c.hash), uint64(len(c.digest)))
	return append(b, c.digest...)
}

func message(b []byte, number int, content []byte) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(content))), content...)
}

func number(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), v)
}

// addTree adds a directory of tree with everything below it. Directories with more than 20 members are
// HAMT directories if sharded is set.
func (s *server) addTree(t testing.TB, tree fs.FS, dir string, sharded bool) child {
	t.Helper()
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		t.Fatal(err)
	}
	var members []child
	for _, e := range entries {
		name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
		var c child
		if e.IsDir() {
			c = s.addTree(t, tree, name, sharded)
		} else {
			content, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			c = s.addFile(content)
		}
		c.name = e.Name()
		members = append(members, c)
	}
	if sharded && len(members) > 20 {
		return s.addShard(members, 0)
	}
	return s.addNode(typeDirectory, nil, members)
}

var shardFields = number(number(nil, 5, 0x22), 6, 16)

// addShard adds a HAMT directory with 16 positions in each block.
func (s *server) addShard(members []child, used int) child {
	var links []child
	for pos := range 16 {
		var here []child
		for _, m := range members {
			if int(murmur3(m.name)>>(60-used)&15) == pos {
				here = append(here, m)
			}
		}
		switch {
		case len(here) == 1:
			here[0].name = fmt.Sprintf("%X", pos) + here[0].name
			links = append(links, here[0])
		case len(here) > 1:
			c := s.addShard(here, used+4)
			c.name = fmt.Sprintf("%X", pos)
			links = append(links, c)
		}
	}
	return s.addNode(typeShard, []byte{0xff, 0xff}, links, shardFields...)
}

// boxo starts a server with the blocks that another implementation has written.
func boxo(t testing.TB) *server {
	t.Helper()
	s := startServer(t)
	for _, line := range vectors(t, "boxo.txt") {
		id, err := parseCID(line[0])
		if err != nil {
			t.Fatal(err)
		}
		if s.root == (cid{}) {
			s.root = id
		}
		s.put(id, decode64(t, line[1]))
	}
	return s
}

func vectors(t testing.TB, name string) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func blake(block []byte) cid {
	sum := blake2b.Sum256(block)
	return cid{codecRaw, hashBlake2, string(sum[:])}
}

func decode64(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
