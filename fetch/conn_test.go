package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetchtest/servers"
)

// pipe returns a Conn and its peer. Unlike sockets, pipes work with synctest.
func pipe(t *testing.T, idle time.Duration) (*Conn, net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return newConn(a, idle), b
}

// elapsed calls f and returns its duration.
func elapsed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func wantIdleError(t *testing.T, err error, op string, idle time.Duration) {
	t.Helper()
	var te *wire.TimeoutError
	var ne net.Error
	if !errors.As(err, &te) || te.Op != op || te.Idle != idle {
		t.Errorf("error %v, want a TimeoutError of %s after %v", err, op, idle)
	} else if !errors.As(err, &ne) || !ne.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v is not a timeout as the net package has them", err)
	}
}

// wantUserTimeout checks for the plain timeout of the net package.
func wantUserTimeout(t *testing.T, err error) {
	t.Helper()
	var te *wire.TimeoutError
	if !errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &te) {
		t.Errorf("error %v, want a plain timeout", err)
	}
}

func TestTimeoutPhases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, time.Second)
		buf := make([]byte, 10)
		read := func(want string) {
			t.Helper()
			if _, err := c.Read(buf); err == nil || err.Error() != want {
				t.Errorf("error %v, want %q", err, want)
			}
		}
		say := func(text string) {
			t.Helper()
			go peer.Write([]byte(text))
			if n, err := c.Read(buf); string(buf[:n]) != text {
				t.Errorf("Read = %q, %v", buf[:n], err)
			}
		}
		read("no greeting within 1s")
		say("220 hello")
		read("nothing received for 1s")
		go io.ReadFull(peer, make([]byte, 4))
		if _, err := c.Write([]byte("USER")); err != nil {
			t.Fatal(err)
		}
		read("no reply within 1s")
		say("331 ok")
		read("nothing received for 1s")
	})
}

func TestReadTimesOutWhenIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, 30*time.Second)
		buf := make([]byte, 10)
		var err error
		if d := elapsed(func() { _, err = c.Read(buf) }); d != 30*time.Second {
			t.Errorf("timed out after %v", d)
		}
		wantIdleError(t, err, "read", 30*time.Second)
		if got := err.Error(); got != "no greeting within 30s" {
			t.Errorf("text %q", got)
		}
		// The connection can be used after a timeout: the next Read gets the full idle timeout.
		go func() {
			time.Sleep(20 * time.Second)
			peer.Write([]byte("late"))
		}()
		if n, err := c.Read(buf); string(buf[:n]) != "late" || err != nil {
			t.Errorf("Read = %q, %v", buf[:n], err)
		}
		c.SetIdle(time.Second)
		if d := elapsed(func() { _, err = c.Read(buf) }); d != time.Second {
			t.Errorf("timed out after %v", d)
		}
		c.SetIdle(0)
		go func() {
			time.Sleep(24 * time.Hour)
			peer.Write([]byte("at last"))
		}()
		if n, err := c.Read(buf); string(buf[:n]) != "at last" || err != nil {
			t.Errorf("Read = %q, %v", buf[:n], err)
		}
	})
}

func TestSlowWritesDoNotTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, 10*time.Second)
		var got []byte
		go func() {
			for range 5 {
				time.Sleep(7 * time.Second)
				buf := make([]byte, 4)
				n, _ := peer.Read(buf)
				got = append(got, buf[:n]...)
			}
		}()
		if n, err := c.Write([]byte("0123456789abcdefghij")); n != 20 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
		synctest.Wait()
		if string(got) != "0123456789abcdefghij" {
			t.Errorf("the peer got %q", got)
		}
		var err error
		if d := elapsed(func() { _, err = c.Write([]byte("x")) }); d != 10*time.Second {
			t.Errorf("timed out after %v", d)
		}
		wantIdleError(t, err, "write", 10*time.Second)
		if got := err.Error(); got != "nothing could be sent for 10s" {
			t.Errorf("text %q", got)
		}
		if d := elapsed(func() { _, err = c.Write([]byte("y")) }); d != 0 {
			t.Errorf("the second Write failed after %v", d)
		}
		wantIdleError(t, err, "write", 10*time.Second)
	})
}

func TestUserDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, 30*time.Second)
		buf := make([]byte, 10)
		read := func(want time.Duration) error {
			t.Helper()
			var err error
			if d := elapsed(func() { _, err = c.Read(buf) }); d != want {
				t.Errorf("timed out after %v, want %v", d, want)
			}
			return err
		}
		c.SetDeadline(time.Now().Add(5 * time.Second))
		wantUserTimeout(t, read(5*time.Second))
		_, err := c.Write(buf)
		wantUserTimeout(t, err)
		c.SetDeadline(time.Now().Add(50 * time.Second))
		wantIdleError(t, read(30*time.Second), "read", 30*time.Second)
		wantUserTimeout(t, read(20*time.Second))
		// A deadline ends a blocked Read. Without a deadline, the idle timeout applies.
		c.SetDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(time.Now().Add(time.Second))
			time.Sleep(500 * time.Millisecond)
			c.SetReadDeadline(time.Time{})
		}()
		wantIdleError(t, read(30*time.Second), "read", 30*time.Second)
		go func() {
			time.Sleep(time.Second)
			c.SetReadDeadline(time.Now())
		}()
		wantUserTimeout(t, read(time.Second))
		// A read deadline does not apply to writes.
		c.SetDeadline(time.Time{})
		go peer.Read(make([]byte, 1))
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	})
}

func TestBindEndsReadsAndWritesWithTheCause(t *testing.T) {
	t.Parallel()
	why := errors.New("the user has gone")
	ops := map[string]func(c *Conn) error{
		"Read":     func(c *Conn) error { _, err := c.Read(make([]byte, 1)); return err },
		"Write":    func(c *Conn) error { _, err := c.Write([]byte("x")); return err },
		"WriteTo":  func(c *Conn) error { _, err := c.WriteTo(io.Discard); return err },
		"WriteToN": func(c *Conn) error { _, err := c.WriteToN(io.Discard, 10); return err },
	}
	for name, op := range ops {
		for _, idle := range []time.Duration{0, time.Minute} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c, _ := pipe(t, idle)
					ctx, cancel := context.WithCancelCause(t.Context())
					release := c.Bind(ctx)
					go func() {
						time.Sleep(3 * time.Second)
						cancel(why)
					}()
					var err error
					if d := elapsed(func() { err = op(c) }); d != 3*time.Second || !errors.Is(err, why) {
						t.Errorf("ended after %v with %v", d, err)
					}
					c.SetDeadline(time.Now().Add(time.Hour))
					c.SetIdle(time.Hour)
					for name, later := range ops {
						if d := elapsed(func() { err = later(c) }); d != 0 || !errors.Is(err, why) {
							t.Errorf("a later %s ended after %v with %v", name, d, err)
						}
					}
					for range 2 {
						if release() {
							t.Error("the connection is called usable")
						}
					}
				})
			})
		}
	}
}

func TestBindToCanceledContext(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	release := c.Bind(ctx)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if release() {
		t.Error("the connection is called usable")
	}
}

func TestReleaseUndoesBind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, peer := pipe(t, 0)
		ctx, cancel := context.WithCancel(t.Context())
		release := c.Bind(ctx)
		for range 2 {
			if !release() {
				t.Error("the connection is called dead")
			}
		}
		cancel()
		synctest.Wait()
		go peer.Write([]byte("x"))
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("Read = %d, %v", n, err)
		}
	})
}

func TestCauseEOFIsNotEOF(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	defer c.Bind(ctx)()
	if _, err := c.Read(make([]byte, 1)); err == io.EOF || !errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
}

// TestCancelDuringRead cancels a context while reads set deadlines. No read may block afterwards.
func TestCancelDuringRead(t *testing.T) {
	t.Parallel()
	client, server := servers.Pair(t)
	go io.Copy(server, endless("x"))
	for range 300 {
		c := newConn(client, time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		release := c.Bind(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			buf := make([]byte, 10)
			for {
				if _, err := c.Read(buf); err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("error %v", err)
					}
					return
				}
			}
		})
		cancel()
		wg.Wait() // would take an hour
		release()
		client.SetDeadline(time.Time{})
	}
}

// testTLS returns configurations for both ends of a TLS connection.
func testTLS(t *testing.T) (client, server *tls.Config) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{RootCAs: roots, ServerName: "example.com"}, &tls.Config{Certificates: s.TLS.Certificates}
}

func TestTLSOnTop(t *testing.T) {
	t.Parallel()
	clientConfig, serverConfig := testTLS(t)
	client, server := servers.Pair(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	said := make(chan struct{})
	wg.Go(func() {
		s := tls.Server(server, serverConfig)
		s.Write([]byte("hello"))
		<-said
		s.Write([]byte("again"))
		io.Copy(io.Discard, s)
	})
	c := newConn(client, time.Minute)
	sec := tls.Client(c, clientConfig)
	defer sec.Close()
	buf := make([]byte, 10)
	if n, err := io.ReadFull(sec, buf[:5]); string(buf[:n]) != "hello" || err != nil {
		t.Fatalf("Read = %q, %v", buf[:n], err)
	}
	c.SetIdle(200 * time.Millisecond)
	_, err := sec.Read(buf)
	wantIdleError(t, err, "read", 200*time.Millisecond)
	// The connection still works.
	c.SetIdle(time.Minute)
	close(said)
	if n, err := io.ReadFull(sec, buf[:5]); string(buf[:n]) != "again" || err != nil {
		t.Fatalf("Read = %q, %v", buf[:n], err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	c.Bind(ctx)
	why := errors.New("enough")
	cancel(why)
	if _, err := sec.Read(buf); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// Close does not wait for the peer of a TLS connection, even if it has stopped reading.
func TestCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	clientConfig, serverConfig := testTLS(t)
	synctest.Test(t, func(t *testing.T) {
		for _, above := range []bool{true, false} {
			a, b := net.Pipe()
			peer := tls.Server(b, serverConfig)
			go peer.Handshake()
			var c net.Conn
			if above {
				c = tls.Client(newConn(a, time.Minute), clientConfig)
			} else {
				c = newConn(tls.Client(a, clientConfig), time.Minute)
			}
			if d := elapsed(func() {
				_, err := c.Write([]byte("x"))
				wantIdleError(t, err, "write", time.Minute)
			}); d != time.Minute {
				t.Errorf("Write failed after %v", d)
			}
			if d := elapsed(func() { c.Close() }); d != 0 {
				t.Errorf("Close took %v", d)
			}
			b.Close()
			if _, err := a.Read(make([]byte, 1)); err != io.ErrClosedPipe {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestCloseWrite(t *testing.T) {
	t.Parallel()
	client, server := servers.Pair(t)
	c := newConn(client, 0)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the peer reads %v", err)
	}
	if c.NetConn() != net.Conn(client) || c.LocalAddr() != client.LocalAddr() || c.RemoteAddr() != client.RemoteAddr() {
		t.Error("another connection")
	}
	p, _ := pipe(t, 0)
	if err := p.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("half-close of a pipe: %v", err)
	}
}

func TestUpgradeToTLS(t *testing.T) {
	t.Parallel()
	clientConfig, serverConfig := testTLS(t)
	client, server := servers.Pair(t)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		r := bufio.NewReader(server)
		r.ReadString('\n')
		io.WriteString(server, "234 go\r\n")
		s := tls.Server(server, serverConfig)
		line, _ := bufio.NewReader(s).ReadString('\n')
		fmt.Fprintf(s, "200 %s", line)
		io.Copy(io.Discard, s)
	})
	c := newConn(client, time.Minute)
	l := wire.NewLines(c, 0)
	defer l.Close()
	if r, err := l.Cmd("AUTH TLS"); r.Code != 234 || err != nil {
		t.Fatalf("AUTH TLS: %v, %v", r, err)
	}
	err := l.Upgrade(func() error {
		return c.upgrade(func(raw net.Conn) *tls.Conn { return tls.Client(raw, clientConfig) }).HandshakeContext(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := l.Cmd("NOOP"); r.String() != "200 NOOP" || err != nil {
		t.Errorf("NOOP: %v, %v", r, err)
	}
	if c.TLS() == nil {
		t.Error("the connection has no state of TLS")
	}
}

// An endless repeats a text forever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestReplyTimeoutBoundsTheWholeReply(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		every time.Duration // interval between bytes
		text  string
	}{
		{"drip", time.Second, "no complete reply within 10s"},
		{"silence", time.Hour, "no greeting within 10s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, peer := pipe(t, 2*time.Second)
				over := make(chan struct{})
				go func() {
					for {
						select {
						case <-over:
							return
						case <-time.After(tt.every):
							peer.Write([]byte("x"))
						}
					}
				}()
				done := c.ReplyTimeout(10 * time.Second)
				var err error
				d := elapsed(func() { _, err = io.Copy(io.Discard, struct{ io.Reader }{c}) })
				if d != 10*time.Second || !errors.Is(err, os.ErrDeadlineExceeded) || err.Error() != tt.text {
					t.Errorf("ended after %v with %v", d, err)
				}
				done()
				// The idle timeout applies again.
				if tt.every > 2*time.Second {
					d := elapsed(func() { _, err = c.Read(make([]byte, 1)) })
					if d != 2*time.Second {
						t.Errorf("then ended after %v with %v", d, err)
					}
				} else if _, err := c.Read(make([]byte, 1)); err != nil {
					t.Errorf("then %v", err)
				}
				peer.Close()
				close(over)
			})
		})
	}
}

func TestReplyTimeoutDoesNotLimitWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := pipe(t, 2*time.Second) // the peer does not read
		defer c.ReplyTimeout(10 * time.Second)()
		var err error
		d := elapsed(func() { _, err = c.Write([]byte("x")) })
		if d != 2*time.Second {
			t.Errorf("ended after %v", d)
		}
		wantIdleError(t, err, "write", 2*time.Second)
	})
}

func TestCloseEndsBind(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Conn) error{"Close": (*Conn).Close, "Abort": (*Conn).Abort} {
		ctx, cancel := context.WithCancel(t.Context())
		c, _ := pipe(t, 0)
		release := c.Bind(ctx)
		end(c)
		cancel()
		if !release() {
			t.Errorf("%s: the context still had a hold on the connection", name)
		}
	}
}

// SetDeadline fails for a pipe whose other end is closed. Reads must still return io.EOF.
func TestConnOverPipe(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	far.Close()
	c := newConn(near, time.Minute)
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("error %v, want io.EOF", err)
	}
}
