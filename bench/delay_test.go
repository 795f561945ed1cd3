//go:build linux

package bench

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The two ends of a link with a delay. Whoever talks to distant talks to a server on near, and is
// taken for distant by it.
const (
	near    = "198.18.0.1"
	distant = "198.18.0.2"
)

// delayLink makes a device whose packets come back after a while with their addresses exchanged: a
// link to another machine with a delay, where the kernel has no netem. It skips the benchmark
// unless it runs in a network namespace of its own, which has no route anywhere else.
func delayLink(b *testing.B, roundTrip time.Duration) {
	b.Helper()
	if routes, err := os.ReadFile("/proc/net/route"); err != nil || strings.Count(string(routes), "\n") > 1 {
		b.Skip("not in a network namespace of its own: see the comment")
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		b.Skip("no TUN device: ", err)
	}
	req := struct {
		name  [unix.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: unix.IFF_TUN | unix.IFF_NO_PI}
	copy(req.name[:], "delay0")
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETIFF, uintptr(unsafe.Pointer(&req))); errno != 0 {
		b.Skip("no TUN device: ", errno)
	}
	tun := os.NewFile(uintptr(fd), "tun") // not before it can be polled
	for _, args := range []string{"link set lo up", "addr add " + near + "/24 dev delay0", "link set delay0 mtu 1500 txqueuelen 10000 up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			b.Fatalf("ip %s: %s", args, out)
		}
	}
	type packet struct {
		due  time.Time
		data []byte
	}
	queue := make(chan packet, 1<<16)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 2048)
			n, err := tun.Read(buf)
			if err != nil {
				return
			}
			p := buf[:n]
			if n < 20 || p[0]>>4 != 4 {
				continue
			}
			var from [4]byte
			copy(from[:], p[12:16])
			copy(p[12:16], p[16:20])
			copy(p[16:20], from[:]) // sums over both stay right
			queue <- packet{time.Now().Add(roundTrip / 2), p}
		}
	}()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p := range queue {
			time.Sleep(time.Until(p.due))
			tun.Write(p.data)
		}
	}()
	b.Cleanup(func() {
		tun.Close()
		<-ended
	})
}
