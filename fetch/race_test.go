package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// raceTo dials addresses by the behaviour of each, and returns the address that won ("" for none), the
// error, the time that it took, and how many connections were left open.
func raceTo(t *testing.T, ctx context.Context, behaviours ...string) (won string, took time.Duration, open int, err error) {
	t.Helper()
	addrs := make([]netip.AddrPort, len(behaviours))
	for i := range addrs {
		addrs[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 7)
	}
	begin := time.Now()
	closed := make(chan bool, len(addrs))
	dialled := make(chan bool, len(addrs))
	conn, err := race(ctx, addrs, func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		how := behaviours[addr.Addr().As4()[3]]
		switch how {
		case "refused":
			return nil, errors.New(addr.String() + " refused")
		case "dead":
			<-ctx.Done()
			return nil, ctx.Err()
		case "stubborn": // connects although the race is over
			<-ctx.Done()
		default:
			delay, err := time.ParseDuration(how)
			if err != nil {
				t.Error(err)
			}
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		dialled <- true
		a, b := net.Pipe()
		b.Close()
		return &namedConn{a, addr.String(), closed}, nil
	})
	if conn != nil {
		won = conn.(*namedConn).name
		conn.Close()
	}
	return won, time.Since(begin), len(dialled) - len(closed), err
}

type namedConn struct {
	net.Conn
	name   string
	closed chan bool
}

func (c *namedConn) Close() error {
	c.closed <- true
	return c.Conn.Close()
}

func TestDeadAddressesAreTriedInParallel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		behaviours []string
		won, err   string
		took       time.Duration
	}{
		{"one", []string{"1s"}, "192.0.2.0:7", "", time.Second},
		{"three dead ones", []string{"dead", "dead", "dead", "10ms"}, "192.0.2.3:7", "", 3*nextAddress + 10*time.Millisecond},
		{"refused ones cost no time", []string{"refused", "refused", "10ms"}, "192.0.2.2:7", "", 10 * time.Millisecond},
		{"a slow one may win", []string{"300ms", "dead", "1s"}, "192.0.2.0:7", "", 300 * time.Millisecond},
		{"others are closed", []string{"stubborn", "10ms"}, "192.0.2.1:7", "", nextAddress + 10*time.Millisecond},
		{"the first error", []string{"refused", "refused"}, "", "192.0.2.0:7 refused", 0},
		{"all dead", []string{"dead", "dead"}, "", context.DeadlineExceeded.Error(), 30 * time.Second},
		{"one dead, one refused", []string{"dead", "refused"}, "", context.DeadlineExceeded.Error(), 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				won, took, open, err := raceTo(t, ctx, tt.behaviours...)
				if won != tt.won || took != tt.took || open != 0 {
					t.Errorf("%q after %v with %d open", won, took, open)
				}
				if (err != nil) != (tt.err != "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func TestFamiliesAlternate(t *testing.T) {
	t.Parallel()
	var found, want []netip.Addr
	for _, text := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "::ffff:192.0.2.1", "192.0.2.2"} {
		found = append(found, netip.MustParseAddr(text))
	}
	for _, text := range []string{"2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"} {
		want = append(want, netip.MustParseAddr(text))
	}
	if got := alternating(found); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := alternating(slices.Repeat(found, 20)); len(got) != maxAddresses {
		t.Errorf("%d addresses", len(got))
	}
}

func TestNamesBelowLocalhost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost.": true, "a.localhost": true, "a.b.LOCALHOST.": true,
		"alocalhost": false, "localhost.example": false, "": false, ".": false,
	} {
		if got := isLocalhost(host); got != want {
			t.Errorf("isLocalhost(%q) = %v", host, got)
		}
		if !want {
			continue
		}
		found, err := addressesOf(t.Context(), "ip", host)
		if err != nil || len(found) == 0 {
			t.Errorf("addressesOf(%q): %v, %v", host, found, err)
		}
		for _, addr := range found {
			if !addr.IsLoopback() {
				t.Errorf("addressesOf(%q): %v", host, addr)
			}
		}
	}
}
