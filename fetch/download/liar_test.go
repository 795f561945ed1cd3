package download_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/textproto"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"os"
)

// A reply configures the response of a liar to one request.
type reply struct {
	err     error         // instead of a response
	cut     int64         // if not 0, the body fails after this many bytes
	noRange bool          // ignore ranges
	shift   int64         // added to the offset of a range, and reported
	blind   bool          // ignore IfChanged
	short   int64         // subtracted from the end of a range
	size    int64         // added to the reported size
	unsized bool          // report no sizes
	bare    bool          // report no validator
	edit    func(l *liar) // called before the request is processed
	suggest string        // name in the response
	none    bool          // the response has no content
	silent  bool          // state no digests
	ignored bool          // send the bytes of a range from the beginning, and fail at its end
	tail    error         // instead of io.EOF, after the last byte of the resource

	whole     []byte          // if not nil, a response with this content, whatever was requested
	rest      int             // if not 0, whole is the content from here on
	valid     fetch.Validator // of whole
	mediaType string
	coding    string
	stated    []fetch.Digest // instead of the liar's
}

// A liar is a driver for one resource. It follows its script, and then responds correctly.
type liar struct {
	mu       sync.Mutex
	content  []byte
	valid    fetch.Validator
	script   []reply
	reply    func(*fetch.Request) reply // instead of script, if not nil
	stated   []fetch.Digest             // in each response
	received []fetch.Request
	ignores  bool   // each reply is ignored
	wait     func() // called before the first byte of the whole resource is read; may be nil
}

var morning = time.Date(1994, 12, 1, 8, 0, 0, 0, time.UTC)

func newLiar(content []byte, script ...reply) *liar {
	return &liar{content: content, script: script, valid: fetch.Validator{ETag: `"1"`, ModTime: morning}}
}

func (l *liar) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received = append(l.received, *req)
	var r reply
	if l.reply != nil {
		r = l.reply(req)
	} else if len(l.script) > 0 {
		r, l.script = l.script[0], l.script[1:]
	}
	if r.edit != nil {
		r.edit(l)
	}
	if r.err != nil {
		return nil, r.err
	}
	unchanged := req.IfChanged.ETag != "" && req.IfChanged.ETag == l.valid.ETag ||
		req.IfChanged.ETag == "" && !l.valid.ModTime.After(req.IfChanged.ModTime)
	if !req.IfChanged.IsZero() && req.Range.IsZero() && unchanged && !r.blind {
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	if r.none {
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindNone}, Body: fetch.NoBody}, nil
	}
	meta := fetch.Meta{Name: r.suggest, ContentType: r.mediaType}
	if r.coding != "" {
		meta.Header = textproto.MIMEHeader{"Content-Encoding": {r.coding}}
	}
	if r.rest > 0 {
		r.whole = l.content[r.rest:]
	}
	if r.whole != nil {
		meta.Size, meta.Validator = int64(len(r.whole)), r.valid
		return &fetch.Response{Meta: meta, Body: io.NopCloser(bytes.NewReader(r.whole))}, nil
	}
	resp := &fetch.Response{Meta: meta}
	body, size := l.content, int64(len(l.content))
	resp.Size, resp.Validator = size, l.valid
	if !r.silent {
		resp.Digests = l.stated
	}
	if r.stated != nil {
		resp.Digests = r.stated
	}
	if r.bare {
		resp.Validator = fetch.Validator{}
	}
	if !req.Range.IsZero() && !r.noRange && (req.IfChanged.IsZero() || unchanged || r.blind) {
		asked := req.Range.Of(size)
		from := asked.Offset + r.shift
		if from >= size {
			return nil, &fetch.Error{Code: fetch.ErrRange}
		}
		to := size - r.short
		if asked.Length > 0 {
			to = min(to, asked.Offset+asked.Length)
		}
		to = max(to, from+1)
		body = l.content[from:to]
		resp.Size = to - from
		resp.Range, resp.Total = fetch.Range{Offset: from, Length: to - from}, size
	}
	if (r.ignored || l.ignores) && !resp.Range.IsZero() {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(l.content[:resp.Size]), ignored{}))
		return resp, nil
	}
	resp.Size += r.size
	if r.unsized {
		resp.Size, resp.Total = -1, 0
	}
	var stream io.Reader = bytes.NewReader(body)
	if r.cut > 0 && r.cut <= int64(len(body)) {
		stream = io.MultiReader(bytes.NewReader(body[:r.cut]), cut{})
	}
	if r.tail != nil && (resp.Range.IsZero() || resp.Range.Offset+resp.Range.Length == size) {
		stream = io.MultiReader(stream, iotest.ErrReader(r.tail))
	}
	if l.wait != nil && resp.Range.IsZero() {
		stream = &waiting{stream, sync.OnceFunc(l.wait)}
	}
	resp.Body = io.NopCloser(stream)
	return resp, nil
}

type waiting struct {
	io.Reader
	wait func()
}

func (w *waiting) Read(p []byte) (int, error) {
	w.wait()
	return w.Reader.Read(p)
}

// A cut is a reader that fails as if the connection ended.
type cut struct{}

func (cut) Read([]byte) (int, error) {
	return 0, &fetch.Error{Code: fetch.ErrTruncated, Retry: true, Err: io.ErrUnexpectedEOF}
}

// ignored is a reader that fails as if the server had ignored the offset of a range.
type ignored struct{}

func (ignored) Read([]byte) (int, error) { return 0, &fetch.Error{Code: fetch.ErrRange} }

// requests describes the requests by their range, with "if" for a condition.
func (l *liar) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, req := range l.received {
		s := "all"
		if !req.Range.IsZero() {
			s = fmt.Sprintf("%d+%d", req.Range.Offset, req.Range.Length)
		}
		if !req.IfChanged.IsZero() {
			s += " if"
		}
		all = append(all, s)
	}
	return all
}

// load registers the liar as a scheme with ranges.
func (l *liar) load(_ fetch.Env, reg *fetch.Registry) {
	reg.Register(fetch.Scheme{Name: "x-liar", Ops: []fetch.Op{fetch.OpGet}, Ranges: true, Driver: l})
}

// downloader returns a Downloader for dir.
func (l *liar) downloader(t testing.TB, dir string) *download.Downloader {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &download.Downloader{Client: fetch.New(nil, l.load), Root: root, Tool: "test"}
}

const liarURL = "x-liar://host/dir/file.bin"

// pattern returns n pseudo-random bytes that depend on seed.
func pattern(n int, seed byte) []byte {
	p := make([]byte, 0, n+7)
	for r := rand.NewPCG(uint64(seed), 0); len(p) < n; {
		p = binary.LittleEndian.AppendUint64(p, r.Uint64())
	}
	return p[:n:n]
}
