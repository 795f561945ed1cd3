//go:build linux

package wan

import (
	"encoding/binary"
	"net/netip"
)

// IP protocols whose checksum covers the addresses, and the offset of the checksum.
const (
	protocolTCP, sumTCP = 6, 16
	protocolUDP, sumUDP = 17, 6
)

// headerLen returns the length of an IPv4 header.
func headerLen(p []byte) int { return int(p[0]&15) * 4 }

// readdress replaces the addresses of an IPv4 packet and updates its checksums.
func readdress(p []byte, from, to netip.Addr) {
	var before [8]byte
	copy(before[:], p[12:20])
	f, t := from.As4(), to.As4()
	copy(p[12:16], f[:])
	copy(p[16:20], t[:])
	correct(p[10:], before[:], p[12:20])

	if binary.BigEndian.Uint16(p[6:])&0x1fff != 0 {
		return // not the first fragment, so there is no transport header
	}
	inner := p[headerLen(p):]
	at := 0
	switch p[9] {
	case protocolTCP:
		at = sumTCP
	case protocolUDP:
		at = sumUDP
		if len(inner) >= at+2 && inner[at] == 0 && inner[at+1] == 0 {
			return // no checksum
		}
	}
	if at > 0 && len(inner) >= at+2 {
		correct(inner[at:], before[:], p[12:20])
	}
}

// correct updates the checksum at the start of sum for the replacement of before by after (RFC
// 1624, section 3).
func correct(sum, before, after []byte) {
	n := uint32(^binary.BigEndian.Uint16(sum))
	for i := 0; i < len(before); i += 2 {
		n += uint32(^binary.BigEndian.Uint16(before[i:])) + uint32(binary.BigEndian.Uint16(after[i:]))
	}
	for n > 0xffff {
		n = n>>16 + n&0xffff
	}
	binary.BigEndian.PutUint16(sum, ^uint16(n))
}
