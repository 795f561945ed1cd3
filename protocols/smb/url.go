package smb

import (
	"errors"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// maxPath bounds a path, in characters of UTF-16 (its length is sent in 16 bits, of bytes).
const maxPath = 32_000

// A target is a request, decoded for SMB.
type target struct {
	req   *driver.Request
	url   uri.URI // without the fragment
	login uri.Userinfo
	addr  string
	share string // "" for the list of shares
	path  string // within the share, with backslashes
	dir   bool   // the URL ends with a slash
	base  string // the URL up to the path, with the slash after the host
	text  string // the rest, encoded, without a trailing slash

	from    string // the host that led here, on which credentials may depend; "" if it is the same
	foreign bool
}

// newTarget decodes req.
func newTarget(req *driver.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, malformed("no host")
	}
	t := &target{req: req, url: u, login: u.Userinfo(), addr: u.HostPort(defaultPort)}
	if from := req.From; !from.IsZero() && from.Host() != u.Host() {
		t.from = from.Host()
	}
	for _, part := range []string{t.login.Name, t.login.Password} {
		if _, ok := smb2.AppendUTF16(nil, part); !ok || strings.ContainsAny(part, "\r\n\x00") {
			return nil, malformed("user name or password with a control character or other than UTF-8")
		}
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
	t.dir = written == "" || strings.HasSuffix(written, "/")
	t.text = strings.TrimRight(written, "/")
	var names []string
	for part := range strings.SplitSeq(t.text, "/") {
		name := uri.UnescapeRaw(part)
		utf16, ok := smb2.AppendUTF16(nil, name)
		switch {
		case name == "":
			continue
		case !ok:
			return malformed("a name is not UTF-8")
		case strings.ContainsAny(name, "/\\\x00"), name == ".", name == "..":
			return malformed("a name that could lead elsewhere")
		case len(utf16) > 2*maxPath:
			return malformed("the path is too long")
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	t.share, t.path = names[0], strings.Join(names[1:], `\`)
	if len(smb2.UTF16(t.path)) > 2*maxPath {
		return malformed("the path is too long")
	}
	return nil
}

// tree returns the share to connect to.
func (t *target) tree() string {
	if t.share == "" {
		return "IPC$"
	}
	return t.share
}

// A key determines which connections are interchangeable.
type key struct {
	addr, share string
	login       uri.Userinfo
	from        string
	foreign     bool
}

func (t *target) key() key {
	return key{addr: t.addr, share: strings.ToUpper(t.tree()), login: t.login, from: t.from, foreign: t.foreign}
}

// name returns the last element of the path, or "" if it has none.
func (t *target) name() string {
	if t.text == "" {
		return ""
	}
	return uri.UnescapeRaw(path.Base(t.text))
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
	return &driver.Error{Code: driver.ErrURL, Err: errors.New(reason)}
}
