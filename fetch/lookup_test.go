package fetch

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// dialName dials a host name with a resolver that uses only the name server at addr.
func dialName(t *testing.T, addr string, connect time.Duration) *Error {
	t.Helper()
	old := net.DefaultResolver
	defer func() { net.DefaultResolver = old }()
	over, end := context.WithCancel(context.Background())
	defer end() // the resolver would continue in the background
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(_ context.Context, network, _ string) (net.Conn, error) {
		// A Dialer without its own resolver would read net.DefaultResolver while it is replaced.
		conn, err := (&net.Dialer{Resolver: old}).DialContext(over, network, addr)
		if err == nil {
			context.AfterFunc(over, func() { conn.Close() })
		}
		return conn, err
	}}
	c := New(&Options{Timeouts: Timeouts{Connect: connect}, Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil }})
	_, err := (&env{client: c}).Dial(t.Context(), "tcp", "host.example:7")
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	return e
}

// This test replaces net.DefaultResolver, so it is not parallel.
func TestSilentNameServers(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := dialName(t, udp.LocalAddr().String(), 200*time.Millisecond)
	if e.Code != ErrNetwork || !e.Retry || e.Reason != (Reason{Kind: ReasonNameServer, Host: "host.example"}) ||
		!strings.Contains(e.Error(), "lookup host.example: ") || !strings.Contains(e.Error(), "no response from the name servers within ") {
		t.Errorf("silent: %v, %+v", e, e.Reason)
	}
	udp.Close()
	begin := time.Now()
	e = dialName(t, udp.LocalAddr().String(), time.Minute)
	if e.Code != ErrNetwork || e.Reason.Kind != ReasonNameServer || !strings.Contains(e.Error(), "refused") {
		t.Errorf("nobody there: %v, %+v", e, e.Reason)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("nobody there: it took %v to find out", took)
	}
}

// Lookups are limited by lookupTime even if the connect timeout is longer.
func TestLookupsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l, ctx := newLookup(t.Context(), "host.example:7")
		<-ctx.Done()
		if took := time.Since(begin); took != lookupTime {
			t.Errorf("it took %v", took)
		}
		var e *Error
		if err := l.explain(ctx.Err()); !errors.As(err, &e) || e.Reason.Kind != ReasonNameServer {
			t.Errorf("error %v", err)
		}
		for _, addr := range []string{"192.0.2.1:7", "[2001:db8::1%eth0]:7", "host.example:7"} {
			l, ctx := newLookup(t.Context(), addr)
			if addr == "host.example:7" {
				l.addressFound()
			}
			time.Sleep(2 * lookupTime)
			why := errors.New("why")
			if err := l.explain(why); err != why || ctx.Err() == nil {
				t.Errorf("%s: error %v", addr, err)
			}
		}
	})
}
