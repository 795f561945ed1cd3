package mirror

import (
	"crypto/sha256"
	"fmt"
	"path"
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// A Layout says where a URL is saved: below a directory for its server, as its path has it. See
// Path for the rule. Flat and CutDirs can give two URLs one path; the mirror then numbers them.
type Layout struct {
	NoHost  bool // leave out the directory of the server
	CutDirs int  // leave out so many directories below it
	Flat    bool // no directories at all
}

const (
	index   = "index.html" // the page of a URL that ends in a slash
	menu    = "gophermap"  // the menu of a gopher directory
	maxName = 200          // bytes of a name; longer ones are cut and told apart by a digest
)

// Path returns the path of what u names, with slashes between its elements. T are the traits of its
// scheme. Two URLs have one path
// only if they have one key (see uri.URI.Key) or, in gopher, differ in the item type
// alone.
//
// The directory of the server is its name, with "+port" behind it if the port is not the default
// one. A name in the URL becomes the name of a file; what a file name cannot hold, or should not
// begin with, stands as "%" and two hexadecimal digits, and so does a "%" that would be taken for
// that. A page whose URL ends in a slash is index.html, and no other page of the web has that name.
// A query stays behind its "?". A gopher menu is a file gophermap in a directory of its selector.
func (l *Layout) Path(u uri.URI, t fetch.Traits) string {
	var names []string
	switch {
	case t.Pages:
		names = webNames(u)
	case t.Menus:
		names = gopherNames(u)
	default:
		names = treeNames(u)
	}
	dirs, name := names[:len(names)-1], names[len(names)-1]
	switch {
	case l.Flat:
		dirs = nil
	case l.CutDirs > 0:
		dirs = dirs[min(l.CutDirs, len(dirs)):]
	}
	if host := hostName(u); !l.NoHost && !l.Flat && host != "" {
		dirs = append([]string{host}, dirs...)
	}
	return path.Join(append(append([]string(nil), dirs...), name)...)
}

// Dir returns the path of the directory that the members of a listing are in, "." for the root.
func (l *Layout) Dir(u uri.URI, t fetch.Traits) string {
	return path.Dir(l.Path(member(u), t))
}

// below returns the path of a directory that is dir if nothing is left out.
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
	return path.Join(".", path.Join(dirs...))
}

// member returns the URL of something in the directory that u names.
func member(u uri.URI) uri.URI {
	if m, err := u.JoinPath("x"); err == nil {
		return m
	}
	return u
}

// hostName returns the name of the directory of a server.
func hostName(u uri.URI) string {
	host := u.Host()
	if host == "" {
		return escapeName(u.Scheme(), "")
	}
	name := escapeName(host, "+")
	if port := u.Port(0); port != 0 {
		name = fmt.Sprintf("%s+%d", name, port)
	}
	return name
}

// webNames are the names of a URL of the generic syntax, in which an encoded delimiter is not the
// same as the bare one.
func webNames(u uri.URI) []string {
	u = u.Normalize()
	var names []string
	for name := range strings.SplitSeq(strings.TrimPrefix(u.Path(), "/"), "/") {
		names = append(names, escapeName(decodeWeb(name), "?"))
	}
	last := &names[len(names)-1]
	for i, name := range names[:len(names)-1] {
		if name == "" {
			names[i] = "%2F" // two slashes in a row
		}
	}
	switch *last {
	case "":
		*last = index
	case index:
		*last = "index%2Ehtml"
	}
	if query, ok := u.Query(); ok {
		query = strings.ReplaceAll(strings.ReplaceAll(query, "%25", "%2525"), "%2F", "%252F")
		*last = shorten(*last + "?" + strings.ReplaceAll(escapeBytes(query), "/", "%2F"))
	}
	return names
}

// decodeWeb decodes what is encoded in a name, but for delimiters: those stay as written, marked so
// that escapeName leaves them.
func decodeWeb(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			c := uri.UnescapeRaw(name[i : i+3])
			if len(c) == 1 && !strings.Contains(":/?#[]@!$&'()*+,;=", c) {
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

// escaped stands for a "%" that is one of the URL's own escapes. It is no byte of UTF-8, and no
// other byte like it is left after decoding: those are encoded by escapeName.
const escaped = 0xff

// treeNames are the names of a URL whose path is one of names alone. The type code of FTP is left
// out: it says how to retrieve a file, not which.
func treeNames(u uri.URI) []string {
	raw := strings.Split(u.URLPath(), "/")
	for i, name := range raw {
		raw[i] = uri.UnescapeRaw(name)
	}
	if f, err := uri.ParseFTP(u); err == nil {
		raw = append(f.CWD, f.Name)
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

// gopherNames are those of the selector.
func gopherNames(u uri.URI) []string {
	g, err := uri.ParseGopher(u)
	if err != nil {
		return treeNames(u)
	}
	var names []string
	for name := range strings.SplitSeq(g.Selector, "/") {
		if name != "" {
			names = append(names, escapeName(name, ""))
		}
	}
	if g.Selector != "" && g.Selector[0] != '/' {
		names[0] = shorten("%00" + names[0]) // another selector than that with a slash
	}
	if g.Type == '1' || g.Type == 0 || len(names) == 0 {
		names = append(names, menu)
	} else if last := &names[len(names)-1]; *last == menu {
		*last = "gopherma%70"
	}
	if g.HasSearch {
		names[len(names)-1] = shorten(names[len(names)-1] + "%09" + escapeName(g.Search, ""))
	}
	return names
}

// escapeName makes a file name of a name of any bytes; those in more are encoded too.
func escapeName(name, more string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		c := name[i : i+n]
		i += n
		switch {
		case c == string([]byte{escaped}) && isEscape("%"+name[i:]):
			b.WriteByte('%')
		case r == utf8.RuneError && n == 1, unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029',
			r == '/', r == '\\', strings.ContainsRune(more, r),
			b.Len() == 0 && (r == '.' || r == '-' || r == ' '),
			c == "%" && isEscape(name[i-1:]),
			runtime.GOOS == "windows" && strings.ContainsRune(`<>:"|?*`, r),
			i == len(name) && (r == '.' || r == ' ') && runtime.GOOS == "windows":
			encode(&b, c)
		default:
			b.WriteString(c)
		}
	}
	s := b.String()
	switch lower := strings.ToLower(s); {
	case s == "":
		return s
	case strings.HasSuffix(lower, ".part"), strings.HasSuffix(lower, ".part.json"), strings.HasSuffix(lower, ".part.new"),
		strings.HasSuffix(lower, backup):
		i := strings.LastIndexByte(s, '.') // the names of unfinished files and of originals are ours
		s = s[:i] + "%2E" + s[i+1:]
	case driver.SafeName(s) != s && strings.HasPrefix(driver.SafeName(s), "_"):
		s = fmt.Sprintf("%%%02X", s[0]) + s[1:] // a device of Windows
	}
	return shorten(s)
}

// isEscape reports whether s begins with "%" and two hexadecimal digits.
func isEscape(s string) bool {
	return len(s) > 2 && s[0] == '%' && strings.IndexByte(hexDigits, s[1]) >= 0 && strings.IndexByte(hexDigits, s[2]) >= 0
}

const hexDigits = "0123456789ABCDEFabcdef"

func encode(b *strings.Builder, s string) {
	for _, c := range []byte(s) {
		fmt.Fprintf(b, "%%%02X", c)
	}
}

// escapeBytes encodes what a file name cannot hold in text that has escapes of its own.
func escapeBytes(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '\\' || runtime.GOOS == "windows" && strings.IndexByte(`<>:"|?*`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// shorten cuts a name that is too long for file systems.
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
