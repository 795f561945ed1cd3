package links

import (
	"strings"
	"sync"
)

// namespaces tracks the open elements of a page, as far as they decide which tags belong to SVG and
// MathML (HTML, section 13.2.6.5). For HTML elements it follows the rules of the body (section
// 13.2.6.4.7), without those of forms, templates and select elements.
type namespaces struct {
	open       []element
	foreign    int // open elements of SVG and MathML
	paragraphs int // open p elements of HTML
	hidden     int // open elements that hide what is in them
}

const maxOpen = 512

type namespace byte

const (
	inHTML namespace = iota
	inSVG
	inMathML
)

type element struct {
	name  string
	class class
	space namespace
	point integrationPoint
	hides bool
}

// An integrationPoint says whether the content of an element of SVG or MathML is HTML.
type integrationPoint byte

const (
	noPoint   integrationPoint = iota
	htmlPoint                  // an HTML integration point
	textPoint                  // a MathML text integration point
	mathPoint                  // an annotation-xml element, which may have an svg element
)

func (n *namespaces) isForeign() bool {
	return n.foreign > 0 && n.open[len(n.open)-1].space != inHTML
}

func (n *namespaces) innermost() string {
	if len(n.open) == 0 {
		return ""
	}
	return n.open[len(n.open)-1].name
}

// hide marks the innermost element as one that hides what is in it.
func (n *namespaces) hide() {
	if last := &n.open[len(n.open)-1]; !last.hides {
		last.hides = true
		n.hidden++
	}
}

// push opens an element. If too many are open, those of HTML around it are forgotten, and deeper ones
// of SVG and MathML are not tracked.
func (n *namespaces) push(e element) {
	if len(n.open) == maxOpen {
		if n.foreign > 0 {
			return
		}
		n.open, n.paragraphs = n.open[:0], 0
	}
	n.count(e, 1)
	n.open = append(n.open, e)
}

func (n *namespaces) count(e element, change int) {
	if e.hides {
		n.hidden += change
	}
	switch {
	case e.space != inHTML:
		n.foreign += change
	case e.name == "p":
		n.paragraphs += change
	}
}

func (n *namespaces) close(i, j int) {
	for _, e := range n.open[i:j] {
		n.count(e, -1)
	}
	n.open = append(n.open[:i], n.open[j:]...)
}

// start opens an element, which is html if it is one of HTML. It reports whether it is one of SVG or MathML.
func (n *namespaces) start(html element, attrs []attribute, selfClosing bool) bool {
	name := html.name
	space := inHTML
	if n.foreign > 0 {
		space = n.spaceOf(name)
	}
	if space != inHTML && breaksOut(name, attrs) {
		n.breakOut()
		space = inHTML
	}
	e := element{name: name, space: space}
	switch {
	case space == inHTML && name == "svg":
		e.space = inSVG
	case space == inHTML && name == "math":
		e.space = inMathML
	case space == inHTML:
		n.startHTML(html)
		return false
	case space == inSVG && (name == "foreignobject" || name == "desc" || name == "title"):
		e.point = htmlPoint
	case space == inMathML:
		e.point = pointOf(name, attrs)
	}
	if !selfClosing {
		n.push(e)
	}
	return true
}

// startHTML opens an element of HTML, and closes those that have no end tag before it.
func (n *namespaces) startHTML(e element) {
	name, c := e.name, e.class
	if c&untracked != 0 {
		return
	}
	if c&endsParagraph != 0 && n.paragraphs > 0 {
		n.closeOpen("p", 0)
	}
	if c&lacksEnd != 0 {
		n.closeOpen(name, c)
	}
	n.push(e)
}

// closeOpen closes the innermost open element with a name and a class, unless it is outside of the
// scope.
func (n *namespaces) closeOpen(name string, c class) {
	for i := len(n.open) - 1; i >= 0; i-- {
		e := n.open[i]
		switch {
		case e.space == inHTML && e.name == name:
			n.close(i, len(n.open))
			return
		case e.bounds() && (c&tablePart == 0 || e.point != noPoint || e.name == "table"),
			name == "li" && (e.name == "ul" || e.name == "ol"), name == "p" && e.name == "button":
			return
		}
	}
}

// bounds reports whether tags within an element do not close elements around it.
func (e element) bounds() bool {
	return e.point != noPoint || e.class&tablePart != 0 &&
		(e.name == "td" || e.name == "th" || e.name == "table" || e.name == "caption")
}

// spaceOf returns the namespace of a start tag, before it breaks out.
func (n *namespaces) spaceOf(name string) namespace {
	if len(n.open) == 0 {
		return inHTML
	}
	e := n.open[len(n.open)-1]
	switch {
	case e.point == htmlPoint,
		e.point == textPoint && name != "mglyph" && name != "malignmark",
		e.point == mathPoint && name == "svg":
		return inHTML
	}
	return e.space
}

func (n *namespaces) breakOut() {
	i := len(n.open)
	for i > 0 && n.open[i-1].space != inHTML &&
		n.open[i-1].point != htmlPoint && n.open[i-1].point != textPoint {
		i--
	}
	n.close(i, len(n.open))
}

func (n *namespaces) end(name string) {
	if n.isForeign() {
		if name == "p" || name == "br" {
			n.breakOut()
		}
		for i := len(n.open) - 1; i >= 0 && n.open[i].space != inHTML; i-- {
			if n.open[i].name == name {
				n.close(i, len(n.open))
				return
			}
		}
	}
	top := len(n.open) - 1
	if top >= 0 && n.open[top].name == name && n.open[top].space == inHTML {
		n.count(n.open[top], -1)
		n.open = n.open[:top]
		return
	}
	e, _ := elements().get([]byte(name))
	c := e.class
	block := 0 // the innermost block
	for i := top; i >= 0; i-- {
		switch e := n.open[i]; {
		case e.space == inHTML && e.name == name:
			if c&formatting != 0 && block > 0 { // blocks within the element stay open
				n.close(block+1, len(n.open))
				n.close(i, i+1)
			} else {
				n.close(i, len(n.open))
			}
			return
		case e.bounds() && (c&tablePart == 0 || e.point != noPoint):
			return
		case e.class&isBlock != 0:
			if c&(formatting|isBlock) == 0 {
				return
			}
			block = max(block, i)
		}
	}
}

// pointOf returns what the content of an element of MathML is.
func pointOf(name string, attrs []attribute) integrationPoint {
	switch name {
	case "mi", "mo", "mn", "ms", "mtext":
		return textPoint
	case "annotation-xml":
		format, _ := value(attrs, "encoding")
		if strings.EqualFold(format, "text/html") || strings.EqualFold(format, "application/xhtml+xml") {
			return htmlPoint
		}
		return mathPoint
	}
	return noPoint
}

func breaksOut(name string, attrs []attribute) bool {
	if name == "font" {
		for _, a := range attrs {
			if a.key == "color" || a.key == "face" || a.key == "size" {
				return true
			}
		}
	}
	return isBreakout(name)
}

func isBreakout(name string) bool {
	switch name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
		"h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta",
		"nobr", "ol", "p", "pre", "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table",
		"tt", "u", "ul", "var":
		return true
	}
	return false
}

// A class says how the tags of an element of HTML close others.
type class byte

const (
	untracked  class = 1 << iota // has no end tag, or its tags close nothing else
	formatting                   // may overlap with blocks
	// is not closed by the end tags of others, except those of blocks around it
	isBlock
	tablePart     // is closed by the parts of tables only
	lacksEnd      // ends before another one of its kind
	endsParagraph // ends a p element
)

// elements holds the elements of HTML with a class (HTML, sections 13.2.4.2 and 13.2.6.4.7).
var elements = sync.OnceValue(func() *words[element] {
	return classed(map[class]string{
		untracked: "area base br col embed hr img input link meta param source track wbr " +
			"image frame bgsound basefont keygen html head body option optgroup colgroup select",
		formatting: "a b big code em font i nobr s small strike strong tt u",
		isBlock: "address article aside blockquote button caption center dd details dialog dir div dl dt " +
			"fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup iframe li listing " +
			"main menu nav noembed noframes noscript object ol p plaintext pre script search section style " +
			"summary table tbody td textarea tfoot th thead title tr ul xmp applet marquee",
		tablePart: "table caption tbody thead tfoot tr td th",
		lacksEnd:  "li dd dt rb rp rt rtc a button nobr td th tr tbody thead tfoot",
		endsParagraph: "address article aside blockquote center details dialog dir div dl " +
			"fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header " +
			"hgroup hr li dd dt listing main menu nav ol p plaintext pre search section summary table ul xmp",
	})
})

func classed(lists map[class]string) *words[element] {
	classes := make(map[string]class)
	for c, names := range lists {
		for name := range strings.FieldsSeq(names) {
			classes[name] |= c
		}
	}
	m := new(words[element])
	for name, c := range classes {
		m.set(name, element{name: name, class: c})
	}
	return m
}
