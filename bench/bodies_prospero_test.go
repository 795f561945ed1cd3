//go:build linux

package bench

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"github.com/urlget/urlget/internal/codec/ardp"
	"github.com/urlget/urlget/protocols/prospero"
)

// prosperoBody is a file of 8 MiB, close to the limit of packet numbers, in windows of 16 packets
// that require an acknowledgment.
func prosperoBody(b *testing.B, content []byte) body {
	content = content[:8<<20]
	packets := ardp.ReplyPackets(0, slices.Concat([]byte("ATTRIBUTE OBJECT INTRINSIC CONTENTS SEQUENCE DATA '"), content, []byte("'\n")))
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	go sendPackets(conn.(*net.UDPConn), packets)
	addr := conn.LocalAddr().String()
	return body{prospero.Load, "prospero://" + addr + "/doc.txt", len(content), func() error { return takePackets(addr, len(packets)) }}
}

// sendPackets responds to requests and acknowledgments of one client at a time with the next
// window.
func sendPackets(conn *net.UDPConn, packets [][]byte) {
	buf := make([]byte, 2048)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		h, request, err := ardp.Parse(buf[:n])
		if err != nil {
			continue
		}
		if bytes.Contains(request, []byte("\nLIST ")) {
			conn.WriteToUDPAddrPort(ardp.ReplyPackets(h.CID, []byte("FAILURE NOT-A-DIRECTORY\n"))[0], from)
			continue
		}
		if h.Seq != 0 {
			for _, p := range packets {
				binary.BigEndian.PutUint16(p[1:], h.CID)
			}
			h.Received = 0
		}
		due := packets[min(int(h.Received), len(packets)):]
		for _, p := range due[:min(ardp.Window, len(due))] {
			conn.WriteToUDPAddrPort(p, from)
		}
	}
}

// takePackets requests a reply of this many packets and acknowledges each window.
func takePackets(addr string, packets int) error {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(ardp.Packets(1, []byte("GET-OBJECT-INFO CONTENTS ASCII /doc.txt 0\n"))[0]); err != nil {
		return err
	}
	buf := make([]byte, 2048)
	for i := range packets {
		if _, err := conn.Read(buf); err != nil {
			return err
		}
		if (i+1)%ardp.Window == 0 {
			if _, err := conn.Write(ardp.Acknowledgement(1, uint16(i+1))); err != nil {
				return err
			}
		}
	}
	return nil
}
