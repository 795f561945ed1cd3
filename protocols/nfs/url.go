package nfs

import (
	"slices"
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
	t.absolute = strings.HasPrefix(written, "/")
	var err error
	if t.names, err = t.Names(); err != nil {
		return nil, err
	}
	if len(uri.UnescapeRaw(t.Text)) >= nfs3.MaxPath ||
		slices.ContainsFunc(t.names, func(name string) bool { return len(name) > nfs3.MaxName }) {
		return nil, fetch.ErrURL.Errorf("file name too long")
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
