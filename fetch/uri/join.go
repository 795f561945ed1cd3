package uri

import "strings"

// JoinPath returns the URL of a descendant of u: it adds the names in elem to the path, each
// encoded by the rules of the scheme. Slashes in an element separate names. A slash at the end of
// the last element is kept, because it marks a directory in many schemes. Empty names and "." are
// ignored. The result has neither the query nor the fragment of u.
//
// The result is always below u: ".." is an error, and so are CR, LF and NUL. The path of u is not
// changed. Errors are of type [*Error].
//
//   - ftp: slashes are not encoded, because "%2F" could lead to the root of the file system
//     (RFC 1738, section 3.2.2). Asterisks are encoded, because they could be taken for
//     wildcards. The type code of u is dropped.
//   - gopher: the names are added to the selector, after a slash, and the item type is kept; decode
//     the result with [ParseGopher] to change it. Search words and the Gopher+ string are dropped.
//     Not all servers treat slashes in selectors as separators.
//   - file, ftp and gopher: a "?" in u is part of its path.
//   - prospero: the fields of u are dropped.
//
// URLs without a path, such as news, wais and mailto URLs, are errors.
func (u URI) JoinPath(elem ...string) (URI, error) {
	c, rule := u.split(), lookup(u.Scheme())
	path := c.path
	if rule.plainQuery {
		path += c.query
	}
	if rule.path == opaque || u.IsAbs() && !u.authority && !strings.HasPrefix(path, "/") {
		return URI{}, u.malformed("URLs of this scheme have no path")
	}
	if rule.base != nil {
		path = rule.base(path)
	}
	var err *Error
	c.path, err = u.join(path, elem, rule)
	if err != nil {
		return URI{}, err
	}
	c.query, c.fragment = "", ""
	return Parse(c.text())
}

func (u URI) join(path string, elem []string, rule scheme) (string, *Error) {
	var b strings.Builder
	b.WriteString(path)
	slash := strings.HasSuffix(path, "/") || path == "" && !u.authority // before the next name
	for _, e := range elem {
		if hasControl(e) {
			err := u.malformed("CR, LF or NUL in an added name")
			err.Err = ErrControl
			return "", err
		}
		for name := range strings.SplitSeq(e, "/") {
			switch name {
			case "", ".":
				continue
			case "..":
				return "", u.malformed(`".." in an added name`)
			}
			if !slash {
				b.WriteByte('/')
			}
			if rule.escape != nil {
				name = rule.escape(name)
			} else {
				name = Escape(name)
			}
			b.WriteString(name)
			slash = false
		}
	}
	if n := len(elem); n > 0 && strings.HasSuffix(elem[n-1], "/") && !slash {
		b.WriteByte('/')
	}
	return b.String(), nil
}
