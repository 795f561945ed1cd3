package fetch

import (
	"net/netip"
	"testing"
)

// TestSpecialPurposeAddresses tests the blocks in IANA's special-purpose registries for IPv4 and IPv6.
func TestSpecialPurposeAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		private bool
		addrs   []string // the first and last address of the block, or some of its addresses
	}{
		{"this network", true, []string{"0.0.0.0", "0.0.0.1", "0.255.255.255"}},
		{"private use", true, []string{"10.0.0.0", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.0.0", "192.168.255.255"}},
		{"shared address space", true, []string{"100.64.0.0", "100.127.255.255"}},
		{"loopback", true, []string{"127.0.0.0", "127.0.0.1", "127.255.255.255"}},
		{"link-local", true, []string{"169.254.0.0", "169.254.169.254", "169.254.255.255"}},
		{"IETF protocol assignments", true, []string{"192.0.0.0", "192.0.0.8", "192.0.0.170", "192.0.0.255"}},
		{"6to4 relay anycast", true, []string{"192.88.99.0", "192.88.99.255"}},
		{"benchmarking", true, []string{"198.18.0.0", "198.19.255.255"}},
		{"multicast", true, []string{"224.0.0.0", "239.255.255.255"}},
		{"reserved", true, []string{"240.0.0.0", "255.255.255.254"}},
		{"limited broadcast", true, []string{"255.255.255.255"}},
		{"documentation, which is nobody's", false, []string{"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"}},
		{"AS112, AMT", false, []string{"192.31.196.1", "192.52.193.1", "192.175.48.1", "2001:3::1", "2001:4:112::1", "2620:4f:8000::1"}},
		{"neighbours of blocks", false, []string{"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
			"128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.88.98.255", "192.88.100.0",
			"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255"}},

		{"unspecified and loopback", true, []string{"::", "::1", "::1%eth0"}},
		{"IPv4-compatible", true, []string{"::127.0.0.1", "::10.0.0.1", "::192.0.2.1"}},
		{"IPv4-mapped", true, []string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0.0.0.0", "::ffff:169.254.169.254"}},
		{"IPv4-mapped, public", false, []string{"::ffff:192.0.2.1", "::ffff:8.8.8.8"}},
		{"IPv4-translated", true, []string{"::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"}},
		{"NAT64 of private addresses", true, []string{"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b::0.0.0.0"}},
		{"NAT64 of public addresses", false, []string{"64:ff9b::192.0.2.1", "64:ff9b::8.8.8.8"}},
		{"local NAT64 of private addresses", true, []string{"64:ff9b:1::127.0.0.1", "64:ff9b:1::10.0.0.1", "64:ff9b:1:7f00:0:100::",
			"64:ff9b:1:1::8.8.8.8", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"}},
		{"local NAT64 of public addresses", false, []string{"64:ff9b:1::8.8.8.8"}},
		{"discard only", true, []string{"100::", "100::ffff:ffff:ffff:ffff", "100:0:0:1::1"}},
		{"Teredo", true, []string{"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"}},
		{"benchmarking, IPv6", true, []string{"2001:2::1"}},
		{"ORCHID", true, []string{"2001:10::1", "2001:1f:ffff::"}},
		{"6to4", true, []string{"2002::", "2002:7f00:1::", "2002:c000:201::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
		{"segment routing", true, []string{"5f00::1"}},
		{"unique local", true, []string{"fc00::", "fd00::1", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}},
		{"link-local unicast", true, []string{"fe80::1", "fe80::1%eth0", "febf:ffff::"}},
		{"site-local", true, []string{"fec0::1", "feff:ffff::1"}},
		{"multicast, IPv6", true, []string{"ff00::", "ff02::1", "ff0e::1"}},
		{"global unicast", false, []string{"2606:4700::1111", "2a00:1450::1", "64:ff9a::1", "64:ff9b:2::1", "2003::1", "2001:4860::8888"}},
	}
	for _, tt := range tests {
		for _, text := range tt.addrs {
			if got := isPrivate(netip.MustParseAddr(text)); got != tt.private {
				t.Errorf("%s: isPrivate(%s) is %v", tt.name, text, got)
			}
		}
	}
}
