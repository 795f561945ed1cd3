package links

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// namespaces tracks the open elements of SVG and MathML in a page, as the tree construction of HTML
// does (HTML, section 13.2.6.5). Of the HTML elements around SVG and MathML it only counts those whose
// end tags also end an svg or math element that lacks its own.
type namespaces struct {
	open   []element // from the outermost svg or math element
	around [64]int32 // open elements, by the numbers of counted
}

// maxOpen bounds the open elements. Deeper ones are not tracked.
const maxOpen = 512

type namespace byte

const (
	inHTML namespace = iota
	inSVG
	inMathML
)

type element struct {
	name  string
	space namespace
	point integrationPoint
}

// An integrationPoint says whether the content of an element of SVG or MathML is HTML.
type integrationPoint byte

const (
	noPoint   integrationPoint = iota
	htmlPoint                  // an HTML integration point
	textPoint                  // a MathML text integration point
	mathPoint                  // an annotation-xml element, which may have an svg element
)

// isForeign reports whether the innermost open element is one of SVG or MathML.
func (n *namespaces) isForeign() bool {
	return len(n.open) > 0 && n.open[len(n.open)-1].space != inHTML
}

// start opens an element. It reports whether the element is one of SVG or MathML.
func (n *namespaces) start(name string, attrs []html.Attribute, selfClosing bool) bool {
	space := n.spaceOf(name)
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
	case space == inHTML && len(n.open) == 0:
		n.openAround([]byte(name))
		return false
	case space == inHTML:
		if top := &n.open[len(n.open)-1]; top.space == inHTML && (lacksEnd[name] && top.name == name || endsParagraph[name] && top.name == "p") {
			n.open = n.open[:len(n.open)-1]
		}
		if len(n.open) < maxOpen && !endsItself[name] {
			n.open = append(n.open, e)
		}
		return false
	case space == inSVG && (name == "foreignobject" || name == "desc" || name == "title"):
		e.point = htmlPoint
	case space == inMathML:
		e.point = pointOf(name, attrs)
	}
	if !selfClosing && len(n.open) < maxOpen {
		n.open = append(n.open, e)
	}
	return true
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

// breakOut closes elements up to one whose content is HTML.
func (n *namespaces) breakOut() {
	for i := len(n.open); i > 0; i-- {
		if e := n.open[i-1]; e.space == inHTML || e.point == htmlPoint || e.point == textPoint {
			n.open = n.open[:i]
			return
		}
	}
	n.open = n.open[:0]
}

// end closes an element.
func (n *namespaces) end(name string) {
	if n.isForeign() && (name == "p" || name == "br") {
		n.breakOut()
		return
	}
	i := len(n.open) - 1
	for ; i >= 0 && n.open[i].space != inHTML; i-- {
		if n.open[i].name == name {
			n.open = n.open[:i]
			return
		}
	}
	for i = len(n.open) - 1; i >= 0; i-- {
		switch e := n.open[i]; {
		case e.space == inHTML && e.name == name:
			n.open = n.open[:i]
			return
		case e.point != noPoint:
			return // an end tag within it does not close an element around it
		}
	}
	if n.closeAround([]byte(name)) {
		n.open = n.open[:0]
	}
}

// openAround counts the start tag of an HTML element outside of SVG and MathML.
func (n *namespaces) openAround(name []byte) { n.around[counted[string(name)]]++ }

// closeAround counts an end tag. It reports whether such an element was open.
func (n *namespaces) closeAround(name []byte) bool {
	i, ok := counted[string(name)]
	if !ok { // lower case without blanks is frequent
		i = counted[string(bytes.ToLower(bytes.TrimRight(name, blanks+"/")))]
	}
	if i == 0 || n.around[i] <= 0 {
		return false
	}
	n.around[i]--
	return true
}

// pointOf returns what the content of an element of MathML is.
func pointOf(name string, attrs []html.Attribute) integrationPoint {
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

// breaksOut reports whether a start tag closes SVG and MathML.
func breaksOut(name string, attrs []html.Attribute) bool {
	if name == "font" {
		for _, a := range attrs {
			if a.Key == "color" || a.Key == "face" || a.Key == "size" {
				return true
			}
		}
	}
	return breakouts[name]
}

var breakouts = set("b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol p pre ruby s " +
	"small span strong strike sub sup table tt u ul var")

// counted numbers the elements whose end tags end svg and math elements within them.
var counted = numbered("a address article aside b big blockquote button caption center code dd details dialog div dl dt em fieldset figcaption figure " +
	"font footer form h1 h2 h3 h4 h5 h6 header i label li main menu nav nobr ol p pre ruby s section small span strong strike sub summary sup table tbody td " +
	"tfoot th thead tr tt u ul var")

func numbered(words string) map[string]uint8 {
	m := make(map[string]uint8)
	for word := range strings.FieldsSeq(words) {
		m[word] = uint8(len(m) + 1)
	}
	return m
}

// endsItself lists elements of HTML that have no end tag. The parts of tables, which may lack it, are
// not tracked either.
var endsItself = set("area base br col embed hr img input link meta param source track wbr image frame bgsound basefont keygen " +
	"option optgroup tr td th tbody thead tfoot colgroup caption html head body")

// lacksEnd lists elements of HTML that end before another one of their kind, and endsParagraph those
// that end a p element.
var (
	lacksEnd      = set("p li dd dt rb rp rt rtc a button nobr")
	endsParagraph = set("address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header " +
		"hgroup hr li dd dt listing main menu nav ol p plaintext pre search section summary table ul xmp")
)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		m[word] = true
	}
	return m
}
