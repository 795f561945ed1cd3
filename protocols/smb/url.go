package smb

import (
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// maxPath limits the length of a path, in UTF-16 code units. The protocol has a 16-bit field for its
// length in bytes.
const maxPath = 32_000

type target struct {
	req   *fetch.Request
	url   uri.URI // without the fragment
	login uri.Userinfo
	addr  string
	share string // "" for the list of shares
	path  string // within the share, separated by backslashes
	remotefile.Path
	from    string // the referring host, on which credentials may depend; "" if it is the same host
	foreign bool
}

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, fetch.ErrURL.Errorf("no host")
	}
	t := &target{req: req, url: u, login: u.Userinfo(), addr: u.HostPort(defaultPort)}
	if from := req.From; !from.IsZero() && from.Host() != u.Host() {
		t.from = from.Host()
	}
	for _, part := range []string{t.login.Name, t.login.Password} {
		if _, ok := smb2.AppendUTF16(nil, part); !ok || strings.ContainsAny(part, "\r\n\x00") {
			return nil, fetch.ErrURL.Errorf("control character or invalid UTF-8 in user name or password")
		}
	}
	t.Path, _ = remotefile.PathOf(u)
	return t, t.setPath()
}

func (t *target) setPath() error {
	var names []string
	for part := range strings.SplitSeq(t.Text, "/") {
		name := uri.UnescapeRaw(part)
		utf16, ok := smb2.AppendUTF16(nil, name)
		switch {
		case name == "":
			continue
		case !ok:
			return fetch.ErrURL.Errorf("invalid UTF-8 in a file name")
		case strings.ContainsAny(name, "/\\\x00"), name == ".", name == "..":
			return fetch.ErrURL.Errorf(`slash, backslash or NUL in a file name, or the name "." or ".."`)
		case len(utf16) > 2*maxPath:
			return fetch.ErrURL.Errorf("the path is too long")
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	t.share, t.path = names[0], strings.Join(names[1:], `\`)
	if len(smb2.UTF16(t.path)) > 2*maxPath {
		return fetch.ErrURL.Errorf("the path is too long")
	}
	return nil
}

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

// Addr is used by [driver.Pool].
func (k key) Addr() string { return k.addr }

func (t *target) key() key {
	return key{addr: t.addr, share: strings.ToUpper(t.tree()), login: t.login, from: t.from,
		foreign: t.foreign}
}

func (t *target) name() string {
	if t.Text == "" {
		return ""
	}
	return uri.UnescapeRaw(path.Base(t.Text))
}
