//go:build linux

// Package delay creates a link with a delay for benchmarks, on kernels without netem.
package delay

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/urlget/urlget/internal/tun"
)

// The two ends of the link. A client of Distant reaches a server on Near, which sees the client as
// Distant.
const (
	Near    = "198.18.0.1"
	Distant = "198.18.0.2"
)

// ErrNone is returned if there can be no link: in a network namespace with routes, or without a TUN
// device.
var ErrNone = errors.New("no link with a delay")

// Namespace locks the goroutine to its thread and moves the thread into a new network namespace.
// Sockets and programs that the goroutine starts are in that namespace too. The thread ends with
// the goroutine. If this is not possible, the error is ErrNone.
func Namespace() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("%w: network namespace: %w", ErrNone, err)
	}
	return nil
}

// Link creates a device whose packets return after half a round trip with their addresses
// exchanged, like a link to another machine. It lasts until stop is called. In a network namespace
// with other routes, it returns ErrNone.
func Link(roundTrip time.Duration) (stop func(), err error) {
	if routes, err := os.ReadFile("/proc/thread-self/net/route"); err != nil ||
		strings.Count(string(routes), "\n") > 1 {
		return nil, fmt.Errorf("%w: not in a network namespace of its own", ErrNone)
	}
	dev, err := tun.Open("delay0")
	if err != nil {
		return nil, fmt.Errorf("%w: TUN device: %w", ErrNone, err)
	}
	for _, args := range []string{"link set lo up", "addr add " + Near + "/24 dev delay0",
		"link set delay0 mtu 1500 txqueuelen 10000 up"} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			dev.Close()
			return nil, fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	queue := make(chan packet, 1<<16)
	go reflect(dev, queue, roundTrip/2)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p := range queue {
			time.Sleep(time.Until(p.due))
			dev.Write(p.data)
		}
	}()
	return func() {
		dev.Close()
		<-ended
	}, nil
}

type packet struct {
	due  time.Time
	data []byte
}

// reflect queues packets from the device with their addresses exchanged, until the device is
// closed.
func reflect(dev *os.File, queue chan<- packet, delay time.Duration) {
	defer close(queue)
	for {
		buf := make([]byte, 2048)
		n, err := dev.Read(buf)
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
		copy(p[16:20], from[:]) // checksums over both stay valid
		queue <- packet{time.Now().Add(delay), p}
	}
}
