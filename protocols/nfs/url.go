package nfs

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

type target struct {
	req      *fetch.Request
	addr     string   // "host:port"
	names    []string // the elements of the path, decoded, without "." and ".."
	absolute bool     // the path is not relative to the public directory: two slashes after the host
	url      uri.URI  // without the fragment
	remotefile.Path
}

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, fetch.ErrURL.Errorf("no host")
	}
	if _, named := u.User(); named {
		return nil, fetch.ErrURL.Errorf("an nfs URL cannot have a user name (RFC 2224, section 10)")
	}
	t := &target{req: req, url: u, addr: u.HostPort(defaultPort)}
	var written string
	t.Path, written = remotefile.PathOf(u)
	if strings.Contains(strings.ToLower(written), "%2f") {
		return nil, fetch.ErrURL.Errorf("encoded slash in a file name")
	}
	t.absolute = strings.HasPrefix(written, "/")
	total := 0
	for part := range strings.SplitSeq(t.Text, "/") {
		name := uri.UnescapeRaw(part)
		total += len(name) + 1
		switch {
		case strings.ContainsRune(name, 0):
			return nil, fetch.ErrURL.Errorf("NUL in a file name")
		case len(name) > nfs3.MaxName, total > nfs3.MaxPath:
			return nil, fetch.ErrURL.Errorf("file name too long")
		case name == "", name == ".":
		case name == "..":
			t.Dir = t.Dir || strings.HasSuffix(t.Text, part)
			t.names = t.names[:max(len(t.names)-1, 0)] // never above the root
		default:
			t.names = append(t.names, name)
		}
	}
	return t, nil
}

func (t *target) name() string {
	if len(t.names) == 0 {
		return ""
	}
	return t.names[len(t.names)-1]
}

// directory returns the URL of t, a directory, with a trailing slash.
func (t *target) directory() string {
	if t.Text == "" && t.absolute {
		return t.Base + "/"
	}
	return t.Path.Directory()
}

func (t *target) path() string { return "/" + strings.Join(t.names, "/") }

// Bytes other than printable ASCII are escaped (RFC 2054, section 6.1).
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
