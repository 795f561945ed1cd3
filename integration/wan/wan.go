//go:build linux

// Package wan simulates a long-distance link between tests and the servers of this machine, with
// delay, jitter, loss and small packets. It uses a TUN device, because many kernels have no netem.
//
//	link := wan.Open(t, wan.Far)
//	c := fetch.New(&fetch.Options{DialContext: link.DialContext}, protocols.All)
//
// TCP and UDP traffic through a link passes the kernel's protocol stack twice, which handles the
// loss and retransmits. This requires root and /dev/net/tun.
package wan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/urlget/urlget/internal/tun"
)

// A Quality describes the effects of a link on packets.
type Quality struct {
	Delay  time.Duration // one way
	Jitter time.Duration // maximum addition to the delay; packets stay in order
	Loss   float64       // fraction of lost packets, from 0 to 1
	MTU    int           // in bytes; 0 means 1500
}

// Far is a link to another continent, with small packets and a little loss.
var Far = Quality{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.01, MTU: 576}

// The addresses at this end of a link, from the network for benchmarks (RFC 2544). A server sees
// clients as client. Clients see servers as addresses from first on.
const (
	device  = "urlget-wan"
	network = "198.18.77.0/24"
)

var (
	local  = netip.MustParseAddr("198.18.77.1") // of the device
	client = netip.MustParseAddr("198.18.77.2")
	first  = netip.MustParseAddr("198.18.77.3")
)

// maxWait limits the wait for another process to release the device.
const maxWait = 2 * time.Minute

// A Link is a simulated link to the servers of this machine.
type Link struct {
	quality Quality
	tun     *os.File
	queue   chan packet
	ended   chan struct{}

	passed, lost atomic.Int64

	mu    sync.Mutex
	near  map[netip.Addr]netip.Addr // from a server's address to its address behind the link
	far   map[netip.Addr]netip.Addr // the reverse
	fresh netip.Addr
}

type packet struct {
	due  time.Time
	data []byte
}

// Open creates a link, which is closed when the test ends at the latest. If that is not possible,
// it skips the test. There is one link at a time: Open waits for other processes.
func Open(t testing.TB, q Quality) *Link {
	t.Helper()
	if q.MTU == 0 {
		q.MTU = 1500
	}
	if os.Geteuid() != 0 {
		t.Skip("wan: requires root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("wan: ", err)
	}
	dev, err := tun.Open(device)
	for end := time.Now().Add(maxWait); err == unix.EBUSY &&
		time.Now().Before(end); dev, err = tun.Open(device) {
		time.Sleep(200 * time.Millisecond)
	}
	if err != nil {
		t.Skip("wan: no TUN device: ", err)
	}
	l := &Link{
		quality: q, tun: dev, queue: make(chan packet, 1<<14), ended: make(chan struct{}),
		near: make(map[netip.Addr]netip.Addr), far: make(map[netip.Addr]netip.Addr), fresh: first,
	}
	// Servers listen on 127.0.0.1, which is behind this device.
	err = os.WriteFile("/proc/sys/net/ipv4/conf/"+device+"/route_localnet", []byte("1"), 0o644)
	if err == nil {
		err = ip("addr add " + local.String() + "/24 dev " + device)
	}
	if err == nil {
		err = ip(fmt.Sprintf("link set %s mtu %d txqueuelen 10000 up", device, q.MTU))
	}
	if err != nil {
		dev.Close()
		t.Fatal("wan: ", err)
	}
	go l.receive()
	go l.deliver()
	t.Cleanup(l.Close)
	return l
}

// Close removes the link.
func (l *Link) Close() {
	l.tun.Close()
	<-l.ended
}

func ip(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// DialContext connects over the link to a server of this machine, or of a network that this machine
// reaches. An address behind the link is used unchanged.
func (l *Link) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, network, net.JoinHostPort(l.behind(addrs[0].Unmap()).String(), port))
}

// behind returns the address behind the link for a server's address.
func (l *Link) behind(server netip.Addr) netip.Addr {
	if netip.MustParsePrefix(network).Contains(server) {
		return server
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, ok := l.near[server]
	if !ok {
		addr = l.fresh
		l.near[server], l.far[addr] = addr, server
		l.fresh = addr.Next()
	}
	return addr
}

// Packets returns the numbers of forwarded and lost packets.
func (l *Link) Packets() (passed, lost int64) { return l.passed.Load(), l.lost.Load() }

// receive reads packets of both ends, which are on this machine.
func (l *Link) receive() {
	defer close(l.queue)
	var due time.Time
	for {
		buf := make([]byte, l.quality.MTU)
		n, err := l.tun.Read(buf)
		if err != nil {
			return
		}
		p := buf[:n]
		if !l.turn(p) {
			continue
		}
		if rand.Float64() < l.quality.Loss {
			l.lost.Add(1)
			continue
		}
		at := time.Now().Add(l.quality.Delay)
		if l.quality.Jitter > 0 {
			at = at.Add(rand.N(l.quality.Jitter))
		}
		if at.Before(due) {
			at = due // packets stay in order
		}
		due = at
		select {
		case l.queue <- packet{at, p}:
			l.passed.Add(1)
		default: // like a router
			l.lost.Add(1)
		}
	}
}

// deliver writes packets to the other end at their due times.
func (l *Link) deliver() {
	defer close(l.ended)
	for p := range l.queue {
		time.Sleep(time.Until(p.due))
		l.tun.Write(p.data) // packets that the kernel rejects are lost
	}
}

// turn replaces the addresses of a packet by those on the other side. It returns false for packets
// that do not belong to the link.
func (l *Link) turn(p []byte) bool {
	if len(p) < 20 || p[0]>>4 != 4 || len(p) < headerLen(p) {
		return false
	}
	from, to := netip.AddrFrom4([4]byte(p[12:16])), netip.AddrFrom4([4]byte(p[16:20]))
	l.mu.Lock()
	server, toServer := l.far[to]
	addr, fromServer := l.near[from]
	l.mu.Unlock()
	switch {
	case from == local && toServer:
		readdress(p, client, server)
	case to == client && fromServer:
		readdress(p, addr, local)
	default:
		return false
	}
	return true
}
