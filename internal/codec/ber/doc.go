// Package ber reads and writes values in the Basic Encoding Rules of ASN.1 (X.690), as Z39.50 has
// them: with tags of any size, with definite and indefinite lengths, and with strings in segments.
//
// A [Reader] takes a message from a connection piece by piece and holds none of it, so that a large
// string in it can be passed on as it comes. Lengths are checked against what encloses them before
// they are used, and depth, number and size of the values in a message are bounded.
package ber
