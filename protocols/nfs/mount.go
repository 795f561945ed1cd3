package nfs

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

const (
	// memory is how long it is remembered what a server exports.
	memory = 5 * time.Minute
	// maxServers bounds the servers that are remembered.
	maxServers = 256
	// maxGuesses bounds the directories that are tried where a server does not say what it exports.
	maxGuesses = 16
)

// A serverKey names a server within a scope of the client.
type serverKey struct{ addr, scope string }

// A server is what is remembered of a server.
type server struct {
	lock chan struct{} // held by who asks or looks; others wait
	knowledge
}

// knowledge is what is known of a server.
type knowledge struct {
	// notPublic is set if it has no public file handle.
	notPublic bool
	exports   []string          // paths, cleaned
	handles   map[string]export // by path
	learned   time.Time
}

// An export is a directory that a server gives access to.
type export struct {
	handle string
	none   bool // AUTH_SYS is not wanted, but AUTH_NONE
}

// server returns what is remembered of a server.
func (d *opener) server(ctx context.Context, addr string) *server {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := serverKey{addr, d.env.Scope(ctx)}
	s := d.servers[k]
	if s == nil {
		if len(d.servers) >= maxServers {
			clear(d.servers)
		}
		s = &server{lock: make(chan struct{}, 1)}
		d.servers[k] = s
	}
	return s
}

// enter waits until nobody else asks the server, and forgets what is old.
func (s *server) enter(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if time.Since(s.learned) > memory {
		s.knowledge = knowledge{}
	}
	return nil
}

func (s *server) leave() { <-s.lock }

// forget forgets what the server exports, and reports whether it was known.
func (s *server) forget(ctx context.Context) bool {
	if s.enter(ctx) != nil {
		return false
	}
	defer s.leave()
	known := s.handles != nil
	s.knowledge = knowledge{}
	return known
}

// withoutPublic reports whether the server is known to have no public file handle.
func (s *server) withoutPublic(ctx context.Context) (bool, error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.leave()
	return s.notPublic, nil
}

// mount returns the export that the path of t is in, and its path. If the path leads to exports
// rather than into one, it returns what is below it.
func (d *opener) mount(ctx context.Context, l *lease, t *target, s *server) (_ export, where string, below []string, err error) {
	if err := s.enter(ctx); err != nil {
		return export{}, "", nil, err
	}
	defer s.leave()
	name := t.path()
	if s.handles != nil {
		if where := holding(s.exports, name); where != "" && s.handles[where].handle != "" {
			return s.handles[where], where, nil, nil
		}
	}
	err = d.mounting(ctx, l, t, func(c *conn) error {
		err := c.askPlain(nfs3.Export, "", nil, func(d *xdr.Decoder) { s.exports = nil; s.add(nfs3.ParseExports(d)...) })
		if err != nil && (c.err != nil || elsewhere(err)) {
			return err
		} // a server need not say what it exports
		where = holding(s.exports, name)
		if where == "" {
			if below = children(s.exports, name); below != nil {
				return nil
			}
			where, err = s.guess(c, name)
			return err
		}
		return s.attach(c, where)
	})
	if err != nil || below != nil {
		return export{}, "", below, err
	}
	s.notPublic, s.learned = true, time.Now()
	return s.handles[where], where, nil, nil
}

// add notes exports. What is no absolute path is left out.
func (s *server) add(paths ...string) {
	for _, p := range paths {
		if path.IsAbs(p) && !strings.ContainsRune(p, 0) {
			if p = path.Clean(p); !slices.Contains(s.exports, p) {
				s.exports = append(s.exports, p)
			}
		}
	}
}

// attach gets the file handle of an export (RFC 1813, section 5.2.1). It tells the server at once
// that it is mounted no more, so that no list of who has mounted what grows (RFC 2054, section 8).
func (s *server) attach(c *conn, where string) error {
	var m nfs3.Mounted
	err := c.ask(nfs3.Mnt, where, nfs3.Dir(where), func(d *xdr.Decoder) { m = nfs3.ParseMounted(d) })
	if err != nil {
		return err
	}
	if m.Handle == "" {
		return remotefile.Violation("an empty file handle")
	}
	if s.handles == nil || len(s.handles) >= maxServers {
		s.handles = make(map[string]export)
	}
	x := export{handle: m.Handle}
	if len(m.Flavors) > 0 && !slices.Contains(m.Flavors, nfs3.FlavorSys) {
		if x.none = slices.Contains(m.Flavors, nfs3.FlavorNone); !x.none {
			return &driver.Error{Code: driver.ErrAuth, Err: errors.New("the export wants Kerberos"),
				Hint: "mount it with that; what is mounted is read"}
		}
	}
	s.handles[where] = x
	if err := c.askPlain(nfs3.Umnt, where, nfs3.Dir(where), func(*xdr.Decoder) {}); err != nil {
		c.env.Logger().Debug("nfs: the server was not told that nothing is mounted", "error", err)
	}
	return nil
}

// guess tries to mount a path and the directories above it, for servers that do not say what they
// export.
func (s *server) guess(c *conn, name string) (string, error) {
	var first error
	for n, where := 0, name; n < maxGuesses; n, where = n+1, path.Dir(where) {
		err := s.attach(c, where)
		if err == nil {
			s.add(where)
			return where, nil
		}
		if c.err != nil {
			return "", err
		}
		if first == nil || driver.CodeOf(first) == driver.ErrNotFound {
			first = err
		}
		if where == "/" {
			break
		}
	}
	return "", because(first, "nothing that the server exports holds "+name)
}

// holding returns the longest of the exports that a path is in, or "".
func holding(exports []string, name string) string {
	best := ""
	for _, x := range exports {
		if within(name, x) && len(x) > len(best) {
			best = x
		}
	}
	return best
}

// children returns the elements that lead from a directory to exports, or nil.
func children(exports []string, dir string) []string {
	var names []string
	for _, x := range exports {
		if within(x, dir) && x != dir {
			name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(x, dir), "/"), "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// within reports whether the clean path name is dir or below it.
func within(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}
