// Package find finds URLs in running text, such as mail and plain text files. It is separate from
// package uri because it links regular expressions.
package find

import (
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"mvdan.cc/xurls/v2"

	"github.com/urlget/urlget/fetch/uri"
)

// InText yields the URLs in text, in order. URLs may be in angle brackets, as "<URL:...>" (RFC
// 1738) or "<...>" (RFC 3986, appendix C), and may then be broken into lines. A bare URL begins
// with a scheme and "://", or with a scheme that has no "//", such as mailto and news. It ends
// before white space, a quotation mark, or a closing bracket without an opening one, and does not
// include trailing punctuation.
//
// If the text in "<URL:...>" is not a URL, InText yields an error of type [*uri.Error] and
// continues. Other text that is not a URL is skipped. Schemes may be unknown, so callers should
// check [uri.URI.Scheme]. Schemes with a dot are not found, because a dot before "http://" more
// often ends a sentence.
func InText(text string) iter.Seq2[uri.URI, error] {
	return func(yield func(uri.URI, error) bool) {
		for text != "" {
			i := strings.IndexByte(text, '<')
			if i < 0 {
				i = len(text)
			}
			if !bare(text[:i], yield) {
				return
			}
			if text = text[i:]; text == "" {
				return
			}
			end := strings.IndexAny(text[1:], "<>") + 1
			if end == 0 || text[end] != '>' {
				text = text[1:]
				continue
			}
			content := strings.TrimSpace(text[1:end])
			switch {
			case len(content) >= 4 && strings.EqualFold(content[:4], "URL:"):
				for u, err := range uri.Extract("<" + content + ">") { // one
					if !yield(u, err) {
						return
					}
				}
			case scheme(content, strings.IndexByte(content, ':')) == 0:
				if u, err := uri.ParseLoose(text[:end+1]); err == nil && !yield(u, nil) {
					return
				}
			default:
				text = text[1:]
				continue
			}
			text = text[end+1:]
		}
	}
}

// bareURL matches a possible URL at the start of a text. It is compiled on first use.
var bareURL = sync.OnceValue(func() *regexp.Regexp {
	exp, err := xurls.StrictMatchingScheme(`^[a-z][a-z0-9+\-]*:`)
	if err != nil {
		panic(err)
	}
	return exp
})

func bare(text string, yield func(uri.URI, error) bool) bool {
	end := 0 // of the most recently examined word
	for i := 0; ; {
		n := strings.IndexByte(text[i:], ':')
		if n < 0 {
			return true
		}
		colon := i + n
		start := scheme(text[i:], n) + i
		if start < i {
			i = colon + 1
			continue
		}
		if start >= end {
			end = len(text)
			if n := strings.IndexFunc(text[colon:], ends); n >= 0 {
				end = colon + n
			}
		}
		match := bareURL().FindString(text[start:end])
		if match == "" {
			i = colon + 1
			continue
		}
		if u, err := uri.ParseRef(match); err == nil && !yield(u, nil) {
			return false
		}
		i = start + len(match)
	}
}

// ends reports whether a bare URL ends before r. The expression of xurls does not stop at
// typographic quotation marks.
func ends(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune("“”„‟‘’‚‛«»‹›「」", r)
}

// scheme returns the offset of the scheme that ends at text[colon] and starts a URL, or -1.
func scheme(text string, colon int) int {
	start := colon
	for start > 0 && isScheme(text[start-1]) {
		start--
	}
	for start < colon && (text[start] == '-' || text[start] == '+') { // they mark an item of a list
		start++
	}
	if start >= colon || !isLetter(text[start]) {
		return -1
	}
	if strings.HasPrefix(text[colon:], "://") {
		return start
	}
	switch strings.ToLower(text[start:colon]) {
	case "mailto", "news", "snews", "nntp", "mid", "cid",
		"urn", "doi", "magnet", "xmpp", "tel", "sip", "sips", "geo":
		return start
	}
	return -1
}

func isScheme(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '+' || c == '-' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
