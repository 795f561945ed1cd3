package remotefile

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// IsName reports whether a name from a server is valid for a member. Other names would lead out of
// the directory.
func IsName(name string) bool { return name != "" && !strings.ContainsAny(name, "/\x00") }

// Names returns the decoded elements of the path, without "." and "..", which does not lead above the
// root. It sets p.Dir if the last one is "..".
func (p *Path) Names() (names []string, err error) {
	for part := range strings.SplitSeq(p.Text, "/") {
		switch name := uri.UnescapeRaw(part); {
		case name == "", name == ".":
		case !IsName(name):
			return nil, fetch.ErrURL.Errorf("encoded slash or NUL in a file name")
		case name == "..":
			p.Dir = p.Dir || strings.HasSuffix(p.Text, part)
			names = names[:max(len(names)-1, 0)]
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// Elements returns the elements of a path on a server, without empty ones and ".".
func Elements(path string) (names []string) {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// Join returns the path of the directory dir with more elements, of which ".." leads to the directory
// above. It returns false if that is above the root. The slice dir is not changed.
func Join(dir, more []string) (names []string, ok bool) {
	names = dir[:len(dir):len(dir)]
	for _, name := range more {
		switch {
		case name != "..":
			names = append(names, name)
		case len(names) == 0:
			return nil, false
		default:
			names = names[: len(names)-1 : len(names)-1]
		}
	}
	return names, true
}
