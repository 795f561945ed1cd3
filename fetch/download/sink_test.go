package download

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers"
)

// fromTCP returns a connection whose peer sends content and closes it, with a reset if reset is set.
func fromTCP(t *testing.T, content []byte, reset bool) *net.TCPConn {
	t.Helper()
	client, server := servers.Pair(t)
	done := make(chan struct{})
	t.Cleanup(func() { client.Close(); <-done })
	go func() {
		defer close(done)
		server.Write(content)
		if reset {
			// Close sends a reset.
			server.SetLinger(0)
		}
		server.Close()
	}()
	return client
}

// A plain reader has only the method Read.
type plain struct{ io.Reader }

// A sink counts and limits the bytes from every kind of source.
func TestSink(t *testing.T) {
	t.Parallel()
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	sources := map[string]func(t *testing.T) io.Reader{
		"connection":         func(t *testing.T) io.Reader { return fromTCP(t, content, false) },
		"limited connection": func(t *testing.T) io.Reader { return io.LimitReader(fromTCP(t, content, false), 3<<20) },
		"reader":             func(t *testing.T) io.Reader { return plain{bytes.NewReader(content)} },
		"writer to":          func(t *testing.T) io.Reader { return bytes.NewReader(content) },
		"file": func(t *testing.T) io.Reader {
			name := filepath.Join(t.TempDir(), "source")
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		},
	}
	for name, source := range sources {
		for _, window := range []struct{ skip, left int64 }{{0, -1}, {0, 1<<20 + 5}, {7, -1}, {100_000, 200_001}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f, err := os.Create(filepath.Join(t.TempDir(), "file"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				var counted int64
				s := &sink{w: f, skip: window.skip, left: window.left, counter: countFunc(func(n int64) error { counted += n; return nil })}
				want := content[window.skip:]
				if window.left >= 0 {
					want = want[:window.left]
				}
				if _, err := s.ReadFrom(source(t)); (err != nil || s.err != nil) && (window.left < 0 || s.err != errComplete) {
					t.Error(err, s.err)
				}
				got, err := os.ReadFile(f.Name())
				if err != nil || !bytes.Equal(got, want) || counted != int64(len(want)) {
					t.Errorf("%d bytes, %d counted, want %d; %v", len(got), counted, len(want), err)
				}
			})
		}
	}
}

// lateFile is a destination that returns a file only after the first bytes.
type lateFile struct {
	memory []byte
	f      *os.File
}

func (d *lateFile) Write(p []byte) (int, error) {
	if d.f != nil {
		return d.f.Write(p)
	}
	d.memory = append(d.memory, p...)
	return len(p), nil
}

func (d *lateFile) osFile() *os.File { return d.f }

// Once the destination has a file and nothing remains to be compared, the kernel moves the bytes.
func TestSinkSwitchesToFile(t *testing.T) {
	t.Parallel()
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	for _, compared := range []int64{0, 1000, 1 << 20} {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d := &lateFile{}
		moved := int64(0)
		s := &sink{w: d, left: -1, counter: countFunc(func(n int64) error {
			if d.f != nil {
				moved += n
			}
			d.f = f
			return nil
		})}
		proven := compared == 0
		if !proven {
			s.check = &comparison{existing: bytes.NewReader(content), left: compared, same: func() error { proven = true; return nil }}
		}
		if _, err := s.ReadFrom(fromTCP(t, content, false)); err != nil || s.err != nil || !proven {
			t.Error(err, s.err, proven)
		}
		got, err := os.ReadFile(f.Name())
		if all := append(d.memory, got...); err != nil || !bytes.Equal(all, content[compared:]) || moved != int64(len(got)) || moved == 0 {
			t.Errorf("%d bytes in memory, %d in the file, %d moved; %v", len(d.memory), len(got), moved, err)
		}
	}
}

// Errors of the file are distinguished from those of the connection.
func TestSinkErrors(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	count := func(int64) error { return nil }
	readOnly, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	for _, r := range []io.Reader{fromTCP(t, make([]byte, 1000), false), plain{bytes.NewReader(make([]byte, 1000))}} {
		s := &sink{w: readOnly, left: -1, counter: countFunc(count)}
		if _, err := s.ReadFrom(r); !errors.Is(err, syscall.EBADF) || !errors.Is(s.err, syscall.EBADF) {
			t.Errorf("%T to a file that cannot be written: %v, taken for the file's: %v", r, err, s.err)
		}
	}
	writable, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writable.Close()
	s := &sink{w: writable, left: -1, counter: countFunc(count)}
	if _, err := s.ReadFrom(fromTCP(t, nil, true)); !errors.Is(err, syscall.ECONNRESET) || s.err != nil {
		t.Errorf("a reset connection: %v, taken for the file's: %v", err, s.err)
	}
	stop := errors.New("stop")
	s = &sink{w: writable, left: -1, counter: countFunc(func(int64) error { return stop })}
	if _, err := s.ReadFrom(fromTCP(t, make([]byte, 10), false)); err != stop || s.err != stop {
		t.Errorf("error of the counter: %v, %v", err, s.err)
	}
}
