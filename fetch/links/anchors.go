package links

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/uri"
)

// Anchors are the parts of an HTML page that the fragments of links refer to.
type Anchors struct {
	IsPage bool // the response is an HTML page
	// Incomplete is set if the page has more names than are collected.
	Incomplete bool

	names map[string]bool
	bytes int
}

// These limit the names that are collected of a page, and their bytes.
const (
	maxAnchors     = 100_000
	maxAnchorBytes = 4 << 20
)

// add adds the identifiers of an element (HTML, section 7.4.6.4, "find a potential indicated element").
func (a *Anchors) add(element string, attrs []attribute) {
	for _, attr := range attrs {
		if attr.key != "id" && (attr.key != "name" || element != "a") || attr.val == "" || a.names[attr.val] {
			continue
		}
		a.bytes += len(attr.val)
		if len(a.names) == maxAnchors || a.bytes > maxAnchorBytes {
			a.Incomplete = true
			return
		}
		if a.names == nil {
			a.names = map[string]bool{}
		}
		a.names[attr.val] = true
	}
}

// Has reports whether a fragment, as it is written in a URL, refers to a part of the page.
func (a *Anchors) Has(fragment string) bool {
	names := AnchorsOf(fragment)
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return a.names[name] })
}

// Names yields the names, in no particular order.
func (a *Anchors) Names() iter.Seq[string] { return maps.Keys(a.names) }

// AnchorsOf returns the names that a fragment may refer to. It returns none if the fragment refers to the
// beginning of any page, as "top" does, or is for scripts or a search of the browser.
func AnchorsOf(fragment string) []string {
	fragment, _, _ = strings.Cut(fragment, ":~:") // text to find (Text Fragments, section 3.1)
	decoded := uri.UnescapeRaw(fragment)
	switch {
	case fragment == "", strings.EqualFold(decoded, "top"), strings.ContainsAny(fragment[:1], "/!"):
		return nil
	case decoded == fragment:
		return []string{fragment}
	}
	return []string{fragment, decoded}
}
