package nntp

import "strings"

// matchWildmat reports whether a name matches a wildmat (RFC 3977, section 4). "*" matches any
// bytes and "?" a single one. Of several comma-separated patterns, the last that matches decides. It
// excludes the name if it starts with "!".
func matchWildmat(wildmat, name string) bool {
	matched := false
	for pattern := range strings.SplitSeq(wildmat, ",") {
		pattern, not := strings.CutPrefix(pattern, "!")
		if matched == not && matchPattern(pattern, name) {
			matched = !not
		}
	}
	return matched
}

// matchPattern only backtracks to the last "*", which is sufficient and linear in practice.
func matchPattern(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
