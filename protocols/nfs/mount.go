package nfs

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/codec/xdr"
)

const (
	// cacheTime is how long the exports of a server stay cached.
	cacheTime = 5 * time.Minute
	// maxServers limits the number of cached servers, and of cached handles per server.
	maxServers = 256
	// maxMountAttempts limits the MNT attempts on a server that does not list its exports.
	maxMountAttempts = 16
)

type serverKey struct{ addr, scope string }

type server struct {
	lock chan struct{} // held while serverState is read or updated
	serverState
}

type serverState struct {
	// noPublicHandle is set if the server has no public file handle.
	noPublicHandle bool
	exports        []string          // paths, cleaned
	handles        map[string]export // mounted exports, by path
	cachedAt       time.Time
}

type export struct {
	handle   string
	authNone bool // the server accepts AUTH_NONE but not AUTH_SYS
}

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

// acquire locks s and drops an expired state.
func (s *server) acquire(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if time.Since(s.cachedAt) > cacheTime {
		s.serverState = serverState{}
	}
	return nil
}

func (s *server) release() { <-s.lock }

func (s *server) forget(ctx context.Context) bool {
	if s.acquire(ctx) != nil {
		return false
	}
	defer s.release()
	known := s.handles != nil
	s.serverState = serverState{}
	return known
}

func (s *server) lacksPublicHandle(ctx context.Context) (bool, error) {
	if err := s.acquire(ctx); err != nil {
		return false, err
	}
	defer s.release()
	return s.noPublicHandle, nil
}

// findExport returns the export that contains the path of t, and the path of the export. If t is a
// directory above exports, mount returns the names of its members instead.
func (d *opener) findExport(ctx context.Context, l *lease, t *target, s *server) (_ export,
	where string, below []string, err error) {
	if err := s.acquire(ctx); err != nil {
		return export{}, "", nil, err
	}
	defer s.release()
	name := t.path()
	if s.handles != nil {
		if where := longestExport(s.exports, name); where != "" && s.handles[where].handle != "" {
			return s.handles[where], where, nil, nil
		}
	}
	err = d.withMountConn(ctx, l, t, func(c *conn) error {
		err := c.callPlain(nfs3.Export, "", nil,
			func(d *xdr.Decoder) { s.exports = nil; s.add(nfs3.ParseExports(d)...) })
		if err != nil && (c.err != nil || isNotMount(err)) {
			return err
		} // EXPORT is optional
		where = longestExport(s.exports, name)
		if where == "" {
			if below = children(s.exports, name); below != nil {
				return nil
			}
			where, err = s.guessExport(c, name)
			return err
		}
		return s.mountExport(c, where)
	})
	if err != nil || below != nil {
		return export{}, "", below, err
	}
	s.noPublicHandle, s.cachedAt = true, time.Now()
	return s.handles[where], where, nil, nil
}

// add adds exports. It ignores paths that are not absolute.
func (s *server) add(paths ...string) {
	for _, p := range paths {
		if path.IsAbs(p) && !strings.ContainsRune(p, 0) {
			if p = path.Clean(p); !slices.Contains(s.exports, p) {
				s.exports = append(s.exports, p)
			}
		}
	}
}

// mountExport gets the file handle of an export with MNT (RFC 1813, section 5.2.1). It sends UMNT at
// once to keep the server's mount list short (RFC 2054, section 8).
func (s *server) mountExport(c *conn, where string) error {
	var m nfs3.MountResult
	err := c.call(nfs3.Mnt, where, nfs3.MountArgs(where), func(d *xdr.Decoder) { m = nfs3.ParseMount(d) })
	if err != nil {
		return err
	}
	if m.Handle == "" {
		return fetch.ErrProtocol.Errorf("empty file handle")
	}
	if s.handles == nil || len(s.handles) >= maxServers {
		s.handles = make(map[string]export)
	}
	x := export{handle: m.Handle}
	if len(m.Flavors) > 0 && !slices.Contains(m.Flavors, nfs3.FlavorSys) {
		if x.authNone = slices.Contains(m.Flavors, nfs3.FlavorNone); !x.authNone {
			return &fetch.Error{Code: fetch.ErrAuth, Err: errors.New("the export requires Kerberos"),
				Hint: "mount the export with Kerberos to read it from the mount point"}
		}
	}
	s.handles[where] = x
	if err := c.callPlain(nfs3.Umnt, where, nfs3.MountArgs(where), func(*xdr.Decoder) {}); err != nil {
		c.env.Logger().Debug("nfs: UMNT failed", "error", err)
	}
	return nil
}

// guessExport tries a path and the directories above it, for servers that list no exports.
func (s *server) guessExport(c *conn, name string) (string, error) {
	var first error
	for n, where := 0, name; n < maxMountAttempts; n, where = n+1, path.Dir(where) {
		err := s.mountExport(c, where)
		if err == nil {
			s.add(where)
			return where, nil
		}
		if c.err != nil {
			return "", err
		}
		if first == nil || fetch.CodeOf(first) == fetch.ErrNotFound {
			first = err
		}
		if where == "/" {
			break
		}
	}
	return "", annotate(first, "no export contains "+name)
}

// longestExport returns the longest export path that contains name, or "".
func longestExport(exports []string, name string) string {
	best := ""
	for _, x := range exports {
		if within(name, x) && len(x) > len(best) {
			best = x
		}
	}
	return best
}

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

func within(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}
