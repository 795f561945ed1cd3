package template

import (
	"fmt"
	"strings"
)

type escape int

const (
	// asText is for text between tags and in attributes that are not URLs.
	asText escape = iota + 1
	// asURL is for the beginning of a URL attribute such as href.
	asURL
	// asRest is for the rest of a URL whose beginning is in the template.
	asRest
	// asQuery is for parts of the query and the fragment of a URL.
	asQuery
)

// notURL replaces URLs that could run scripts, as in html/template.
const notURL = "#ZgotmplZ"

func (e escape) apply(value string) string {
	switch e {
	case asURL:
		if !harmless(value) {
			return notURL
		}
		return html.Replace(percent(value, true))
	case asRest:
		return html.Replace(percent(value, true))
	case asQuery:
		return html.Replace(percent(value, false))
	}
	return html.Replace(value)
}

// html escapes characters that could end text or a quoted attribute. A plus could begin UTF-7.
var html = strings.NewReplacer("\x00", "\uFFFD",
	`"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// harmless reports whether a URL is relative or has a scheme that cannot run scripts.
func harmless(u string) bool {
	scheme, _, absolute := strings.Cut(u, ":")
	if !absolute || strings.Contains(scheme, "/") {
		return true
	}
	for _, known := range []string{"http", "https", "mailto"} {
		if strings.EqualFold(scheme, known) {
			return true
		}
	}
	return false
}

// percent encodes characters that are invalid in a URL (RFC 3986, section 2). If whole is true, it
// keeps delimiters and existing escapes.
func percent(text string, whole bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		kept := strings.IndexByte("!#$&*+,/:;=?@[]", c) >= 0 || c == '%' && escaped(text[i:])
		if unreserved(c) || whole && kept {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("-._~", c) >= 0
}

func escaped(text string) bool {
	const digits = "0123456789abcdefABCDEF"
	return len(text) > 2 && strings.IndexByte(digits, text[1]) >= 0 && strings.IndexByte(digits, text[2]) >= 0
}
