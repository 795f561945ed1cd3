package sshconfig

import (
	"slices"
	"strings"

	"github.com/urlget/urlget/protocols/internal/glob"
)

// Algorithms is a list of algorithms as written in a file: names or patterns, separated by commas. A
// leading "+" appends them to the default list, "-" removes them from it, and "^" puts them first.
type Algorithms string

// Apply returns the selected algorithms, in order of preference. Names that are not in implemented
// are skipped. The result may be empty. Without a list it is defaults.
func (a Algorithms) Apply(defaults, implemented []string) []string {
	if a == "" {
		return defaults
	}
	switch list := string(a[1:]); a[0] {
	case '+':
		return union(defaults, matches(list, implemented))
	case '-':
		removed := matches(list, defaults)
		return slices.DeleteFunc(slices.Clone(defaults),
			func(name string) bool { return slices.Contains(removed, name) })
	case '^':
		return union(matches(list, implemented), defaults)
	}
	return matches(string(a), implemented)
}

// matches returns the names that match a pattern of the list, in the order of the patterns.
func matches(list string, names []string) (found []string) {
	for pattern := range strings.SplitSeq(list, ",") {
		pattern = strings.TrimSpace(pattern)
		found = union(found, slices.DeleteFunc(slices.Clone(names),
			func(name string) bool { return !glob.Match(pattern, name) }))
	}
	return found
}

func union(first, second []string) []string {
	all := slices.Clone(first)
	for _, name := range second {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
