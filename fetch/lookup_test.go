package fetch

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// dialName dials a name with the resolver that asks one name server at addr.
func dialName(t *testing.T, addr string, connect time.Duration) *Error {
	t.Helper()
	old := net.DefaultResolver
	defer func() { net.DefaultResolver = old }()
	over, end := context.WithCancel(context.Background())
	defer end() // the resolver would go on by itself
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(_ context.Context, network, _ string) (net.Conn, error) {
		// A Dialer without a resolver of its own would look at the one that is being replaced.
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

// It changes the resolver of the process, so it runs alone.
func TestNameServersThatDoNotAnswer(t *testing.T) {
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := dialName(t, udp.LocalAddr().String(), 200*time.Millisecond)
	if e.Code != ErrNetwork || !e.Retry || e.Reason != (Reason{Kind: driver.ReasonNameServer, Host: "host.example"}) ||
		!strings.Contains(e.Error(), "lookup host.example: ") || !strings.Contains(e.Error(), "no response from the name servers within ") {
		t.Errorf("silent: %v, %+v", e, e.Reason)
	}
	udp.Close()
	begin := time.Now()
	e = dialName(t, udp.LocalAddr().String(), time.Minute)
	if e.Code != ErrNetwork || e.Reason.Kind != driver.ReasonNameServer || !strings.Contains(e.Error(), "refused") {
		t.Errorf("nobody there: %v, %+v", e, e.Reason)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("nobody there: it took %v to find out", took)
	}
}

// However long a connection may take, the lookup may not.
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
		if err := l.explain(ctx.Err()); !errors.As(err, &e) || e.Reason.Kind != driver.ReasonNameServer {
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
