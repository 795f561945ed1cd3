// Package uri parses, resolves, normalises and prints URIs, and decodes the
// URL schemes of RFC 1738 and RFC 1630 into typed values and back.
//
// A [URI] keeps its text as it was written, because in RFC 1738 an encoded
// reserved character does not mean the same as the bare one: "%2Fetc" and
// "/etc" are different FTP paths. One parser, [Parse], splits a reference by
// the generic rules of RFC 3986 and knows no schemes. What a component means
// is the business of the decoders: [ParseFTP], [ParseGopher], [ParseNews] and
// so on each give a struct of decoded fields, and its URI method goes back.
//
// # Octets
//
// Percent-encoding can carry any octet, and RFC 1738, section 6, warns of CR
// and LF that reach a line protocol. So no decoder, and no accessor that
// decodes, hands out CR, LF or NUL: they fail with an error that matches
// [ErrControl]. Who needs the octets all the same asks for them by a name
// that contains "Raw", such as [UnescapeRaw].
//
// # Hosts
//
// [URI.Host] is canonical: decoded, in lower case, without brackets.
// International names are mapped to their ASCII form, and every spelling of an
// IPv4 address ("0x7f.1", "017700000001") is read as the address it means, so
// a rule about addresses cannot be passed by a spelling. The name mapping is
// the one thing that this package does not write itself: it takes
// golang.org/x/net/idna, and runs it only for hosts that are not ASCII.
package uri
