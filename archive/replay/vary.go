package replay

import (
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
)

// negotiated are the fields of a request by which servers choose a representation, and that differ between
// clients. Codings are not among them: urlget decodes.
var negotiated = [...]string{"Accept", "Accept-Language"}

// A variant has the hashes of the negotiated fields of a request.
type variant [len(negotiated)]uint32

// variantOf returns the variant of a request, of which fields returns those with a name.
func variantOf(fields func(name string) []string) (v variant) {
	for i, name := range negotiated {
		text := strings.ReplaceAll(strings.ToLower(strings.Join(fields(name), ",")), " ", "")
		v[i] = uint32(maphash.String(seed, text))
	}
	return v
}

// readVary records which negotiated fields a response depends on.
func (c *snapshot) readVary(h http.Header) {
	text := strings.ReplaceAll(strings.Join(h.Values("Vary"), ","), " ", "")
	names := strings.Split(strings.ToLower(text), ",")
	for i, name := range negotiated {
		if slices.Contains(names, strings.ToLower(name)) {
			c.varies |= 1 << i
		}
	}
}

// differs reports whether a capture is of a request for another representation than p.
func (c *snapshot) differs(p *preference) bool {
	for i := range negotiated {
		if c.varies&(1<<i) != 0 && c.known && c.variant[i] != p.variant[i] {
			return true
		}
	}
	return false
}
