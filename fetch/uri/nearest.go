package uri

import "strings"

// NearestScheme returns the known scheme that a mistyped name, such as "htp" or "gohper", was
// probably meant to be, for a hint. It returns "" if name is one of the known schemes or resembles
// none of them. The names in known are in lower case.
//
// A scheme resembles name if one mistake lies between them, or two if name has more than five
// letters. A mistake is a letter missing, added or replaced, or two neighbours swapped. Among
// equals, the scheme that has more letters at its beginning and end in common with name is
// preferred, then the earlier one.
func NearestScheme(name string, known []string) string {
	const maxName = 64 // far beyond any scheme's name; it bounds the work
	if len(name) < 2 || len(name) > maxName {
		return ""
	}
	name = strings.ToLower(name)
	limit := 1
	if len(name) > 5 {
		limit = 2
	}
	nearest, least, most := "", limit+1, -1
	for _, k := range known {
		if k == name {
			return ""
		}
		if len(k) > len(name)+limit || len(name) > len(k)+limit {
			continue
		}
		d, shared := distance(name, k), commonEnds(name, k)
		if d < least || d == least && d <= limit && shared > most {
			nearest, least, most = k, d, shared
		}
	}
	return nearest
}

// distance returns the least number of letters to insert, delete, replace or swap with a neighbour
// that turns a into b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// commonEnds returns how many letters a and b share at their beginning and at their end.
func commonEnds(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	a, b = a[n:], b[n:]
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
		n++
	}
	return n
}
