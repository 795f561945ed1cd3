package telnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The conformance suite of fetchtest is for resources with content. These tests check the rules for
// sessions: Close does not wait, the context ends reads, and no goroutines remain.

// dial opens a session with a server that follows script.
func dial(t *testing.T, ctx context.Context, scheme string, opts Options, script func(*telnetd.Conn)) io.ReadWriteCloser {
	t.Helper()
	server := telnetd.Start(t, telnetd.Options{Script: script})
	client := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Idle: -1}}, With(opts))
	s, err := client.Dial(ctx, scheme+"://joe:secret@"+server.Addr+"/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.ReadWriteCloser
}

// expect reads len(want) bytes.
func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); string(got) != want {
		t.Fatalf("read %q (%v), want %q", got[:n], err, want)
	}
}

// expectEnd reads the end of the session.
func expectEnd(t *testing.T, r io.Reader) {
	t.Helper()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("read %d bytes and %v, want the end", n, err)
	}
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, server, client string }{
		{"what is welcome", "\xff\xfb\x01\xff\xfb\x03\xff\xfd\x03\xff\xfd\x00\xff\xfb\x00", "\xff\xfd\x01\xff\xfd\x03\xff\xfb\x03\xff\xfb\x00\xff\xfd\x00"},
		{"what is not", "\xff\xfd\x01\xff\xfd\x22\xff\xfd\x27\xff\xfd\x20\xff\xfb\x25\xff\xfb\x05\xff\xfd\xc8\xff\xfb\x18",
			"\xff\xfc\x01\xff\xfc\x22\xff\xfc\x27\xff\xfc\x20\xff\xfe\x25\xff\xfe\x05\xff\xfc\xc8\xff\xfe\x18"},
		{"a no is not answered", "\xff\xfc\xc8\xff\xfe\xc8\xff\xfc\x01\xff\xfe\x18\xff\xfd\x06", "\xff\xfc\x06"},
		{"twice the same", "\xff\xfd\x18\xff\xfd\x18\xff\xfd\x06", "\xff\xfb\x18\xff\xfc\x06"},
		{"the terminal type", "\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0", "\xff\xfb\x18\xff\xfa\x18\x00vt\xff\xff\xff\xf0"},
		{"not before it was agreed on", "\xff\xfa\x18\x01\xff\xf0\xff\xfd\x06", "\xff\xfc\x06"},
		{"no size is known", "\xff\xfd\x1f\xff\xfd\x06", "\xff\xfb\x1f\xff\xfc\x06"},
		{"commands survive", "\xff\xf1\xff\xf6\xff\xf2\xff\xef\xff\xf9\xff\xf4\xff\xf0\xff\xfd\x06", "\xff\xfc\x06"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "telnet", Options{TermType: "vt\xff"}, func(c *telnetd.Conn) {
				c.Send("a" + tt.server)
				if c.Expect(tt.client) {
					c.Send("b")
				}
			})
			expect(t, s, "ab")
			expectEnd(t, s)
		})
	}
}

func TestWindowSize(t *testing.T) {
	t.Parallel()
	negotiated := make(chan struct{})
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x1fa")
		c.Expect("\xff\xfb\x1f\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0")
		close(negotiated)
		c.Expect("\xff\xfa\x1f\x00\xff\xff\x01\xff\xff\xff\xf0\r\n\xff\xf3")
		c.Send("b")
	})
	term := s.(fetch.Terminal)
	if err := term.Resize(80, 24); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "a")
	<-negotiated
	if err := term.Resize(255, 511); err != nil {
		t.Fatal(err)
	}
	io.WriteString(s, "\r")
	if err := term.Break(); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "\r\nb")
	if got := term.Status(); !strings.Contains(got, "client options: NAWS") {
		t.Error(got)
	}
	if err := term.Resize(-1, 1); fetch.CodeOf(err) != fetch.ErrProtocol {
		t.Errorf("a negative size: %v", err)
	}
}

func TestLocalEcho(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Expect("hi\r\n")
		c.Send("\xff\xfb\x01hello")
		c.Expect("\xff\xfd\x01bye\r\x00")
	})
	if err := s.(fetch.Terminal).Resize(80, 24); err != nil {
		t.Fatal(err)
	}
	io.WriteString(s, "hi\r")
	expect(t, s, "hi\r\nhello")
	io.WriteString(s, "bye\r")
	expectEnd(t, s)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "telnet", Options{Login: true}, func(c *telnetd.Conn) {
		c.Send("Last login: never\r\nlogin: ")
		c.Expect("joe\r")
		c.Send("\r\nPassword for joe: ")
		c.Expect("\x00secret\r")
		c.Send("\r\nwrong\r\nlogin: ")
		c.Expect("\x00me")
	})
	expect(t, s, "Last login: never\r\nlogin: \r\nPassword for joe: \r\nwrong\r\nlogin: ")
	io.WriteString(s, "me")
	expectEnd(t, s)
}

func TestLoginIsNotSentByDefault(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Send("login: ")
		c.Expect("x\n")
	})
	expect(t, s, "login: ")
	io.WriteString(s, "x\n")
	expectEnd(t, s)
}

func TestTranscript(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := dial(t, t.Context(), "telnet", Options{Transcript: &out, TermType: "vt100", CRLF: true}, func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0\xff\xfe\x01login: ")
		c.Expect("\xff\xfb\x18\xff\xfa\x18\x00vt100\xff\xf0joe\r\n")
		c.Send("hi\r\n\xff\xf1$ ")
	})
	expect(t, s, "login: ")
	io.WriteString(s, "joe\n")
	expect(t, s, "hi\r\n$ ")
	expectEnd(t, s)
	want := "< DO TTYPE\n> WILL TTYPE\n< SB TTYPE \"\\x01\"\n> SB TTYPE \"\\x00vt100\"\n< DONT ECHO\n" +
		"< \"login: \"\n> \"joe\\n\"\n< \"hi\\r\\n\"\n< NOP\n< \"$ \"\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTranscriptWriteError(t *testing.T) {
	t.Parallel()
	s := dial(t, t.Context(), "telnet", Options{Transcript: brokenWriter{}}, func(c *telnetd.Conn) {
		c.Send("hello")
		c.Wait()
	})
	if _, err := io.ReadAll(s); fetch.CodeOf(err) != fetch.ErrFile {
		t.Errorf("error %v", err)
	}
}

func TestCloseEndsRead(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"telnet", "rlogin"} {
		s := dial(t, t.Context(), scheme, Options{}, func(c *telnetd.Conn) { c.Send("\x00hello"); c.Wait() })
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, s)
			ended <- err
		}()
		s.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: closing was taken for %v", scheme, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: closed twice: %v", scheme, err)
		}
	}
}

func TestContextEndsReadAndWrite(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"telnet", "rlogin"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := dial(t, ctx, scheme, Options{}, func(c *telnetd.Conn) { c.Send("\x00hello"); c.Wait() })
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.Copy(io.Discard, s); !errors.Is(err, context.Canceled) || fetch.CodeOf(err) != fetch.ErrInterrupted {
			t.Errorf("%s: read: %v", scheme, err)
		}
		if _, err := io.WriteString(s, "x\r"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: write: %v", scheme, err)
		}
	}
}

func TestOtherOperations(t *testing.T) {
	t.Parallel()
	client := drive.Client(t, nil, Load)
	if _, err := client.Get(t.Context(), "telnet://127.0.0.1/"); fetch.CodeOf(err) != fetch.ErrInteractive {
		t.Errorf("get: %v", err)
	}
	for _, u := range []string{"telnet://127.0.0.1/path", "telnet://127.0.0.1?x", "rlogin://127.0.0.1/?x", "tn3270://127.0.0.1/x", "telnet://us?er:pa@h"} {
		if _, err := client.Dial(t.Context(), u); fetch.CodeOf(err) != fetch.ErrURL {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := client.Dial(t.Context(), "telnet:///"); fetch.CodeOf(err) != fetch.ErrURL {
		t.Errorf("no host: %v", err)
	}
}

// TestEndlessData reads the first bytes of endless data.
func TestEndlessData(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, flood string }{
		{"text", strings.Repeat("x", 4096)},
		{"255", strings.Repeat("\xff", 4096)},
		{"commands", strings.Repeat("\xff\xf1", 2048) + "x"},
		{"subnegotiations", strings.Repeat("\xff\xfa\x18", 2048) + "\xff\xf1x"},
		{"answers", strings.Repeat("\xff\xfc\x2a\xff\xfe\x2a", 2048) + "x"},
		{"agreements", strings.Repeat("\xff\xfb\x01\xff\xfd\x03", 2048) + "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) { c.Flood(tt.flood) })
			if _, err := io.CopyN(io.Discard, s, 500); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOptionFlood has a server that negotiates without reading.
func TestOptionFlood(t *testing.T) {
	t.Parallel()
	for name, flood := range map[string]string{
		"refused":    strings.Repeat("\xff\xfd\x22", 2048),
		"on and off": strings.Repeat("\xff\xfd\x03\xff\xfe\x03", 1024),
		"ttype":      "\xff\xfd\x18" + strings.Repeat("\xff\xfa\x18\x01\xff\xf0", 1024),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) { c.Flood(flood) })
			if n, err := io.Copy(io.Discard, s); n != 0 || fetch.CodeOf(err) != fetch.ErrProtocol {
				t.Errorf("%d bytes, %v", n, err)
			}
		})
	}
}

// TestOptionFloodAnswered has a server that reads the replies. Each command gets one reply, without
// an error.
func TestOptionFloodAnswered(t *testing.T) {
	t.Parallel()
	const times = 100_000
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		for range times / 1000 {
			c.Send(strings.Repeat("\xff\xfd\x22", 1000))
			if !c.Expect(strings.Repeat("\xff\xfc\x22", 1000)) {
				return
			}
		}
		c.Send("done")
	})
	expect(t, s, "done")
}

// TestEndlessSubnegotiation checks that it ends the session.
func TestEndlessSubnegotiation(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"telnet", "tn3270"} {
		s := dial(t, t.Context(), scheme, Options{}, func(c *telnetd.Conn) {
			c.Send("\xff\xfa\x18")
			c.Flood(strings.Repeat("A", 1<<16))
		})
		if n, err := io.Copy(io.Discard, s); n != 0 || fetch.CodeOf(err) != fetch.ErrProtocol {
			t.Errorf("%s: %d bytes, %v", scheme, n, err)
		}
	}
}

// TestLongSubnegotiation checks that it is not stored.
func TestLongSubnegotiation(t *testing.T) {
	const size = maxSubneg + maxSkipped
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Send("\xff\xfa\x18")
		block := make([]byte, maxSubneg)
		for range size / len(block) {
			c.Write(block)
		}
		c.Send("\xff\xf0done")
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	expect(t, s, "done")
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > maxSkipped {
		t.Errorf("%d bytes allocated", grown)
	}
}

// TestServerThatOnlyWritesUntilRead has full buffers on both sides. Pending replies must not block
// reads.
func TestServerThatOnlyWritesUntilRead(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	s := dial(t, t.Context(), "telnet", Options{}, func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x22" + strings.Repeat("x", size)) // before it reads anything
		c.Wait()
	})
	wrote := make(chan error, 1)
	go func() {
		_, err := io.Copy(s, io.LimitReader(zeros{}, size))
		wrote <- err
	}()
	if _, err := io.CopyN(io.Discard, s, size); err != nil {
		t.Error(err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
