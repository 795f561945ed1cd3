// Package uri parses, resolves, normalizes and prints URIs. It decodes URLs of the schemes of RFC
// 1738 and RFC 1630 into typed values and encodes them.
//
// A [URI] keeps its text as written, because in RFC 1738 an encoded reserved character and the bare
// character differ: "%2Fetc" and "/etc" are different FTP paths. [Parse] splits a reference by the
// generic rules of RFC 3986, the same for all schemes. [ParseRef] is for references in documents,
// and [ParseLoose] for URLs that people type and paste. Package
// [github.com/urlget/urlget/fetch/uri/find] finds URLs in running text.
//
// # Schemes
//
// The meaning of the components of a URL depends on its scheme. The decoders, such as [ParseFTP],
// [ParseGopher] and [ParseNews], each return a struct of decoded fields. Its URI method encodes
// them as a URL, or fails if that is not possible. The package has decoders for schemes of RFC 1738
// and RFC 1630 whose URLs are also written, or are read by several packages, and for their forms
// over TLS. http URLs follow the generic syntax (see [URI.NetURL]). Drivers decode the URLs of all
// other schemes.
//
// A table holds the properties of schemes that the methods of URI need: the default port, whether a
// host is required, the meaning of an empty path, whether "." and ".." are steps of a path or
// ordinary names, whether "?" starts a query, and the place of search words. It has the schemes of
// RFC 1738 and RFC 1630, and dict, finger, whois, gemini, data and urn, whose specifications depart
// from the generic syntax or add to it. Other schemes are assumed to follow RFC 3986: they have no
// default port, an empty path stays empty, dot segments are removed, "?" starts a query, and search
// words have no place.
//
// A driver for another scheme therefore needs no change to this package. It passes its default port
// to [URI.Port], [URI.HostPort] and [URI.WithoutPort]. It decodes [URI.Userinfo] and [URI.URLPath],
// using [Unescape] after splitting the path. It reports errors as an [*Error], and writes URLs with
// [Parts].
//
// # Control characters
//
// Percent-encoding can carry any byte, and RFC 1738, section 6, warns of CR and LF that reach a
// line protocol. Therefore no decoder, and no accessor that decodes, returns CR, LF or NUL: they
// fail with an error that matches [ErrControl]. Only functions with "Raw" in their name, such as
// [UnescapeRaw], return every byte.
//
// # Hosts
//
// [URI.Host] is canonical: decoded, in lower case, without brackets. International names are mapped
// to their ASCII form. Every spelling of an IPv4 address, such as "0x7f.1" and "017700000001", is
// converted to the usual notation, so that a spelling cannot evade a rule about addresses.
package uri
