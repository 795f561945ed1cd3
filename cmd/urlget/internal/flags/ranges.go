package flags

import (
	"errors"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// ParseRanges parses comma-separated ranges.
func ParseRanges(text string) ([]fetch.Range, error) {
	var list []fetch.Range
	for word := range strings.SplitSeq(text, ",") {
		r, err := parseRange(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// parseRange parses A-B (first and last byte), A- or A (all bytes from A) or -N (the last N bytes).
func parseRange(text string) (fetch.Range, error) {
	wrong := errors.New("malformed range")
	first, last, _ := strings.Cut(text, "-")
	a, errA := strconv.ParseUint(first, 10, 62)
	b, errB := strconv.ParseUint(last, 10, 62)
	switch {
	case first == "" && errB == nil && b > 0:
		return fetch.Range{Offset: -int64(b)}, nil
	case errA != nil:
		return fetch.Range{}, wrong
	case last == "":
		return fetch.Range{Offset: int64(a)}, nil
	case errB != nil || b < a:
		return fetch.Range{}, wrong
	}
	return fetch.Range{Offset: int64(a), Length: int64(b-a) + 1}, nil
}
