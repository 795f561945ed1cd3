package ws_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/ws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that runs script for every session, and returns its URL.
func serve(t testing.TB, script func(ctx context.Context, c *websocket.Conn)) string {
	t.Helper()
	return start(t, session(script))
}

func session(script func(ctx context.Context, c *websocket.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat.v2"}})
		if err != nil {
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(-1)
		script(r.Context(), c)
	}
}

func start(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

// raw starts a server that accepts a session and then sends bytes.
func raw(t testing.TB, after string) string {
	t.Helper()
	return start(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(&hijacker{ResponseWriter: w, after: after}, r, nil)
		if err != nil {
			return
		}
		c.CloseNow()
	})
}

// A hijacker sends bytes after the handshake response, waits for data or the end of the connection,
// and closes it. If gone is set, it resets the connection when that is closed.
type hijacker struct {
	http.ResponseWriter
	after string
	step  int // number of bytes to send at once; 0 for all
	gone  chan struct{}
	// status, if not nil, receives the status of the client's close frame, or 0 without one.
	status chan<- websocket.StatusCode
}

func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := h.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		for part := range slices.Chunk([]byte(h.after), cmp.Or(h.step, len(h.after)+1)) {
			c.Write(part)
		}
		if h.status != nil {
			h.status <- receivedStatus(c)
			c.Close()
			return c, rw, err
		}
		if h.gone != nil {
			<-h.gone
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
			return c, rw, err
		}
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c)
	}
	return c, rw, err
}

// receivedStatus returns the status of the close frame that a client sends first.
func receivedStatus(c net.Conn) websocket.StatusCode {
	var frame [8]byte // the header, the mask and the status
	if _, err := io.ReadFull(c, frame[:]); err != nil || frame[0] != 0x88 {
		return 0
	}
	return websocket.StatusCode(frame[6]^frame[2])<<8 | websocket.StatusCode(frame[7]^frame[3])
}

func dial(t testing.TB, c *fetch.Client, rawURL string) *fetch.Session {
	t.Helper()
	s, err := c.Dial(t.Context(), rawURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func echo(ctx context.Context, c *websocket.Conn) {
	for {
		kind, data, err := c.Read(ctx)
		if err != nil {
			return
		}
		if string(data) == "bye" {
			c.Close(websocket.StatusNormalClosure, "")
			return
		}
		c.Write(ctx, kind, data)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := dial(t, drive.Client(t, nil, ws.Load), serve(t, echo)).ReadWriteCloser.(fetch.Messenger)
	big := strings.Repeat("0123456789", 100_000)
	for _, m := range []fetch.Message{{Text: true}, {Text: true, Data: []byte("täxt")}, {Data: []byte("\xff\x00")}, {}, {Text: true, Data: []byte(big)}} {
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Receive(); err != nil || got.Text != m.Text || string(got.Data) != string(m.Data) {
			t.Fatalf("sent %t %.20q, received %t %.20q, %v", m.Text, m.Data, got.Text, got.Data, err)
		}
	}
	if err := s.Send(fetch.Message{Text: true, Data: []byte("\xff")}); !errors.Is(err, fetch.ErrRequest) {
		t.Errorf("text that is not UTF-8: %v", err)
	}
	s.Send(fetch.Message{Text: true, Data: []byte("bye")})
	for range 2 {
		if _, err := s.Receive(); err != io.EOF {
			t.Errorf("the end: %v", err)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	s := dial(t, drive.Client(t, nil, ws.Load), serve(t, echo))
	for _, text := range []string{"one", "", "\xff\n", "bye"} {
		if n, err := io.WriteString(s, text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	got, err := io.ReadAll(s)
	if string(got) != "one\n\n\xff\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCloseStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[websocket.StatusCode]fetch.Code{
		1000: "", 1001: fetch.ErrServer, 1002: fetch.ErrProtocol, 1003: fetch.ErrRefused, 1005: "", 1007: fetch.ErrProtocol,
		1008: fetch.ErrRefused, 1009: fetch.ErrRefused, 1011: fetch.ErrServer, 1012: fetch.ErrBusy, 1013: fetch.ErrBusy,
		3000: fetch.ErrAuth, 3003: fetch.ErrRefused, 4321: fetch.ErrServer,
	} {
		s := dial(t, drive.Client(t, nil, ws.Load), serve(t, func(ctx context.Context, c *websocket.Conn) {
			c.Write(ctx, websocket.MessageText, []byte("x"))
			c.Close(code, "")
		}))
		got, err := io.ReadAll(s)
		if string(got) != "x\n" || fetch.CodeOf(err) != want {
			t.Errorf("%d: %q, %v, want %q", code, got, err, want)
		}
	}
	for after, want := range map[string]fetch.Code{
		"":                             fetch.ErrTruncated,
		"\x81\x05cut":                  fetch.ErrTruncated,
		"\x88\x02\x03":                 fetch.ErrTruncated,
		"\x88\x01\x03":                 fetch.ErrProtocol,
		"\x01\x01a\x00":                fetch.ErrTruncated,
		"\x81\x02\xff\xfe":             fetch.ErrProtocol,
		"\x00\x01a":                    fetch.ErrProtocol,
		"\x83\x00":                     fetch.ErrProtocol,
		"\xc1\x00":                     fetch.ErrProtocol,
		"\x09\x00":                     fetch.ErrProtocol,
		"\x82\x7f\x00\x00\x00\x00\x7f": fetch.ErrTruncated,
		"\x82\x7e\x00\x21" + strings.Repeat("x", 33): fetch.ErrTooLarge,
		"\x81\x81\x01\x02\x03\x04`":                  fetch.ErrProtocol, // masked
		"\x89\x80\x01\x02\x03\x04":                   fetch.ErrProtocol,
		"\x01\x01a\x80\x81\x01\x02\x03\x04`":         fetch.ErrProtocol,
		"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff":   fetch.ErrProtocol,
	} {
		s := dial(t, drive.Client(t, nil, ws.With(ws.Options{MaxMessage: 32})), raw(t, after))
		if got, err := io.ReadAll(s); len(got) > 0 || fetch.CodeOf(err) != want {
			t.Errorf("%.20q: %q, %v, want %q", after, got, err, want)
		}
	}
}

// TestCloseFrames checks the status that the server receives after its frames (RFC 6455, section
// 7.4.1).
func TestCloseFrames(t *testing.T) {
	t.Parallel()
	const masked, huge = "\x81\x85abcd)\x07\x0f\x08\x0e", "\x82\x7f\x40\x00\x00\x00\x00\x00\x00\x00"
	for after, want := range map[string]struct {
		status websocket.StatusCode
		code   fetch.Code
	}{
		"\x88\x02\x03\xe8":                            {1000, ""},
		"\x88\x05\x03\xe8bye":                         {1000, ""},
		"\x81\x03\xed\xa0\x80":                        {1007, fetch.ErrProtocol},
		"\x01\x01\xed\x80\x02\xa0\x80":                {1007, fetch.ErrProtocol},
		masked:                                        {1002, fetch.ErrProtocol},
		"\x89\x85abcd)\x07\x0f\x08\x0e":               {1002, fetch.ErrProtocol},
		"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff":    {1002, fetch.ErrProtocol},
		"\x89\x7e\x00\x7e" + strings.Repeat("x", 126): {1002, fetch.ErrProtocol},
		"\xc1\x00":                                    {1002, fetch.ErrProtocol},
		"\x83\x00":                                    {1002, fetch.ErrProtocol},
		"\x88\x01\x03":                                {1002, fetch.ErrProtocol},
		"\x88\x02\x03\xed":                            {1002, fetch.ErrProtocol},
		"\x88\x05\x03\xe8\xed\xa0\x80":                {1007, fetch.ErrProtocol},
		"\x88\x03\x0f\xa0\xff":                        {1007, fetch.ErrProtocol},
		huge:                                          {1009, fetch.ErrTooLarge},
		"\x02\x01a\x80" + huge[1:]:                    {1009, fetch.ErrTooLarge},
		"\x02\x7e\x04\x00" + strings.Repeat("x", 1024) + "\x80\x01x": {1009, fetch.ErrTooLarge},
	} {
		for _, step := range []int{1, len(after)} {
			status := make(chan websocket.StatusCode, 1)
			u := start(t, func(w http.ResponseWriter, r *http.Request) {
				c, err := websocket.Accept(&hijacker{ResponseWriter: w, after: after, step: step, status: status}, r, nil)
				if err == nil {
					c.CloseNow()
				}
			})
			s := dial(t, drive.Client(t, nil, ws.With(ws.Options{MaxMessage: 1024})), u)
			_, err := io.ReadAll(s)
			s.Close()
			if got := <-status; got != want.status || fetch.CodeOf(err) != want.code {
				t.Errorf("%.20q: close status %d, error %v; want %d, %q", after, got, err, want.status, want.code)
			}
		}
	}
}

// TestMaskedFrames sends a masked frame, alone and after others.
func TestMaskedFrames(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "\x81\x01a", "\x82\x7e\x00\x80" + strings.Repeat("\x80\xff", 64), "\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01a", "\x89\x00\x81\x00"} {
		s := dial(t, drive.Client(t, nil, ws.Load), raw(t, before+"\x81\x81\x01\x02\x03\x04`"))
		got, err := io.ReadAll(s)
		if fetch.CodeOf(err) != fetch.ErrProtocol || !strings.Contains(err.Error(), "the server sent a masked frame") || (len(got) > 0) != (before != "") {
			t.Errorf("%.20q: %q, %v", before, got, err)
		}
	}
}

// TestReceivedMessagesSurviveWriteErrors checks that a received message can be read after a write has
// failed. The server sends a message, closes the session and disconnects.
func TestReceivedMessagesSurviveWriteErrors(t *testing.T) {
	t.Parallel()
	reset := make(chan struct{})
	u := start(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(&hijacker{ResponseWriter: w, after: "\x81\x05first\x81\x04last\x88\x02\x03\xe8", gone: reset}, r, nil)
		if err == nil {
			c.CloseNow()
		}
	})
	s := dial(t, drive.Client(t, nil, ws.Load), u).ReadWriteCloser.(fetch.Messenger)
	if m, err := s.Receive(); string(m.Data) != "first" || err != nil {
		t.Fatalf("%q, %v", m.Data, err)
	}
	close(reset)
	for s.Send(fetch.Message{Text: true, Data: []byte("x")}) == nil {
	}
	if m, err := s.Receive(); string(m.Data) != "last" || err != nil {
		t.Errorf("%q, %v", m.Data, err)
	}
	if m, err := s.Receive(); err != io.EOF {
		t.Errorf("the end: %q, %v", m.Data, err)
	}
}

func TestHandshakes(t *testing.T) {
	t.Parallel()
	page := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, "why")
		}
	}
	for _, tt := range []struct {
		name string
		h    http.HandlerFunc
		code fetch.Code
	}{
		{"a page", page(200), fetch.ErrRefused},
		{"none", page(404), fetch.ErrNotFound},
		{"forbidden", page(403), fetch.ErrRefused},
		{"busy", page(503, "Retry-After", "7"), fetch.ErrBusy},
		{"broken", page(500), fetch.ErrServer},
		{"a login", page(401, "WWW-Authenticate", `Basic realm="x"`), fetch.ErrAuth},
		{"another login", page(401, "WWW-Authenticate", `Bearer`), fetch.ErrAuth},
		{"nowhere", page(302, "Location", "http://[::"), fetch.ErrRedirect},
		{"elsewhere", page(307, "Location", "ws://127.0.0.1/"), fetch.ErrRedirect},
		{"a wrong key", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Sec-WebSocket-Accept", "x")
			w.WriteHeader(101)
		}, fetch.ErrProtocol},
		{"a long head", page(101, "X", strings.Repeat("x", 300<<10)), fetch.ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := drive.Client(t, nil, ws.Load).Dial(t.Context(), start(t, tt.h))
			if fetch.CodeOf(err) != tt.code {
				t.Fatalf("%v, want %q", err, tt.code)
			}
			var e *fetch.Error
			if errors.As(err, &e); tt.name == "busy" && (e.RetryAfter != 7*time.Second || string(e.Body) != "why" || e.Reply.Code != 503) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestEndlessRefusals checks that a refusal with an endless body is reported with the part of the
// body that was received.
func TestEndlessRefusals(t *testing.T) {
	t.Parallel()
	u := start(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 404 Not Found\r\n\r\nwhy")
		io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	o := fetch.Options{Timeouts: fetch.Timeouts{Idle: -1, Reply: -1}}
	_, err := drive.Client(t, &o, ws.Load).Dial(ctx, u)
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNotFound || string(e.Body) != "why" || ctx.Err() != nil {
		t.Errorf("%v", err)
	}
}

func TestHandshakeRequest(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var received http.Header
	var target string
	u := start(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "joe" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b", Path: "/"})
			w.WriteHeader(401)
			return
		}
		mu.Lock()
		received, target = r.Header.Clone(), r.RequestURI
		mu.Unlock()
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat.v2"}})
		if err == nil {
			echo(r.Context(), c)
		}
	})
	jar, _ := cookiejar.New(nil)
	c := drive.Client(t, nil, ws.With(ws.Options{Jar: jar}))
	resp, err := c.Do(t.Context(), &fetch.Request{Op: fetch.OpDial, URL: uri.MustParse(strings.Replace(u, "//", "//joe:secret@", 1) + "/a%20b?q=%2F"),
		Header: map[string][]string{"Sec-WebSocket-Protocol": {"chat.v1, chat.v2"}, "X-Mine": {"yes"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	if target != "/a%20b?q=%2F" || received.Get("X-Mine") != "yes" || received.Get("Cookie") != "a=b" || received.Get("Origin") != "" ||
		resp.Header.Get("Sec-WebSocket-Protocol") != "chat.v2" || resp.Kind != fetch.KindSession || resp.Framing != fetch.FramedByProtocol {
		t.Errorf("%s %v: %+v", target, received, resp.Meta)
	}
}

// TestSecretsAreNotRecorded checks that secret fields are sent but not recorded.
func TestSecretsAreNotRecorded(t *testing.T) {
	t.Parallel()
	names := []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Private-Token"}
	received := make(chan http.Header, 1)
	u := start(t, func(w http.ResponseWriter, r *http.Request) {
		received <- r.Header.Clone()
		w.WriteHeader(http.StatusNotFound)
	})
	var mu sync.Mutex
	var sent strings.Builder
	c := drive.Client(t, &fetch.Options{Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
		return &fetch.Recording{Sent: func(_ int, p []byte) {
			mu.Lock()
			defer mu.Unlock()
			sent.Write(p)
		}}
	})}, ws.With(ws.Options{}))
	header := make(map[string][]string)
	for _, name := range names {
		header[name] = []string{"secret of " + name}
	}
	_, err := c.Do(t.Context(), &fetch.Request{Op: fetch.OpDial, URL: uri.MustParse(u), Header: header})
	if !errors.Is(err, fetch.ErrNotFound) {
		t.Fatal(err)
	}
	got := <-received
	for _, name := range names {
		if got.Get(name) != "secret of "+name || strings.Contains(sent.String(), "secret of "+name) {
			t.Errorf("%s: the server got %q, and recorded was\n%s", name, got.Get(name), sent.String())
		}
	}
}

func TestThreeLogins(t *testing.T) {
	t.Parallel()
	var tried atomic.Int32
	u := start(t, func(w http.ResponseWriter, r *http.Request) {
		if _, _, ok := r.BasicAuth(); ok {
			tried.Add(1)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(401)
	})
	o := fetch.Options{Credentials: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: "wrong"}, nil
	})}
	if _, err := drive.Client(t, &o, ws.Load).Dial(t.Context(), u); !errors.Is(err, fetch.ErrAuth) || tried.Load() != 3 {
		t.Errorf("after %d: %v", tried.Load(), err)
	}
}

func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	c := drive.Client(t, &fetch.Options{Policy: &fetch.Policy{AllowPorts: []uint16{1}}}, ws.Load)
	for _, tt := range []struct {
		url    string
		op     fetch.Op
		header map[string][]string
		code   fetch.Code
	}{
		{"ws://h.invalid/#x", fetch.OpDial, nil, fetch.ErrURL},
		{"ws:///x", fetch.OpDial, nil, fetch.ErrURL},
		{"ws://h.invalid/", fetch.OpGet, nil, fetch.ErrInteractive},
		{"ws://127.0.0.1:1/", fetch.OpDial, map[string][]string{"Upgrade": {"x"}}, fetch.ErrRequest},
		{"ws://127.0.0.1:1/", fetch.OpDial, map[string][]string{"X": {"a\r\nb"}}, fetch.ErrRequest},
		{"ws://127.0.0.1:1/", fetch.OpDial, map[string][]string{"X y": {"a"}}, fetch.ErrRequest},
	} {
		_, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(tt.url), Op: tt.op, Header: tt.header})
		if fetch.CodeOf(err) != tt.code {
			t.Errorf("%s %v: %v", tt.url, tt.header, err)
		}
	}
}

// TestClose checks that Close does not wait and that the server receives a close frame.
func TestClose(t *testing.T) {
	t.Parallel()
	result := make(chan error, 1)
	u := serve(t, func(ctx context.Context, c *websocket.Conn) {
		_, _, err := c.Read(ctx)
		result <- err
	})
	s := dial(t, drive.Client(t, nil, ws.Load), u)
	read := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		read <- err
	}()
	s.Close()
	if err := <-result; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the server was told %v", err)
	}
	if err := <-read; !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read that Close ended returned %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	s = dial(t, drive.Client(t, nil, ws.Load), serve(t, func(context.Context, *websocket.Conn) { <-hang }))
	blocked := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Write(make([]byte, 1<<20)); err != nil {
				blocked <- err
				return
			}
		}
	}()
	time.AfterFunc(100*time.Millisecond, func() { s.Close() })
	<-blocked
}

func TestContextEndsReads(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := drive.Client(t, nil, ws.Load).Dial(ctx, serve(t, echo))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	why := errors.New("enough")
	time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// TestKeepAlive checks that a session lasts while a silent server responds to pings, and ends if it
// does not.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	const idle = 2 * time.Second
	t.Run("a server that responds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := dialInMemory(t, fetch.Timeouts{Idle: idle, Reply: 20 * time.Second}, func(ctx context.Context, c *websocket.Conn) {
				ctx = c.CloseRead(ctx)
				time.AfterFunc(30*idle, func() { c.Write(ctx, websocket.MessageText, []byte("x")); c.Close(1000, "") })
				<-ctx.Done()
			})
			if got, err := io.ReadAll(s); string(got) != "x\n" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	})
	t.Run("a server that does not", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			hang := make(chan struct{})
			defer close(hang)
			s := dialInMemory(t, fetch.Timeouts{Idle: idle, Reply: 20 * time.Second}, func(context.Context, *websocket.Conn) { <-hang })
			if _, err := s.Read(make([]byte, 1)); !errors.Is(err, fetch.ErrNetwork) {
				t.Errorf("%v", err)
			}
		})
	})
}

// dialInMemory opens a session with a server without sockets. Both can run in a bubble of
// testing/synctest.
func dialInMemory(t *testing.T, timeouts fetch.Timeouts, script func(context.Context, *websocket.Conn)) *fetch.Session {
	t.Helper()
	near, far := net.Pipe()
	conns := oneConn{make(chan net.Conn, 1), make(chan struct{})}
	conns.conn <- far
	server := &http.Server{Handler: session(script)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Serve(conns)
	}()
	t.Cleanup(func() {
		server.Close()
		far.Close()
		<-ended
	})
	dialer := func(context.Context, string, string) (net.Conn, error) { return near, nil }
	return dial(t, drive.Client(t, &fetch.Options{DialContext: dialer, Timeouts: timeouts}, ws.Load), "ws://127.0.0.1/")
}

// A oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l oneConn) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func TestExplain(t *testing.T) {
	t.Parallel()
	x, err := drive.Client(t, nil, ws.Load).Explain(&fetch.Request{URL: uri.MustParse("wss://joe:pw@h.example/a?b"), Op: fetch.OpDial,
		Header: map[string][]string{"Origin": {"https://o.example"}}})
	if got := strings.Join(x.Steps, "\n"); err != nil || got != "GET /a?b HTTP/1.1\nHost: h.example\nUpgrade: websocket\nOrigin: https://o.example\nexchange messages" {
		t.Errorf("%q, %v", got, err)
	}
}
