package fetchhttp

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// ProxyExcept returns choose, or fetch.ProxyFromEnvironment if it is nil, without the proxy at addr. It is
// for programs that listen at addr as a proxy themselves: the environment may name it for others, and the
// requests of the program would come back to it.
func ProxyExcept(
	choose func(uri.URI) (uri.URI, error), addr net.Addr,
) func(uri.URI) (uri.URI, error) {
	if choose == nil {
		choose = fetch.ProxyFromEnvironment
	}
	return func(u uri.URI) (uri.URI, error) {
		p, err := choose(u)
		if err == nil && isOwnAddress(p, addr) {
			return uri.URI{}, nil
		}
		return p, err
	}
}

// isOwnAddress reports whether a proxy is at addr, at which this program listens.
func isOwnAddress(proxy uri.URI, addr net.Addr) bool {
	own, ok := addr.(*net.TCPAddr)
	port := proxy.Port(1080)
	if s := proxy.Scheme(); s == "http" || s == "connect" {
		port = proxy.Port(80)
	}
	if !ok || proxy.IsZero() || int(port) != own.Port {
		return false
	}
	at, err := netip.ParseAddr(proxy.Host())
	if err != nil {
		name, _ := os.Hostname() // without it, only one name is known
		return proxy.Host() == "localhost" || strings.EqualFold(proxy.Host(), name)
	}
	at = at.Unmap()
	switch mine := own.AddrPort().Addr().Unmap(); {
	case at.IsUnspecified(), at == mine:
		return true
	case !mine.IsUnspecified():
		return false
	}
	all, _ := net.InterfaceAddrs() // without them, only loopback addresses are known
	return at.IsLoopback() || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(at.AsSlice())
	})
}
