// Package networks tests the library on unreliable networks: without IPv4, with addresses that do
// not respond, with name servers that return false records, behind a captive portal and behind NAT.
//
// Each test runs in network namespaces of its own, without other routes. This requires root and the
// commands ip and iptables.
package networks
