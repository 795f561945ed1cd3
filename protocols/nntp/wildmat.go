package nntp

import (
	"strings"

	"github.com/urlget/urlget/protocols/internal/glob"
)

// matchWildmat reports whether a name matches a wildmat (RFC 3977, section 4). "*" matches any
// bytes and "?" a single one. Of several comma-separated patterns, the last that matches decides. It
// excludes the name if it starts with "!".
func matchWildmat(wildmat, name string) bool {
	matched := false
	for pattern := range strings.SplitSeq(wildmat, ",") {
		pattern, not := strings.CutPrefix(pattern, "!")
		if matched == not && glob.Match(pattern, name) {
			matched = !not
		}
	}
	return matched
}
