package uri

import (
	"errors"
	"strconv"
	"strings"
)

// WAIS is the decoded form of a wais URL (RFC 1738, section 3.9): a database, a search in it, or a
// document in it.
type WAIS struct {
	Host      string
	Port      uint16 // 0 means 210; ParseWAIS fills it in
	Database  string
	Search    string // the words
	HasSearch bool   // there is a "?"
	DocType   string // the type of a document, such as "TEXT" or "TEXT,PS"

	// WPath is the identifier of a document, as written. It encodes binary data that only the
	// server understands. RawDocID and RawFields decode it.
	WPath string
}

// A WAISField is a field of a document identifier in the form of RFC 1630. Value is raw data and
// may contain any byte.
type WAISField struct {
	Tag   int
	Value string
}

// ParseWAIS decodes a wais URL. In a search, "+" means a space (RFC 1630).
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

// RawDocID returns the document identifier in the form of RFC 1738, decoded to the bytes that the
// server issued.
func (w WAIS) RawDocID() string { return UnescapeRaw(w.WPath) }

// RawFields returns the fields of a document identifier in the form of RFC 1630, a sequence of
// "digits=value;". The size of the document in bytes and a slash may precede them, as libwww writes
// it; otherwise size is -1. RawFields returns false if WPath has another form.
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

// LocalPath returns the path of a document on its server, as raw data. It is the field 3 of the
// identifier, without the offsets of freeWAIS ("START END PATH"). Of another form of that field it
// is the last word. It is "" if RawFields does not decode WPath or finds no such field.
func (w WAIS) LocalPath() string {
	const localID = 3
	fields, _, _ := w.RawFields()
	for _, f := range fields {
		if f.Tag != localID {
			continue
		}
		start, rest, _ := strings.Cut(f.Value, " ")
		end, path, ok := strings.Cut(rest, " ")
		if ok && isDigits(start) && isDigits(end) {
			return path
		}
		return f.Value[strings.LastIndexByte(f.Value, ' ')+1:]
	}
	return ""
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// FormatWAISPath encodes the fields of a document identifier for [WAIS].WPath. The size comes
// first, unless it is negative.
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

// URI returns w as a URL. It fails if Host is not a host, if WPath is not encoded, or if w is both
// a search and a document.
func (w WAIS) URI() (URI, error) {
	p := Parts{Scheme: "wais", Host: w.Host, Port: w.Port, Path: "/" + Escape(w.Database)}
	var wrong error
	if w.IsDocument() {
		p.Path += "/" + Escape(w.DocType) + "/" + w.WPath
	}
	if w.HasSearch || w.Search != "" {
		if w.IsDocument() {
			wrong = errors.New("search in a WAIS document")
		}
		p.Query = "?" + escapeQuery(w.Search)
	}
	return p.build(wrong)
}
