package mirror

import (
	"crypto/sha256"
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// A Layout maps URLs to file paths: a directory for the server, and in it the path of the URL. See
// Path for the rules. Two URLs can get the same path, unless Distinct is set without Flat and
// CutDirs; the mirror then adds a number to one of them.
type Layout struct {
	NoHost  bool // omit the directory of the server
	CutDirs int  // number of leading directories to omit
	Flat    bool // omit all directories
	// Distinct keeps what distinguishes URLs and no name shows. It is for trees without a state,
	// which cannot number their files.
	Distinct bool
}

const maxName = 200 // length of a name in bytes; longer ones are shortened and get a digest

// Path returns the slash-separated path for u, whose scheme has the traits t. Two URLs share a path
// only if they have the same key (see uri.URI.Key), or are Gopher URLs that differ only in the item
// type or in the "+" of Gopher+. Without Distinct, these share a path too: a directory and its
// index.html on the web, names that end in a NUL or in "%00" and a number, Gopher URLs that differ in the
// slash that begins the selector, Prospero URLs that differ in their fields, and WAIS documents with the
// same database, types and file name.
//
// The directory of the server is its host name, followed by "+port" if the port is not the default.
// Each path segment becomes a file name. Characters that a file name must not contain are written
// as "%" and two hexadecimal digits, and so is a "%" that would look like such an escape. The same
// applies to a space at the beginning and, without the directory of the server, to a dot or a dash
// at the beginning of the path. The file name of a web page whose URL ends in a slash is
// index.html (Traits.IndexName). A query is kept after its "?". A Gopher menu is saved as
// gophermap in a directory named after its selector. A WAIS document has the file name of its path
// on the server, in the directory of its database and types.
func (l *Layout) Path(u uri.URI, t fetch.Traits) string {
	var names []string
	switch {
	case t.Pages:
		names = webNames(u, t.IndexName(), l.Distinct)
	case t.Menus:
		names = gopherNames(u, l.Distinct)
	default:
		names = treeNames(u, l.Distinct)
	}
	dirs, name := names[:len(names)-1], names[len(names)-1]
	if !l.Distinct && isProvisional(name) {
		i := strings.LastIndex(name, "%00")
		name = name[:i] + "%2500" + name[i+3:]
	}
	switch {
	case l.Flat:
		dirs = nil
	case l.CutDirs > 0:
		dirs = dirs[min(l.CutDirs, len(dirs)):]
	}
	all := make([]string, 0, 2+len(dirs))
	if !l.NoHost && !l.Flat {
		if host := hostName(u); host != "" {
			all = append(all, host)
		}
	}
	return joinNames(append(append(all, dirs...), name))
}

// joinNames returns the path with the given elements. The first one is not hidden and does not look
// like an option.
func joinNames(names []string) string {
	if first := names[0]; first[0] == '.' || first[0] == '-' {
		names[0] = shorten(fmt.Sprintf("%%%02X", first[0]) + first[1:])
	}
	return path.Clean(strings.Join(names, "/"))
}

// alternative returns the nth alternative to a path, with the same extension.
func alternative(name string, n int) string {
	dir, base := path.Split(name)
	ext := path.Ext(base)
	if ext == base {
		ext = "" // a dot file
	}
	return fmt.Sprintf("%s%s.%d%s", dir, strings.TrimSuffix(base, ext), n, ext)
}

// provisional returns the nth alternative to a path during a run. It is the path itself if n is 0.
// Layout.Path never returns another one.
func provisional(name string, n int) string {
	if n == 0 {
		return name
	}
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + "%00" + strconv.Itoa(n) + ext
}

// Dir returns the path of the directory for the members of a listing, or "." for the root.
func (l *Layout) Dir(u uri.URI, t fetch.Traits) string {
	return path.Dir(l.Path(member(u), t))
}

// below applies l to dir, the path of a directory in the zero Layout.
func (l *Layout) below(dir string) string {
	host, rest, _ := strings.Cut(dir, "/")
	var dirs []string
	if !l.Flat && rest != "" {
		dirs = strings.Split(rest, "/")
		dirs = dirs[min(l.CutDirs, len(dirs)):]
	}
	if !l.NoHost && !l.Flat {
		dirs = append([]string{host}, dirs...)
	}
	if len(dirs) == 0 {
		return "."
	}
	return joinNames(dirs)
}

func member(u uri.URI) uri.URI {
	if m, err := u.JoinPath("x"); err == nil {
		return m
	}
	return u
}

func hostName(u uri.URI) string {
	host := u.Host()
	if host == "" {
		return escapeName(u.Scheme(), "")
	}
	name := escapeName(host, "+")
	if port := u.Port(0); port != 0 {
		name += "+" + strconv.Itoa(int(port))
	}
	return name
}

// webNames returns the names for a URL of the generic syntax, where an encoded delimiter differs
// from a literal one. Index is the file name of directory pages. If distinct is set, no other page
// has it.
func webNames(u uri.URI, index string, distinct bool) []string {
	u = u.Normalize()
	names := strings.Split(strings.TrimPrefix(u.Path(), "/"), "/")
	for i, name := range names {
		names[i] = escapeName(decodeWeb(name), "?")
	}
	last := &names[len(names)-1]
	for i, name := range names[:len(names)-1] {
		if name == "" {
			names[i] = "%2F" // an empty segment
		}
	}
	switch {
	case *last == "":
		*last = index
	case *last == index && distinct:
		*last = strings.Replace(index, ".", "%2E", 1)
	}
	if query, ok := u.Query(); ok {
		query = strings.ReplaceAll(strings.ReplaceAll(query, "%25", "%2525"), "%2F", "%252F")
		*last = shorten(withoutReserved(*last + "?" + strings.ReplaceAll(escapeBytes(query), "/", "%2F")))
	}
	return names
}

// decodeWeb decodes a name except for encoded delimiters. It marks those so that escapeName keeps
// them.
func decodeWeb(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			c := uri.UnescapeRaw(name[i : i+3])
			if len(c) == 1 && !strings.Contains(":/?@!$&'()*+,;=", c) {
				b.WriteString(c)
				i += 2
				continue
			}
			b.WriteByte(escaped)
			continue
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// escaped marks a "%" that is part of an escape in the URL. The byte never occurs in UTF-8, and
// escapeName encodes every other invalid byte.
const escaped = 0xff

// treeNames returns the names for a URL whose path consists of names only. The type code of FTP is
// omitted because it selects a transfer mode, not a file. The paths of mirrors are a contract, so
// they do not depend on traits of the driver. If distinct is false, a WAIS document and a Prospero
// object have the names that their servers know, without the rest of the identifier.
func treeNames(u uri.URI, distinct bool) []string {
	p := u.URLPath()
	if _, err := uri.ParseProspero(u); err == nil && !distinct {
		p, _, _ = strings.Cut(p, ";")
		p, _, _ = strings.Cut(p, "%00")
	}
	raw := strings.Split(p, "/")
	for i, name := range raw {
		raw[i] = uri.UnescapeRaw(name)
	}
	if f, err := uri.ParseFTP(u); err == nil {
		raw = append(f.CWD, f.Name)
	}
	if w, err := uri.ParseWAIS(u); err == nil && !distinct {
		if local := w.LocalPath(); local != "" && !strings.HasSuffix(local, "/") {
			raw = []string{w.Database, w.DocType, path.Base(local)}
		}
	}
	var names []string
	for _, name := range raw {
		if name != "" {
			names = append(names, escapeName(name, ""))
		}
	}
	if len(names) == 0 {
		return []string{"index"}
	}
	return names
}

// escapeName encodes a name of arbitrary bytes as a file name. The characters in more are encoded
// too.
func escapeName(name, more string) string {
	s := name
	if !isPlain(name) {
		s = escapeRunes(name, more)
	}
	switch lower := strings.ToLower(s); {
	case s == "":
		return s
	case s == ".", s == "..", strings.HasPrefix(lower, stateDir):
		s = "%2E" + s[1:] // the names of state files are reserved
	case runtime.GOOS == "windows" && s[0] != '.' && s[0] != '-' && s[0] != '_' &&
		strings.HasPrefix(fetch.SafeName(s), "_"):
		s = fmt.Sprintf("%%%02X", s[0]) + s[1:] // the name of a device
	}
	return shorten(withoutReserved(s))
}

// withoutReserved changes a name with the suffix of a partial file or of an original.
func withoutReserved(name string) string {
	if !download.IsPartialName(name) && !strings.HasSuffix(strings.ToLower(name), backup) {
		return name
	}
	i := strings.LastIndexByte(name, '.')
	return name[:i] + "%2E" + name[i+1:]
}

// isPlain reports whether a name has only characters that no system forbids.
func isPlain(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && name[len(name)-1] != '.': // at the end, Windows ignores it
		default:
			return false
		}
	}
	return true
}

func escapeRunes(name, more string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		c := name[i : i+n]
		i += n
		switch {
		case c == string([]byte{escaped}) && isEscape("%"+name[i:]):
			b.WriteByte('%')
		case r == utf8.RuneError && n == 1,
			unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029',
			r == '/', r == '\\', strings.ContainsRune(more, r),
			b.Len() == 0 && r == ' ',
			c == "%" && isEscape(name[i-1:]),
			runtime.GOOS == "windows" && strings.ContainsRune(`<>:"|?*`, r),
			i == len(name) && (r == '.' || r == ' ') && runtime.GOOS == "windows":
			encode(&b, c)
		default:
			b.WriteString(c)
		}
	}
	return b.String()
}

func isEscape(s string) bool {
	return len(s) > 2 && s[0] == '%' && strings.IndexByte(hexDigits, s[1]) >= 0 &&
		strings.IndexByte(hexDigits, s[2]) >= 0
}

const hexDigits = "0123456789ABCDEFabcdef"

func encode(b *strings.Builder, s string) {
	for _, c := range []byte(s) {
		fmt.Fprintf(b, "%%%02X", c)
	}
}

// escapeBytes encodes characters that file names cannot contain, but keeps percent signs.
func escapeBytes(s string) string {
	isEscaped := func(c rune) bool {
		return c <= ' ' || c >= 0x7f || c == '\\' ||
			runtime.GOOS == "windows" && strings.ContainsRune(`<>:"|?*`, c)
	}
	if !strings.ContainsFunc(s, isEscaped) {
		return s
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		if isEscaped(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	ext := path.Ext(s)
	if len(ext) > 16 {
		ext = ""
	}
	return strings.ToValidUTF8(s[:maxName-len(ext)-20], "") + fmt.Sprintf("%%~%x", sum[:8]) + ext
}
