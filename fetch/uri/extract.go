package uri

import (
	"iter"
	"strings"
)

// Extract yields the URLs written as "<URL:...>" in text, in order. It parses them with
// [ParseLoose], so they may be broken into lines. For a malformed or relative one, Extract yields
// an error of type [*Error] and continues. Package find also finds bare URLs.
func Extract(text string) iter.Seq2[URI, error] {
	const open = "<URL:"
	return func(yield func(URI, error) bool) {
		for {
			i := strings.IndexByte(text, '<')
			if i < 0 {
				return
			}
			text = text[i:]
			// A "<" cannot be part of a URL: the previous one is not closed.
			end := strings.IndexAny(text[1:], "<>") + 1
			if end == 0 {
				return
			}
			if text[end] == '<' || len(text) < len(open) || !strings.EqualFold(text[:len(open)], open) {
				text = text[end:]
				continue
			}
			u, err := ParseLoose(text[:end+1])
			if err == nil && !u.IsAbs() {
				u, err = URI{}, &Error{Input: redactText(u.text), Reason: "no scheme", Offset: -1}
			}
			if !yield(u, err) {
				return
			}
			text = text[end+1:]
		}
	}
}
