package fetchtest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A Recording is a [fetch.Recorder] that keeps everything. The zero value is empty and ready to
// use:
//
//	var rec fetchtest.Recording
//	c := fetch.New(&fetch.Options{Recorder: &rec}, load)
type Recording struct {
	mu        sync.Mutex
	exchanges []*RecordedExchange
}

// A RecordedExchange is the record of one exchange.
type RecordedExchange struct {
	URL       string
	Op        fetch.Op
	Conns     []RecordedConn // the first has number 1
	Lines     []string       // "> " and the line sent, or "< " and the line received
	Responses []fetch.Meta
	Content   []byte
	Size      int64   // argument of Size; -1 without a call, -2 after several
	Ends      []error // arguments of End: one error, or nil after success
	AfterEnd  int     // calls after End
}

// A RecordedConn is the record of one connection.
type RecordedConn struct {
	Peers          []net.Addr // one for each call of Peer
	TLS            *tls.ConnectionState
	Sent, Received []byte
}

// Record implements fetch.Recorder.
func (r *Recording) Record(_ context.Context, req *fetch.Request) *fetch.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := &RecordedExchange{URL: req.URL.String(), Op: req.Op, Size: -1}
	r.exchanges = append(r.exchanges, x)
	return &fetch.Recording{
		Peer: func(conn int, addr net.Addr, state *tls.ConnectionState) {
			r.note(x, func() {
				c := x.conn(conn)
				c.Peers, c.TLS = append(c.Peers, addr), state
			})
		},
		Sent: func(conn int, p []byte) {
			r.note(x, func() { x.conn(conn).Sent = append(x.conn(conn).Sent, p...) })
		},
		Received: func(conn int, p []byte) {
			r.note(x, func() { x.conn(conn).Received = append(x.conn(conn).Received, p...) })
		},
		Line: func(sent bool, line string) {
			mark := "< "
			if sent {
				mark = "> "
			}
			r.note(x, func() { x.Lines = append(x.Lines, mark+line) })
		},
		Response: func(resp *fetch.Response) {
			r.note(x,
				func() { x.Responses = append(x.Responses, resp.Meta) })
		},
		Content: func(p []byte) { r.note(x, func() { x.Content = append(x.Content, p...) }) },
		Size: func(n int64) {
			r.note(x, func() {
				if x.Size >= 0 {
					n = -2 // second call
				}
				x.Size = n
			})
		},
		End: func(err error) { r.note(x, func() { x.Ends = append(x.Ends, err) }) },
	}
}

func (r *Recording) note(x *RecordedExchange, f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(x.Ends) > 0 {
		x.AfterEnd++
	}
	f()
}

// conn returns connection n.
func (x *RecordedExchange) conn(n int) *RecordedConn {
	for len(x.Conns) < n {
		x.Conns = append(x.Conns, RecordedConn{})
	}
	return &x.Conns[n-1]
}

// Exchanges returns a copy of the exchanges recorded so far.
func (r *Recording) Exchanges() []RecordedExchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]RecordedExchange, len(r.exchanges))
	for i, x := range r.exchanges {
		all[i] = *x
		all[i].Conns, all[i].Lines, all[i].Content = slices.Clone(x.Conns), slices.Clone(x.Lines),
			bytes.Clone(x.Content)
	}
	return all
}

// Shows reports whether a secret appears in a line or in the bytes sent.
func (r *Recording) Shows(secret string) bool {
	return slices.ContainsFunc(r.Exchanges(), func(x RecordedExchange) bool {
		return bytes.Contains(x.Sent(), []byte(secret)) ||
			slices.ContainsFunc(x.Lines, func(line string) bool { return strings.Contains(line, secret) })
	})
}

// Sent returns the bytes sent on all connections, one connection after the other.
func (x RecordedExchange) Sent() []byte {
	var all []byte
	for _, c := range x.Conns {
		all = append(all, c.Sent...)
	}
	return all
}

// Received returns the bytes received on all connections, one connection after the other.
func (x RecordedExchange) Received() []byte {
	var all []byte
	for _, c := range x.Conns {
		all = append(all, c.Received...)
	}
	return all
}

// recorded checks that the record of a retrieval has the bytes of its connections and the content.
func recorded(t *caseTest) {
	for _, name := range []string{smallFile, middleFile} {
		rawURL := t.site.URL(name)
		if rawURL == "" {
			continue
		}
		var rec Recording
		var wire tap
		o := t.options()
		o.Recorder = &rec
		o.DialContext = wire.dialer(o.DialContext)
		o.ListenPacket = wire.listener(o.ListenPacket)
		before := len(t.log())
		c := t.client(o)
		want := t.content(name)
		if diff := difference(t.read(t.context(), c, rawURL), want); diff != "" {
			t.Error(diff)
		}
		var content []byte // of the last exchange: redirects have none, and a driver may open another URL
		for _, x := range rec.Exchanges() {
			t.checkEnd(x)
			for i, conn := range x.Conns {
				t.checkPeers(i+1, conn)
			}
			content = x.Content
			if x.Size != int64(len(x.Content)) {
				t.Errorf("recorded size %d, want %d", x.Size, len(x.Content))
			}
		}
		if diff := difference(content, want); diff != "" {
			t.Errorf("recorded content: %s", diff)
		}
		t.checkBytes(rec.Exchanges(), wire.all(), t.log()[before:])
	}
}

// checkEnd checks that End was called once, as the last function.
func (t *caseTest) checkEnd(x RecordedExchange) {
	t.Helper()
	if len(x.Ends) != 1 || x.AfterEnd > 0 {
		t.Errorf("%s: End was called %d times, with %v, and other functions %d times after it; want once "+
			"and never", x.URL,
			len(x.Ends), x.Ends, x.AfterEnd)
	}
}

// checkPeers checks that Peer was called once for a connection, and at most twice with TLS.
func (t *caseTest) checkPeers(n int, c RecordedConn) {
	t.Helper()
	limit := 1
	if c.TLS != nil {
		limit = 2
	}
	if len(c.Peers) == 0 || len(c.Peers) > limit || slices.Contains(c.Peers, nil) {
		t.Errorf("connection %d: Peer was called with %v", n, c.Peers)
	}
}

// checkBytes compares the record with the bytes on the connections. Over TLS, it compares the
// record with the server's log.
func (t *caseTest) checkBytes(exchanges []RecordedExchange, wire []*tappedConn, log []string) {
	t.Helper()
	var conns []RecordedConn
	var sent []byte
	overTLS := false
	for _, x := range exchanges {
		conns, sent = append(conns, x.Conns...), append(sent, x.Sent()...)
		overTLS = overTLS || slices.ContainsFunc(x.Conns, func(c RecordedConn) bool { return c.TLS != nil })
	}
	if overTLS {
		for _, line := range log {
			if line == "QUIT" { // from a client of an earlier case
				continue
			}
			if !slices.ContainsFunc(bytes.Split(sent, []byte("\n")),
				func(sentLine []byte) bool { return isMasked(sentLine, []byte(line)) }) {
				t.Errorf("the server got %q, which was not recorded: %q", line, sent)
			}
		}
		return
	}
	for _, w := range wire {
		sent, received := w.bytes()
		if len(sent)+len(received) == 0 {
			continue // not used for data
		}
		i := slices.IndexFunc(conns, func(c RecordedConn) bool {
			return bytes.Equal(c.Received, received) && areMasked(c.Sent, sent)
		})
		if i < 0 {
			t.Errorf("no record of a connection on which %d bytes were sent and %d received", len(sent),
				len(received))
			for _, c := range conns {
				t.Errorf("recorded: sent %s; received %s", difference(c.Sent, sent),
					difference(c.Received, received))
			}
			return
		}
		conns = slices.Delete(conns, i, i+1)
	}
}

// areMasked reports whether shown equals sent except in lines with secrets or, in messages of a binary
// protocol, for asterisks in place of bytes.
func areMasked(shown, sent []byte) bool {
	same := len(shown) == len(sent)
	for i := 0; same && i < len(shown); i++ {
		same = shown[i] == sent[i] || shown[i] == '*'
	}
	if same {
		return true
	}
	a, b := bytes.Split(shown, []byte("\n")), bytes.Split(sent, []byte("\n"))
	return len(a) == len(b) && !slices.ContainsFunc(a, func(line []byte) bool {
		ok := isMasked(line, b[0])
		b = b[1:]
		return !ok
	})
}

// isMasked reports whether the line shown contains the line sent, or its prefix followed by
// asterisks.
func isMasked(shown, sent []byte) bool {
	before, _, masked := bytes.Cut(shown, []byte("***"))
	return bytes.Contains(shown, sent) || masked && bytes.HasPrefix(sent, before)
}

// recordedEnds checks that each exchange ends once, with its outcome.
func recordedEnds(t *caseTest) {
	rawURL, want := t.file(smallFile)
	tests := []struct {
		name string
		do   func(c *fetch.Client) error
		want func(end error) bool
	}{
		{"a complete body", func(c *fetch.Client) error { return t.drain(c, rawURL) },
			func(end error) bool { return end == nil }},
		{"an abandoned body", func(c *fetch.Client) error {
			resp := t.open(t.context(), c, rawURL)
			io.ReadFull(resp.Body, make([]byte, min(1, len(want)/2)))
			t.within("Close", func() { resp.Body.Close() })
			return nil
		}, func(end error) bool { return errors.Is(end, net.ErrClosed) }},
		{"a Stat", func(c *fetch.Client) error {
			_, err := c.Stat(t.context(), &fetch.Request{URL: t.parse(rawURL)})
			return err
		}, nil},
		{"a missing file", func(c *fetch.Client) error { return t.drain(c, t.url(absentFile)) }, nil},
		{"a context that has ended", func(c *fetch.Client) error {
			ctx, cancel := context.WithCancel(t.context())
			cancel()
			return discard(c.Get(ctx, rawURL))
		}, func(end error) bool { return errors.Is(end, context.Canceled) }},
	}
	for _, tt := range tests {
		var rec Recording
		o := t.options()
		o.Recorder = &rec
		err := tt.do(t.client(o))
		all := rec.Exchanges()
		if len(all) == 0 {
			t.Errorf("%s: nothing was recorded", tt.name)
		}
		for i, x := range all {
			t.checkEnd(x)
			if last := i == len(all)-1; !last || len(x.Ends) != 1 {
				continue
			}
			end := x.Ends[0]
			if err != nil && end == nil || tt.want != nil && !tt.want(end) {
				t.Errorf("%s: End was called with %v; the client returned %v", tt.name, end, err)
			}
		}
	}
}

// unrecorded checks that a Recorder without Received does not slow down a transfer, even if it
// recorded the bytes of an earlier exchange.
func unrecorded(t *caseTest) {
	rawURL, _ := t.largest()
	direct := func(c *fetch.Client) bool {
		resp := t.open(t.context(), c, rawURL)
		defer resp.Body.Close()
		var w directWriter
		if _, err := io.Copy(&w, resp.Body); err != nil {
			t.Errorf("Get: %v", err)
		}
		return w.direct
	}
	want := direct(t.client(nil))
	var rec Recording
	wanted := true
	o := t.options()
	o.Recorder = fetch.RecorderFunc(func(ctx context.Context, req *fetch.Request) *fetch.Recording {
		x := rec.Record(ctx, req)
		if !wanted {
			x = &fetch.Recording{Line: x.Line, End: x.End}
		}
		return x
	})
	c := t.client(o)
	t.read(t.context(), c, rawURL)
	wanted = false
	if got := direct(c); got != want {
		t.Errorf("the destination reads from the socket: %v; with a Recorder without Received: %v", want, got)
	}
}

// A directWriter is a destination that can receive bytes directly from a socket.
type directWriter struct{ direct bool }

func (w *directWriter) Write(p []byte) (int, error) { return len(p), nil }

func (w *directWriter) ReadFrom(r io.Reader) (int64, error) {
	if lr, ok := r.(*io.LimitedReader); ok {
		_, tcp := lr.R.(*net.TCPConn)
		w.direct = w.direct || tcp
	}
	return io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{r})
}

// A tap copies the bytes of connections.
type tap struct {
	mu    sync.Mutex
	conns []*tappedConn
}

func (t *tap) all() []*tappedConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.conns)
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer returns a dial function for connections with a tap. A nil dial means the default.
func (t *tap) dialer(dial dialFunc) dialFunc {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &tappedConn{Conn: conn}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.conns = append(t.conns, c)
		return c, nil
	}
}

type listenFunc = func(ctx context.Context, network, addr string) (net.PacketConn, error)

// listener returns a listen function for sockets with a tap. A nil listen means the default.
func (t *tap) listener(listen listenFunc) listenFunc {
	if listen == nil {
		listen = new(net.ListenConfig).ListenPacket
	}
	return func(ctx context.Context, network, addr string) (net.PacketConn, error) {
		socket, err := listen(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &tappedConn{}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.conns = append(t.conns, c)
		return &tappedSocket{socket, c}, nil
	}
}

type tappedSocket struct {
	net.PacketConn
	tap *tappedConn
}

func (s *tappedSocket) WriteTo(p []byte, to net.Addr) (int, error) {
	n, err := s.PacketConn.WriteTo(p, to)
	s.tap.note(p[:n], nil)
	return n, err
}

func (s *tappedSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := s.PacketConn.ReadFrom(p)
	s.tap.note(nil, p[:n])
	return n, from, err
}

type tappedConn struct {
	net.Conn
	mu             sync.Mutex
	sent, received []byte
}

func (c *tappedConn) bytes() (sent, received []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent), slices.Clone(c.received)
}

func (c *tappedConn) note(sent, received []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent, c.received = append(c.sent, sent...), append(c.received, received...)
}

func (c *tappedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.note(p[:n], nil)
	return n, err
}

func (c *tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.note(nil, p[:n])
	return n, err
}
