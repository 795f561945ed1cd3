package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// A flood is an endless body of lines. It counts the bytes read.
type flood struct{ read int64 }

func (f *flood) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], "a line of a listing\r\n")
	}
	f.read += int64(n)
	return n, nil
}

func (f *flood) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{f}) }
func (f *flood) Close() error                       { return nil }

// lines is a Parse function that returns an entry for each line.
func lines(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var rest []byte
		buf := make([]byte, 1000)
		for {
			n, err := r.Read(buf)
			rest = append(rest, buf[:n]...)
			for {
				line, after, ok := bytes.Cut(rest, []byte("\n"))
				if !ok {
					break
				}
				rest = after
				if !yield(fetch.Entry{Name: strings.TrimSpace(string(line))}, nil) {
					return
				}
			}
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
		}
	}
}

func listingClient(opts *fetch.Options, size int64, body io.ReadCloser) *fetch.Client {
	return fetch.New(opts, load("x", []fetch.Op{fetch.OpGet, fetch.OpList}, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: size}, Body: body, Parse: lines}, nil
	}))
}

func TestLimitsHoldForEntries(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	tests := []struct {
		name string
		opts *fetch.Options
		size int64
		want error
	}{
		{"MaxSize", &fetch.Options{Policy: &fetch.Policy{MaxSize: limit}}, -1, fetch.ErrTooLarge},
		{"declared size", nil, limit, fetch.ErrProtocol},
		{"declared size beyond MaxSize", &fetch.Options{Policy: &fetch.Policy{MaxSize: limit}}, limit + 1, fetch.ErrTooLarge},
	}
	for _, tt := range tests {
		body := &flood{}
		var last error
		for _, err := range listingClient(tt.opts, tt.size, body).List(t.Context(), "x:y") {
			last = err
		}
		if !errors.Is(last, tt.want) {
			t.Errorf("%s: error %v, want one of class %q", tt.name, last, tt.want)
		}
		if body.read > limit+1 {
			t.Errorf("%s: %d bytes were read", tt.name, body.read)
		}
	}
}

// Every way of reading a body enforces the limit.
func TestOversizedBodiesAreCutOff(t *testing.T) {
	t.Parallel()
	const most = 300_000
	file := func(t *testing.T) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	ways := map[string]func(t *testing.T, r io.Reader) (int64, error){
		"Read":             func(t *testing.T, r io.Reader) (int64, error) { return io.Copy(io.Discard, struct{ io.Reader }{r}) },
		"WriteTo":          func(t *testing.T, r io.Reader) (int64, error) { return io.Copy(io.Discard, r) },
		"WriteTo a buffer": func(t *testing.T, r io.Reader) (int64, error) { return io.Copy(&bytes.Buffer{}, r) },
		"WriteTo a file":   func(t *testing.T, r io.Reader) (int64, error) { return io.Copy(file(t), r) },
		"Read to a file":   func(t *testing.T, r io.Reader) (int64, error) { return io.Copy(file(t), struct{ io.Reader }{r}) },
		"Read into a large": func(t *testing.T, r io.Reader) (int64, error) {
			n, err := io.ReadFull(r, make([]byte, 1<<20))
			return int64(n), err
		},
	}
	for name, way := range ways {
		for _, kind := range []string{"a driver's bytes", "a connection"} {
			for _, limited := range []bool{true, false} {
				opts, size, want := &fetch.Options{Proxy: noProxy}, int64(most), fetch.ErrProtocol
				if limited {
					opts.Policy, size, want = &fetch.Policy{MaxSize: most}, -1, fetch.ErrTooLarge
				}
				url := "x:y"
				body := &flood{}
				loader := load("x", []fetch.Op{fetch.OpGet}, func(context.Context, *fetch.Request) (*fetch.Response, error) {
					return &fetch.Response{Meta: fetch.Meta{Size: size}, Body: body}, nil
				})
				if kind == "a connection" {
					url = "x-line://" + listen(t, func(c net.Conn) { io.Copy(c, &flood{}) }) + "/"
					loader = func(env fetch.Env, reg *fetch.Registry) {
						reg.Register(fetch.Scheme{Name: "x-line", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
							func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
								resp, err := lineDriver(env)(ctx, req)
								if resp != nil {
									resp.Size = size
								}
								return resp, err
							})})
					}
				}
				resp, err := fetch.New(opts, loader).Get(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				n, err := way(t, resp.Body)
				resp.Body.Close()
				if n > most || !errors.Is(err, want) {
					t.Errorf("%s of %s, limited %v: %d bytes, error %v, want class %q", name, kind, limited, n, err, want)
				}
			}
		}
	}
}

func TestTee(t *testing.T) {
	t.Parallel()
	const text = "one\r\ntwo\r\nthree\r\n"
	full := errors.New("no room")
	for _, failing := range []bool{false, true} {
		c := listingClient(nil, int64(len(text)), io.NopCloser(strings.NewReader(text)))
		resp, err := c.Get(t.Context(), "x:y")
		if err != nil {
			t.Fatal(err)
		}
		var kept bytes.Buffer
		if failing {
			resp.Tee(writer(func([]byte) (int, error) { return 0, full }))
		} else {
			resp.Tee(&kept)
		}
		var names []string
		var last error
		for e, err := range resp.Entries {
			if last = err; err == nil {
				names = append(names, e.Name)
			}
		}
		resp.Body.Close()
		if failing && !errors.Is(last, full) || !failing && (last != nil || kept.String() != text) {
			t.Errorf("failing %v: error %v, kept %q", failing, last, kept.String())
		}
		if got := strings.Join(names, " "); !failing && got != "one two three" {
			t.Errorf("entries %q", got)
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestSetParts(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for _, fails := range []bool{false, true} {
		closed := 0
		parts := func(yield func(driver.Part, error) bool) {
			if !yield(driver.Part{Text: []byte("header\n")}, nil) {
				return
			}
			for i := range 1000 {
				text := fmt.Appendf(nil, "%d %s\n", i, strings.Repeat("x", i))
				if !yield(driver.Part{Text: text, Entries: []fetch.Entry{{Name: fmt.Sprint(i)}, {Name: "twin"}}}, nil) {
					return
				}
			}
			if fails {
				yield(driver.Part{}, lost)
			}
		}
		open := func(context.Context, *fetch.Request) (*fetch.Response, error) {
			resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}}
			driver.SetParts(resp, parts, func() error { closed++; return nil })
			return resp, nil
		}
		c := fetch.New(nil, load("x", []fetch.Op{fetch.OpList}, open))
		n := 0
		var last error
		for e, err := range c.List(t.Context(), "x:y") {
			if err != nil {
				last = err
				break
			}
			if want := map[bool]string{true: fmt.Sprint(n / 2), false: "twin"}[n%2 == 0]; e.Name != want {
				t.Fatalf("entry %d is %q, want %q", n, e.Name, want)
			}
			n++
		}
		if n != 2000 || fails != errors.Is(last, lost) || closed != 1 {
			t.Errorf("fails %v: %d entries, error %v, closed %d times", fails, n, last, closed)
		}
		for range c.List(t.Context(), "x:y") {
			break
		}
		if closed != 2 {
			t.Errorf("a List that is left closes %d times", closed-1)
		}
	}
}

func TestOnClose(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	screen := &screen{Conn: near}
	tests := []struct {
		name                       string
		body                       io.ReadCloser
		writerTo, writer, terminal bool
	}{
		{"plain", io.NopCloser(onlyReader{}), false, false, false},
		{"fast", &flood{}, true, false, false},
		{"session", near, false, true, false},
		{"terminal", screen, false, true, true},
	}
	for _, tt := range tests {
		closed := 0
		b := fetch.OnClose(tt.body, func() { closed++ })
		_, isTo := b.(io.WriterTo)
		_, isW := b.(io.Writer)
		_, isT := b.(fetch.Terminal)
		if isTo != tt.writerTo || isW != tt.writer || isT != tt.terminal {
			t.Errorf("%s: WriterTo %v, Writer %v, Terminal %v", tt.name, isTo, isW, isT)
		}
		b.Close()
		b.Close()
		if closed != 1 {
			t.Errorf("%s: called %d times", tt.name, closed)
		}
	}
}

type onlyReader struct{}

func (onlyReader) Read([]byte) (int, error) { return 0, io.EOF }

type screen struct{ net.Conn }

func (*screen) Resize(int, int) error { return nil }
func (*screen) Break() error          { return nil }
func (*screen) Status() string        { return "" }
