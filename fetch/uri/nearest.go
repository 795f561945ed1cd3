package uri

import "strings"

// NearestScheme returns the scheme of known that name, such as "htp" or "gohper", was probably
// intended to be. It returns "" if name is in known or resembles none of them. The names in known
// are in lower case.
//
// A scheme resembles name if they differ by one mistake, or by two if name has more than five
// letters. A mistake is a missing, additional or replaced letter, or two swapped neighbors. Among
// equals, NearestScheme prefers the scheme that shares more letters at its start and end with name,
// and then the earlier one.
func NearestScheme(name string, known []string) string {
	const maxName = 64 // longer than any scheme; it limits the work
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

// distance returns the smallest number of letters to insert, delete, replace or swap with a
// neighbor to turn a into b (optimal string alignment).
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

// commonEnds returns the number of letters that a and b share at their start and end.
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
