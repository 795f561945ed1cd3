package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// marker stands behind each octet that must not end a line. A server that
// logs it at the start of a line has been made to obey the URL.
const marker = "INJECTED"

// injections returns rawURL with octets, as they are to be written, in each of
// its parts. The fragment, which is not sent, may hold them.
func injections(rawURL, octets string) map[string]string {
	bad := octets + marker
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

// injection puts CR, LF and NUL into each part of a URL (RFC 1738, section 6).
// Nothing of it may reach a server, unless the protocol sends URLs as written.
func injection(e *exam) {
	rawURL := e.url(smallFile)
	c := e.client(nil)
	before := len(e.log())
	for _, octets := range []string{"%0D%0A", "%0d%0a", "%0A", "%0D", "%00", "\r\n", "\n", "\r", "\x00"} {
		for part, bad := range injections(rawURL, octets) {
			err := e.drain(c, bad)
			if e.site.Escaped {
				continue
			}
			if err == nil || !hasCode(err, fetch.ErrURL, fetch.ErrPolicy) {
				e.Errorf("%q in the %s: error %v, want one of class %q", octets, part, err, fetch.ErrURL)
			}
		}
		_ = e.drain(c, rawURL+"#"+octets+marker) // whether that is an error is no matter
	}
	for _, line := range e.log()[before:] {
		if strings.HasPrefix(strings.TrimSpace(line), marker) || strings.ContainsAny(line, "\r\n\x00") || !e.site.Escaped && strings.Contains(line, marker) {
			e.Errorf("the server got %q", line)
		}
	}
}

// secret is a password that must not show.
const secret = "s3cr3t-Passw0rd"

// secrets looks for a password in all that is said about a failure.
func secrets(e *exam) {
	u := e.parse(e.url(absentFile))
	if u.Host() == "" {
		e.Skip("the URLs have no place for a password")
	}
	_, rest, _ := strings.Cut(u.WithoutUserinfo().String(), "://")
	rawURL := u.Scheme() + "://someone:" + secret + "@" + rest

	var said transcript
	o := e.options()
	o.Trace = said.trace
	o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := e.client(o)
	said.try(e, c, rawURL)

	refusing := *o
	refusing.DialContext = func(_ context.Context, _, addr string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused by the suite")}
	}
	said.try(e, e.client(&refusing), rawURL)

	if x, err := c.Explain(&fetch.Request{URL: e.parse(rawURL)}); err == nil {
		fmt.Fprintln(&said, "explain:", strings.Join(x.Steps, "\nexplain: "), x.Credentials)
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, secret) {
			e.Errorf("the password shows: %q", line)
		}
	}
}

// A transcript holds what was said about a request.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

func (t *transcript) trace(sent bool, line string) { fmt.Fprintln(t, "trace:", sent, line) }

// try gets rawURL and records the errors, if there are any, to their causes.
func (t *transcript) try(e *exam, c *fetch.Client, rawURL string) {
	e.Helper()
	if err := e.drain(c, rawURL); err != nil {
		e.checkError(err)
		t.record(err)
	}
}

func (t *transcript) record(err error) {
	fmt.Fprintf(t, "error: %v, %+v\n", err, err)
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		if cause := err.Unwrap(); cause != nil {
			t.record(cause)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range err.Unwrap() {
			t.record(cause)
		}
	}
}

// remote skips the case for drivers that have nothing to connect to.
func (e *exam) remote(c *fetch.Client, rawURL string) {
	e.Helper()
	if e.scheme(c, rawURL).Local || e.parse(rawURL).Host() == "" {
		e.Skip("the driver connects to nothing")
	}
}

// dialer checks that all octets come through connections that the client's
// dialer made.
func dialer(e *exam) {
	rawURL, want := e.file(middleFile)
	e.remote(e.client(nil), rawURL)
	o := e.options()
	dial := o.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	var received atomic.Int64
	o.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countingConn{Conn: conn, received: &received}, nil
	}
	got := e.read(e.context(), e.client(o), rawURL)
	if diff := difference(got, want); diff != "" {
		e.Error(diff)
	}
	if n := received.Load(); n < int64(len(want)) {
		e.Errorf("%d of %d octets came through Options.DialContext: the driver has connections of its own", n, len(want))
	}
}

type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// address lets the policy refuse each of the connections in turn. None may be
// made all the same, and the error must say who refused.
func address(e *exam) {
	rawURL := e.url(middleFile)
	e.remote(e.client(nil), rawURL)
	why := errors.New("refused by the suite")
	retrieve := func(refuse int64) (asked int64, err error) {
		var count atomic.Int64
		o := e.options()
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
		err = e.drain(e.client(o), rawURL)
		return count.Load(), err
	}
	if got := e.heard(func() { retrieve(1) }); len(got) > 0 {
		e.Errorf("the first connection was refused, and the server got %q", got)
	}
	for refuse := int64(1); ; refuse++ {
		asked, err := retrieve(refuse)
		switch {
		case asked == 0:
			e.Fatal("Policy.CheckAddr was not asked")
		case asked < refuse:
			if err != nil {
				e.Errorf("Get: %v", err)
			}
			return
		case !errors.Is(err, why) || !hasCode(err, fetch.ErrPolicy):
			e.Fatalf("connection %d was refused: error %v, want one of class %q that matches the policy's own", refuse, err, fetch.ErrPolicy)
		}
	}
}

// explain checks that a driver that can tell what it would do does not do it.
func explain(e *exam) {
	rawURL := e.url(smallFile)
	o := e.options()
	o.DialContext = func(_ context.Context, network, addr string) (net.Conn, error) {
		e.Errorf("Explain connects to %s %s", network, addr)
		return nil, errors.New("refused by the suite")
	}
	c := e.client(o)
	if _, ok := e.scheme(c, rawURL).Driver.(fetch.Explainer); !ok {
		e.Skip("the driver is no Explainer")
	}
	x, err := c.Explain(&fetch.Request{URL: e.parse(rawURL)})
	if err != nil {
		e.Fatalf("Explain: %v", err)
	}
	if len(x.Steps) == 0 {
		e.Error("Explain tells no steps")
	}
	for _, step := range x.Steps {
		if step != fetch.Printable(step) {
			e.Errorf("the step %q is not printable", step)
		}
	}
}
