// Package glob matches the patterns of newsgroups and of ssh_config.
package glob

import "strings"

// Match reports whether pattern matches all of s. "*" matches any bytes, "?" matches one. Only the
// last "*" is tried again, so the time is at most proportional to the product of the lengths.
func Match(pattern, s string) bool {
	star, mark := -1, 0 // the index of the last star, and the index in s where its match ends
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
