package links

import (
	"bytes"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
)

// declaration returns the text that tells browsers the encoding of a page without the header that named
// it, or "". A page that begins with another declaration than its header gets it, too: browsers heed the
// first one.
func declaration(start []byte, contentType string) string {
	label := labelOf(contentType)
	_, name := charset.Lookup(label)
	isXML := strings.Contains(contentType, "xml")
	marked := bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) || bytes.HasPrefix(start, []byte("\xff\xfe")) ||
		bytes.HasPrefix(start, []byte("\xfe\xff"))
	switch {
	case name == "" || name == "replacement" || marked:
		return ""
	case strings.HasPrefix(name, "utf-16"):
		return "\ufeff"
	case isXML && (name == "utf-8" || isDeclared(start)):
		return ""
	case isXML:
		return `<?xml version="1.0" encoding="` + name + `"?>`
	}
	if _, declared := declaredAt(start); declared == name {
		return ""
	}
	return `<meta charset="` + name + `">`
}

// declare writes the declaration of the encoding at the beginning of a page or, if it is an element, before
// the first one in the head or body.
func (c *copied) declare(out io.Writer) {
	isElement := strings.HasPrefix(c.declaration, "<meta")
	if c.declaration == "" || isElement && (c.name == "" || c.name == "html" || c.name == "head") {
		return
	}
	io.WriteString(out, c.declaration) // the next write returns its error
	c.declaration = ""
}

// rewriteFrame converts the document in the srcdoc of a frame.
func (c *copied) rewriteFrame(attrs []attribute) (changed bool) {
	for i, a := range attrs {
		if a.key != "srcdoc" || c.frames == maxFrames {
			continue
		}
		var b strings.Builder
		inner := &copied{base: c.base, convert: c.convert, frames: c.frames + 1}
		err := inner.copy(&b, strings.NewReader(a.val), frameType)
		if err == nil && b.String() != a.val {
			attrs[i].val, changed = b.String(), true
		}
	}
	return changed
}

// allowFiles adds the files beside a page to a Content-Security-Policy in a meta element: the sources that
// it names are the servers of the originals. It reports whether it changed the policy.
func allowFiles(attrs []attribute) (changed bool) {
	how, _ := value(attrs, "http-equiv")
	if !strings.EqualFold(strings.TrimSpace(how), "Content-Security-Policy") {
		return false
	}
	for i, a := range attrs {
		if a.key != "content" {
			continue
		}
		directives := strings.Split(a.val, ";")
		for j, directive := range directives {
			if words := strings.Fields(directive); len(words) > 1 && namesServers(words) {
				directives[j], changed = strings.TrimRight(directive, blanks)+" 'self' file:", true
			}
		}
		attrs[i].val = strings.Join(directives, ";")
	}
	return changed
}

// namesServers reports whether a directive limits the sources of content to servers or schemes (Content
// Security Policy Level 3, section 2.3.1). Keywords such as 'self' and 'none' are quoted.
func namesServers(words []string) bool {
	if name := strings.ToLower(words[0]) + "-"; !strings.Contains(name, "-src-") {
		return false
	}
	for _, source := range words[1:] {
		if !strings.HasPrefix(source, "'") {
			return true
		}
	}
	return false
}
