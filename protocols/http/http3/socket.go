package http3

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/net/ipv4"
)

// packetConn adapts a connected socket to quic-go, which passes addresses that are ignored. A
// socket of the system reads and writes several packets at once.
func packetConn(c net.Conn) net.PacketConn {
	if udp, ok := c.(*net.UDPConn); ok {
		return &udpSocket{UDPConn: udp, many: ipv4.NewPacketConn(udp)}
	}
	return &datagrams{c}
}

// A udpSocket is a connected socket, so that ICMP errors are reported at once.
type udpSocket struct {
	*net.UDPConn
	many  *ipv4.PacketConn
	sized bool // the buffer sizes were set
}

// SetReadBuffer requests a size. The system may allow less, which is not an error.
func (s *udpSocket) SetReadBuffer(bytes int) error {
	s.UDPConn.SetReadBuffer(bytes)
	return nil
}

// SetWriteBuffer is called after SetReadBuffer.
func (s *udpSocket) SetWriteBuffer(bytes int) error {
	s.UDPConn.SetWriteBuffer(bytes)
	s.sized = true
	return nil
}

// SyscallConn returns no socket before the buffer sizes are set. Otherwise quic-go would check the
// sizes and write a warning to the program's standard logger.
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

// ReadBatch reads several packets. Quic-go detects this method.
func (s *udpSocket) ReadBatch(list []ipv4.Message, flags int) (int, error) {
	for {
		n, err := s.many.ReadBatch(list, flags)
		if !isTooLarge(err) {
			return n, err
		}
	}
}

// isTooLarge reports whether a router rejected an earlier packet as too large, which the next read
// of a connected socket returns. Quic-go discovers the packet size itself and would take the error
// for the end of the connection.
func isTooLarge(err error) bool { return errors.Is(err, syscall.EMSGSIZE) }

// datagrams is any other connection that preserves message boundaries.
type datagrams struct{ net.Conn }

// SetReadBuffer and SetWriteBuffer exist because quic-go logs a warning without them.
func (d *datagrams) SetReadBuffer(int) error  { return nil }
func (d *datagrams) SetWriteBuffer(int) error { return nil }

func (d *datagrams) ReadFrom(p []byte) (int, net.Addr, error) {
	n, err := d.Conn.Read(p)
	return n, d.RemoteAddr(), err
}

func (d *datagrams) WriteTo(p []byte, _ net.Addr) (int, error) { return d.Conn.Write(p) }
