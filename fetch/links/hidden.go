package links

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// HiddenBegin and HiddenEnd enclose text that people who look at a page do not see, in what [Text]
// returns.
const HiddenBegin, HiddenEnd = "⟦", "⟧"

// enclosed keeps these marks for hidden text: a page cannot end one itself.
var enclosed = strings.NewReplacer(HiddenBegin, "[[", HiddenEnd, "]]")

// isUnseen reports whether browsers with scripts do not show the text of an element, in HTML, SVG and MathML.
func isUnseen(name string) bool {
	switch name {
	case "template", "noscript", "noframes", "noembed", "iframe", "datalist", "audio", "video", "canvas",
		"object", "desc", "metadata", "defs", "annotation", "annotation-xml":
		return true
	}
	return false
}

// A visibility tells which text of a page is hidden: by elements, the attribute hidden, and styles of
// elements and of the page itself. It knows neither linked style sheets nor scripts.
type visibility struct{ rules []styleRule }

// start marks the element that m has just opened, if it is hidden. If too many are open, so that the end
// of a hidden one is not known, the rest of the page is hidden.
func (v *visibility) start(m *markup) {
	if m.xml && !m.complete {
		m.tree.push(element{name: m.name})
	}
	if m.tree.innermost() == m.name && !m.complete && v.hides(m.name, m.attrs) {
		m.tree.hide()
	}
}

func (v *visibility) hides(name string, attrs []attribute) bool {
	if isUnseen(name) {
		return true
	}
	var id string
	var classes []string
	open := false
	for _, a := range attrs {
		switch a.key {
		case "hidden":
			return true
		case "open":
			open = true
		case "style":
			if hidesText(declarations(plainCSS(a.val))) {
				return true
			}
		case "id":
			id = a.val
		case "class":
			classes = strings.Fields(a.val)
		}
	}
	return name == "dialog" && !open ||
		slices.ContainsFunc(v.rules, func(r styleRule) bool { return r.matches(name, id, classes) })
}

// A styleRule hides the elements of a name, a class or an identifier.
type styleRule struct {
	kind byte // '.', '#' or 0
	name string
}

func (r styleRule) matches(element, id string, classes []string) bool {
	switch r.kind {
	case '.':
		return slices.Contains(classes, r.name)
	case '#':
		return id == r.name
	}
	return strings.EqualFold(element, r.name)
}

// maxRules limits the rules of a page that hide elements.
const maxRules = 1000

// readStyles returns the rules in the style elements of a page that hide text. It reads selectors of one
// name outside of at-rules, and for others their last name if it has a class or an identifier.
func readStyles(page []byte, contentType string) (rules []styleRule) {
	m := newMarkup(bytes.NewReader(page), contentType)
	defer m.release()
	inStyle := false
	for m.undecodable == "" {
		m.skipsTexts = !inStyle || len(rules) >= maxRules
		switch m.next() {
		case endToken:
			return rules
		case startToken:
			inStyle = !m.complete && m.name == "style"
		case endTagToken:
			inStyle = false
		case textToken:
			rules = append(rules, hidingRules(plainCSS(string(m.text())))...)
		}
	}
	return rules
}

func hidingRules(text string) (rules []styleRule) {
	for text != "" {
		selectors, rest, found := strings.Cut(text, "{")
		if !found {
			return rules
		}
		if i := strings.LastIndexAny(selectors, ";}"); i >= 0 {
			selectors = selectors[i+1:]
		}
		selectors = strings.TrimSpace(selectors)
		if isCondition, forScreens := condition(selectors); isCondition {
			if text = rest; !forScreens {
				text = afterBlock(rest)
			}
			continue
		}
		var block string
		if block, text, _ = strings.Cut(rest, "}"); !hidesText(declarations(block)) {
			continue
		}
		for selector := range strings.SplitSeq(selectors, ",") {
			if r, ok := ruleOf(selector); ok {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// condition reports whether a prelude is that of an at-rule, and whether its rules are for all screens.
func condition(prelude string) (isCondition, forScreens bool) {
	if !strings.HasPrefix(prelude, "@") {
		return false, false
	}
	words := strings.Fields(strings.ToLower(prelude))
	switch words[0] {
	case "@layer", "@supports":
		return true, true
	case "@media":
		return true, len(words) == 2 && (words[1] == "screen" || words[1] == "all")
	}
	return true, false
}

// afterBlock returns what follows the block that text begins in.
func afterBlock(text string) string {
	depth := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[i+1:]
			}
		}
	}
	return ""
}

func ruleOf(selector string) (styleRule, bool) {
	isCombinator := func(r rune) bool { return strings.ContainsRune(" \t\n\r\f>+~", r) }
	parts := strings.FieldsFunc(selector, isCombinator)
	if len(parts) == 0 {
		return styleRule{}, false
	}
	last := parts[len(parts)-1]
	if strings.ContainsAny(last, ":[*") {
		return styleRule{}, false
	}
	if i := strings.LastIndexAny(last, ".#"); i >= 0 {
		return styleRule{last[i], last[i+1:]}, i+1 < len(last)
	}
	return styleRule{0, last}, len(parts) == 1
}

// plainCSS returns a style without comments and escapes (CSS Syntax Level 3, section 4.3.7).
func plainCSS(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "/*")
		b.WriteString(before)
		if !found {
			break
		}
		_, text, _ = strings.Cut(rest, "*/")
	}
	plain := b.String()
	if !strings.Contains(plain, `\`) {
		return plain
	}
	b.Reset()
	for plain != "" {
		before, rest, found := strings.Cut(plain, `\`)
		b.WriteString(before)
		if !found || rest == "" {
			break
		}
		digits := 0
		for digits < min(len(rest), 6) && strings.IndexByte("0123456789abcdefABCDEF", rest[digits]) >= 0 {
			digits++
		}
		if code, err := strconv.ParseUint(rest[:digits], 16, 32); err == nil {
			b.WriteRune(rune(code))
			rest = rest[digits:]
			if rest != "" && strings.IndexByte(" \t\n\r\f", rest[0]) >= 0 {
				rest = rest[1:]
			}
		} else {
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
		plain = rest
	}
	return b.String()
}

// declarations returns the values of a block by property, in lower case.
func declarations(block string) map[string]string {
	values := make(map[string]string)
	for d := range strings.SplitSeq(block, ";") {
		property, value, ok := strings.Cut(d, ":")
		if !ok {
			continue
		}
		value, _, _ = strings.Cut(strings.ToLower(value), "!")
		values[strings.ToLower(strings.TrimSpace(property))] = strings.TrimSpace(value)
	}
	return values
}

// hidesText reports whether text with these styles cannot be seen.
func hidesText(style map[string]string) bool {
	is := func(property string, values ...string) bool { return slices.Contains(values, style[property]) }
	begins := func(property, start string) bool { return strings.HasPrefix(style[property], start) }
	shift := translation(style["transform"])
	switch {
	case is("display", "none"), is("visibility", "hidden", "collapse"), is("content-visibility", "hidden"),
		isTransparent(style["color"]), isTransparent(style["-webkit-text-fill-color"]),
		begins("filter", "opacity(0"), begins("font", "0/"), begins("font", "0 "), begins("font", "0px"),
		begins("transform", "scale(0"), begins("transform", "scalex(0"), begins("transform", "scaley(0"),
		is("scale", "0"), begins("clip", "rect("), begins("clip-path", "circle(0"),
		begins("clip-path", "inset(50%"), begins("clip-path", "inset(100%"), atMost(shift, -500),
		atMost(style["font-size"], 1), atMost(style["opacity"], 0.05), atMost(style["text-indent"], -500):
		return true
	}
	for _, side := range []string{"left", "top", "right", "bottom", "margin-left", "margin-top"} {
		if atMost(style[side], -500) {
			return true
		}
	}
	if begins("overflow", "hidden") || is("overflow", "clip") {
		for _, size := range []string{"height", "width", "max-height", "max-width"} {
			if atMost(style[size], 1) {
				return true
			}
		}
	}
	paper := style["background-color"]
	if paper == "" {
		paper = style["background"]
	}
	return paper != "" && colour(style["color"]) == colour(paper)
}

// isTransparent reports whether a colour is one without opacity (CSS Color Module Level 4).
func isTransparent(value string) bool {
	value = strings.ReplaceAll(value, " ", "")
	if digits, ok := strings.CutPrefix(value, "#"); ok {
		return len(digits) == 4 && digits[3] == '0' || len(digits) == 8 && digits[6:] == "00"
	}
	_, arguments, _ := strings.Cut(strings.TrimSuffix(value, ")"), "(")
	last := strings.LastIndexAny(arguments, ",/")
	isAlpha := strings.Count(arguments, ",") == 3 || strings.Contains(arguments, "/")
	return value == "transparent" || isAlpha && atMost(arguments[last+1:], 0.05)
}

// translation returns the first length of a transform that moves, or "".
func translation(transform string) string {
	if !strings.HasPrefix(transform, "translate") {
		return ""
	}
	_, arguments, _ := strings.Cut(transform, "(")
	return strings.TrimSpace(arguments[:max(strings.IndexAny(arguments, ",)"), 0)])
}

// atMost reports whether a value is a length or number in pixels, ems or percent of at most limit.
func atMost(value string, limit float64) bool {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "calc("), ")")
	number := strings.TrimRight(value, "abcdefghijklmnopqrstuvwxyz%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	unit := value[min(len(number), len(value)):]
	if limit > 0 && limit >= 1 && unit != "px" && unit != "pt" { // 1em is readable
		limit = 0
	}
	switch unit {
	case "em", "rem":
		n *= 16
	case "%", "vw", "vh":
		n *= 5 // as on a small screen
	}
	return err == nil && n <= limit
}

// colour returns one notation for the most frequent colours of text and paper.
func colour(value string) string {
	value = strings.ReplaceAll(value, " ", "")
	switch value {
	case "white", "#fff", "#ffffff", "rgb(255,255,255)":
		return "white"
	case "black", "#000", "#000000", "rgb(0,0,0)":
		return "black"
	}
	return value
}
