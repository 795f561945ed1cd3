package fetchtest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
)

// reply is the reply to a client's hello.
const reply = "hello, hello, hello\n"

// A clumsy client has one bug.
type clumsy struct {
	bug  string
	addr string
}

func (c clumsy) has(bug string) bool { return c.bug == bug }

// try connects, sends hello and reads reply.
func (c clumsy) try(_ testing.TB, o *fetch.Options) ([]byte, error) {
	dial := o.DialContext
	if c.has("dials by itself") {
		dial = new(net.Dialer).DialContext
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Timeouts.Connect)
	defer cancel()
	conn, err := dial(ctx, "tcp", c.addr)
	if err != nil {
		return nil, c.failed(err)
	}
	if !c.has("leaves connections open") {
		defer conn.Close()
	}
	conn.SetDeadline(time.Now().Add(o.Timeouts.Reply))
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		return nil, c.failed(err)
	}
	if c.has("reads once") {
		buf := make([]byte, len(reply))
		n, err := conn.Read(buf)
		return buf[:n], c.failed(err)
	}
	got := make([]byte, len(reply))
	n, err := io.ReadFull(conn, got)
	switch {
	case c.has("takes the close for the end") && errors.Is(err, io.EOF) || c.has("takes silence for the end") && errors.Is(err, os.ErrDeadlineExceeded):
		err = nil
	case c.has("makes things up") && err != nil:
		return []byte("goodbye"), c.failed(err)
	}
	return got[:n], c.failed(err)
}

func (c clumsy) failed(err error) error {
	switch {
	case err == nil || c.has("has errors of its own"):
		return err
	case c.has("calls everything a protocol violation"):
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return &fetch.Error{Code: fetch.ErrNetwork, Err: err}
}

func TestRunFailuresFindsBugs(t *testing.T) {
	t.Parallel()
	for bug, want := range map[string]string{
		"":                                      "",
		"takes the close for the end":           "close at operation 3 of 3, read: 0 of 20 bytes without an error",
		"takes silence for the end":             "silence at operation 3 of 3, read: 0 of 20 bytes without an error",
		"reads once":                            "single byte at operation 3 of 3, read: 1 of 20 bytes without an error",
		"makes things up":                       "wrong content",
		"has errors of its own":                 "want a *fetch.Error",
		"leaves connections open":               "1 connections are not closed",
		"dials by itself":                       "Try does not use Options.DialContext",
		"calls everything a protocol violation": "of class \"protocol",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			s, err := servers.New(servers.Config{Scheme: "x"}, func(c *servers.Conn) {
				if line, err := c.ReadLine(); err == nil && line == "hello" {
					io.WriteString(c, reply)
					c.Wait()
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			r := record(t, func(r *recorder) {
				RunFailures(r, Failures{Try: clumsy{bug, s.Addr}.try, patience: time.Second, quiet: 3 * time.Second})
			})
			if failed, _, text := r.result(); failed != (bug != "") || !strings.Contains(text, want) {
				t.Errorf("failed: %t, want %q:\n%s", failed, want, text)
			}
		})
	}
}

func TestRunFailuresOptions(t *testing.T) {
	t.Parallel()
	s, err := servers.New(servers.Config{Scheme: "x"}, func(c *servers.Conn) {
		c.ReadLine()
		io.WriteString(c, reply)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	RunFailures(t, Failures{Try: clumsy{"takes the close for the end", s.Addr}.try, Unframed: true})
	RunFailures(t, Failures{Try: clumsy{"calls everything a protocol violation", s.Addr}.try, Codes: []fetch.Code{fetch.ErrProtocol}})
	// An error over a working network is also correct over a failing one.
	refused := func(testing.TB, *fetch.Options) ([]byte, error) { return nil, &fetch.Error{Code: fetch.ErrNotFound} }
	RunFailures(t, Failures{Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
		if _, err := (clumsy{addr: s.Addr}).try(t, o); err != nil {
			return nil, err
		}
		return refused(t, o)
	}})
}
