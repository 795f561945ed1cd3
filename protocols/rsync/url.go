package rsync

import (
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/rsync"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

type target struct {
	req    *fetch.Request
	url    uri.URI // without the fragment
	addr   string  // "host:port"
	module string  // "" for the list of modules
	names  []string
	remotefile.Path
}

func newTarget(req *fetch.Request) (*target, error) {
	u := req.URL.WithoutFragment()
	if u.Host() == "" {
		return nil, fetch.ErrURL.Errorf("no host")
	}
	t := &target{req: req, url: u, addr: u.HostPort(defaultPort)}
	t.Path, _ = remotefile.PathOf(u)
	for part := range strings.SplitSeq(t.Text, "/") {
		name, err := uri.Unescape(part)
		switch {
		case err != nil:
			return nil, err
		case name == "":
			continue
		case strings.Contains(name, "/"), name == ".", name == "..":
			return nil, fetch.ErrURL.Errorf(`slash in a file name, or the name "." or ".."`)
		}
		t.names = append(t.names, name)
	}
	if len(t.names) == 0 {
		return t, nil
	}
	t.module, t.names = t.names[0], t.names[1:]
	if !isModule(t.module) {
		return nil, fetch.ErrURL.Errorf(`the name of a module cannot begin with "#", "@" or "-"`)
	}
	if len(t.path(true)) >= rsync.MaxPath {
		return nil, fetch.ErrURL.Errorf("the path is too long")
	}
	return t, nil
}

// isModule reports whether name can be sent as the name of a module: a line with "#" is a command, and an
// argument with "-" an option.
func isModule(name string) bool {
	return remotefile.IsName(name) && strings.IndexByte("#@-", name[0]) < 0 && name != "." && name != ".."
}

func (t *target) name() string {
	if len(t.names) == 0 {
		return t.module
	}
	return t.names[len(t.names)-1]
}

// path returns the argument for a file or, if slash is set, for the members of a directory.
func (t *target) path(slash bool) string {
	var b strings.Builder
	b.WriteString(t.module)
	for i, name := range t.names {
		b.WriteByte('/')
		if i == 0 && name[0] == '-' {
			b.WriteString("./") // servers remove the module, and would take the rest for an option
		}
		b.WriteString(t.pattern(name))
	}
	if slash || len(t.names) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

// pattern returns the pattern that matches only name. Servers expand wildcards in a path, and take " ",
// the module and "/" for the begin of another path. They evaluate backslashes only in names with
// wildcards.
func (t *target) pattern(name string) string {
	if strings.ContainsAny(name, "*?[") || strings.HasSuffix(name, " "+t.module) {
		return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`, " ", "[ ]").Replace(name)
	}
	return name
}
