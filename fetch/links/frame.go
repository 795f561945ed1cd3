package links

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// RewriteFramed writes an untrusted page for a frame without scripts, as HTML in UTF-8. It replaces
// each reference for which convert returns true, as [RewriteHTML] does. Links open in the browsing
// context called target, except those that convert turns into a fragment. Everything else that could
// leave the frame is removed: scripts, comments, hints such as preconnect, refreshes, pages within
// attributes, and links that convert does not see. The content of noscript, noframes and noembed
// elements is shown.
//
// The output has the same tags and texts in whatever way a browser builds its tree: all text is
// escaped, and each tag is written anew.
//
// Submit returns the URL to which a form is submitted, always by POST and in target. Its arguments
// are the action and the method of the form, "get" or "post". If submit is nil or returns false, the
// form cannot be submitted.
//
// If the charset of the page is not supported, RewriteFramed writes nothing and returns an error of
// class fetch.ErrNotRetrievable.
func RewriteFramed(w io.Writer, r io.Reader, contentType string, base uri.URI, target string,
	convert func(fetch.Entry) (string, bool),
	submit func(action fetch.Entry, method string) (string, bool)) error {
	f := &framer{markup: newMarkup(r, contentType), out: bufio.NewWriter(w),
		page: base, base: base, target: target, convert: convert, submit: submit}
	defer f.release()
	f.allKeys = true
	if f.undecodable != "" {
		return &fetch.Error{Op: "read", URL: base.Redacted(), Code: fetch.ErrNotRetrievable,
			Hint: "download the file",
			Err:  fmt.Errorf("unsupported charset %s", fetch.Printable(f.undecodable))}
	}
	for {
		switch f.next() {
		case endToken:
			if err := f.failure(base); err != nil {
				return err
			}
			return f.out.Flush()
		case doctypeToken:
			f.doctype()
		case textToken:
			f.write(f.text())
		case startToken:
			f.tag()
		case endTagToken:
			f.endTag()
		}
	}
}

// A framer writes the tokens of a page in a frame. Its bufio.Writer keeps the first error.
type framer struct {
	*markup
	out     *bufio.Writer
	page    uri.URI
	base    uri.URI
	hasBase bool
	target  string
	convert func(fetch.Entry) (string, bool)
	submit  func(fetch.Entry, string) (string, bool)
	form    *form // the open form, or nil
	content content
}

type content byte

const (
	shown  content = iota
	styles         // as a style sheet
	hidden         // not at all
)

type form struct {
	action fetch.Entry
	method string
}

// doctype writes the document type, which chooses the layout mode of the browser. In XHTML it may have
// declarations.
func (f *framer) doctype() {
	if f.xml || strings.Count(string(f.raw()), "<") > 1 {
		f.out.WriteString("<!DOCTYPE html>")
		return
	}
	f.out.WriteString(strings.ToValidUTF8(string(f.raw()), "\uFFFD"))
}

func (f *framer) write(text []byte) {
	switch f.content {
	case shown:
		escapeText.WriteString(f.out,
			strings.TrimPrefix(strings.ToValidUTF8(string(text), "\uFFFD"), "\uFEFF"))
	case styles:
		f.style(strings.ToValidUTF8(string(rewriteCSS(text, f.base, f.convert)), "\uFFFD"))
	}
}

// style writes a style sheet that is the same for a browser that reads it as text and for one that
// reads it as markup, as in SVG.
func (f *framer) style(css string) {
	css = strings.ReplaceAll(css, "<!--", "")
	for i := range len(css) {
		c, next := css[i], byte(0)
		if i+1 < len(css) {
			next = css[i+1] | 0x20
		}
		letter := 'a' <= next && next <= 'z'
		switch {
		case c == '<' && (letter || next == '/' || next == '!' || next == '?'):
			f.out.WriteString(`\3c `)
		case c == '&' && !f.isRaw && (letter || next == '#'):
			f.out.WriteString(`\26 `)
		default:
			f.out.WriteByte(c)
		}
	}
}

// isDropped reports whether the tags of an element are removed.
func isDropped(name string) bool {
	switch name {
	case "script", "base", "noscript", "noframes", "noembed", "basefont":
		return true
	}
	return false
}

// shownAs returns another name for elements whose name lets browsers read what follows them as text.
func shownAs(name string) string {
	if name == "xmp" || name == "plaintext" {
		return "pre"
	}
	return name
}

// lacksEndTag reports whether the end tag of an element of HTML is an element of its own, or an error.
func lacksEndTag(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
		"track", "wbr":
		return true
	}
	return false
}

func (f *framer) endTag() {
	f.content = shown
	name := f.name
	if name == "form" {
		f.form = nil
	}
	if !isDropped(name) && isMarkupName(name) && !(f.xml && lacksEndTag(name)) {
		f.closeElement(name)
	}
}

func (f *framer) closeElement(name string) {
	f.out.WriteString("</" + shownAs(name) + ">")
}

func (f *framer) tag() {
	f.content = shown
	name := f.name
	switch {
	case name == "base":
		f.base, f.hasBase = baseOf(f.base, f.hasBase, f.attrs)
		return
	case !f.complete && (name == "script" || name == "iframe" && f.isRaw):
		f.content = hidden
	case !f.complete && name == "style":
		f.content = styles
	}
	if isDropped(name) || !isMarkupName(name) || f.leaves() {
		return
	}
	attrs := f.attributes()
	name = shownAs(name)
	f.out.Write(writeTag(name, attrs, false))
	if f.complete && !(f.xml && lacksEndTag(name)) {
		f.closeElement(name)
	}
}

// leaves reports whether the current element could leave the frame or change its rules, whatever its
// references are. Of a link it leaves the style sheet.
func (f *framer) leaves() bool {
	switch f.name {
	case "meta":
		name, _ := value(f.attrs, "name")
		return has(f.attrs, "http-equiv") || has(f.attrs, "charset") ||
			strings.EqualFold(strings.TrimSpace(name), "referrer")
	case "link":
		rel, _ := value(f.attrs, "rel")
		words := strings.Fields(strings.ToLower(rel))
		if !slices.Contains(words, "stylesheet") || slices.Contains(words, "alternate") {
			return true
		}
		for i, a := range f.attrs {
			if a.key == "rel" {
				f.attrs[i].val = "stylesheet"
			}
		}
	}
	animated, _ := value(f.attrs, "attributename")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(animated)), "href")
}

func has(attrs []attribute, key string) bool {
	_, ok := value(attrs, key)
	return ok
}

func (f *framer) attributes() []attribute {
	attrs := f.attrs
	known := make(map[int]bool)
	for _, s := range spansOf(nil, f.name, attrs) {
		known[s.attr] = true
	}
	rewriteTag(f.name, attrs, f.base, f.query, f.convert)
	var kept []attribute
	leads, outside := false, false
	for i, a := range attrs {
		fragment := strings.HasPrefix(a.val, "#")
		switch isLink := a.key == "href" || a.key == "xlink:href"; {
		case isLink && (known[i] || fragment):
			leads, outside = true, outside || !fragment
		case isLink, !known[i] && (!isMarkupName(a.key) || isOutward(a)):
			continue
		}
		kept = append(kept, a)
	}
	if (f.name == "a" || f.name == "area") && (outside || !leads) {
		kept = append(kept, attribute{key: "target", val: f.target})
	}
	switch f.name {
	case "form":
		f.form = f.formOf(attrs, "", f.base, form{fetch.Entry{URL: f.page, Rel: "form"}, "get"})
		kept = append(kept, f.sends(attrs, "", *f.form)...)
		if f.encoding.name != "" && !has(attrs, "accept-charset") { // the frame is in UTF-8
			kept = append(kept, attribute{key: "accept-charset", val: f.encoding.name})
		}
	case "button", "input":
		_, elsewhere := value(attrs, "form")
		_, own := value(attrs, "formaction")
		_, owns := value(attrs, "formmethod")
		if f.form != nil && !elsewhere && (own || owns) {
			kept = append(kept, f.sends(attrs, "form", *f.formOf(attrs, "form", f.base, *f.form))...)
		}
	}
	return kept
}

// leadsOut reports whether an attribute can lead out of the frame or change its rules, or checks a resource
// that the server rewrites. [spansOf] knows where they are references that are converted.
func leadsOut(name string) bool {
	switch name {
	case "action", "method", "enctype", "target", "ping", "srcdoc", "src", "srcset", "imagesrcset", "data",
		"background", "poster", "lowsrc", "dynsrc", "archive", "classid", "code", "codebase", "manifest",
		"profile", "attributionsrc", "xml:base", "integrity", "crossorigin", "nonce", "referrerpolicy",
		"icon":
		return true
	}
	return false
}

// isWording reports whether an attribute is shown, or sent with a form.
func isWording(name string) bool {
	switch name {
	case "alt", "title", "value", "placeholder", "label", "summary", "abbr", "aria-label",
		"aria-description", "name", "id", "class", "style":
		return true
	}
	return false
}

func isOutward(a attribute) bool {
	switch {
	case leadsOut(a.key), strings.HasPrefix(a.key, "on"), strings.HasPrefix(a.key, "form") && a.key != "form":
		return true
	case isWording(a.key):
		return false
	}
	address := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(a.val)
	return strings.Contains(address, "//")
}

// isMarkupName reports whether browsers read a name in a tag as it is, also within a text.
func isMarkupName(name string) bool {
	for _, c := range []byte(name) {
		if c < '0' && c != '-' && c != '.' || c > ':' && c < 'A' ||
			c > 'Z' && c < 'a' && c != '_' || c > 'z' && c < 0x80 {
			return false
		}
	}
	return name != ""
}

// formOf returns usual with the action and the method from the attributes with the prefix.
func (f *framer) formOf(attrs []attribute, prefix string, base uri.URI, usual form) *form {
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
func (f *framer) sends(attrs []attribute, prefix string, to form) []attribute {
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
	return []attribute{{key: prefix + "action", val: ref}, {key: prefix + "method", val: "post"},
		{key: prefix + "enctype", val: coding}, {key: prefix + "target", val: f.target}}
}
