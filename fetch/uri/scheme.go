package uri

// A scheme holds the properties of a URL scheme beyond the generic syntax of RFC 3986. The zero
// scheme is the generic syntax itself.
type scheme struct {
	port  uint16 // the default; 0 if there is none
	empty string // the meaning of an empty path after a host; "" keeps it empty
	path  pathRule

	// host means that a URL requires a host, so that "http:/h" must be a mistake.
	host bool

	// caseHost means that upper and lower case differ in the host, which is not a domain name.
	caseHost bool

	// plainQuery means that "?" is an ordinary character of the path.
	plainQuery bool

	// base returns the part of a path that JoinPath adds to; nil means all of it.
	base func(path string) string

	// escape encodes a name for the path; nil means Escape.
	escape func(name string) string

	// search inserts search words into c, the components of u; nil means that they have no place.
	search func(u URI, c *components, words string) error
}

// A pathRule is the meaning of slashes in a path.
type pathRule uint8

const (
	segments pathRule = iota // they separate the steps of a hierarchy, which may be "." and ".."
	selector                 // the same by convention, but only the server splits the path
	opaque                   // no meaning
)

// lookup is the table of schemes, the only one in this package. It has a row for each scheme of RFC
// 1738 and RFC 1630, for its form over TLS, and for later schemes whose specification departs from
// the generic syntax or adds a search to it. Other schemes need no row: their drivers pass in
// properties such as the default port.
//
// It is a function and not a map because the rows refer to decoders, which refer to the rows.
func lookup(name string) scheme {
	switch name {
	case "ftp":
		return scheme{port: 21, host: true, empty: "/", plainQuery: true, base: ftpBase, escape: escapeFTP}
	case "ftps":
		return scheme{port: 990, host: true, empty: "/", plainQuery: true, base: ftpBase, escape: escapeFTP}
	case "http":
		return scheme{port: 80, host: true, empty: "/", search: searchQuery}
	case "https":
		return scheme{port: 443, host: true, empty: "/", search: searchQuery}
	case "dav", "webdav":
		return scheme{port: 80, host: true, empty: "/"}
	case "davs", "webdavs":
		return scheme{port: 443, host: true, empty: "/"}
	case "ws":
		return scheme{port: 80, host: true, empty: "/"}
	case "wss":
		return scheme{port: 443, host: true, empty: "/"}
	case "file":
		return scheme{plainQuery: true, escape: escapeOpaque}

	case "gopher", "gophers":
		return scheme{port: 70, host: true, empty: "/1", path: selector, plainQuery: true,
			base: gopherBase, escape: escapeOpaque, search: searchGopher}
	case "prospero":
		return scheme{port: 1525, host: true, path: selector, plainQuery: true,
			base: prosperoBase, escape: escapeOpaque}
	case "z39.50r", "z39.50s": // RFC 2056
		return scheme{port: 210, host: true, path: opaque, search: searchZ3950}
	case "wais":
		return scheme{port: 210, host: true, path: opaque, search: searchWAIS}

	case "telnet", "tn3270":
		return scheme{port: 23, host: true, empty: "/", path: opaque}
	case "telnets":
		return scheme{port: 992, host: true, empty: "/", path: opaque}
	case "rlogin":
		return scheme{port: 513, host: true, empty: "/", path: opaque}

	case "news", "nntp":
		return scheme{port: 119, path: opaque}
	case "snews", "nntps":
		return scheme{port: 563, path: opaque}
	case "mailto", "mid", "cid":
		return scheme{path: opaque}

	case "data", "urn": // RFC 2397, RFC 8141
		return scheme{path: opaque}
	case "gemini":
		return scheme{port: 1965, host: true, empty: "/", search: searchGemini}
	case "spartan": // the query is the text to send
		return scheme{port: 300, host: true, empty: "/", search: searchGemini}
	case "nex":
		return scheme{port: 1900, host: true, empty: "/"}
	case "dict": // RFC 2229
		return scheme{port: 2628, path: opaque, search: searchDict}
	case "finger":
		return scheme{port: 79, path: opaque}
	case "whois":
		return scheme{port: 43, path: opaque}
	case "ipfs", "ipns": // identifiers in base 58 depend on the case
		return scheme{host: true, caseHost: true}
	}
	return scheme{}
}
