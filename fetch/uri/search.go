package uri

import "strings"

// WithSearch returns u with the words in the place where its scheme puts a
// search, instead of those that are there: after "%09" in a gopher URL of type
// 2 or 7 (RFC 1738, section 3.4.2), after "?" in a WAIS database (section 3.9)
// and in http and https, with "+" for a space (RFC 1630), and as the word of a
// dict URL (RFC 2229, section 5). Other URLs have no such place. Words with a
// tab, CR, LF or NUL are refused.
func (u URI) WithSearch(words string) (URI, error) {
	if hasControl(words) || strings.Contains(words, "\t") {
		err := u.malformed("tab, CR, LF or NUL in the search words")
		err.Err = ErrControl
		return URI{}, err
	}
	c := u.split()
	switch u.Scheme() {
	case "gopher", "gophers":
		g, err := ParseGopher(u)
		if err != nil {
			return URI{}, err
		}
		if g.Type != '2' && g.Type != '7' {
			return URI{}, u.malformed("not a gopher search")
		}
		fields := strings.SplitN(u.URLPath(), "%09", 3)
		c.path, c.query = "/"+fields[0]+"%09"+escapeOpaque(words), ""
		if len(fields) == 3 {
			c.path += "%09" + fields[2]
		}
	case "wais":
		w, err := ParseWAIS(u)
		if err != nil {
			return URI{}, err
		}
		if w.IsDocument() {
			return URI{}, u.malformed("a WAIS document cannot be searched")
		}
		c.query = "?" + escapeQuery(words)
	case "dict":
		fields := strings.SplitN(u.URLPath(), ":", 3)
		if fields[0] != "d" && fields[0] != "m" {
			return URI{}, u.malformed("not a dict search")
		}
		c.path, c.query = "/"+fields[0]+":"+Escape(words), ""
		if len(fields) == 3 {
			c.path += ":" + fields[2]
		}
	case "http", "https":
		c.query = "?" + escapeQuery(words)
	default:
		return URI{}, u.malformed("this kind of URL has no place for a search")
	}
	return c.uri(), nil
}

// escapeQuery encodes search words: "+" stands for a space (RFC 1630).
func escapeQuery(words string) string {
	return strings.ReplaceAll(Escape(words), "%20", "+")
}

// unescapeQuery decodes search words.
func unescapeQuery(s string) string {
	return UnescapeRaw(strings.ReplaceAll(s, "+", " "))
}
