package middleware_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/middleware"
)

// A source is a body with only WriteTo, like those of drivers that let the kernel move the bytes.
type source struct {
	size    int64
	limited bool // pass an io.LimitedReader, as package fetch does for connections
}

func (s *source) Read([]byte) (int, error) { return 0, errors.New("it was read") }
func (s *source) Close() error             { return nil }

func (s *source) WriteTo(w io.Writer) (int64, error) {
	content := &io.LimitedReader{R: bytes.NewReader(make([]byte, s.size)), N: s.size + 1}
	rf, ok := w.(io.ReaderFrom)
	switch {
	case !ok:
		return io.Copy(w, struct{ io.Reader }{content.R})
	case !s.limited:
		return rf.ReadFrom(content.R)
	}
	n, err := rf.ReadFrom(content)
	if left := s.size + 1 - n; content.N != left {
		err = errors.Join(err, errors.New("the reader does not know what is left of it"))
	}
	return n, err
}

// A destination counts the bytes written to it, and records the largest write.
type destination struct{ got, largest int64 }

func (d *destination) count(n int64) { d.got, d.largest = d.got+n, max(d.largest, n) }

func (d *destination) Write(p []byte) (int, error) {
	d.count(int64(len(p)))
	return len(p), nil
}

// A drawingDestination implements io.ReaderFrom.
type drawingDestination struct{ destination }

func (d *drawingDestination) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(io.Discard, r)
	d.count(n)
	return n, err
}

// The rate limit also applies to WriteTo.
func TestRateLimitOfWriteTo(t *testing.T) {
	t.Parallel()
	const rate, size = 8000, 20_000
	for name, tt := range map[string]struct {
		source source
		w      interface {
			io.Writer
			total() (int64, int64)
		}
	}{
		"to a writer":                          {source{size: size}, &destination{}},
		"to a file":                            {source{size: size}, &drawingDestination{}},
		"to a file, from part of a connection": {source{size: size, limited: true}, &drawingDestination{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(middleware.RateLimit(rate), func(context.Context, *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: &tt.source}, nil
				})
				resp, err := c.Get(t.Context(), "x-test://h/")
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				n, err := io.Copy(tt.w, resp.Body)
				got, largest := tt.w.total()
				if err != nil || n != size || got != size || largest > rate/8 {
					t.Errorf("%d bytes written, %d came, %d of them at once, %v", n, got, largest, err)
				}
				if took := time.Since(start); took < 2*time.Second || took > 3*time.Second {
					t.Errorf("%d bytes at %d a second took %v", size, rate, took)
				}
			})
		})
	}
}

func (d *destination) total() (got, largest int64) { return d.got, d.largest }

func TestRateLimitOfWriteToEndsWithContext(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]io.Writer{"writer": &destination{}, "file": &drawingDestination{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := client(middleware.RateLimit(8), func(context.Context, *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: &source{size: 1000, limited: true}}, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				resp, err := c.Get(ctx, "x-test://h/")
				if err != nil {
					t.Fatal(err)
				}
				if n, err := io.Copy(w, resp.Body); !errors.Is(err, context.DeadlineExceeded) || n == 0 || n > 30 {
					t.Errorf("%d bytes, error %v", n, err)
				}
			})
		})
	}
}

// A countingFile counts the calls of ReadFrom and the bytes passed to Write.
type countingFile struct {
	*os.File
	calls   int
	written int64
}

func (f *countingFile) ReadFrom(r io.Reader) (int64, error) {
	f.calls++
	return f.File.ReadFrom(r)
}

func (f *countingFile) Write(p []byte) (int, error) {
	f.written += int64(len(p))
	return f.File.Write(p)
}

// With a rate limit, the kernel still moves the bytes from a connection to a file.
func TestRateLimitKeepsSplice(t *testing.T) {
	t.Parallel()
	content := make([]byte, 3<<20+17)
	for i := range content {
		content[i] = byte(i >> 8)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	sent := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			_, err = conn.Write(content)
			conn.Close()
		}
		sent <- err
	}()
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{middleware.RateLimit(1 << 40)}}, func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x-test", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
				conn, err := env.Dial(ctx, "tcp", listener.Addr().String())
				if err != nil {
					return nil, err
				}
				return &fetch.Response{Meta: fetch.Meta{Size: int64(len(content))}, Body: conn}, nil
			})})
	})
	defer c.Close()
	resp, err := c.Get(t.Context(), "x-test://"+listener.Addr().String()+"/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := &countingFile{File: file}
	if _, err := io.Copy(f, resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file.Name())
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d of %d bytes are there, %v", len(got), len(content), err)
	}
	if f.calls == 0 || f.written > 512<<10 {
		t.Errorf("the kernel was asked %d times, and %d bytes were written", f.calls, f.written)
	}
}
