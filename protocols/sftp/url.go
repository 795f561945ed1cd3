package sftp

import (
	"errors"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A target is a request, decoded for SFTP.
type target struct {
	req   *fetch.Request
	login uri.Userinfo
	path  string  // as sent to the server: absolute, or relative to the directory of the login
	dir   bool    // the URL ends with a slash
	base  string  // the URL up to the path, with the slash after the host
	text  string  // the rest, encoded, without a trailing slash
	from  string  // the host that led here, on which credentials may depend; "" if it is the same
	route *route  // the route to the server
	url   uri.URI // without the fragment
}

// newTarget decodes req.
func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, malformed("no host")
	}
	t := &target{req: req, url: u, login: u.Userinfo()}
	if from := req.From; !from.IsZero() && from.Host() != u.Host() {
		t.from = from.Host()
	}
	for _, part := range []string{t.login.Name, t.login.Password} {
		if strings.ContainsAny(part, "\r\n\x00") {
			return nil, malformed("control character in user name or password")
		}
	}
	if strings.Contains(t.login.Name, ";") {
		return nil, malformed("connection parameters behind the user name are not known") // as in drafts of the scheme
	}
	if strings.HasPrefix(t.login.Name, "-") || t.login.HasName && t.login.Name == "" {
		return nil, malformed("not a user name")
	}
	written := u.URLPath()
	t.base = strings.TrimSuffix(u.String(), written)
	if !strings.HasSuffix(t.base, "/") {
		t.base += "/"
	}
	return t, t.setPath(written)
}

// setPath decodes the path as written after the slash that follows the host.
func (t *target) setPath(written string) error {
	if strings.Contains(strings.ToLower(written), "%2f") {
		return malformed("encoded slash in a file name")
	}
	t.dir = written == "" || written == "~" || strings.HasSuffix(written, "/")
	t.text = strings.TrimRight(written, "/")
	name := uri.UnescapeRaw(t.text)
	switch {
	case strings.ContainsRune(name, 0):
		return malformed("NUL in a file name")
	case len(name) > maxPath:
		return malformed("the path is too long")
	}
	rest, home := strings.CutPrefix(t.text, "~") // an encoded tilde is part of a name
	switch {
	case home && rest == "":
		t.path = "."
	case home && rest[0] == '/':
		t.path = strings.TrimLeft(uri.UnescapeRaw(rest), "/")
		if t.path == "" {
			t.path = "."
		}
	default:
		t.path = "/" + name
	}
	return nil
}

// maxPath bounds paths sent to the server, in bytes.
const maxPath = 32 << 10

// name returns the last element of the path, or "" if it has none.
func (t *target) name() string {
	if t.path == "/" || t.path == "." {
		return ""
	}
	return path.Base(t.path)
}

// directory returns the URL of t, a directory, with a trailing slash.
func (t *target) directory() string {
	if t.text == "" {
		return t.base
	}
	return t.base + strings.ReplaceAll(t.text, "?", "%3F") + "/"
}

// member returns the URL of a member of the directory dir.
func member(dir, name string, isDir bool) uri.URI {
	text := uri.Escape(name)
	if name == "~" {
		text = "%7E"
	}
	if isDir {
		text += "/"
	}
	u, err := uri.Parse(dir + text)
	if err != nil {
		return uri.URI{} // it would be too long
	}
	return u
}

func malformed(reason string) error {
	return &fetch.Error{Code: fetch.ErrURL, Err: errors.New(reason)}
}
