package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
)

// A writerToBody is a body with a WriteTo method, like the faster bodies of drivers.
type writerToBody struct {
	io.Reader
	closed int
}

func (g *writerToBody) Close() error { g.closed++; return nil }

func (g *writerToBody) WriteTo(w io.Writer) (int64, error) {
	if rf, ok := w.(io.ReaderFrom); ok {
		return rf.ReadFrom(g.Reader)
	}
	return io.Copy(w, struct{ io.Reader }{g.Reader})
}

// bodyClient returns a client whose driver returns body for every request.
func bodyClient(size, limit int64, body io.ReadCloser) *fetch.Client {
	return fetch.New(&fetch.Options{Policy: &fetch.Policy{MaxSize: limit}}, load("x", []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList},
		func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Meta: fetch.Meta{Size: size}, Body: body}, nil
		}))
}

// TestLargestSizes tests a declared size or limit of math.MaxInt64. The body ends long before.
func TestLargestSizes(t *testing.T) {
	t.Parallel()
	for name, read := range waysToRead {
		for _, tt := range []struct {
			size, limit int64
			code        fetch.Code
		}{{math.MaxInt64, 0, fetch.ErrTruncated}, {-1, math.MaxInt64, ""}, {math.MaxInt64, math.MaxInt64, fetch.ErrTruncated}} {
			resp, err := bodyClient(tt.size, tt.limit, &writerToBody{Reader: strings.NewReader("abc")}).Get(t.Context(), "x://h/")
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(resp.Body)
			if got != "abc" || fetch.CodeOf(err) != tt.code {
				t.Errorf("%s, %d, %d: %q, %v", name, tt.size, tt.limit, got, err)
			}
		}
	}
}

// onlyWriter hides all methods except Write.
type onlyWriter struct{ io.Writer }

var waysToRead = map[string]func(io.Reader) (string, error){
	"Read": func(r io.Reader) (string, error) {
		b, err := io.ReadAll(struct{ io.Reader }{r})
		return string(b), err
	},
	"small Reads": func(r io.Reader) (string, error) {
		b, err := io.ReadAll(iotest.OneByteReader(struct{ io.Reader }{r}))
		return string(b), err
	},
	"copy": func(r io.Reader) (string, error) {
		var b strings.Builder
		_, err := io.Copy(onlyWriter{&b}, r)
		return b.String(), err
	},
	"copy to a ReaderFrom": func(r io.Reader) (string, error) {
		var b bytes.Buffer
		_, err := io.Copy(&b, r)
		return b.String(), err
	},
}

func TestBodyIsCheckedAgainstItsSize(t *testing.T) {
	t.Parallel()
	reset := &os.SyscallError{Syscall: "read", Err: syscall.ECONNRESET}
	tests := []struct {
		name        string
		text        string
		end         error
		size, limit int64
		code        fetch.Code
	}{
		{"as announced", "12345", io.EOF, 5, 0, ""},
		{"of unknown size", "12345", io.EOF, -1, 0, ""},
		{"empty", "", io.EOF, 0, 0, ""},
		{"short", "123", io.EOF, 5, 0, fetch.ErrTruncated},
		{"empty, but announced", "", io.EOF, 5, 0, fetch.ErrTruncated},
		{"long", "1234567", io.EOF, 5, 0, fetch.ErrProtocol},
		{"cut off", "123", io.ErrUnexpectedEOF, -1, 0, fetch.ErrTruncated},
		{"reset", "123", reset, 5, 0, fetch.ErrNetwork},
		{"classified by the driver", "123", fetch.ErrChanged, 5, 0, fetch.ErrChanged},
		{"at the limit", "12345", io.EOF, -1, 5, ""},
		{"at the limit, as announced", "12345", io.EOF, 5, 5, ""},
		{"over the limit", "123456", io.EOF, -1, 5, fetch.ErrTooLarge},
		{"announced to be over the limit", "123456", io.EOF, 6, 5, fetch.ErrTooLarge},
		{"over the limit, though announced below", "123456", io.EOF, 4, 5, ""}, // see below
	}
	for _, tt := range tests {
		for way, read := range waysToRead {
			for _, plain := range []bool{true, false} {
				var src io.Reader = strings.NewReader(tt.text)
				if tt.end != io.EOF {
					src = io.MultiReader(src, iotest.ErrReader(tt.end))
				}
				body := io.ReadCloser(&writerToBody{Reader: src})
				if plain {
					body = io.NopCloser(struct{ io.Reader }{src})
				}
				resp, err := bodyClient(tt.size, tt.limit, body).Get(t.Context(), "x:y")
				if err != nil {
					t.Fatal(err)
				}
				got, err := read(resp.Body)
				code := fetch.CodeOf(err)
				switch {
				case strings.HasPrefix(tt.name, "over the limit, though"):
					if code != fetch.ErrTooLarge && code != fetch.ErrProtocol {
						t.Errorf("%s, by %s: error %v", tt.name, way, err)
					}
					continue
				case code != tt.code || (code == "") != (err == nil):
					t.Errorf("%s, by %s: error %v, want class %q", tt.name, way, err, tt.code)
				case !strings.HasPrefix(tt.text, got):
					t.Errorf("%s, by %s: %q is no part of %q", tt.name, way, got, tt.text)
				case tt.code == "" && got != tt.text:
					t.Errorf("%s, by %s: %q, want %q", tt.name, way, got, tt.text)
				case tt.limit > 0 && int64(len(got)) > tt.limit:
					t.Errorf("%s, by %s: %d bytes came through", tt.name, way, len(got))
				}
				// The error is sticky.
				n, again := resp.Body.Read(make([]byte, 1))
				if want := err; n != 0 || again != want && (want != nil || again != io.EOF) {
					t.Errorf("%s, by %s: a later Read returned %d and %v", tt.name, way, n, again)
				}
				if n, again := io.Copy(io.Discard, resp.Body); n != 0 || again != err {
					t.Errorf("%s, by %s: a later copy returned %d and %v", tt.name, way, n, again)
				}
			}
		}
	}
}

func TestWriterErrorsAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for name, dst := range map[string]io.Writer{
		"Write":    failingWriter{full},
		"ReadFrom": failingReaderFrom{failingWriter{full}},
	} {
		for _, plain := range []bool{true, false} {
			body := io.ReadCloser(&writerToBody{Reader: strings.NewReader("12345")})
			if plain {
				body = io.NopCloser(struct{ io.Reader }{strings.NewReader("12345")})
			}
			resp, err := bodyClient(5, 0, body).Get(t.Context(), "x:y")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(dst, resp.Body); !errors.Is(err, full) || fetch.CodeOf(err) != "" {
				t.Errorf("%s, plain %v: error %v of class %q, want the writer's own", name, plain, err, fetch.CodeOf(err))
			}
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

type failingReaderFrom struct{ failingWriter }

func (w failingReaderFrom) ReadFrom(io.Reader) (int64, error) { return 0, w.err }

func TestBrokenPipeIsNotANetworkError(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	resp, err := bodyClient(5, 0, &writerToBody{Reader: strings.NewReader("12345")}).Get(t.Context(), "x:y")
	if err != nil {
		t.Fatal(err)
	}
	var e *fetch.Error
	if _, err := io.Copy(w, resp.Body); !errors.Is(err, syscall.EPIPE) || errors.As(err, &e) && (e.Retry || e.Code != fetch.ErrFile) {
		t.Errorf("error %v", err)
	}
}

func TestBodyErrorNamesTheEndedContext(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err := bodyClient(5, 0, io.NopCloser(io.MultiReader(strings.NewReader("123"), iotest.ErrReader(os.ErrClosed)))).Get(ctx, "x:y")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if _, err = io.ReadAll(resp.Body); !errors.Is(err, why) || fetch.CodeOf(err) != fetch.ErrInterrupted {
		t.Errorf("error %v of class %q", err, fetch.CodeOf(err))
	}
}

func TestCompleteBodyAfterContextEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := bodyClient(3, 0, io.NopCloser(strings.NewReader("123"))).Get(ctx, "x:y")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "123" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestEntriesEndAtTheFirstError(t *testing.T) {
	t.Parallel()
	odd := errors.New("odd")
	var entries iter.Seq2[fetch.Entry, error] = func(yield func(fetch.Entry, error) bool) {
		_ = yield(fetch.Entry{Name: "one"}, nil) && yield(fetch.Entry{}, odd) && yield(fetch.Entry{Name: "two"}, nil)
	}
	body := &writerToBody{Reader: strings.NewReader("")}
	c := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpList}, Driver: fetch.DriverFunc(
			func(context.Context, *fetch.Request) (*fetch.Response, error) {
				return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: -1}, Body: body,
					Parse: func(io.Reader) iter.Seq2[fetch.Entry, error] { return entries }}, nil
			})})
	})
	var names []string
	var last error
	for e, err := range c.List(t.Context(), "x:dir") {
		names, last = append(names, e.Name), err
	}
	var fe *fetch.Error
	if strings.Join(names, " ") != "one " || !errors.Is(last, odd) || !errors.As(last, &fe) || fe.URL != "x:dir" {
		t.Errorf("entries %q, error %v", names, last)
	}
	if body.closed == 0 {
		t.Error("List did not close the body")
	}
	for range c.List(t.Context(), "x:dir") {
		break
	}
	if body.closed != 2 {
		t.Error("a List that is left does not close the body")
	}
}

func TestTruncatedBodyErrorHasProgress(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]string{
		-1: "transfer incomplete: the connection ended after 3 bytes",
		9:  "transfer incomplete: the connection ended after 3 of 9 bytes",
	} {
		cut := fetch.Use("cut", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			r := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF))
			return &fetch.Response{Meta: fetch.Meta{Size: size}, Body: io.NopCloser(r)}, nil
		}))
		c := fetch.New(nil, cut)
		_, err := drive.Get(t, c, "cut:x")
		var e *fetch.Error
		if !errors.As(err, &e) || e.Message() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		c.Close()
	}
}

func TestTLSRecordErrorIsRetryable(t *testing.T) {
	t.Parallel()
	alert := &net.OpError{Op: "local error", Err: errors.New("tls: bad record MAC")}
	cut := fetch.Use("cut", fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: -1}, Body: io.NopCloser(iotest.ErrReader(alert))}, nil
	}))
	c := fetch.New(nil, cut)
	defer c.Close()
	_, err := drive.Get(t, c, "cut:x")
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrTLS || !e.Retry {
		t.Errorf("error %#v", err)
	}
}
