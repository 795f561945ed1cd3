// Package ber reads and writes values in the Basic Encoding Rules of ASN.1 (X.690). It supports the
// forms that LDAP and Z39.50 use: multi-byte tags, definite and indefinite lengths, and constructed
// strings.
//
// A [Reader] decodes a message while it arrives and does not buffer it, so large strings can be
// streamed. Every length is checked against the enclosing value before it is used. The nesting depth,
// the number of values and the size of a message are limited.
package ber
