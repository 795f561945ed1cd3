package links

import (
	"strings"
	"sync"
)

type linkKey struct {
	name string
	bit  uint64 // one for each
}

// linkKeys are the attributes that may be read to find links.
var linkKeys = sync.OnceValue(func() *words[linkKey] {
	m, bit := new(words[linkKey]), uint64(1)
	for key := range strings.FieldsSeq("href src data background srcset imagesrcset data-srcset " +
		"data-lazy-srcset data-src data-lazy-src data-original poster lowsrc dynsrc cite longdesc " +
		"code archive codebase xlink:href srcdoc action formaction rel type name value content property " +
		"http-equiv charset alt id encoding color face size style fill stroke filter mask clip-path " +
		"cursor marker marker-start marker-mid marker-end") {
		m.set(key, linkKey{key, bit})
		bit <<= 1
	}
	return m
})

// uses reports whether an attribute of the current element can be of use to find links.
func (m *markup) uses(key string) bool {
	switch key {
	case "content", "property", "http-equiv", "charset":
		return m.name == "meta"
	case "name":
		return m.name == "meta" || m.name == "param" || m.name == "a" && m.readsIDs
	case "id":
		return m.readsIDs
	case "value":
		return m.name == "param"
	case "alt":
		return m.name == "img" || m.name == "area"
	case "type":
		return m.name != "input" && m.name != "button"
	case "data":
		return m.name == "object"
	case "code", "archive", "codebase":
		return m.name == "applet"
	case "color", "face", "size":
		return m.name == "font"
	case "encoding":
		return m.name == "annotation-xml"
	}
	return true
}

// appendLower appends the name of a tag or attribute in lower case.
func appendLower(out, name []byte) []byte {
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			out = append(out, c+'a'-'A')
		case c == 0:
			out = append(out, "\uFFFD"...)
		default:
			out = append(out, c)
		}
	}
	return out
}
