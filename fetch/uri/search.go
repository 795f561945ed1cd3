package uri

import "strings"

// WithSearch returns u with its search words replaced by words. Their place depends on the scheme:
// after "%09" in a gopher URL of type 2 or 7 (RFC 1738, section 3.4.2), after "?" in a WAIS
// database (section 3.9), after "?" in http and https, with "+" for a space (RFC 1630), after "?"
// in gemini, spartan and z39.50s (RFC 2056), and the word of a dict URL (RFC 2229, section 5). If u
// has no such place, or words contain a tab, CR, LF or NUL, the error is of type [*Error].
func (u URI) WithSearch(words string) (URI, error) {
	if hasControl(words) || strings.Contains(words, "\t") {
		err := u.malformed("tab, CR, LF or NUL in the search words")
		err.Err = ErrControl
		return URI{}, err
	}
	search := lookup(u.Scheme()).search
	if search == nil {
		return URI{}, u.malformed("URLs of this scheme cannot contain search words")
	}
	c := u.split()
	if err := search(u, &c, words); err != nil {
		return URI{}, err
	}
	return Parse(c.text())
}

func searchQuery(_ URI, c *components, words string) error {
	c.query = "?" + escapeQuery(words)
	return nil
}

func searchGemini(_ URI, c *components, words string) error {
	c.query = "?" + Escape(words)
	return nil
}

func searchGopher(u URI, c *components, words string) error {
	g, err := ParseGopher(u)
	if err != nil {
		return err
	}
	if g.Type != '2' && g.Type != '7' {
		return u.malformed("not a gopher search")
	}
	fields := strings.SplitN(u.URLPath(), "%09", 3)
	c.path, c.query = "/"+fields[0]+"%09"+escapeOpaque(words), ""
	if len(fields) == 3 {
		c.path += "%09" + fields[2]
	}
	return nil
}

func searchWAIS(u URI, c *components, words string) error {
	w, err := ParseWAIS(u)
	if err != nil {
		return err
	}
	if w.IsDocument() {
		return u.malformed("a WAIS document cannot be searched")
	}
	return searchQuery(u, c, words)
}

// searchZ3950 inserts the words before the parameters at the end of a URL (RFC 2056, section 5).
// The position in another search is dropped.
func searchZ3950(u URI, c *components, words string) error {
	if u.Scheme() != "z39.50s" || strings.Trim(u.Path(), "/") == "" {
		return u.malformed("no database that can be searched")
	}
	path, params, _ := strings.Cut(c.path, ";")
	if c.query != "" {
		_, params, _ = strings.Cut(c.query, ";")
	}
	c.path, c.query = path, "?"+escapeQuery(words)
	for param := range strings.SplitSeq(params, ";") {
		if param != "" && !strings.HasPrefix(strings.ToLower(param), "item=") {
			c.query += ";" + param
		}
	}
	return nil
}

func searchDict(u URI, c *components, words string) error {
	fields := strings.SplitN(u.URLPath(), ":", 3)
	if fields[0] != "d" && fields[0] != "m" {
		return u.malformed("not a dict search")
	}
	c.path, c.query = "/"+fields[0]+":"+Escape(words), ""
	if len(fields) == 3 {
		c.path += ":" + fields[2]
	}
	return nil
}

// escapeQuery encodes search words: "+" stands for a space (RFC 1630).
func escapeQuery(words string) string {
	return strings.ReplaceAll(Escape(words), "%20", "+")
}

func unescapeQuery(s string) string {
	return UnescapeRaw(strings.ReplaceAll(s, "+", " "))
}
