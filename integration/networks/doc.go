// Package networks tests the library on networks that are not as one would wish: without IPv4, with
// addresses that do not answer, with name servers that lie, behind a captive portal and behind
// translated addresses.
//
// Each test runs in network namespaces of its own, which lead nowhere. It takes root, and the
// commands ip and iptables.
package networks
