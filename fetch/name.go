package fetch

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a safe name, in octets. File systems take 255; the rest is
// for what a program appends.
const maxName = 240

// SafeName makes one path element of a name that somebody else chose, or ""
// if nothing is left of it: the part after the last slash or backslash, without control and
// format characters, with "_" in place of what some file system gives a
// meaning (RFC 6266, section 4.3), without blanks and dots at the end, not a
// device of Windows, in valid UTF-8 and of at most 240 octets; an extension is
// kept when it is cut. What it returns it returns again for itself.
func SafeName(s string) string {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return -1
		case strings.ContainsRune(`<>:"|?*`, r):
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
	s = trimName(s)
	if len(s) > maxName {
		s = shorten(s)
	}
	if isDevice(s) {
		return "_" + s
	}
	return s
}

// trimName removes what Windows ignores at the end of a name, and blanks in
// front. Nothing is left of "." and "..".
func trimName(s string) string {
	return strings.TrimRightFunc(strings.TrimLeftFunc(s, unicode.IsSpace), func(r rune) bool {
		return r == '.' || unicode.IsSpace(r)
	})
}

// shorten cuts s in front of its extension, between characters.
func shorten(s string) string {
	ext := path.Ext(s)
	if len(ext) > 32 {
		ext = ""
	}
	n := maxName - len(ext)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return trimName(s[:n] + ext)
}

// isDevice reports whether Windows takes s for a device, whatever its
// extension.
func isDevice(s string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(s), ".")
	base = strings.TrimRight(base, " ")
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(base, port); ok {
			return len(n) == 1 && n[0] >= '0' && n[0] <= '9' || n == "¹" || n == "²" || n == "³"
		}
	}
	return false
}
