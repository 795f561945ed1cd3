package uri

import (
	"errors"
	"strings"
)

// File is the decoded form of a file URL (RFC 1738, section 3.10; RFC 8089).
type File struct {
	Host string // as returned by URI.Host; see IsLocal
	Path string // with a leading slash and slashes between names
}

// ParseFile decodes a file URL. A "?" is part of a name, as in RFC 1738. An encoded slash is an
// error, because names on a system with slashes cannot contain one. The short form "file:/path" of
// RFC 8089 is accepted.
func ParseFile(u URI) (File, error) {
	d := decode(u, "file")
	d.noLogin()
	d.slash()
	if u.port != 0 {
		d.fail("port in a file URL")
	}
	path := u.text[u.path:u.end()]
	if _, _, ok := cutFold(path, "%2f"); ok {
		d.fail("encoded slash in a file name")
	}
	f := File{Host: u.Host(), Path: d.text(path)}
	if u.authority && f.Path == "" {
		f.Path = "/"
	}
	if !strings.HasPrefix(f.Path, "/") {
		d.fail("file URL with a relative path")
	}
	return finish(d, f)
}

// IsLocal reports whether the host is empty or "localhost". Both denote the machine that interprets
// the URL.
func (f File) IsLocal() bool { return f.Host == "" || f.Host == "localhost" }

// URI writes f as a URL. It fails if Host is not a host or Path does not start with a slash.
func (f File) URI() (URI, error) {
	var wrong error
	if !strings.HasPrefix(f.Path, "/") {
		wrong = errors.New("file path without a leading slash")
	}
	return Parts{Scheme: "file", Host: f.Host, Path: escapeOpaque(f.Path)}.build(wrong)
}
