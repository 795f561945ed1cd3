package links

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// RewriteHTML copies an HTML page from r to w and replaces each reference for which convert returns
// true. The entries are those of [HTML], without names. Tags without such references are copied
// unchanged. The href of a base element is removed, because convert chooses the base of the new
// references. The actions of forms become absolute URLs. The encoding of the page is that of
// contentType, if it names one, otherwise as for [HTML].
func RewriteHTML(w io.Writer, r io.Reader, contentType string, base uri.URI, convert func(fetch.Entry) (string, bool)) error {
	in, utf16 := fromUTF16(bufio.NewReader(r))
	var enc pageEncoding
	if utf16 == nil {
		enc = encodingOf(in, contentType)
	}
	return rewriteHTML(w, in, utf16, enc, base, nil, convert)
}

// RewriteFramed is RewriteHTML for an untrusted page that is shown in a frame without scripts. Links
// open in the browsing context called target, except those that convert turns into a fragment.
// Everything else that could leave the frame is removed: refreshes, pages within attributes, and
// links that convert does not see. The content of noscript elements is shown.
//
// Submit returns the URL to which a form is submitted, always by POST and in target. Its arguments
// are the action and the method of the form, "get" or "post". If submit is nil or returns false, the
// form cannot be submitted.
func RewriteFramed(w io.Writer, r io.Reader, base uri.URI, target string, convert func(fetch.Entry) (string, bool),
	submit func(action fetch.Entry, method string) (string, bool)) error {
	in, utf16 := fromUTF16(bufio.NewReader(r))
	return rewriteHTML(w, in, utf16, pageEncoding{}, base, &framer{page: base, target: target, convert: convert, submit: submit}, convert)
}

// rewriteHTML writes the page in UTF-16 if utf16 is not nil. Tags are in the encoding enc.
func rewriteHTML(w io.Writer, r io.Reader, utf16 encoding.Encoding, enc pageEncoding, base uri.URI, frame *framer, convert func(fetch.Entry) (string, bool)) error {
	buffered := bufio.NewWriter(w)
	out := io.Writer(buffered)
	if utf16 != nil {
		encoded := utf16.NewEncoder().Writer(buffered)
		out = encoded
	}
	t := html.NewTokenizer(r)
	t.SetMaxBuf(maxToken)
	styles, hasBase := false, false
	for {
		kind := t.Next()
		raw := append([]byte(nil), t.Raw()...)
		switch kind {
		case html.ErrorToken:
			if err := t.Err(); err != io.EOF {
				if errors.Is(err, html.ErrBufferExceeded) {
					err = tooLong("a piece of HTML", maxToken, base)
				}
				return err
			}
			if _, err := out.Write(raw); err != nil {
				return err
			}
			return buffered.Flush()
		case html.TextToken:
			if text, converted := enc.decode(raw); styles && converted {
				raw = enc.encode(rewriteCSS(text, base, "css", convert))
			} else if styles {
				raw = rewriteCSS(raw, base, "css", convert)
			}
		case html.EndTagToken:
			styles = false
			if name, _ := t.TagName(); frame != nil && string(name) == "noscript" {
				raw = nil
			} else if frame != nil && string(name) == "form" {
				frame.form = nil
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			name, attrs, query := enc.readTag(t, raw, nil)
			changed := false
			styles = name == "style"
			if frame != nil {
				if name == "noscript" {
					t.NextIsNotRawText()
				}
				base, hasBase, raw = frame.tag(name, attrs, kind == html.SelfClosingTagToken, base, hasBase)
				break
			}
			if readByUs[name] {
				t.NextIsNotRawText()
			}
			if name == "base" {
				base, hasBase = baseOf(base, hasBase, attrs)
				changed = withoutHref(&attrs)
			} else {
				whole := wholeActions(name, attrs, base, query)
				changed = rewriteTag(name, attrs, base, query, convert) || whole
			}
			if changed {
				raw = writeTag(name, attrs, kind == html.SelfClosingTagToken)
				if query.Encoding != nil {
					raw = query.encode(raw)
				}
			}
		}
		if _, err := out.Write(raw); err != nil {
			return err
		}
	}
}

// A framer writes the tags of a page in a frame.
type framer struct {
	page    uri.URI
	target  string
	convert func(fetch.Entry) (string, bool)
	submit  func(fetch.Entry, string) (string, bool)
	form    *form // the open form, or nil
}

// A form is the action and the method of a form.
type form struct {
	action fetch.Entry
	method string
}

// tag returns the rewritten tag, or nil if it is removed, and the new base.
func (f *framer) tag(name string, attrs []html.Attribute, closed bool, base uri.URI, hasBase bool) (uri.URI, bool, []byte) {
	how, refreshes := value(attrs, "http-equiv")
	switch {
	case name == "base":
		base, hasBase = baseOf(base, hasBase, attrs)
		return base, hasBase, nil
	case name == "noscript", name == "meta" && refreshes && strings.EqualFold(strings.TrimSpace(how), "refresh"):
		return base, hasBase, nil
	}
	known := make(map[int]bool)
	for _, s := range spansOf(nil, name, attrs) {
		known[s.attr] = true
	}
	rewriteTag(name, attrs, base, pageEncoding{}, f.convert)
	kept, local := attrs[:0:0], false
	for i, a := range attrs {
		leads := a.Key == "href" || a.Key == "xlink:href"
		switch {
		case leads && !known[i], a.Key == "target", a.Key == "ping", a.Key == "srcdoc", strings.HasPrefix(a.Key, "form") && a.Key != "form",
			name == "form" && (a.Key == "action" || a.Key == "method" || a.Key == "enctype"), a.Key == "action",
			a.Key == "attributename" && strings.HasSuffix(strings.ToLower(a.Val), "href"):
			continue
		case leads:
			local = strings.HasPrefix(a.Val, "#")
		}
		kept = append(kept, a)
	}
	if (name == "a" || name == "area") && !local {
		kept = append(kept, html.Attribute{Key: "target", Val: f.target})
	}
	switch name {
	case "form":
		f.form = f.formOf(attrs, "", base, form{fetch.Entry{URL: f.page, Rel: "form"}, "get"})
		kept = append(kept, f.sends(attrs, "", *f.form)...)
	case "button", "input":
		_, elsewhere := value(attrs, "form")
		_, own := value(attrs, "formaction")
		_, owns := value(attrs, "formmethod")
		if f.form != nil && !elsewhere && (own || owns) {
			kept = append(kept, f.sends(attrs, "form", *f.formOf(attrs, "form", base, *f.form))...)
		}
	}
	return base, hasBase, writeTag(name, kept, closed)
}

// formOf returns usual with the action and the method from the attributes with the prefix.
func (f *framer) formOf(attrs []html.Attribute, prefix string, base uri.URI, usual form) *form {
	if action, ok := value(attrs, prefix+"action"); ok && strings.TrimSpace(action) != "" {
		usual.action = entry(base, action, "form")
	}
	if method, ok := value(attrs, prefix+"method"); ok {
		usual.method = "get"
		if m := strings.ToLower(method); m == "post" || m == "dialog" {
			usual.method = m
		}
	}
	return &usual
}

// sends returns the attributes with which a form, or a button, submits to f.submit.
func (f *framer) sends(attrs []html.Attribute, prefix string, to form) []html.Attribute {
	if f.submit == nil || to.method == "dialog" || to.action.Kind == fetch.EntryError {
		return nil
	}
	ref, ok := f.submit(to.action, to.method)
	if !ok {
		return nil
	}
	coding := "application/x-www-form-urlencoded"
	if override, _ := value(attrs, prefix+"enctype"); to.method == "post" && override != "" {
		coding = override
	}
	return []html.Attribute{{Key: prefix + "action", Val: ref}, {Key: prefix + "method", Val: "post"},
		{Key: prefix + "enctype", Val: coding}, {Key: prefix + "target", Val: f.target}}
}

// wholeActions makes the action of a form or a button absolute, because a saved page has no server
// of its own. It reports whether it changed an attribute.
func wholeActions(name string, attrs []html.Attribute, base uri.URI, query pageEncoding) (changed bool) {
	for i, a := range attrs {
		sends := name == "form" && a.Key == "action" || (name == "button" || name == "input") && a.Key == "formaction"
		if !sends || strings.TrimSpace(a.Val) == "" {
			continue
		}
		if ref, err := parseRef(a.Val); err != nil || ref.IsAbs() {
			continue
		}
		if e := query.entry(base, a.Val, "form"); e.Kind != fetch.EntryError && e.URL.IsAbs() {
			attrs[i].Val, changed = e.URL.String(), true
		}
	}
	return changed
}

func withoutHref(attrs *[]html.Attribute) bool {
	for i, a := range *attrs {
		if a.Key == "href" {
			*attrs = append((*attrs)[:i:i], (*attrs)[i+1:]...)
			return true
		}
	}
	return false
}

// rewriteTag converts the references in attrs and reports whether it changed any.
func rewriteTag(name string, attrs []html.Attribute, base uri.URI, query pageEncoding, convert func(fetch.Entry) (string, bool)) bool {
	spans := spansOf(nil, name, attrs)
	changed := false
	for i := len(spans) - 1; i >= 0; i-- { // from the end, so that offsets stay valid
		s := spans[i]
		text, ok := convert(query.entry(base, s.ref, s.rel))
		if !ok {
			continue
		}
		v := attrs[s.attr].Val
		if attrs[s.attr].Key == "style" {
			text = quoteCSS(text, s.quote)
		}
		attrs[s.attr].Val = v[:s.start] + text + v[s.end:]
		changed = true
	}
	return changed
}

func writeTag(name string, attrs []html.Attribute, closed bool) []byte {
	var b strings.Builder
	b.WriteString("<" + name)
	for _, a := range attrs {
		b.WriteString(" " + a.Key + `="` + escapeAttr.Replace(a.Val) + `"`)
	}
	if closed {
		b.WriteString(" /")
	}
	b.WriteString(">")
	return []byte(b.String())
}

var escapeAttr = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

// RewriteCSS is [RewriteHTML] for a style sheet.
func RewriteCSS(w io.Writer, r io.Reader, base uri.URI, convert func(fetch.Entry) (string, bool)) error {
	text, err := readCSS(r, base)
	if err == nil {
		_, err = w.Write(rewriteCSS(text, base, "", convert))
	}
	return err
}

// rewriteCSS converts the references in a style sheet. If rel is not empty, it replaces their
// relation.
func rewriteCSS(text []byte, base uri.URI, rel string, convert func(fetch.Entry) (string, bool)) []byte {
	var out []byte
	from := 0
	for _, s := range cssSpans(text) {
		if rel != "" {
			s.rel = rel
		}
		if ref, ok := convert(entry(base, s.ref, s.rel)); ok {
			out = append(append(out, text[from:s.start]...), quoteCSS(ref, s.quote)...)
			from = s.end
		}
	}
	return append(out, text[from:]...)
}

// quoteCSS escapes a reference for url() or, if quote is not 0, for a string.
func quoteCSS(ref string, quote byte) string {
	var b strings.Builder
	q := string(quote)
	if quote == 0 {
		q = ""
	}
	b.WriteString(q)
	for i := range len(ref) {
		if strings.IndexByte("\"'()\\ \t", ref[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(ref[i])
	}
	b.WriteString(q)
	return b.String()
}
