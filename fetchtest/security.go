package fetchtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// marker follows each control character. If a server logs it at the start of a line, the control
// character ended the line before.
const marker = "INJECTED"

// injections returns variants of rawURL with controls and the marker in one part each. The fragment
// is missing, because it is not sent.
func injections(rawURL, controls string) map[string]string {
	bad := controls + marker
	dir, last := rawURL[:strings.LastIndexByte(rawURL, '/')+1], rawURL[strings.LastIndexByte(rawURL, '/')+1:]
	all := map[string]string{
		"path end":     rawURL + bad,
		"path middle":  dir + bad + last,
		"segment":      dir + "x" + bad + "/" + last,
		"parameter":    rawURL + ";type=" + bad,
		"query":        rawURL + "?q=" + bad,
		"after a tab":  rawURL + "%09" + bad,
		"second query": rawURL + "?x?" + bad,
	}
	if scheme, rest, ok := strings.Cut(rawURL, "://"); ok {
		_, afterUser, hasUser := strings.Cut(rest, "@")
		if !hasUser {
			afterUser = rest
		}
		all["host"] = scheme + "://" + "h" + bad + afterUser
		if host, _, _ := strings.Cut(afterUser, "/"); host != "" {
			all["user"] = scheme + "://u" + bad + "@" + afterUser
			all["password"] = scheme + "://u:p" + bad + "@" + afterUser
			all["port"] = scheme + "://" + host + bad + strings.TrimPrefix(afterUser, host)
		}
	}
	return all
}

// injection puts CR, LF and NUL into each part of a URL (RFC 1738, section 6). They must not reach
// a server, unless the protocol sends URLs percent-encoded.
func injection(t *caseTest) {
	rawURL := t.url(smallFile)
	c := t.client(nil)
	before := len(t.log())
	for _, controls := range []string{"%0D%0A", "%0d%0a", "%0A", "%0D", "%00", "\r\n", "\n", "\r", "\x00"} {
		for part, bad := range injections(rawURL, controls) {
			err := t.drain(c, bad)
			if t.site.Escaped {
				continue
			}
			if err == nil || !hasCode(err, fetch.ErrURL, fetch.ErrPolicy) {
				t.Errorf("%q in the %s: error %v, want one of class %q", controls, part, err, fetch.ErrURL)
			}
		}
		_ = t.drain(c, rawURL+"#"+controls+marker) // may succeed or fail
	}
	for _, line := range t.log()[before:] {
		if strings.HasPrefix(strings.TrimSpace(line), marker) || strings.ContainsAny(line, "\r\n\x00") ||
			!t.site.Escaped && strings.Contains(line, marker) {
			t.Errorf("the server got %q", line)
		}
	}
}

// secret is a password that must not show.
const secret = "s3cr3t-Passw0rd"

// secrets looks for a password in errors, log lines, records and explanations of a failed request.
func secrets(t *caseTest) {
	u := t.parse(t.url(absentFile))
	if u.Host() == "" {
		t.Skip("the URLs cannot contain a password")
	}
	_, rest, _ := strings.Cut(u.WithoutUserinfo().String(), "://")
	rawURL := u.Scheme() + "://someone:" + secret + "@" + rest

	var reported output
	o := t.options()
	o.Recorder = &reported
	o.Logger = slog.New(slog.NewTextHandler(&reported, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := t.client(o)
	reported.try(t, c, rawURL)

	refusing := *o
	refusing.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused by the suite")}
	}
	reported.try(t, t.client(&refusing), rawURL)

	if x, err := c.Explain(&fetch.Request{URL: t.parse(rawURL)}); err == nil {
		fmt.Fprintln(&reported, "explain:", strings.Join(x.Steps, "\nexplain: "), x.Credentials)
	}
	for line := range strings.Lines(reported.String()) {
		if strings.Contains(line, secret) {
			t.Errorf("the password appears in %q", line)
		}
	}
}

// An output collects everything that is reported about a request.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Record implements fetch.Recorder. It omits the bytes that the server sends.
func (o *output) Record(context.Context, *fetch.Request) *fetch.Recording {
	return &fetch.Recording{
		Line: func(sent bool, line string) { fmt.Fprintln(o, "trace:", sent, line) },
		Sent: func(conn int, p []byte) { fmt.Fprintf(o, "sent: %s\n", p) },
	}
}

// try gets rawURL and records its error and all wrapped errors.
func (o *output) try(t *caseTest, c *fetch.Client, rawURL string) {
	t.Helper()
	if err := t.drain(c, rawURL); err != nil {
		t.checkError(err)
		o.record(err)
	}
}

func (o *output) record(err error) {
	fmt.Fprintf(o, "error: %v, %+v\n", err, err)
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		if cause := err.Unwrap(); cause != nil {
			o.record(cause)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range err.Unwrap() {
			o.record(cause)
		}
	}
}

// remote skips the case for drivers that make no connections.
func (t *caseTest) remote(c *fetch.Client, rawURL string) {
	t.Helper()
	if t.scheme(c, rawURL).Local || t.parse(rawURL).Host() == "" {
		t.Skip("the driver makes no connections")
	}
}

// dialer checks that all bytes are received over connections from Options.DialContext.
func dialer(t *caseTest) {
	rawURL, want := t.file(middleFile)
	t.remote(t.client(nil), rawURL)
	o, counted := t.counting()
	got := t.read(t.context(), t.client(o), rawURL)
	if diff := difference(got, want); diff != "" {
		t.Error(diff)
	}
	if n := counted.received(); n < int64(len(want)) {
		t.Errorf("%d of %d bytes were received through Options.DialContext: the driver has other connections",
			n, len(want))
	}
}

// A counter counts the bytes on the connections of a client.
type counter struct {
	mu    sync.Mutex
	conns []*countingConn
}

// counting returns the harness's options with functions that count the bytes of each connection.
func (t *caseTest) counting() (*fetch.Options, *counter) {
	o, c := t.options(), &counter{}
	dial := o.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	o.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		counted := &countingConn{Conn: conn, datagrams: strings.HasPrefix(network, "udp")}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, counted)
		return counted, nil
	}
	listen := o.ListenPacket
	if listen == nil {
		listen = new(net.ListenConfig).ListenPacket
	}
	o.ListenPacket = func(ctx context.Context, network, addr string) (net.PacketConn, error) {
		conn, err := listen(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		counted := &countingSocket{PacketConn: conn}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, &counted.countingConn)
		return counted, nil
	}
	return o, c
}

// received returns the number of bytes received on all connections.
func (c *counter) received() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		n += conn.read.Load()
	}
	return n
}

// forget removes and returns the connections so far, with their counts reset.
func (c *counter) forget() []*countingConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.conns
	c.conns = nil
	for _, conn := range old {
		conn.read.Store(0)
		conn.written.Store(0)
	}
	return old
}

// A countingSocket counts the bytes of a UDP socket. A datagram that the peer repeats counts once.
type countingSocket struct {
	net.PacketConn
	countingConn
	received sync.Map // digests of the datagrams received
}

func (c *countingSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	n, from, err := c.PacketConn.ReadFrom(p)
	if _, again := c.received.LoadOrStore(sha256.Sum256(p[:n]), true); !again {
		c.read.Add(int64(n))
	}
	return n, from, err
}

func (c *countingSocket) WriteTo(p []byte, to net.Addr) (int, error) {
	n, err := c.PacketConn.WriteTo(p, to)
	c.written.Add(int64(n))
	return n, err
}

type countingConn struct {
	net.Conn
	datagrams     bool // not a stream
	read, written atomic.Int64
}

// served reports whether the connection was used for a retrieval of n bytes since its counts were
// reset. An idle QUIC connection still acknowledges packets and probes the path.
func (c *countingConn) served(n int) bool {
	if c.datagrams {
		return c.read.Load() >= int64(n)
	}
	return c.read.Load() > 0 && c.written.Load() > 0
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// scope checks that the user's own requests and requests from another origin never share a
// connection. A connection may be logged in as the user, or may have been allowed by other rules.
func scope(t *caseTest) {
	rawURL, want := t.file(middleFile)
	t.remote(t.client(nil), rawURL)
	own := &fetch.Request{URL: t.parse(rawURL)}
	led := &fetch.Request{URL: own.URL, From: t.parse("http://elsewhere.invalid/")}
	if t.sharesConn(own, led, len(want)) {
		t.Error("a connection of the user's own request served a request from another origin")
	}
	if t.sharesConn(led, own, len(want)) {
		t.Error("a connection of a request from another origin served the user's own request")
	}
}

// sharesConn reports whether a connection of the first request also serves the second, of n bytes.
// Late bytes of the first request look the same, so sharesConn repeats the test up to three times.
func (t *caseTest) sharesConn(first, second *fetch.Request, n int) bool {
	t.Helper()
	for range 3 {
		o, counted := t.counting()
		policy := fetch.Policy{}
		if o.Policy != nil {
			policy = *o.Policy
		}
		policy.AllowPrivate = true // the test servers have private addresses
		o.Policy = &policy
		c := t.client(o)
		if err := discard(c.Do(t.context(), first)); err != nil {
			t.Fatalf("Do: %v", err)
		}
		old := counted.forget()
		if err := discard(c.Do(t.context(), second)); err != nil {
			t.Fatalf("Do: %v", err)
		}
		if !slices.ContainsFunc(old, func(conn *countingConn) bool { return conn.served(n) }) {
			return false
		}
	}
	return true
}

// address makes the policy refuse each connection in turn. The connection must not be made, and the
// error must match the policy's.
func address(t *caseTest) {
	rawURL := t.url(middleFile)
	t.remote(t.client(nil), rawURL)
	why := errors.New("refused by the suite")
	retrieve := func(refuse int64) (checks int64, err error) {
		var count atomic.Int64
		o := t.options()
		policy := fetch.Policy{}
		if o.Policy != nil {
			policy = *o.Policy
		}
		policy.CheckAddr = func(uri.URI, netip.AddrPort) error {
			if count.Add(1) == refuse {
				return why
			}
			return nil
		}
		o.Policy = &policy
		err = t.drain(t.client(o), rawURL)
		return count.Load(), err
	}
	if got := t.logDuring(func() { retrieve(1) }); len(got) > 0 {
		t.Errorf("the first connection was refused, and the server got %q", got)
	}
	for refuse := int64(1); ; refuse++ {
		checks, err := retrieve(refuse)
		switch {
		case checks == 0:
			t.Fatal("Policy.CheckAddr was not called")
		case checks < refuse:
			if err != nil {
				t.Errorf("Get: %v", err)
			}
			return
		case !errors.Is(err, why) || !hasCode(err, fetch.ErrPolicy):
			t.Fatalf("connection %d was refused: error %v, want one of class %q that wraps the policy's "+
				"error", refuse, err, fetch.ErrPolicy)
		}
	}
}

// explain checks that Explain makes no connection and returns printable steps.
func explain(t *caseTest) {
	rawURL := t.url(smallFile)
	o := t.options()
	o.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
		t.Errorf("Explain connects to %s %s", network, addr)
		return nil, errors.New("refused by the suite")
	}
	c := t.client(o)
	if _, ok := t.scheme(c, rawURL).Driver.(fetch.Explainer); !ok {
		t.Skip("the driver is not an Explainer")
	}
	x, err := c.Explain(&fetch.Request{URL: t.parse(rawURL)})
	if err != nil {
		t.Fatalf("Explain: %v", err)
	}
	if len(x.Steps) == 0 {
		t.Error("Explain returns no steps")
	}
	for _, step := range x.Steps {
		if step != fetch.Printable(step) {
			t.Errorf("the step %q is not printable", step)
		}
	}
}
