package fetch_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
)

// A notebook is a Recorder that stores a line for each call.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notebook) Record(_ context.Context, req *fetch.Request) *fetch.Recording {
	n.note("%s %s", req.Op, req.URL)
	return &fetch.Recording{
		Peer: func(conn int, addr net.Addr, state *tls.ConnectionState) {
			n.note("peer %d %s tls=%v", conn, addr.Network(), state != nil)
		},
		Sent:     func(conn int, p []byte) { n.note("sent %d %q", conn, p) },
		Received: func(conn int, p []byte) { n.note("received %d %q", conn, p) },
		Line:     func(sent bool, line string) { n.note("line %v %q", sent, line) },
		Response: func(r *fetch.Response) { n.note("response size=%d to=%v", r.Size, r.Location) },
		Content:  func(p []byte) { n.note("content %q", p) },
		Size: func(size int64) {
			if size > 0 {
				n.note("size %d", size)
			}
		},
		End: func(err error) { n.note("end %v", err) },
	}
}

func (n *notebook) want(t *testing.T, want ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.lines, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(n.lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestRecorderSeesTheExchange(t *testing.T) {
	t.Parallel()
	addr := listen(t, answerHello)
	var n notebook
	c := fetch.New(&fetch.Options{Proxy: noProxy, Recorder: &n}, loadLine)
	resp, err := c.Get(t.Context(), "x-line://"+addr+"/what")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := io.Copy(&got, resp.Body); err != nil || got.String() != "hello" {
		t.Errorf("%q, %v", got.String(), err)
	}
	resp.Body.Close()
	n.want(t, "get x-line://"+addr+"/what", "peer 1 tcp tls=false", `sent 1 "/what\n"`, "response size=-1 to=[]",
		`received 1 "hello"`, `content "hello"`, "size 5", "end <nil>")
}

func TestRecorderSeesEachHopAndFailure(t *testing.T) {
	t.Parallel()
	web := &fakeWeb{pages: map[string]string{"http://a/": "-> http://b/", "http://b/": "-> http://c/"}}
	var n notebook
	c := fetch.New(&fetch.Options{Proxy: noProxy, Recorder: &n}, web.load)
	if _, err := c.Get(t.Context(), "http://a/"); !errors.Is(err, fetch.ErrNotFound) {
		t.Fatal(err)
	}
	n.want(t, "get http://a/", "response size=12 to=[http://b/]", "end <nil>",
		"get http://b/", "response size=12 to=[http://c/]", "end <nil>",
		"get http://c/", "end get http://c/: not found (404 gone)")
}

func TestRecordOfClosedBody(t *testing.T) {
	t.Parallel()
	var n notebook
	c := fetch.New(&fetch.Options{Recorder: &n}, load("x", []fetch.Op{fetch.OpGet}, func(context.Context, *fetch.Request) (*fetch.Response, error) {
		return &fetch.Response{Meta: fetch.Meta{Size: 3}, Body: io.NopCloser(strings.NewReader("abc"))}, nil
	}))
	resp, err := c.Get(t.Context(), "x:y")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Read(make([]byte, 2))
	resp.Body.Close()
	resp.Body.Close()
	n.want(t, "get x:y", "response size=3 to=[]", `content "ab"`, "size 2", "end "+net.ErrClosed.Error())
}

// Sent and Received get the plaintext of TLS. Peer is called again when TLS starts.
func TestRecorderIsAboveTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hi") }))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	var n notebook
	opts := &fetch.Options{Proxy: noProxy, Recorder: &n, TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	withEnv(t, opts, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		conn, err := env.Dial(ctx, "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if conn.TLS() != nil {
			t.Error("TLS before the handshake")
		}
		if err := conn.Handshake(ctx, env.TLSConfig(ctx, "example.com")); err != nil {
			t.Fatal(err)
		}
		if fetch.ConnOf(conn.NetConn()) != conn {
			t.Error("the TLS connection is of another Conn")
		}
		defer conn.Bind(ctx)()
		fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		conn.WriteMasked([]byte("secret"), []byte("******"))
		if reply, err := io.ReadAll(conn); err != nil || !bytes.HasSuffix(reply, []byte("hi")) {
			t.Errorf("%q, %v", reply, err)
		}
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	got := strings.Join(n.lines, "\n")
	for _, want := range []string{"peer 1 tcp tls=false\npeer 1 tcp tls=true\n", `sent 1 "GET / HTTP/1.0\r\n\r\n"`, `sent 1 "******"`, "received 1 \"HTTP/1.0 200 OK"} {
		if !strings.Contains(got, want) {
			t.Errorf("recorded\n%s\nwithout %s", got, want)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("recorded a secret:\n%s", got)
	}
}

// A server that repeats a command shows its secret neither in lines nor in the bytes of its reply. Content
// is recorded as it is.
func TestRepeatedSecretsAreMasked(t *testing.T) {
	t.Parallel()
	for sent, shown := range map[string]string{
		"PASS s3cr!t\r\n": "PASS ****\r\n", `LOGIN "u" "s3cr!t"` + "\r\n": `LOGIN "u" ********` + "\r\n",
		"s3cr!t": "********",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				defer c.Close()
				io.Copy(c, c)
			}
		}()
		var n notebook
		opts := &fetch.Options{Proxy: noProxy, Recorder: &n}
		withEnv(t, opts, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
			conn, err := env.Dial(ctx, "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			defer conn.Bind(ctx)()
			reply := make([]byte, len(sent))
			conn.WriteMasked([]byte(sent), []byte(shown))
			if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != sent {
				t.Errorf("%q, %v", reply, err)
			}
			conn.Line()(false, "500 "+strings.TrimSpace(sent))
			n.mu.Lock()
			if got := strings.Join(n.lines, "\n"); strings.Contains(got, "s3cr!t") || !strings.Contains(got, "line false") {
				t.Errorf("recorded\n%s", got)
			}
			n.mu.Unlock()
			conn.Write([]byte("content s3cr!t"))
			io.ReadFull(conn, make([]byte, len("content s3cr!t")))
			conn.WriteMasked([]byte("the pin is 7"), []byte("the pin is *")) // and the reply is content
			io.ReadFull(conn, make([]byte, len("the pin is 7")))
		})
		l.Close()
		if got := strings.Join(n.lines, "\n"); !strings.Contains(got, `received 1 "content s3cr!t"`) ||
			!strings.Contains(got, `received 1 "the pin is 7"`) {
			t.Errorf("recorded\n%s", got)
		}
	}
}

func TestJoinRecorders(t *testing.T) {
	t.Parallel()
	var a, b notebook
	var lines []string
	trace := fetch.RecordLines(func(sent bool, line string) { lines = append(lines, line) })
	none := fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording { return nil })
	c := fetch.New(&fetch.Options{Recorder: fetch.JoinRecorders(&a, none, trace, &b)},
		func(env fetch.Env, reg *fetch.Registry) {
			reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
				func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
					driver.Line(ctx)(true, "a line")
					return &fetch.Response{Body: fetch.NoBody}, nil
				})})
		})
	resp, err := c.Get(t.Context(), "x:y")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	want := []string{"get x:y", `line true "a line"`, "response size=0 to=[]", "end <nil>"}
	a.want(t, want...)
	b.want(t, want...)
	if !slices.Equal(lines, []string{"a line"}) {
		t.Errorf("lines %q", lines)
	}
}

// Content is read if it is recorded. Otherwise the body's WriteTo is used.
func TestWriteToIsUsedUnlessContentIsRecorded(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{false, true} {
		var seen bytes.Buffer
		var size int64
		opts := &fetch.Options{Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
			x := &fetch.Recording{Size: func(n int64) { size = n }}
			if wanted {
				x.Content = func(p []byte) { seen.Write(p) }
			}
			return x
		})}
		fast := false
		c := fetch.New(opts, load("x", []fetch.Op{fetch.OpGet}, func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return &fetch.Response{Meta: fetch.Meta{Size: 4}, Body: &fastBody{Reader: strings.NewReader("fast"), used: &fast}}, nil
		}))
		resp, err := c.Get(t.Context(), "x:y")
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(f, resp.Body); n != 4 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		f.Close()
		resp.Body.Close()
		if size != 4 || fast == wanted || (seen.String() == "fast") != wanted {
			t.Errorf("content wanted: %v; moved at once: %v; seen %q", wanted, fast, seen.String())
		}
	}
}

type fastBody struct {
	*strings.Reader
	used *bool
}

func (b *fastBody) WriteTo(w io.Writer) (int64, error) { *b.used = true; return b.Reader.WriteTo(w) }
func (b *fastBody) Close() error                       { return nil }

// A connection keeps its number during an exchange, even if it is bound again.
func TestConnectionsAreNumbered(t *testing.T) {
	t.Parallel()
	addr := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	var n notebook
	withEnv(t, &fetch.Options{Proxy: noProxy, Recorder: &n}, "x-env://h/", func(ctx context.Context, env fetch.Env, _ *fetch.Request) {
		var conns [2]*fetch.Conn
		for i := range conns {
			conn, err := env.Dial(ctx, "tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conns[i] = conn
		}
		for _, conn := range []*fetch.Conn{conns[0], conns[1], conns[0]} {
			release := conn.Bind(ctx)
			conn.WriteMasked([]byte("a"), nil)
			fmt.Fprint(conn, "b")
			release()
			fmt.Fprint(conn, "c")
		}
		number, end := conns[1].Record(ctx, fetch.Taps{})
		end()
		if other, _ := conns[1].Record(context.Background(), fetch.Taps{}); number != 2 || other != 0 {
			t.Errorf("numbers %d and %d", number, other)
		}
	})
	n.want(t, "get x-env://h/", "peer 1 tcp tls=false", "peer 2 tcp tls=false", `sent 1 "b"`, `sent 2 "b"`, `sent 1 "b"`,
		"end get x-env://h/: not found")
}

func TestNothingIsRecordedAfterTheEnd(t *testing.T) {
	t.Parallel()
	var n notebook
	var late func()
	c := fetch.New(&fetch.Options{Recorder: &n}, func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{Name: "x", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(
			func(ctx context.Context, _ *fetch.Request) (*fetch.Response, error) {
				x := fetch.RecordingOf(ctx)
				late = func() {
					x.Peer(1, &net.TCPAddr{}, nil)
					x.Sent(1, []byte("sent"))
					x.Received(1, []byte("received"))
					x.Line(true, "line")
					driver.Line(ctx)(false, "line")
				}
				return &fetch.Response{Body: fetch.NoBody}, nil
			})})
	})
	resp, err := c.Get(t.Context(), "x:y")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	late()
	resp.Body.Close()
	n.want(t, "get x:y", "response size=0 to=[]", "end <nil>")
}

func TestConnOf(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	conn := fetch.NewConn(t.Context(), near, fetch.Timeouts{})
	defer conn.Close()
	if fetch.ConnOf(conn) != conn || fetch.ConnOf(near) != nil || fetch.ConnOf(tls.Client(near, &tls.Config{})) != nil {
		t.Error("another connection")
	}
}

// Lookup is called with resolved addresses, and only for host names.
func TestLookupsAreRecorded(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	var found []string
	opts := &fetch.Options{Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		return &fetch.Recording{Lookup: func(host string, addrs []netip.Addr) {
			found = append(found, fmt.Sprint(host, " ", slices.Contains(addrs, netip.MustParseAddr("127.0.0.1"))))
		}}
	})}
	c := fetch.New(opts, func(env fetch.Env, r *fetch.Registry) {
		r.Register(fetch.Scheme{Name: "x-dial", Ops: []fetch.Op{fetch.OpGet}, Driver: fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			conn, err := env.Dial(ctx, "tcp", net.JoinHostPort(req.URL.Host(), port))
			if err != nil {
				return nil, err
			}
			conn.Close()
			return &fetch.Response{Body: fetch.NoBody}, nil
		})})
	})
	defer c.Close()
	for _, host := range []string{"localhost", "127.0.0.1"} {
		resp, err := c.Get(t.Context(), "x-dial://"+host+"/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if !slices.Equal(found, []string{"localhost true"}) {
		t.Errorf("found %q", found)
	}
}
