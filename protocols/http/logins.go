package http

import (
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/httpauth"
)

type login struct {
	user, password string
	realm          string
	digest         *httpauth.Digest // nil for Basic

	dir string // directory that the login applies to; guarded by logins.mu
}

func (l *login) authorization(r *http.Request) (string, error) {
	if l.digest == nil {
		if strings.Contains(l.user, ":") {
			return "", errors.New("a user name with a colon cannot be sent")
		}
		return httpauth.Basic(l.user, l.password), nil
	}
	return l.digest.Authorization(r, r.URL.RequestURI(), l.user, l.password)
}

// logins caches accepted logins, so that they can be sent without a challenge (RFC 7617, section
// 2.2). Logins of foreign requests are not cached, because they belong to the author of the URL.
type logins struct {
	mu sync.Mutex
	by map[uri.Origin][]*login
}

const maxLogins = 64

// find returns the login for u. It returns nil if u names another user.
func (s *logins) find(u uri.URI) *login {
	s.mu.Lock()
	defer s.mu.Unlock()
	given := u.Userinfo()
	for _, l := range s.by[u.Origin()] {
		switch {
		case !strings.HasPrefix(directory(u), l.dir):
		case given.HasName && given.Name != l.user, given.HasPassword && given.Password != l.password:
		default:
			return l
		}
	}
	return nil
}

// keep caches a login that was accepted for u. Within a realm it applies to the common directory of
// all resources that accepted it.
func (s *logins) keep(u uri.URI, l *login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = make(map[uri.Origin][]*login)
	}
	dir, key := directory(u), u.Origin()
	list := s.by[key]
	for i, old := range list {
		if old.realm == l.realm && old.user == l.user {
			l.dir = commonDirectory(dir, old.dir)
			list[i] = l
			return
		}
	}
	if l.dir = dir; len(list) < maxLogins {
		s.by[key] = append(list, l)
	}
}

func (s *logins) forget(u uri.URI, l *login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := u.Origin()
	list := s.by[key]
	for i, old := range list {
		if old == l {
			s.by[key] = append(list[:i:i], list[i+1:]...)
			return
		}
	}
}

func directory(u uri.URI) string {
	p := u.Normalize().Path()
	return p[:strings.LastIndexByte(p, '/')+1]
}

func commonDirectory(a, b string) string {
	for !strings.HasPrefix(a, b) {
		b = path.Dir(strings.TrimSuffix(b, "/"))
		if b != "/" {
			b += "/"
		}
	}
	return b
}
