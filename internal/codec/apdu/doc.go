// Package apdu encodes and decodes WAIS messages: Z39.50-1988 in the profile of WAIS 1.5 (RFC 1625),
// as implemented by freeWAIS servers. The driver and its test server use it.
//
// Every message is a packet: a 25-byte text header and one APDU. An APDU is a fixed part and a list
// of tagged values. All lengths are checked against the received data before use.
package apdu
