package uri

import "strings"

// Resolve returns the URI of the reference ref in a document at u (RFC 3986, section 5.2, without
// the exception for old parsers). It is absolute if u is. RFC 1630 describes the same algorithm for
// its URLs.
//
// If ref is absolute and "." and ".." segments have no meaning in its scheme, as in gopher and data
// URLs, Resolve returns ref.
//
// The result is the zero URI if it would be longer than [MaxLen].
func (u URI) Resolve(ref URI) URI {
	r, base := ref.split(), u.split()
	switch {
	case r.scheme != "":
		if !ref.hasDotSegments() {
			return ref
		}
		r.path = removeDots(r.path)
		return r.uri()
	case r.authority != "":
		r.path = removeDots(r.path)
	case r.path == "":
		r.path = base.path
		if r.query == "" {
			r.query = base.query
		}
		r.authority = base.authority
	default:
		r.path = removeDots(merge(base, r.path))
		r.authority = base.authority
	}
	r.scheme = base.scheme
	return r.uri()
}

func merge(base components, path string) string {
	switch {
	case strings.HasPrefix(path, "/"):
		return path
	case base.authority != "" && base.path == "":
		return "/" + path
	}
	return base.path[:strings.LastIndexByte(base.path, '/')+1] + path
}

// hasDotSegments reports whether the path of u has "." or ".." segments that are steps in a
// hierarchy.
func (u URI) hasDotSegments() bool {
	path := u.Path()
	return strings.HasPrefix(path, "/") && strings.Contains(path, "/.") && lookup(u.Scheme()).path == segments
}

// removeDots removes "." and ".." segments (RFC 3986, section 5.2.4).
func removeDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.HasPrefix(path, ".") {
		return path
	}
	out := make([]byte, 0, len(path))
	for path != "" {
		switch {
		case strings.HasPrefix(path, "../"):
			path = path[3:]
		case strings.HasPrefix(path, "./"), strings.HasPrefix(path, "/./"):
			path = path[2:]
		case strings.HasPrefix(path, "/../"):
			path, out = path[3:], parent(out)
		case path == "/.":
			path = "/"
		case path == "/..":
			path, out = "/", parent(out)
		case path == ".", path == "..":
			path = ""
		default:
			n := strings.IndexByte(path[1:], '/') + 1
			if n == 0 {
				n = len(path)
			}
			out = append(out, path[:n]...)
			path = path[n:]
		}
	}
	return string(out)
}

func parent(path []byte) []byte {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[:i]
		}
	}
	return path[:0]
}
