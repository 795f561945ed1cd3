package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// askClient returns a client whose connections lead to serve. Its driver sends q and returns the reply
// as the body.
func askClient(opts fetch.Options, serve func(net.Conn), q driver.Question, begin func(*fetch.Conn) error) *fetch.Client {
	opts.Proxy = noProxy
	opts.DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			serve(far)
		}()
		return near, nil
	}
	return fetch.New(&opts, func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
				resp := &fetch.Response{Meta: fetch.Meta{Size: -1}}
				err := driver.Ask(ctx, env, q, func(conn *fetch.Conn) error {
					resp.Body = conn
					return begin(conn)
				})
				if err != nil {
					return nil, err
				}
				return resp, nil
			})})
	})
}

func nothing(*fetch.Conn) error { return nil }

func TestAskSendsLinesAndReturnsReply(t *testing.T) {
	t.Parallel()
	var n notebook
	received := make(chan string, 1)
	c := askClient(fetch.Options{Recorder: &n}, func(server net.Conn) {
		r := bufio.NewReader(server)
		all := make([]byte, len("who\r\nquit\r\n+secret"))
		io.ReadFull(r, all)
		received <- string(all)
		io.WriteString(server, "answer")
	}, driver.Question{Addr: "h:1", Lines: []string{"who", "quit"}, Data: "+secret", Shown: "+******"}, nothing)
	got, err := text(t, c, "x://h/")
	if err != nil || got != "answer" || <-received != "who\r\nquit\r\n+secret" {
		t.Errorf("%q, %v", got, err)
	}
	n.want(t, "get x://h/", "peer 1 pipe tls=false", `line true "who"`, `line true "quit"`, `line true "+******"`,
		`sent 1 "who\r\nquit\r\n+******"`, "response size=-1 to=[]", `received 1 "answer"`, `content "answer"`, "size 6", "end <nil>")
}

func TestAskRefusesUnsafeLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"a\rb", "a\nb", "a\x00b"} {
		c := askClient(fetch.Options{}, func(net.Conn) { t.Errorf("%q: connected", line) },
			driver.Question{Addr: "h:1", Lines: []string{"fine", line}}, nothing)
		if _, err := c.Get(t.Context(), "x://h/"); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestAskClosesConnectionOnError(t *testing.T) {
	t.Parallel()
	why := errors.New("no answer")
	gone := make(chan error, 1)
	c := askClient(fetch.Options{}, func(server net.Conn) {
		_, err := server.Read(make([]byte, 1))
		gone <- err
	}, driver.Question{Addr: "h:1"}, func(*fetch.Conn) error { return why })
	if _, err := c.Get(t.Context(), "x://h/"); !errors.Is(err, why) {
		t.Error(err)
	}
	if err := <-gone; err != io.EOF {
		t.Errorf("the server reads %v", err)
	}
}

// The reply timeout limits the reads of begin together. The idle timeout limits each write.
func TestAskTimeouts(t *testing.T) {
	t.Parallel()
	drip := func(server net.Conn) {
		server.Read(make([]byte, 100))
		for {
			if _, err := server.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
	all := func(conn *fetch.Conn) error {
		_, err := io.Copy(io.Discard, conn)
		return err
	}
	deaf := func(net.Conn) { time.Sleep(30 * time.Second) }
	tests := []struct {
		name  string
		serve func(net.Conn)
		want  string
	}{
		{"drip", drip, "no complete reply within 20s"},
		{"deaf", deaf, "nothing could be sent for 5s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := fetch.Options{Timeouts: fetch.Timeouts{Idle: 5 * time.Second, Reply: 20 * time.Second}}
				c := askClient(opts, tt.serve, driver.Question{Addr: "h:1", Lines: []string{"hello"}}, all)
				_, err := c.Get(t.Context(), "x://h/")
				if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), tt.want) {
					t.Error(err)
				}
				time.Sleep(time.Minute) // let the server end
			})
		})
	}
}

func TestAskEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("never mind")
		c := askClient(fetch.Options{}, func(server net.Conn) { io.Copy(io.Discard, server) }, driver.Question{Addr: "h:1"},
			func(conn *fetch.Conn) error {
				time.AfterFunc(time.Second, func() { cancel(why) })
				_, err := conn.Read(make([]byte, 1))
				return err
			})
		if _, err := c.Get(ctx, "x://h/"); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}
