//go:build linux

// Package wan stands between tests and the servers of this machine like a long way: with a delay,
// jitter, loss and small packets. It is a network device of its own, as many kernels have no netem.
//
//	link := wan.Open(t, wan.Far)
//	c := fetch.New(&fetch.Options{DialContext: link.DialContext}, protocols.All)
//
// What is dialled through a link, TCP and UDP, goes through the kernel's own protocols twice: they
// meet the loss and send again. It takes root and /dev/net/tun.
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

// A Quality is what a link does to packets.
type Quality struct {
	Delay  time.Duration // one way
	Jitter time.Duration // at most so much is added to the delay; packets stay in order
	Loss   float64       // the part of the packets that is lost, 0 to 1
	MTU    int           // the largest packet in bytes; 1500 if 0
}

// Far is another continent, at the end of a line with small packets and a little loss.
var Far = Quality{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.01, MTU: 576}

// The addresses at this end of a link, in a network that is set aside for measurements (RFC 2544).
// A server sees its client at client's address, a client its server at one from first on.
const (
	device  = "urlget-wan"
	network = "198.18.77.0/24"
)

var (
	local  = netip.MustParseAddr("198.18.77.1") // of the device
	client = netip.MustParseAddr("198.18.77.2")
	first  = netip.MustParseAddr("198.18.77.3")
)

// patience is how long another process may have the device.
const patience = 2 * time.Minute

// A Link is a way to the servers of this machine.
type Link struct {
	quality Quality
	tun     *os.File
	queue   chan packet
	ended   chan struct{}

	passed, lost atomic.Int64

	mu    sync.Mutex
	near  map[netip.Addr]netip.Addr // from a server's address to that behind the link
	far   map[netip.Addr]netip.Addr // and back
	fresh netip.Addr
}

type packet struct {
	due  time.Time
	data []byte
}

// Open makes a link that lives at most as long as the test, which is skipped where there is no way.
// There is one at a time: Open waits for that of another process.
func Open(t testing.TB, q Quality) *Link {
	t.Helper()
	if q.MTU == 0 {
		q.MTU = 1500
	}
	if os.Geteuid() != 0 {
		t.Skip("wan: only root makes network devices")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("wan: ", err)
	}
	dev, err := tun.Open(device)
	for end := time.Now().Add(patience); err == unix.EBUSY && time.Now().Before(end); dev, err = tun.Open(device) {
		time.Sleep(200 * time.Millisecond)
	}
	if err != nil {
		t.Skip("wan: no TUN device: ", err)
	}
	l := &Link{
		quality: q, tun: dev, queue: make(chan packet, 1<<14), ended: make(chan struct{}),
		near: make(map[netip.Addr]netip.Addr), far: make(map[netip.Addr]netip.Addr), fresh: first,
	}
	// Servers listen on 127.0.0.1, which is a place on the other side of this device.
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

// Close takes the link away before the test ends.
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

// DialContext connects to a server of this machine, or of a network that is reached from it, over
// the link. An address behind the link is taken as it is.
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

// behind returns the address behind the link that stands for a server's.
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

// Packets returns how many packets went over the link, and how many were lost on it.
func (l *Link) Packets() (passed, lost int64) { return l.passed.Load(), l.lost.Load() }

// receive takes packets from both ends, which are both this machine.
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
			at = due // no packet overtakes another
		}
		due = at
		select {
		case l.queue <- packet{at, p}:
			l.passed.Add(1)
		default: // as routers do
			l.lost.Add(1)
		}
	}
}

// deliver hands packets to the other end when they are due.
func (l *Link) deliver() {
	defer close(l.ended)
	for p := range l.queue {
		time.Sleep(time.Until(p.due))
		l.tun.Write(p.data) // what the kernel refuses is lost
	}
}

// turn gives a packet the addresses that it has on the other side. It reports false for what does
// not belong on the link.
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
