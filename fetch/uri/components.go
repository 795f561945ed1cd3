package uri

import "strings"

// components are the five parts of RFC 3986, section 5.2.2, each with its delimiter, so that ""
// means absent.
type components struct {
	scheme    string // "http:"
	authority string // "//h:80"
	path      string
	query     string // "?q"
	fragment  string // "#f"
}

func (u URI) split() components {
	c := components{path: u.Path()}
	afterScheme := uint32(0)
	if u.scheme > 0 {
		afterScheme = u.scheme + 1
		c.scheme = u.text[:afterScheme]
	}
	c.authority = u.text[afterScheme:u.path]
	c.query = u.text[u.pathEnd():u.end()]
	c.fragment = u.text[u.end():]
	return c
}

// text joins the components (RFC 3986, section 5.3).
func (c components) text() string {
	return c.scheme + c.authority + c.path + c.query + c.fragment
}

// uri joins the components and parses the result. A path that would be read as something else in
// its new place is prefixed with a "." segment. The result is the zero URI if it would be longer
// than MaxLen.
func (c components) uri() URI {
	switch {
	case c.authority == "" && strings.HasPrefix(c.path, "//"):
		c.path = "/." + c.path
	case c.scheme == "" && c.authority == "":
		if segment, _, _ := strings.Cut(c.path, "/"); strings.Contains(segment, ":") {
			c.path = "./" + c.path
		}
	}
	u, err := parse(c.text())
	if err != nil {
		return URI{}
	}
	return u
}

// build joins the components, or fails if cause is not nil. It also fails if parsing the text would
// yield other components.
func (c components) build(cause error) (URI, error) {
	if cause != nil {
		return URI{}, &Error{Input: redactText(c.text()), Reason: cause.Error(), Offset: -1, Err: cause}
	}
	u, err := Parse(c.text())
	if err == nil && u.split() != c {
		return URI{}, u.malformed("a part is not encoded")
	}
	return u, err
}
