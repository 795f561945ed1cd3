package fetch

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName limits safe names, in bytes. File systems allow 255; programs may use the rest for
// suffixes.
const maxName = 240

// SafeName turns an untrusted name into a single safe path element, or "" if no characters remain.
// It takes the part after the last slash or backslash and removes control and format characters. It
// replaces characters that are special to a file system by "_" (RFC 6266, section 4.3), and removes
// spaces at both ends and dots at the end. The result is valid UTF-8 of at most 240 bytes, with the
// extension kept.
//
// The name "~", that of a Windows device, or one that begins with a dot or a dash, gets the prefix
// "_": shells replace "~" by the home directory, and programs read some hidden files by themselves
// and take a dash for an option. SafeName is idempotent.
func SafeName(s string) string {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9': // most characters
			return r
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
	if s != "" && (s[0] == '.' || s[0] == '-' || s == "~" || isDevice(s)) {
		s = "_" + s
	}
	if len(s) > maxName {
		s = shorten(s)
	}
	return s
}

// trimName removes trailing dots and spaces, which Windows ignores, and leading spaces. For "." and
// ".." it returns "".
func trimName(s string) string {
	return strings.TrimRightFunc(strings.TrimLeftFunc(s, unicode.IsSpace), func(r rune) bool {
		return r == '.' || unicode.IsSpace(r)
	})
}

// shorten truncates s before its extension, between characters.
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

// isDevice reports whether s is the name of a Windows device, regardless of its extension.
func isDevice(s string) bool {
	base, _, _ := strings.Cut(s, ".")
	if base = strings.TrimRight(base, " "); len(base) > 2*len("CONOUT$") {
		return false
	}
	base = strings.ToUpper(base)
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
