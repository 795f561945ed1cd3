package uri

import (
	"strconv"
	"strings"
)

// WAIS is the decoded form of a wais URL (RFC 1738, section 3.9): a database,
// a search in one, or a document of one.
type WAIS struct {
	Host      string
	Port      uint16 // 0 means 210; ParseWAIS fills it in
	Database  string
	Search    string // the words
	HasSearch bool   // there is a "?"
	DocType   string // the type of a document, such as "TEXT" or "TEXT,PS"

	// WPath is the identifier of a document as it is written. It stands for
	// binary data, which only the server takes apart; RawDocID and RawFields
	// decode it.
	WPath string
}

// A WAISField is a field of a document identifier as RFC 1630 writes it. Value
// is raw data: it may hold any octet.
type WAISField struct {
	Tag   int
	Value string
}

// ParseWAIS decodes a wais URL. In a search "+" stands for a space (RFC 1630).
func ParseWAIS(u URI) (WAIS, error) {
	d := decode(u, "wais")
	d.server()
	d.noLogin()
	w := WAIS{Host: u.Host(), Port: d.port()}
	parts := strings.SplitN(strings.TrimPrefix(u.Path(), "/"), "/", 3)
	w.Database = d.text(parts[0])
	switch {
	case len(parts) == 3:
		w.DocType, w.WPath = d.text(parts[1]), parts[2]
	case len(parts) == 2 && parts[1] != "":
		d.fail("WAIS document without an identifier")
	}
	if query, ok := u.Query(); ok {
		if w.IsDocument() {
			d.fail("search in a WAIS document")
		}
		w.Search, w.HasSearch = unescapeQuery(query), true
		d.check(w.Search)
	}
	return finish(d, w)
}

// IsDocument reports whether w names a document.
func (w WAIS) IsDocument() bool { return w.DocType != "" || w.WPath != "" }

// RawDocID returns the document identifier as RFC 1738 has it, decoded to the
// octets that the server issued.
func (w WAIS) RawDocID() string { return UnescapeRaw(w.WPath) }

// RawFields returns the fields of a document identifier that is written in the
// way of RFC 1630: "digits=value;" one after the other. In front may stand the
// size of the document in octets and a slash, as libwww writes it; without
// that size is -1. It reports false if WPath is not written in this way.
func (w WAIS) RawFields() (fields []WAISField, size int64, ok bool) {
	rest, size := w.WPath, -1
	if number, after, found := strings.Cut(rest, "/"); found && isDigits(number) {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, -1, false
		}
		rest, size = after, n
	}
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ";")
		number, value, found := strings.Cut(field, "=")
		tag, err := strconv.Atoi(number)
		if !found || !isDigits(number) || err != nil {
			return nil, -1, false
		}
		fields = append(fields, WAISField{tag, UnescapeRaw(value)})
	}
	return fields, size, len(fields) > 0
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// FormatWAISPath writes the fields of a document identifier for
// [WAIS].WPath. A size that is not negative goes in front.
func FormatWAISPath(fields []WAISField, size int64) string {
	var b strings.Builder
	if size >= 0 {
		b.WriteString(strconv.FormatInt(size, 10) + "/")
	}
	for _, f := range fields {
		b.WriteString(strconv.Itoa(f.Tag) + "=" + Escape(f.Value) + ";")
	}
	return b.String()
}

// URI writes w as a URL. It returns the zero URI if Host is not a host or
// WPath is not encoded.
func (w WAIS) URI() URI {
	path := "/" + Escape(w.Database)
	switch {
	case w.IsDocument():
		path += "/" + Escape(w.DocType) + "/" + w.WPath
	case w.HasSearch || w.Search != "":
		path += "?" + escapeQuery(w.Search)
	}
	return build("wais", Userinfo{}, w.Host, w.Port, path)
}
