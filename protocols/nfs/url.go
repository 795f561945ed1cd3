package nfs

import (
	"errors"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/nfs3"
)

// A target is a request, decoded for NFS.
type target struct {
	req      *fetch.Request
	addr     string   // "host:port"
	names    []string // the elements of the path, decoded, without "." and ".."
	absolute bool     // the path is not relative to the public directory: two slashes after the host
	dir      bool     // the URL ends with a slash
	base     string   // the URL up to the path, with the slash after the host
	text     string   // the rest, encoded, without a trailing slash
	url      uri.URI  // without the fragment
}

// newTarget decodes req.
func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, malformed("no host")
	}
	if _, named := u.User(); named {
		return nil, malformed("NFS URLs have no user names (RFC 2224, section 10)")
	}
	t := &target{req: req, url: u, addr: u.HostPort(defaultPort)}
	written := u.URLPath()
	t.base = strings.TrimSuffix(u.String(), written)
	if !strings.HasSuffix(t.base, "/") {
		t.base += "/"
	}
	if strings.Contains(strings.ToLower(written), "%2f") {
		return nil, malformed("encoded slash in a file name")
	}
	t.dir = written == "" || strings.HasSuffix(written, "/")
	t.absolute = strings.HasPrefix(written, "/")
	t.text = strings.TrimRight(written, "/")
	total := 0
	for part := range strings.SplitSeq(t.text, "/") {
		name := uri.UnescapeRaw(part)
		total += len(name) + 1
		switch {
		case strings.ContainsRune(name, 0):
			return nil, malformed("NUL in a file name")
		case len(name) > nfs3.MaxName, total > nfs3.MaxPath:
			return nil, malformed("the path is too long")
		case name == "", name == ".":
		case name == "..":
			t.dir = t.dir || strings.HasSuffix(t.text, part)
			t.names = t.names[:max(len(t.names)-1, 0)] // never above where it begins
		default:
			t.names = append(t.names, name)
		}
	}
	return t, nil
}

// name returns the last element of the path, or "" if it has none.
func (t *target) name() string {
	if len(t.names) == 0 {
		return ""
	}
	return t.names[len(t.names)-1]
}

// directory returns the URL of t, a directory, with a trailing slash.
func (t *target) directory() string {
	if t.text == "" {
		return t.base + strings.Repeat("/", len(t.prefix()))
	}
	return t.base + strings.ReplaceAll(t.text, "?", "%3F") + "/"
}

// prefix returns the slash of an absolute path.
func (t *target) prefix() string {
	if t.absolute {
		return "/"
	}
	return ""
}

// path returns the path as a server has it, from its root.
func (t *target) path() string { return "/" + strings.Join(t.names, "/") }

// member returns the URL of a member of the directory dir, or the zero URI if that would be too
// long.
func member(dir, name string, isDir bool) uri.URI {
	text := uri.Escape(name)
	if isDir {
		text += "/"
	}
	u, err := uri.Parse(dir + text)
	if err != nil {
		return uri.URI{}
	}
	return u
}

// canonical returns a path for a lookup from the public file handle (RFC 2054, section 6.1). What is
// not printable ASCII is escaped.
func canonical(names []string, absolute bool) string {
	var b strings.Builder
	if absolute {
		b.WriteByte('/')
	} else if len(names) == 0 {
		return "."
	}
	const hex = "0123456789abcdef"
	for i, name := range names {
		if i > 0 {
			b.WriteByte('/')
		}
		for _, c := range []byte(name) {
			if c < ' ' || c >= 0x7f || c == '%' {
				b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			} else {
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func malformed(reason string) error {
	return &fetch.Error{Code: fetch.ErrURL, Err: errors.New(reason)}
}
