// Package apdu encodes and decodes the messages of WAIS: Z39.50-1988 in the profile of WAIS 1.5
// (RFC 1625), as freeWAIS servers speak it. The driver and the test server stand on it.
//
// Every message is a packet: a header of 25 bytes of text, then one APDU. An APDU is a fixed part
// and a list of tagged values. All lengths are checked against what was received before they are
// used.
package apdu
