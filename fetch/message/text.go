package message

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/transform"

	"github.com/urlget/urlget/internal/charref"
)

// Text returns the readable text of a message in UTF-8: its text parts that are not attachments, one
// after another. From a multipart/alternative it uses the first text part. HTML tags are removed.
func Text(r io.Reader) io.Reader {
	return &textReader{w: newWalker(r)}
}

type textReader struct {
	w       *walker
	part    io.Reader // the current part
	shown   int       // the multipart/alternative whose text was returned
	begun   bool      // text was returned
	lastEnd bool      // its last byte was a line feed
	err     error
}

func (t *textReader) Read(p []byte) (int, error) {
	for t.err == nil && len(p) > 0 {
		if t.part == nil {
			t.advance()
			continue
		}
		n, err := t.part.Read(p)
		if err == io.EOF {
			t.part = nil
		} else if err != nil {
			t.err = err
		}
		if n > 0 {
			t.begun, t.lastEnd = true, p[n-1] == '\n'
			return n, nil
		}
	}
	return 0, t.err
}

func (t *textReader) advance() {
	p, err := t.w.next()
	if err != nil {
		t.err = err
		return
	}
	isShown := p.alternative > 0 && p.alternative == t.shown
	if p.Attachment || !strings.HasPrefix(p.ContentType, "text/") || isShown {
		return
	}
	t.shown = p.alternative
	t.part = p.text()
	if t.begun {
		between := "\n"
		if !t.lastEnd {
			between = "\n\n"
		}
		t.part = io.MultiReader(strings.NewReader(between), t.part)
	}
}

func (p *Part) text() io.Reader {
	r := toUTF8(p.Params["charset"], p.Body())
	if p.ContentType == "text/html" {
		return &plainReader{z: html.NewTokenizer(r)}
	}
	return r
}

// toUTF8 converts r from a charset. If the charset is ASCII, UTF-8 or unknown, bytes that are not
// valid UTF-8 are read as Windows-1252.
func toUTF8(name string, r io.Reader) io.Reader {
	switch strings.ToLower(name) {
	case "", "us-ascii", "ascii", "utf-8", "utf8":
	default:
		if converted, err := decoded(name, r); err == nil {
			return converted
		}
	}
	return transform.NewReader(r, mixed{})
}

// mixed copies UTF-8 and converts other bytes from Windows-1252.
type mixed struct{ transform.NopResetter }

func (mixed) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		r, size := utf8.DecodeRune(src[nSrc:])
		if r == utf8.RuneError && size == 1 {
			if !atEOF && !utf8.FullRune(src[nSrc:]) {
				return nDst, nSrc, transform.ErrShortSrc
			}
			r = charmap.Windows1252.DecodeByte(src[nSrc])
		}
		if nDst+utf8.RuneLen(r) > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		nDst += utf8.EncodeRune(dst[nDst:], r)
		nSrc += size
	}
	return nDst, nSrc, nil
}

// lineBreaks lists elements whose tags begin a line, beside headings.
var lineBreaks = []string{"br", "p", "div", "tr", "li", "table"}

// maxToken bounds one tag or run of text in HTML, in bytes.
const maxToken = 1 << 20

// unparsed lists elements whose content the tokenizer returns as one text, and whether that has references
// (HTML, section 13.2.6.4).
var unparsed = map[string]bool{"iframe": false, "noembed": false, "noframes": false, "noscript": false,
	"plaintext": false, "script": false, "style": false, "xmp": false, "textarea": true, "title": true}

type plainReader struct {
	z      *html.Tokenizer
	out    []byte
	skip   string // the element whose content is skipped
	within string // the element whose tag was the last token
	err    error
}

func (h *plainReader) Read(p []byte) (int, error) {
	h.z.SetMaxBuf(maxToken)
	for len(h.out) == 0 {
		if h.err != nil {
			return 0, h.err
		}
		h.token()
	}
	n := copy(p, h.out)
	h.out = h.out[n:]
	return n, nil
}

func (h *plainReader) token() {
	within := h.within
	h.within = ""
	switch kind := h.z.Next(); kind {
	case html.ErrorToken:
		h.err = h.z.Err()
	case html.TextToken:
		if h.skip == "" {
			h.out = textWithin(within, h.z.Raw())
		}
	case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
		raw, _ := h.z.TagName()
		name := string(raw)
		if kind != html.EndTagToken {
			h.within = name
		}
		switch {
		case h.skip != "":
			if kind == html.EndTagToken && name == h.skip {
				h.skip = ""
			}
		case kind == html.StartTagToken && (name == "script" || name == "style" || name == "title"):
			h.skip = name
		case slices.Contains(lineBreaks, name) || len(name) == 2 && name[0] == 'h':
			h.out = []byte("\n")
		}
	}
}

// textWithin returns the text between tags after the start tag of an element. Tokenizer.Text would do the
// same, but each start of a program that uses it makes its table of references.
func textWithin(element string, raw []byte) []byte {
	text := bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	hasReferences, ok := unparsed[element]
	if ok {
		text = bytes.ReplaceAll(text, []byte("\x00"), []byte("\uFFFD"))
	}
	if ok && !hasReferences {
		return text
	}
	return charref.AppendText(nil, text)
}
