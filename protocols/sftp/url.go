package sftp

import (
	"cmp"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

type target struct {
	req   *fetch.Request
	login uri.Userinfo
	path  string // as sent to the server: absolute, or relative to the home directory
	remotefile.Path
	from  string  // the referring host, on which credentials may depend; "" if it is the same host
	route *route  // the route to the server
	url   uri.URI // without the fragment
}

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, fetch.ErrURL.Errorf("no host")
	}
	t := &target{req: req, url: u, login: u.Userinfo()}
	if from := req.From; !from.IsZero() && from.Host() != u.Host() {
		t.from = from.Host()
	}
	for _, part := range []string{t.login.Name, t.login.Password} {
		if strings.ContainsAny(part, "\r\n\x00") {
			return nil, fetch.ErrURL.Errorf("control character in user name or password")
		}
	}
	if strings.Contains(t.login.Name, ";") {
		// as in drafts of the scheme
		return nil, fetch.ErrURL.Errorf("connection parameters after the user name are not supported")
	}
	if strings.HasPrefix(t.login.Name, "-") || t.login.HasName && t.login.Name == "" {
		return nil, fetch.ErrURL.Errorf("invalid user name")
	}
	var rawPath string
	t.Path, rawPath = remotefile.PathOf(u)
	return t, t.setPath(rawPath)
}

// setPath decodes the path as written after the slash that follows the host.
func (t *target) setPath(rawPath string) error {
	if strings.Contains(strings.ToLower(rawPath), "%2f") {
		return fetch.ErrURL.Errorf("encoded slash in a file name")
	}
	t.Dir = t.Dir || rawPath == "~"
	name := uri.UnescapeRaw(t.Text)
	switch {
	case strings.ContainsRune(name, 0):
		return fetch.ErrURL.Errorf("NUL in a file name")
	case len(name) > maxPath:
		return fetch.ErrURL.Errorf("the path is too long")
	}
	rest, home := strings.CutPrefix(t.Text, "~") // an encoded tilde is part of a name
	switch {
	case home && rest == "":
		t.path = "."
	case home && rest[0] == '/':
		t.path = cmp.Or(strings.TrimLeft(uri.UnescapeRaw(rest), "/"), ".")
	default:
		t.path = "/" + name
	}
	return nil
}

// maxPath limits the length of a path sent to the server, in bytes.
const maxPath = 32 << 10

func (t *target) name() string {
	if t.path == "/" || t.path == "." {
		return ""
	}
	return path.Base(t.path)
}

func member(dir, name string, isDir bool) uri.URI {
	if name == "~" { // not the home directory
		dir, name = dir+"%7E", ""
	}
	return remotefile.Member(dir, name, isDir)
}
