package fetchtest

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// A failingSocket is a UDP socket on which one datagram fails. It is lost (closing), the peer's
// port is closed (reset), all later ones are lost too (silence), or it is duplicated (trickle).
type failingSocket struct {
	n      *network
	closed sync.Once

	mu     sync.Mutex
	silent bool
	again  []byte   // the duplicate to be received next
	from   net.Addr // sender of again
}

// receive reads with read and applies the failure.
func (s *failingSocket) receive(p []byte, read func([]byte) (int, net.Addr, error)) (int, net.Addr, error) {
	s.mu.Lock()
	if again := s.again; again != nil {
		s.again = nil
		s.mu.Unlock()
		return copy(p, again), s.from, nil
	}
	s.mu.Unlock()
	fails := s.n.fails("receive")
	if fails && s.n.how == reset {
		return 0, nil, &net.OpError{Op: "read", Net: "udp",
			Err: os.NewSyscallError("read", syscall.ECONNREFUSED)}
	}
	for {
		n, from, err := read(p)
		if err != nil {
			return n, from, err
		}
		s.mu.Lock()
		if fails && s.n.how == silence {
			s.silent = true
		}
		lost := s.silent || fails && s.n.how == closing
		if fails && s.n.how == trickle {
			s.again, s.from = append([]byte(nil), p[:n]...), from
		}
		s.mu.Unlock()
		if fails = false; !lost {
			return n, from, nil
		}
	}
}

// send writes p with write and applies the failure.
func (s *failingSocket) send(p []byte, write func([]byte) (int, error)) (int, error) {
	fails := s.n.fails("send")
	s.mu.Lock()
	if fails && s.n.how == silence {
		s.silent = true
	}
	lost := s.silent || fails && s.n.how == closing
	s.mu.Unlock()
	switch {
	case fails && s.n.how == reset:
		return 0, &net.OpError{Op: "write", Net: "udp",
			Err: os.NewSyscallError("write", syscall.ECONNREFUSED)}
	case lost:
		return len(p), nil
	case fails && s.n.how == trickle:
		write(p)
	}
	return write(p)
}

func (s *failingSocket) close() { s.closed.Do(func() { s.n.count(-1) }) }

// A failingPackets is a failing socket without a connection.
type failingPackets struct {
	net.PacketConn
	failingSocket
}

func (n *network) listen(ctx context.Context, network, addr string) (net.PacketConn, error) {
	c, err := new(net.ListenConfig).ListenPacket(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.count(1)
	return &failingPackets{PacketConn: c, failingSocket: failingSocket{n: n}}, nil
}

func (c *failingPackets) ReadFrom(p []byte) (int, net.Addr, error) {
	return c.receive(p, c.PacketConn.ReadFrom)
}

func (c *failingPackets) WriteTo(p []byte, to net.Addr) (int, error) {
	return c.send(p, func(p []byte) (int, error) { return c.PacketConn.WriteTo(p, to) })
}

func (c *failingPackets) Close() error {
	c.close()
	return c.PacketConn.Close()
}

// A failingDatagrams is a failing connected socket.
type failingDatagrams struct {
	net.Conn
	failingSocket
}

func (c *failingDatagrams) Read(p []byte) (int, error) {
	n, _, err := c.receive(p, func(p []byte) (int, net.Addr, error) {
		n, err := c.Conn.Read(p)
		return n, nil, err
	})
	return n, err
}

func (c *failingDatagrams) Write(p []byte) (int, error) { return c.send(p, c.Conn.Write) }

func (c *failingDatagrams) Close() error {
	c.close()
	return c.Conn.Close()
}
