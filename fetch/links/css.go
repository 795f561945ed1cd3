package links

import (
	"bytes"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxCSS bounds a style sheet in bytes, because it is kept in memory.
const maxCSS = 16 << 20

// styleSheet reads a style sheet and yields its references: those of url() with relation "css", and
// those of @import with relation "stylesheet". A style sheet of more than 16 MiB is an error of class
// ErrTooLarge.
func styleSheet(r io.Reader, contentType string, base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		text, _, err := readCSS(r, contentType, base)
		if err != nil {
			yield(fetch.Entry{}, err)
			return
		}
		for _, s := range cssSpans(text) {
			if !yield(entry(base, s.ref, s.rel), nil) {
				return
			}
		}
	}
}

// readCSS reads a style sheet. It reports whether it converted it to UTF-8.
func readCSS(r io.Reader, contentType string, base uri.URI) (text []byte, converted bool, err error) {
	text, err = io.ReadAll(io.LimitReader(r, maxCSS+1))
	if err == nil && len(text) > maxCSS {
		err = tooLong("a style sheet", maxCSS, base)
	}
	if enc := cssEncoding(text, labelOf(contentType)); err == nil && enc != nil {
		if decoded, failed := enc.NewDecoder().Bytes(text); failed == nil {
			return decoded, true, nil
		}
	}
	return text, false, err
}

// cssEncoding returns the encoding of a style sheet with the charset label in its content type, or nil for
// UTF-8 (CSS Syntax Level 3, section 3.2). If it declares none and is not UTF-8, windows-1252 is a guess.
func cssEncoding(text []byte, label string) encoding.Encoding {
	if enc := wide(text, label); enc != nil {
		return enc
	}
	if isASCII(text) || bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		return nil
	}
	enc, name := charset.Lookup(label)
	if declared, ok := bytes.CutPrefix(text, []byte(`@charset "`)); ok && enc == nil {
		declared, _, _ = bytes.Cut(declared[:min(len(declared), sniffed)], []byte(`";`))
		enc, name = charset.Lookup(string(declared))
	}
	switch {
	case enc == nil && !utf8.Valid(text):
		return charmap.Windows1252
	case name == "utf-8", name == "replacement", strings.HasPrefix(name, "utf-16"):
		return nil
	}
	return enc
}

// cssSpans returns the references in a style sheet or in the value of a style attribute. It omits
// empty references and those to the same document.
func cssSpans(text []byte) (list []span) {
	if bytes.IndexByte(text, 0) >= 0 { // the lexer treats NUL as the end
		text = bytes.ReplaceAll(text, []byte{0}, []byte{0xff})
	}
	lexer := css.NewLexer(parse.NewInputBytes(append(text[:len(text):len(text)], 0)[:len(text)]))
	importing, image := false, 0 // in an @import; how deep in an image-set()
	naming := false              // in a rule whose URLs are names, not references
	for at := 0; ; {
		kind, token := lexer.Next()
		start := at
		at += len(token)
		switch kind {
		case css.ErrorToken:
			return list
		case css.AtKeywordToken:
			rule := strings.ToLower(string(token))
			importing = rule == "@import"
			naming = rule == "@namespace" || rule == "@document" || rule == "@-moz-document"
		case css.SemicolonToken, css.LeftBraceToken:
			importing, naming = false, false
		case css.WhitespaceToken, css.CommentToken:
		case css.FunctionToken:
			if image > 0 || strings.HasSuffix(strings.ToLower(string(token)), "image-set(") {
				image++
			}
			importing = false
		case css.RightParenthesisToken:
			image = max(image-1, 0)
		case css.URLToken:
			inner := strings.TrimRight(string(token), blanks)
			open := strings.IndexByte(inner, '(') + 1
			inner = strings.TrimSuffix(inner, ")")
			from := open + len(inner[open:]) - len(strings.TrimLeft(inner[open:], blanks))
			if !naming {
				list = appendCSS(list, start+from, strings.TrimRight(inner[from:], blanks), importing)
			}
			importing = false
		case css.StringToken:
			if importing || image == 1 {
				list = appendCSS(list, start, string(token), importing)
			}
			importing = false
		default:
			importing = false
		}
	}
}

// appendCSS adds the reference in text, which may be quoted.
func appendCSS(list []span, start int, text string, importing bool) []span {
	s := span{start: start, end: start + len(text), rel: "css"}
	if importing {
		s.rel = "stylesheet"
	}
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		s.quote = text[0]
		text = strings.TrimSuffix(text[1:], string(s.quote))
	}
	s.ref = unescapeCSS(text)
	if s.ref == "" || s.ref[0] == '#' {
		return list
	}
	return append(list, s)
}

// unescapeCSS decodes the escapes of CSS (CSS Syntax Level 3, section 4.3.7).
func unescapeCSS(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		n := 0
		for n < 6 && i+1+n < len(s) && isHex(s[i+1+n]) {
			n++
		}
		switch {
		case n > 0:
			code, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			b.WriteRune(rune(code))
			i += n
			if i+1 < len(s) && strings.IndexByte(blanks, s[i+1]) >= 0 {
				i++
			}
		case s[i+1] == '\n':
			i++ // an escaped line break
		default:
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
