package links

import (
	"slices"
	"strings"
)

// A span is a reference in the value of an attribute or in a style sheet.
type span struct {
	attr       int // index of the attribute
	start, end int // offsets in its value, or in the style sheet
	ref, rel   string
	typed      bool // the attribute "type" is the type of the target
	css        bool // the value is a style
	quote      byte // the quote around it in a style, or 0
}

// source returns the attribute with the URL of the resource that an element embeds, or "".
func source(name string) string {
	switch name {
	case "audio", "bgsound", "embed", "frame", "iframe", "img", "input", "layer", "script", "source", "track",
		"video":
		return "src"
	case "object":
		return "data"
	case "body", "table", "td", "th", "tr":
		return "background"
	case "image", "use", "feimage":
		return "href"
	}
	return ""
}

// requisites lists the link relations of resources that a page needs for display.
var requisites = []string{"css", "stylesheet", "icon", "shortcut", "apple-touch-icon", "mask-icon",
	"manifest", "preload", "modulepreload", "import", "applet"}

// Requisite reports whether a page needs links with the relation rel (Entry.Rel) for display: images,
// styles, scripts, frames and sounds.
func Requisite(rel string) bool { return slices.Contains(requisites, rel) || source(rel) != "" }

func spansOf(list []span, name string, attrs []attribute) []span {
	for i, a := range attrs {
		whole := span{attr: i, end: len(a.val), ref: a.val}
		if isStyle(a.key) {
			if strings.IndexByte(a.val, '(') >= 0 {
				for _, s := range cssSpans([]byte(a.val)) {
					s.attr, s.rel, s.css = i, "css", true
					list = append(list, s)
				}
			}
			continue
		}
		switch a.key {
		case "srcset", "imagesrcset", "data-srcset", "data-lazy-srcset":
			if name == "img" || name == "source" || name == "link" {
				list = append(list, srcset(i, a.val)...)
			}
			continue
		case "data-src", "data-lazy-src", "data-original": // scripts make them the src
			if source(name) == "src" && name != "input" {
				whole.rel = name
			}
		case "value":
			if param, _ := value(attrs, "name"); name == "param" && isMovie(param) {
				whole.rel = "object"
			}
		case "cite", "longdesc":
			whole.rel = a.key
		case "code", "archive":
			if name == "applet" {
				list = append(list, appletSpans(whole, attrs)...)
			}
			continue
		case "poster", "lowsrc", "dynsrc":
			whole.rel = "img"
		case "xlink:href":
			if source(name) == "href" || name == "script" {
				whole.rel = name
			} else if name == "a" {
				whole.rel = "a"
			}
		case "content":
			if whole.rel = preview(name, attrs); whole.rel != "" {
				break
			}
			how, _ := value(attrs, "http-equiv")
			if s, ok := refresh(i, a.val); ok && name == "meta" &&
				strings.EqualFold(strings.TrimSpace(how), "refresh") {
				list = append(list, s)
			}
			continue
		default:
			whole.rel, whole.typed = relation(name, a.key, attrs)
		}
		// An empty anchor refers to the page itself; an empty image URL is ignored.
		if whole.rel != "" && (a.key == "href" && source(name) == "" || strings.TrimSpace(a.val) != "") {
			list = append(list, whole)
		}
	}
	return list
}

// isStyle reports whether the value of an attribute is CSS.
func isStyle(key string) bool {
	switch key {
	case "style", "fill", "stroke", "filter", "mask", "clip-path", "cursor",
		"marker", "marker-start", "marker-mid", "marker-end":
		return true
	}
	return false
}

// isMovie reports whether a parameter of an object names its content.
func isMovie(name string) bool {
	return strings.EqualFold(name, "movie") || strings.EqualFold(name, "src")
}

// preview returns the relation of the content of a meta element that names a picture of the page for
// other sites (https://ogp.me/), or "". The page itself does not show it.
func preview(name string, attrs []attribute) string {
	property, ok := value(attrs, "property")
	if !ok {
		property, _ = value(attrs, "name")
	}
	switch property = strings.ToLower(strings.TrimSpace(property)); property {
	case "og:image", "og:image:url", "og:image:secure_url", "twitter:image",
		"msapplication-tileimage":
		if name == "meta" {
			return property
		}
	}
	return ""
}

// relation returns the relation of an attribute whose value is a single reference, or "". Typed
// reports whether the attribute "type" is the type of its target.
func relation(name, key string, attrs []attribute) (rel string, typed bool) {
	switch {
	case key == "href" && (name == "a" || name == "area"):
		return "a", true
	case key == "href" && name == "link":
		words, _ := value(attrs, "rel")
		return linkRelation(words), true
	case name == "image" && key == "src": // HTML reads <image> as <img>
		return "img", true
	case name == "script" && key == "href": // in SVG
		return name, true
	case source(name) == key:
		return name, name != "input" // the type of an input is that of the field
	}
	return "", false
}

// linkRelation returns the relation that words, the rel of a link, stand for: the first one that a page
// needs for display, as in "alternate stylesheet", or the first one. It returns "" for a link to an origin,
// which has no content.
func linkRelation(words string) string {
	list := strings.Fields(strings.ToLower(words))
	for _, word := range list {
		if slices.Contains(requisites, word) {
			return word
		}
	}
	switch {
	case len(list) == 0:
		return "link"
	case list[0] == "preconnect", list[0] == "dns-prefetch":
		return ""
	}
	return list[0]
}

const blanks = " \t\r\n\f"

// refresh returns the reference in the content of a meta element, such as "5; URL='next.html'". As
// in browsers, "URL=" may be missing.
func refresh(attr int, s string) (span, bool) {
	at := strings.IndexAny(s, ";,")
	if at < 0 {
		return span{}, false
	}
	at++
	skip := func() { at = len(s) - len(strings.TrimLeft(s[at:], blanks)) }
	skip()
	if len(s)-at > 3 && strings.EqualFold(s[at:at+3], "url") {
		rest := strings.TrimLeft(s[at+3:], blanks)
		if !strings.HasPrefix(rest, "=") {
			return span{}, false
		}
		at = len(s) - len(rest) + 1
		skip()
	}
	end := len(s)
	if at < end && (s[at] == '"' || s[at] == '\'') {
		quote := s[at]
		at++
		if i := strings.IndexByte(s[at:], quote); i >= 0 {
			end = at + i
		}
	}
	end = at + len(strings.TrimRight(s[at:end], blanks))
	return span{attr: attr, start: at, end: end, ref: s[at:end], rel: "refresh"}, end > at
}

// srcset returns the URLs of the image candidates in s. Each ends at white space, or at a comma
// before white space or the end.
func srcset(attr int, s string) (list []span) {
	for at := 0; ; {
		at = len(s) - len(strings.TrimLeft(s[at:], blanks+","))
		if at == len(s) {
			return list
		}
		end := len(s)
		if i := strings.IndexAny(s[at:], blanks); i >= 0 {
			end = at + i
		}
		bare := at + len(strings.TrimRight(s[at:end], ","))
		list = append(list, span{attr: attr, start: at, end: bare, ref: s[at:bare], rel: "img"})
		if bare != end {
			at = end // no descriptor
			continue
		}
		// A descriptor ends at a comma outside of parentheses.
		depth := 0
		for at = end; at < len(s) && (s[at] != ',' || depth > 0); at++ {
			switch s[at] {
			case '(':
				depth++
			case ')':
				depth = max(depth-1, 0)
			}
		}
	}
}
