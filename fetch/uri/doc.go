// Package uri parses, resolves, normalises and prints URIs, and decodes the URL schemes of RFC 1738
// and RFC 1630 into typed values and back.
//
// A [URI] keeps its text as it was written, because in RFC 1738 an encoded reserved character does
// not mean the same as the bare one: "%2Fetc" and "/etc" are different FTP paths. [Parse] splits a
// reference by the generic rules of RFC 3986, the same for all schemes. [ParseRef] does it for
// references in documents, [ParseLoose] for what people type and paste; package
// [github.com/urlget/urlget/fetch/uri/find] finds URLs in running text.
//
// # Schemes
//
// What the components of a URL mean depends on its scheme. The decoders, [ParseFTP], [ParseGopher],
// [ParseNews] and so on, each return a struct of decoded fields; its URI method writes the URL
// again, or fails if the fields cannot stand in one. There is a decoder here for every scheme of
// RFC 1738 and RFC 1630 and for its form over TLS, except for http, whose URLs are those of the
// generic syntax (see [URI.NetURL]). A scheme of a later specification is decoded by its driver.
//
// One table holds what the methods of URI need to know of a scheme: the default port, whether a URL
// must name a host, what an empty path stands for, whether "." and ".." are steps of a path or
// ordinary names, whether "?" starts a query, and where search words go. It has a row for the
// schemes of RFC 1738 and RFC 1630, and for dict, finger, whois, gemini, data and urn, whose
// specifications depart from the generic syntax or add to it. All other schemes are taken to keep
// to RFC 3986: they have no default port, an empty path stays empty, dot segments are removed, "?"
// starts a query, and there is no place for search words.
//
// So a driver for a scheme of its own needs no change here. It passes its default port to
// [URI.Port], [URI.HostPort] and [URI.WithoutPort]; it decodes [URI.Userinfo] and [URI.URLPath],
// the latter by [Unescape] once it has been split; it reports what is wrong by an [*Error]; and it
// writes URLs by [Parts].
//
// # Control characters
//
// Percent-encoding can carry any byte, and RFC 1738, section 6, warns of CR and LF that reach a
// line protocol. So no decoder, and no accessor that decodes, returns CR, LF or NUL: they fail with
// an error that matches [ErrControl]. Only functions with "Raw" in their name, such as
// [UnescapeRaw], return every byte.
//
// # Hosts
//
// [URI.Host] is canonical: decoded, in lower case, without brackets. International names are mapped
// to their ASCII form, and every spelling of an IPv4 address ("0x7f.1", "017700000001") is read as
// the address it means, so a rule about addresses cannot be evaded by a spelling.
package uri
