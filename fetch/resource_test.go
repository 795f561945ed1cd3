package fetch_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
	"github.com/urlget/urlget/fetch/uri"
)

// A shelf is a driver with one document. It serves ranges as HTTP and FTP do.
type shelf struct {
	ranges bool // honors Range
	silent bool // sends no validator
	sizes  bool // sends sizes
	most   int  // maximum length of a range that is returned, in bytes; 0 means no limit

	mu              sync.Mutex
	data            []byte
	version         int
	requestedRanges []fetch.Range
	open            int // bodies that are not closed
	// cut returns the number of bytes after which a body fails with fault; -1 means that it does
	// not fail.
	cut   func() int
	fault error
	// refuse holds the errors for the next requests.
	refuse []error
}

func newShelf(size int) *shelf {
	data := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return &shelf{data: data, ranges: true, sizes: true, fault: io.ErrUnexpectedEOF}
}

func (s *shelf) client(m ...fetch.Middleware) *fetch.Client {
	return fetch.New(&fetch.Options{Middleware: m}, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-shelf", Ops: []fetch.Op{fetch.OpGet}, Ranges: s.ranges, Driver: s})
	})
}

func (s *shelf) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestedRanges = append(s.requestedRanges, req.Range)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if len(s.refuse) > 0 {
		err := s.refuse[0]
		s.refuse = s.refuse[1:]
		return nil, err
	}
	resp := &fetch.Response{}
	if !s.silent {
		resp.ETag = fmt.Sprintf(`"v%d"`, s.version)
	}
	data := s.data
	size := int64(len(data))
	if r := req.Range; !r.IsZero() && s.ranges && (req.IfChanged.IsZero() || req.IfChanged.ETag == resp.ETag) {
		if r.Offset >= size {
			return nil, fetch.ErrRange
		}
		data = data[r.Offset:]
		if r.Length > 0 {
			data = data[:min(r.Length, int64(len(data)))]
		}
		if s.most > 0 {
			data = data[:min(s.most, len(data))]
		}
		resp.Range = fetch.Range{Offset: r.Offset, Length: int64(len(data))}
		if s.sizes {
			resp.Total = size
		}
	}
	resp.Size = -1
	if s.sizes {
		resp.Size = int64(len(data))
	}
	var content io.Reader = bytes.NewReader(data)
	if s.cut != nil {
		if n := s.cut(); n >= 0 && n < len(data) {
			content = io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(s.fault))
		}
	}
	s.open++
	resp.Body = &shelfBody{Reader: content, shelf: s, ctx: ctx}
	return resp, nil
}

type shelfBody struct {
	io.Reader
	ctx    context.Context
	shelf  *shelf
	closed bool
}

func (b *shelfBody) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

func (b *shelfBody) Close() error {
	b.shelf.mu.Lock()
	defer b.shelf.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.shelf.open--
	}
	return nil
}

// requests returns the number of requests since its last call.
func (s *shelf) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.requestedRanges)
	s.requestedRanges = nil
	return n
}

// once returns a cut function that truncates one response after n bytes.
func once(n int) func() int {
	return func() int {
		defer func() { n = -1 }()
		return n
	}
}

func open(t *testing.T, s *shelf, m ...fetch.Middleware) *fetch.Resource {
	t.Helper()
	r, err := s.client(m...).Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/doc")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open != 0 {
			t.Errorf("%d bodies are left open", s.open)
		}
	})
	return r
}

func TestResourceReadsInOneExchange(t *testing.T) {
	t.Parallel()
	s := newShelf(1 << 20)
	r := open(t, s)
	if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
	// Seek to the start and WriteTo take one more exchange.
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if n, err := io.Copy(&got, r); err != nil || n != 1<<20 || !bytes.Equal(got.Bytes(), s.data) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A Range from the beginning limits the first response. All else works as without it.
func TestResourceBeginsWithRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		size         int
		ranges, want bool
	}{
		{name: "ranges", size: 1 << 20, ranges: true, want: true},
		{name: "shorter", size: 100, ranges: true, want: true},
		{name: "empty", size: 0, ranges: true, want: true},
		{name: "no ranges", size: 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(tt.size)
			s.ranges = tt.ranges
			r, err := s.client().Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/doc"), Range: fetch.Range{Length: 64 << 10}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if r.Size() != int64(tt.size) || r.Meta().Size != int64(tt.size) || !r.Meta().Range.IsZero() || r.Ranges() != tt.want {
				t.Errorf("size %d, %+v, ranges %v", r.Size(), r.Meta(), r.Ranges())
			}
			if got := s.requestedRanges[0]; got != (fetch.Range{Length: 64 << 10}) {
				t.Errorf("requested %v first", got)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, s.data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			p := make([]byte, 100)
			if n, err := r.ReadAt(p[:min(100, tt.size)], 0); err != nil || !bytes.Equal(p[:n], s.data[:n]) {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

// A caller that inspects the first bytes, for example to detect the media type, does not cause
// another request.
func TestResourceCachesHead(t *testing.T) {
	t.Parallel()
	for _, ranges := range []bool{true, false} {
		s := newShelf(1 << 20)
		s.ranges, s.silent = ranges, true
		r := open(t, s)
		if _, err := io.ReadFull(r, make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
		r.Seek(0, io.SeekStart)
		if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if n := s.requests(); n != 1 {
			t.Errorf("%d requests", n)
		}
	}
}

// Small reads close to each other share a range request, and ranges grow.
func TestResourceReadsAhead(t *testing.T) {
	t.Parallel()
	s := newShelf(8 << 20)
	r := open(t, s)
	s.requests()
	buf := make([]byte, 10)
	for off := int64(5<<20 + 3); off < 5<<20+60_000; off += 100 {
		if _, err := r.ReadAt(buf, off); err != nil || !bytes.Equal(buf, s.data[off:off+10]) {
			t.Fatal(off, err)
		}
	}
	if n := s.requests(); n != 1 {
		t.Errorf("600 reads within 64 KiB took %d requests", n)
	}
	section := io.NewSectionReader(r, 0, r.Size())
	if got, err := io.ReadAll(section); err != nil || !bytes.Equal(got, s.data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n := s.requests(); n > 16 {
		t.Errorf("8 MiB in sequence by ReadAt took %d requests", n)
	}
	// Sequential reads after Seek soon share one response.
	r.Seek(1<<20, io.SeekStart)
	if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data[1<<20:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n := s.requests(); n > 4 {
		t.Errorf("7 MiB in sequence by Read took %d requests", n)
	}
}

func TestZipReaderOverResource(t *testing.T) {
	t.Parallel()
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	want := map[string]string{}
	for i := range 300 {
		name := fmt.Sprintf("dir/file%d", i)
		want[name] = strings.Repeat(name+"\n", 100+i)
		f, _ := w.Create(name)
		io.WriteString(f, want[name])
	}
	big := newShelf(3 << 20).data
	f, _ := w.Create("big")
	f.Write(big)
	w.Close()
	for _, ranges := range []bool{true, false} {
		s := newShelf(0)
		s.data, s.ranges = archive.Bytes(), ranges
		r := open(t, s)
		z, err := zip.NewReader(r, r.Size())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			rc, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(rc)
			if err != nil || f.Name != "big" && string(got) != want[f.Name] || f.Name == "big" && !bytes.Equal(got, big) {
				t.Errorf("%s: %d bytes, %v", f.Name, len(got), err)
			}
			rc.Close()
		}
		if n := s.requests(); n > 15 {
			t.Errorf("ranges %v: %d requests for 301 files", ranges, n)
		}
	}
}

func TestResourceReconnects(t *testing.T) {
	t.Parallel()
	for _, ranges := range []bool{true, false} {
		s := newShelf(1 << 20)
		s.ranges = ranges
		failures := 0
		s.cut = func() int {
			if failures++; failures%2 == 0 {
				return 0
			}
			return 300_000
		}
		if !ranges {
			s.cut = once(300_000)
		}
		r := open(t, s)
		if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) {
			t.Errorf("ranges %v: Read: %d bytes, %v", ranges, len(got), err)
		}
		if !ranges {
			s.cut = once(300_000)
		}
		r = open(t, s)
		var got bytes.Buffer
		if _, err := io.Copy(&got, r); err != nil || !bytes.Equal(got.Bytes(), s.data) {
			t.Errorf("ranges %v: WriteTo: %d bytes, %v", ranges, got.Len(), err)
		}
		r = open(t, s)
		if !ranges {
			s.cut = once(500_000)
		}
		p := make([]byte, 700_000)
		if n, err := r.ReadAt(p, 1000); err != nil || !bytes.Equal(p, s.data[1000:701_000]) {
			t.Errorf("ranges %v: ReadAt: %d bytes, %v", ranges, n, err)
		}
	}
}

// A server may send less than the requested range (RFC 9110, section 15.3.7). The end of such a part
// is not the end of the content.
func TestResourceOfShortParts(t *testing.T) {
	t.Parallel()
	for _, sizes := range []bool{true, false} {
		for name, read := range map[string]func(r *fetch.Resource) ([]byte, error){
			"Read": func(r *fetch.Resource) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{r}) },
			"WriteTo": func(r *fetch.Resource) ([]byte, error) {
				var b bytes.Buffer
				_, err := io.Copy(&b, r)
				return b.Bytes(), err
			},
			"ReadAt": func(r *fetch.Resource) ([]byte, error) {
				return io.ReadAll(io.NewSectionReader(r, 0, 1<<40))
			},
			"Seek": func(r *fetch.Resource) ([]byte, error) {
				head := make([]byte, 200_000)
				if _, err := io.ReadFull(r, head); err != nil {
					return nil, err
				}
				if _, err := r.Seek(100_000, io.SeekCurrent); err != nil {
					return nil, err
				}
				between := make([]byte, 100_000)
				if _, err := r.ReadAt(between, 200_000); err != nil {
					return nil, err
				}
				rest, err := io.ReadAll(struct{ io.Reader }{r})
				return append(append(head, between...), rest...), err
			},
		} {
			s := newShelf(500_000)
			s.sizes, s.most, s.cut = sizes, 70_000, once(150_000)
			r, err := s.client().Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/")})
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(r)
			if err != nil || !bytes.Equal(got, s.data) {
				t.Errorf("%s, sizes %t: %d bytes, %v", name, sizes, len(got), err)
			}
			r.Close()
		}
	}
}

func TestResourceRetriesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := &fetch.Error{Code: fetch.ErrBusy, Retry: true}
		for _, tt := range []struct {
			name     string
			prepare  func(*shelf)
			want     error
			requests int
			wait     time.Duration
		}{
			{"a server that stays busy", func(s *shelf) { s.refuse = []error{busy, busy, busy, busy, busy, busy, busy} },
				fetch.ErrBusy, 5, 1750 * time.Millisecond},
			{"a server that asks to wait for ever", func(s *shelf) {
				s.refuse = []error{&fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: time.Hour}}
			}, fetch.ErrBusy, 1, 0},
			{"what need not be tried again", func(s *shelf) { s.refuse = []error{fetch.ErrRefused} }, fetch.ErrRefused, 1, 0},
		} {
			s := newShelf(1 << 20)
			s.cut = once(1000)
			r := open(t, s)
			s.requests()
			tt.prepare(s)
			begin := time.Now()
			got, err := io.ReadAll(struct{ io.Reader }{r})
			if len(got) != 1000 || !errors.Is(err, tt.want) {
				t.Errorf("%s: %d bytes, %v", tt.name, len(got), err)
			}
			if n := s.requests(); n != tt.requests || time.Since(begin) != tt.wait {
				t.Errorf("%s: %d requests in %v, want %d in %v", tt.name, n, time.Since(begin), tt.requests, tt.wait)
			}
			var fe *fetch.Error
			if !errors.As(err, &fe) || fe.Op == "" || fe.URL != "x-shelf://h/doc" {
				t.Errorf("%s: the error is %#v", tt.name, err)
			}
			r.Close()
		}
	})
}

// Without a validator, parts cannot be combined.
func TestResourceWithoutValidator(t *testing.T) {
	t.Parallel()
	s := newShelf(1 << 20)
	s.silent = true
	s.cut = once(500_000)
	r := open(t, s)
	if got, err := io.ReadAll(struct{ io.Reader }{r}); len(got) != 500_000 || !errors.Is(err, fetch.ErrTruncated) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	r = open(t, s)
	p := make([]byte, 10)
	if _, err := r.ReadAt(p, 700_000); err != nil || !bytes.Equal(p, s.data[700_000:700_010]) {
		t.Errorf("forward: %v", err)
	}
	if _, err := r.ReadAt(p, 100_000); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("backward: %v", err)
	} else if want := "read x-shelf://h/doc: not retrievable: cannot seek to offset 65536: the server sends no validator: unsupported operation"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// Reads at the end return io.EOF, every time, even if the content cannot be requested again.
func TestResourceEndsWithEOF(t *testing.T) {
	t.Parallel()
	const block = 64 << 10
	for _, size := range []int{0, 1, 1000, block - 1, block, block + 1, 3*block + 7} {
		for _, sizes := range []bool{true, false} {
			for _, silent := range []bool{true, false} {
				s := newShelf(size)
				s.sizes, s.silent = sizes, silent
				r, err := s.client().Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/")})
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, s.data) {
					t.Errorf("%d bytes, size sent %v, no validator %v: read %d, %v", size, sizes, silent, len(got), err)
				}
				asked := len(s.requestedRanges)
				for range 3 {
					if n, err := r.Read(make([]byte, 10)); n != 0 || err != io.EOF {
						t.Errorf("%d bytes, size sent %v, no validator %v: at the end Read returns %d, %v", size, sizes, silent, n, err)
					}
				}
				for _, at := range []int{0, 1, block, 100 * block} {
					if n, err := r.ReadAt(make([]byte, 10), int64(size+at)); n != 0 || err != io.EOF {
						t.Errorf("%d bytes, size sent %v, no validator %v: ReadAt %d after the end returns %d, %v", size, sizes, silent, at, n, err)
					}
				}
				if len(s.requestedRanges) != asked {
					t.Errorf("%d bytes, size sent %v, no validator %v: requests after the end: %v", size, sizes, silent, s.requestedRanges[asked:])
				}
				if err := iotest.TestReader(r, nil); size == 0 && err != nil {
					t.Errorf("an empty resource: %v", err)
				}
			}
		}
	}
}

func TestResourceDetectsChange(t *testing.T) {
	t.Parallel()
	for _, ranges := range []bool{true, false} {
		s := newShelf(1 << 20)
		s.ranges = ranges
		s.cut = once(500_000)
		r := open(t, s)
		s.mu.Lock()
		s.version++
		s.mu.Unlock()
		got, err := io.ReadAll(struct{ io.Reader }{r})
		if len(got) != 500_000 || !errors.Is(err, fetch.ErrChanged) {
			t.Errorf("ranges %v: %d bytes, %v", ranges, len(got), err)
		}
		s.mu.Lock()
		s.version-- // the error is sticky, even if the old version is back
		s.mu.Unlock()
		s.requests()
		if _, err := r.ReadAt(make([]byte, 1), 5); !errors.Is(err, fetch.ErrChanged) {
			t.Errorf("ranges %v: ReadAt: %v", ranges, err)
		}
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, fetch.ErrChanged) {
			t.Errorf("ranges %v: WriteTo: %v", ranges, err)
		}
		if n := s.requests(); n != 0 {
			t.Errorf("ranges %v: %d requests after that", ranges, n)
		}
	}
}

func TestResourceSeek(t *testing.T) {
	t.Parallel()
	s := newShelf(1000)
	r := open(t, s)
	for _, tt := range []struct {
		offset int64
		whence int
		want   int64
		err    error
	}{
		{10, io.SeekStart, 10, nil},
		{5, io.SeekCurrent, 15, nil},
		{-1, io.SeekEnd, 999, nil},
		{5000, io.SeekStart, 5000, nil},
		{-1, io.SeekStart, 0, fs.ErrInvalid},
		{0, 7, 0, fs.ErrInvalid},
	} {
		if got, err := r.Seek(tt.offset, tt.whence); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("Seek(%d, %d) = %d, %v", tt.offset, tt.whence, got, err)
		}
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
	if n, err := r.ReadAt(make([]byte, 1), 1000); n != 0 || err != io.EOF {
		t.Errorf("ReadAt behind the end: %d, %v", n, err)
	}
	if n, err := r.ReadAt(make([]byte, 10), 995); n != 5 || err != io.EOF {
		t.Errorf("ReadAt across the end: %d, %v", n, err)
	}
	if _, err := r.ReadAt(make([]byte, 10), -1); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("ReadAt(-1): %v", err)
	}
}

// An unknown size is known after the end has been read.
func TestResourceOfUnknownSize(t *testing.T) {
	t.Parallel()
	s := newShelf(300_000)
	s.sizes = false
	r := open(t, s)
	if _, err := r.Seek(0, io.SeekEnd); !errors.Is(err, errors.ErrUnsupported) || r.Size() != -1 {
		t.Errorf("the end is known to be at %d, %v", r.Size(), err)
	}
	p := make([]byte, 200_000)
	if n, err := r.ReadAt(p, 150_000); n != 150_000 || err != io.EOF || !bytes.Equal(p[:n], s.data[150_000:]) {
		t.Errorf("ReadAt: %d, %v", n, err)
	}
	r = open(t, s)
	if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) || r.Size() != 300_000 {
		t.Errorf("%d bytes of %d, %v", len(got), r.Size(), err)
	}
	if at, err := r.Seek(0, io.SeekEnd); at != 300_000 || err != nil {
		t.Errorf("Seek to the end: %d, %v", at, err)
	}
}

// Measure determines the size without another exchange.
func TestResourceMeasure(t *testing.T) {
	t.Parallel()
	s := newShelf(300_000)
	s.sizes, s.silent = false, true
	r := open(t, s)
	if _, err := io.ReadFull(r, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Measure(200_000); n != -1 || !errors.Is(err, fetch.ErrTooLarge) {
		t.Errorf("Measure with a limit: %d, %v", n, err)
	}
	if n, err := r.Measure(300_000); n != 300_000 || err != nil || r.Size() != n {
		t.Errorf("Measure: %d, %v", n, err)
	}
	if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data[100:]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	p := make([]byte, 200_000)
	if _, err := r.ReadAt(p, 70_000); err != nil || !bytes.Equal(p, s.data[70_000:270_000]) {
		t.Errorf("ReadAt: %v", err)
	}
	r.Seek(-10, io.SeekEnd)
	var got bytes.Buffer
	if _, err := io.Copy(&got, r); err != nil || !bytes.Equal(got.Bytes(), s.data[299_990:]) {
		t.Errorf("the end is %q, %v", got.Bytes(), err)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
	// Data after the limit can still be read.
	r = open(t, s)
	r.Measure(1000)
	if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestResourceObeysPolicy(t *testing.T) {
	t.Parallel()
	s := newShelf(1000)
	c := fetch.New(&fetch.Options{Policy: &fetch.Policy{MaxSize: 999}}, fetch.Use("x-shelf", s))
	if _, err := c.Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/")}); !errors.Is(err, fetch.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	s.sizes = false
	r, err := c.Open(t.Context(), &fetch.Request{URL: uri.MustParse("x-shelf://h/")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); len(got) != 999 || !errors.Is(err, fetch.ErrTooLarge) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// A Resource does not deadlock if middleware limits the concurrent exchanges with a host.
func TestResourceUnderPerHost(t *testing.T) {
	t.Parallel()
	s := newShelf(4 << 20)
	r := open(t, s, middleware.PerHost(1))
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := io.ReadAll(struct{ io.Reader }{r}); err != nil || !bytes.Equal(got, s.data) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	for i := range 4 {
		wg.Go(func() {
			p := make([]byte, 100_000)
			for off := int64(i * 1_000_000); off < int64(i+1)*1_000_000-100_000; off += 100_000 {
				if _, err := r.ReadAt(p, off); err != nil || !bytes.Equal(p, s.data[off:off+100_000]) {
					t.Errorf("at %d: %v", off, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestResourceCloseEndsReads(t *testing.T) {
	t.Parallel()
	s := newShelf(1 << 20)
	r := open(t, s)
	r.Close()
	r.Close()
	for name, err := range map[string]error{
		"Read":    second(r.Read(make([]byte, 1))),
		"ReadAt":  second(r.ReadAt(make([]byte, 1), 700_000)),
		"WriteTo": second(r.WriteTo(io.Discard)),
	} {
		if !errors.Is(err, fs.ErrClosed) || !errors.Is(err, fetch.ErrInterrupted) {
			t.Errorf("%s: %v", name, err)
		}
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := s.client().Open(ctx, &fetch.Request{URL: uri.MustParse("x-shelf://h/")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.mu.Lock()
	s.refuse = []error{&fetch.Error{Code: fetch.ErrBusy, Retry: true, RetryAfter: 20 * time.Second}}
	s.mu.Unlock()
	go cancel(why)
	if _, err := r.ReadAt(make([]byte, 1), 700_000); !errors.Is(err, why) {
		t.Errorf("the end of the context does not end the wait for another try: %v", err)
	}
}

func second[N any](_ N, err error) error { return err }

// Reads in any order return the bytes of the document, even if connections are lost.
func TestResourceRandomReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, checkRandomReads)
}

func checkRandomReads(t *rapid.T) {
	s := newShelf(rapid.IntRange(0, 700_000).Draw(t, "size"))
	s.ranges = rapid.Bool().Draw(t, "ranges")
	s.sizes = rapid.Bool().Draw(t, "sizes")
	cuts := rapid.SliceOfN(rapid.IntRange(0, 300_000), 0, 8).Draw(t, "cuts")
	s.cut = func() int {
		if len(cuts) == 0 || len(s.requestedRanges)%2 == 0 { // not twice in a row: the second retry of a read would wait
			return -1
		}
		n := cuts[0]
		cuts = cuts[1:]
		return n
	}
	r, err := s.client().Open(context.Background(), &fetch.Request{URL: uri.MustParse("x-shelf://h/")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	model := bytes.NewReader(s.data)
	for range rapid.IntRange(1, 12).Draw(t, "steps") {
		p := make([]byte, rapid.IntRange(0, 200_000).Draw(t, "length"))
		q := make([]byte, len(p))
		off := rapid.Int64Range(0, int64(len(s.data))+10).Draw(t, "offset")
		var n, m int
		var err, want error
		switch op := rapid.IntRange(0, 4).Draw(t, "op"); op {
		case 0:
			n, err = r.ReadAt(p, off)
			m, want = model.ReadAt(q, off)
			if len(p) == 0 {
				want = nil
			}
		case 1:
			r.Seek(off, io.SeekStart)
			model.Seek(off, io.SeekStart)
		case 2:
			var a, b bytes.Buffer
			_, err = io.Copy(&a, r)
			_, want = io.Copy(&b, model)
			p, q, n, m = a.Bytes(), b.Bytes(), a.Len(), b.Len()
		default:
			n, err = io.ReadFull(r, p)
			m, want = io.ReadFull(model, q)
		}
		if n != m || err != want || !bytes.Equal(p[:n], q[:m]) {
			t.Fatalf("%d bytes, %v; want %d, %v", n, err, m, want)
		}
	}
}
