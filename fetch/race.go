package fetch

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	// nextAddress is the time after which the next address is tried beside those that have not
	// answered (Connection Attempt Delay, RFC 8305, section 5).
	nextAddress = 250 * time.Millisecond
	// maxAddresses limits the addresses of a name that are tried.
	maxAddresses = 32
)

// dialFirst resolves the host of target and connects to the first of its addresses that answers. Dial
// connects to a single address.
func dialFirst(ctx context.Context, network, target string,
	dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	host, service, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	found, err := addressesOf(ctx, "ip"+strings.TrimPrefix(network, "tcp"), host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addrs := alternating(found)
	targets := make([]netip.AddrPort, len(addrs))
	for i, addr := range addrs {
		targets[i] = netip.AddrPortFrom(addr, uint16(port))
	}
	return race(ctx, targets, dial)
}

// addressesOf returns the addresses of a host. Network is "ip", "ip4" or "ip6". Names below localhost
// denote this machine (RFC 6761, section 6.3).
func addressesOf(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if isLocalhost(host) {
		host = "localhost"
	}
	return net.DefaultResolver.LookupNetIP(ctx, network, host)
}

// isLocalhost reports whether a name is localhost or one below it.
func isLocalhost(name string) bool {
	name = "." + strings.ToLower(strings.TrimSuffix(name, "."))
	return strings.HasSuffix(name, ".localhost")
}

// alternating returns the addresses in an order in which the families alternate, so that a family
// that does not work costs little (RFC 8305, section 4).
func alternating(found []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr // the preferred one first
	for _, addr := range found {
		addr = addr.Unmap()
		family := 0
		if first := found[0].Unmap(); addr.Is4() != first.Is4() {
			family = 1
		}
		families[family] = append(families[family], addr)
	}
	var list []netip.Addr
	for i := range found {
		for _, family := range families {
			if i < len(family) {
				list = append(list, family[i])
			}
		}
	}
	return list[:min(len(list), maxAddresses)]
}

// race connects to the addresses, each after nextAddress or as soon as one before has failed. It returns
// the first connection, after the others have ended, or the error of the first address.
func race(ctx context.Context, addrs []netip.AddrPort,
	dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
		at   int
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results, errs := make(chan result), make([]error, len(addrs))
	var won net.Conn
	next := time.NewTimer(0)
	for begun, ended, all := 0, 0, len(addrs); ended < all; {
		select {
		case <-next.C:
			if begun == all {
				continue
			}
			at, addr := begun, addrs[begun]
			go func() {
				conn, err := dial(ctx, addr)
				results <- result{conn, err, at}
			}()
			begun++
			next.Reset(nextAddress)
		case r := <-results:
			ended++
			switch errs[r.at] = r.err; {
			case r.err != nil:
				next.Reset(0)
			case won == nil:
				won = r.conn
				cancel()
				all = begun // no others begin
			default:
				r.conn.Close()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errs[0]
}
