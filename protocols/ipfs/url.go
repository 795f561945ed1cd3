package ipfs

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxPath limits a path, in bytes.
const maxPath = 64 << 10

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if _, named := u.User(); named || u.Port(0) != 0 {
		return nil, fetch.ErrURL.Errorf("an %s URL cannot have a user or a port", u.Scheme())
	}
	text := u.String()
	if query, ok := u.Query(); ok {
		text = strings.TrimSuffix(text, "?"+query)
	}
	bare, err := uri.Parse(text)
	if err != nil {
		return nil, err
	}
	path := u.Path()
	t := &target{req: req, url: bare}
	t.Base = strings.TrimSuffix(text, path) + "/"
	t.Text, t.Dir = strings.Trim(path, "/"), strings.HasSuffix(path, "/")
	if len(t.Text) > maxPath {
		return nil, fetch.ErrURL.Errorf("path too long")
	}
	if t.names, err = t.Names(); err != nil {
		return nil, err
	}
	if t.named = u.Scheme() == "ipns"; t.named {
		t.name, err = parseName(u.Host())
	} else {
		t.root, err = parseCID(u.Host())
	}
	switch {
	case err != nil:
		return nil, fetch.ErrURL.Errorf("%.100q is %w", u.Host(), err)
	case t.named:
		return t, nil
	}
	return t, t.root.check()
}

// fileName returns the last element of the path or, without one, the host.
func (t *target) fileName() string {
	if len(t.names) == 0 {
		return t.url.Host()
	}
	return t.names[len(t.names)-1]
}

func (t *target) path() string { return "/" + strings.Join(t.names, "/") }
