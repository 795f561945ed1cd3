package http3

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
)

// packetConn returns a connected socket in the form that quic-go wants, without addresses to send to.
// With a socket of the system it reads and writes many packets at once.
func packetConn(c net.Conn) net.PacketConn {
	if udp, ok := c.(*net.UDPConn); ok {
		return &udpSocket{UDPConn: udp, many: ipv4.NewPacketConn(udp)}
	}
	return &datagrams{c}
}

// A udpSocket is connected: a server that refuses packets (ICMP) is noticed at once.
type udpSocket struct {
	*net.UDPConn
	many  *ipv4.PacketConn
	sized bool // the sizes of its buffers were set
}

// SetReadBuffer and SetWriteBuffer ask for a size. The system may allow less, which is not an error.
func (s *udpSocket) SetReadBuffer(bytes int) error {
	s.UDPConn.SetReadBuffer(bytes)
	return nil
}

// SetWriteBuffer comes after SetReadBuffer.
func (s *udpSocket) SetWriteBuffer(bytes int) error {
	s.UDPConn.SetWriteBuffer(bytes)
	s.sized = true
	return nil
}

// SyscallConn has no socket before the sizes of the buffers were set. With it, quic-go would look what
// the system allowed, and write to the standard logger, which is the program's, if that is little.
func (s *udpSocket) SyscallConn() (syscall.RawConn, error) {
	if !s.sized {
		return nil, errors.ErrUnsupported
	}
	return s.UDPConn.SyscallConn()
}

func (s *udpSocket) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, err := s.UDPConn.Read(p)
		if !isTooLarge(err) {
			return n, s.RemoteAddr(), err
		}
	}
}

func (s *udpSocket) WriteTo(p []byte, _ net.Addr) (int, error) { return s.UDPConn.Write(p) }

func (s *udpSocket) WriteMsgUDP(p, oob []byte, _ *net.UDPAddr) (n, oobn int, err error) {
	return s.UDPConn.WriteMsgUDP(p, oob, nil)
}

// ReadBatch reads several packets. Quic-go looks for it.
func (s *udpSocket) ReadBatch(list []ipv4.Message, flags int) (int, error) {
	for {
		n, err := s.many.ReadBatch(list, flags)
		if !isTooLarge(err) {
			return n, err
		}
	}
}

// isTooLarge reports whether a router said that a packet sent earlier was too large, which a connected
// socket tells by the next read. Quic-go finds the size that passes by itself, and would take the
// error for the end.
func isTooLarge(err error) bool { return errors.Is(err, syscall.EMSGSIZE) }

// datagrams is any other connection that keeps the bounds of what is written.
type datagrams struct{ net.Conn }

// SetReadBuffer and SetWriteBuffer are there for quic-go, which else writes to the standard logger.
func (d *datagrams) SetReadBuffer(int) error  { return nil }
func (d *datagrams) SetWriteBuffer(int) error { return nil }

func (d *datagrams) ReadFrom(p []byte) (int, net.Addr, error) {
	n, err := d.Conn.Read(p)
	return n, d.RemoteAddr(), err
}

func (d *datagrams) WriteTo(p []byte, _ net.Addr) (int, error) { return d.Conn.Write(p) }
