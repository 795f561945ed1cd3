package fetch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetchtest/servers"
)

// noise returns n non-repeating bytes.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return b
}

// create returns a new file.
func create(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// content returns the content of f.
func content(t testing.TB, f *os.File) []byte {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestWriteToCopiesEverything(t *testing.T) {
	t.Parallel()
	want := noise(2*spliceChunk + 12345)
	for _, spliced := range []bool{true, false} {
		client, server := servers.Pair(t)
		go func() {
			server.Write(want)
			server.Close()
		}()
		f := create(t)
		var w io.Writer = f
		if !spliced {
			w = struct{ io.Writer }{f}
		}
		n, err := io.Copy(w, newConn(client, time.Minute))
		if n != int64(len(want)) || err != nil {
			t.Errorf("copied %d, %v", n, err)
		}
		if sha256.Sum256(content(t, f)) != sha256.Sum256(want) {
			t.Error("the content differs")
		}
	}
}

func TestWriteToAfterAReader(t *testing.T) {
	t.Parallel()
	client, server := servers.Pair(t)
	body := noise(64<<10 + 1000)
	go func() {
		server.Write(append([]byte("ok\r\n"), body...))
		server.Close()
	}()
	r := wire.NewReader(newConn(client, time.Minute), 0)
	if line, err := r.Line(); string(line) != "ok" || err != nil {
		t.Fatalf("Line = %q, %v", line, err)
	}
	f := create(t)
	if _, err := io.Copy(f, r); err != nil || !bytes.Equal(content(t, f), body) {
		t.Errorf("the content differs, %v", err)
	}
}

// A spy is a file that passes calls of ReadFrom to a function.
type spy struct {
	*os.File
	readFrom func(*io.LimitedReader) (int64, error)
}

func (s *spy) ReadFrom(r io.Reader) (int64, error) { return s.readFrom(r.(*io.LimitedReader)) }

func TestFilesGetTheConnectionInChunks(t *testing.T) {
	t.Parallel()
	client, server := servers.Pair(t)
	want := noise(spliceChunk + 1)
	go func() {
		server.Write(want)
		server.Close()
	}()
	f := create(t)
	var chunks []int64
	w := &spy{File: f}
	w.readFrom = func(lr *io.LimitedReader) (int64, error) {
		if lr.R != io.Reader(client) {
			t.Errorf("reads from %T, which Linux cannot splice", lr.R)
		}
		n, err := f.ReadFrom(lr)
		chunks = append(chunks, n)
		return n, err
	}
	if _, err := newConn(client, time.Minute).WriteTo(w); err != nil || !bytes.Equal(content(t, f), want) {
		t.Errorf("the content differs, %v", err)
	}
	if len(chunks) != 2 || chunks[0] != spliceChunk || chunks[1] != 1 {
		t.Errorf("chunks of %v", chunks)
	}
}

// TestSlowStreamsDoNotTimeOut sends less than a chunk per idle timeout.
func TestSlowStreamsDoNotTimeOut(t *testing.T) {
	t.Parallel()
	t.Run("spliced", func(t *testing.T) {
		t.Parallel()
		const idle = 2 * time.Second
		client, server := servers.Pair(t)
		f := create(t)
		calls := 0
		w := &spy{File: f}
		w.readFrom = func(lr *io.LimitedReader) (int64, error) {
			calls++
			if calls < 3 {
				server.Write([]byte("some"))
			}
			return f.ReadFrom(lr)
		}
		n, err := newConn(client, idle).WriteTo(w)
		if got := content(t, f); string(got) != "somesome" || n != 8 || calls != 3 {
			t.Errorf("copied %d, %q in %d calls", n, got, calls)
		}
		wantIdleError(t, err, "read", idle)
	})
	t.Run("buffered", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c, peer := pipe(t, 10*time.Second)
			go func() {
				for range 10 {
					time.Sleep(9 * time.Second)
					peer.Write([]byte("x"))
				}
				peer.Close()
			}()
			if n, err := c.WriteTo(io.Discard); n != 10 || err != nil {
				t.Errorf("copied %d, %v", n, err)
			}
		})
	})
}

// A timeout is an error if the writer has read more bytes than it has written.
func TestTimeoutAfterLostBytes(t *testing.T) {
	t.Parallel()
	client, server := servers.Pair(t)
	server.Write([]byte("some"))
	w := &spy{File: create(t)}
	w.readFrom = func(lr *io.LimitedReader) (int64, error) {
		buf := make([]byte, 4)
		io.ReadFull(lr, buf)
		_, err := lr.Read(buf)
		return 3, err
	}
	n, err := newConn(client, 50*time.Millisecond).WriteTo(w)
	if n != 3 {
		t.Errorf("copied %d", n)
	}
	wantIdleError(t, err, "read", 50*time.Millisecond)
}

func TestWriteToN(t *testing.T) {
	t.Parallel()
	for _, spliced := range []bool{true, false} {
		client, server := servers.Pair(t)
		server.Write([]byte("abcdefghij"))
		server.CloseWrite()
		c := newConn(client, time.Minute)
		f := create(t)
		var w io.Writer = f
		if !spliced {
			w = struct{ io.Writer }{f}
		}
		for _, tt := range []struct {
			ask, want int64
			err       error
		}{{0, 0, nil}, {3, 3, nil}, {5, 5, nil}, {5, 2, io.ErrUnexpectedEOF}} {
			if n, err := c.WriteToN(w, tt.ask); n != tt.want || err != tt.err {
				t.Errorf("WriteToN(%d) = %d, %v; want %d, %v", tt.ask, n, err, tt.want, tt.err)
			}
		}
		if got := content(t, f); string(got) != "abcdefghij" {
			t.Errorf("content %q", got)
		}
	}
}

func TestCopyErrors(t *testing.T) {
	t.Parallel()
	t.Run("connection", func(t *testing.T) {
		t.Parallel()
		client, server := servers.Pair(t)
		server.Write([]byte("some"))
		f := create(t)
		c := newConn(client, time.Minute)
		if _, err := c.WriteToN(f, 4); err != nil {
			t.Fatal(err)
		}
		server.SetLinger(0)
		server.Close()
		_, err := c.WriteTo(f)
		var pe *os.PathError
		var oe *net.OpError
		if !errors.Is(err, syscall.ECONNRESET) || errors.As(err, &pe) || !errors.As(err, &oe) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		for _, spliced := range []bool{true, false} {
			client, server := servers.Pair(t)
			server.Write([]byte("some"))
			f := create(t)
			f.Close()
			var w io.Writer = f
			if !spliced {
				w = struct{ io.Writer }{f}
			}
			if _, err := newConn(client, time.Minute).WriteTo(w); !errors.Is(err, os.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}
	})
	t.Run("short write", func(t *testing.T) {
		t.Parallel()
		client, server := servers.Pair(t)
		server.Write([]byte("some"))
		n, err := newConn(client, time.Minute).WriteTo(writerFunc(func(p []byte) (int, error) { return 1, nil }))
		if n != 1 || err != io.ErrShortWrite {
			t.Errorf("copied %d, %v", n, err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func BenchmarkWriteTo(b *testing.B) {
	data := noise(64 << 20)
	for _, spliced := range []bool{true, false} {
		name := map[bool]string{true: "spliced", false: "buffered"}[spliced]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			client, server := servers.Pair(b)
			go func() {
				for {
					if _, err := server.Write(data); err != nil {
						return
					}
				}
			}()
			c := newConn(client, time.Minute)
			f := create(b)
			var w io.Writer = f
			if !spliced {
				w = struct{ io.Writer }{f}
			}
			for b.Loop() {
				f.Seek(0, io.SeekStart)
				if _, err := c.WriteToN(w, int64(len(data))); err != nil {
					b.Fatal(err)
				}
			}
			client.Close()
		})
	}
}
