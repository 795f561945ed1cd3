package uri

import (
	"iter"
	"strings"
)

// blanks are the white space characters of RFC 1738's appendix.
const blanks = " \t\r\n\v\f"

// ParseLoose parses what people type and paste, and what stands in documents.
// It removes white space around the URL, a "<...>" wrapper and the prefix
// "URL:", and the white space that lines were broken with: all of it inside a
// wrapper, otherwise tabs, line breaks and the blanks beside them. A hyphen
// before a line break stays (RFC 1738, appendix).
//
// Then, if [Parse] refuses the text, characters that should have been encoded
// are encoded: spaces, control and non-ASCII characters and the like, a second
// "#", a "%" that starts no escape, an "@" in a user name, and the "%" of an
// IPv6 zone. What a backslash in the authority means is disputed, so that is
// refused, as is whatever does not make a host or a port.
func ParseLoose(s string) (URI, error) {
	text := unwrap(s)
	u, err := parse(text)
	if err != nil && len(text) <= MaxLen {
		u, err = parse(repair(text))
	}
	if err != nil {
		err.Input, err.Offset = redactText(text), -1
		return URI{}, err
	}
	return u, nil
}

// Extract yields every URL that stands in text as "<URL:...>", in the order of
// the text. White space inside the brackets is ignored, as [ParseLoose] does;
// the URL must be absolute. A malformed one is yielded as an error of type
// [*Error], and the iteration goes on.
func Extract(text string) iter.Seq2[URI, error] {
	const open = "<URL:"
	return func(yield func(URI, error) bool) {
		for {
			i := strings.IndexByte(text, '<')
			if i < 0 {
				return
			}
			text = text[i:]
			// A "<" cannot be part of the URL: what it follows is not closed.
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

// unwrap removes what may stand around a URL and the white space within it.
func unwrap(s string) string {
	s = strings.Trim(s, blanks)
	wrapped := len(s) > 1 && s[0] == '<' && s[len(s)-1] == '>'
	if wrapped {
		s = strings.Trim(s[1:len(s)-1], blanks)
	}
	if len(s) >= 4 && strings.EqualFold(s[:4], "URL:") {
		s = strings.TrimLeft(s[4:], blanks)
	}
	if !strings.ContainsAny(s, blanks) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		i := strings.IndexAny(s, blanks)
		if i < 0 {
			i = len(s)
		}
		b.WriteString(s[:i])
		rest := strings.TrimLeft(s[i:], blanks)
		if gap := s[i : len(s)-len(rest)]; !wrapped && !strings.ContainsAny(gap, "\r\n") {
			b.WriteString(strings.ReplaceAll(gap, "\t", ""))
		}
		s = rest
	}
	return b.String()
}

// repair encodes the characters that [parse] refuses, where that leaves no
// doubt about the meaning.
func repair(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	i, _ := schemeEnd(s)
	if i > 0 {
		i++
	}
	b.WriteString(s[:i])
	if strings.HasPrefix(s[i:], "//") {
		end := authorityEnd(s, i+2)
		b.WriteString("//")
		repairAuthority(&b, s[i+2:end])
		i = end
	}
	path, fragment, hasFragment := strings.Cut(s[i:], "#")
	repairText(&b, path, inText)
	if hasFragment {
		b.WriteByte('#')
		repairText(&b, fragment, inText)
	}
	return b.String()
}

func repairAuthority(b *strings.Builder, auth string) {
	if strings.Contains(auth, `\`) {
		b.WriteString(auth) // for parse to refuse
		return
	}
	host := auth
	if at := strings.LastIndexByte(auth, '@'); at >= 0 {
		repairText(b, auth[:at], inUser)
		b.WriteByte('@')
		host = auth[at+1:]
	}
	if strings.HasPrefix(host, "[") && !strings.Contains(host, "%25") {
		host = strings.Replace(host, "%", "%25", 1)
	}
	b.WriteString(host)
}

// repairText copies s and encodes the octets that lack the bits of keep.
func repairText(b *strings.Builder, s string, keep uint8) {
	for i := range len(s) {
		if c := s[i]; class[c]&keep != 0 || c == '%' && isEscape(s, i) {
			b.WriteByte(c)
		} else {
			writeEscaped(b, c)
		}
	}
}
