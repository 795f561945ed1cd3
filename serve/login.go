package serve

import (
	"net/http"
	"sync"

	"github.com/urlget/urlget/fetch/uri"
)

type logins struct {
	mu  sync.Mutex
	all map[uri.Origin]uri.URI // a URL with the login
}

const maxLogins = 1000

func (l *logins) take(u uri.URI) uri.URI {
	if _, ok := u.Password(); !ok {
		return u
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= maxLogins {
		l.all = make(map[uri.Origin]uri.URI)
	}
	l.all[u.Origin()] = u
	return u.WithoutPassword()
}

func (l *logins) has(u uri.URI) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.all[u.Origin()]
	return ok
}

// with returns u with the stored login for its origin. A login of another user than that of u is
// not used.
func (l *logins) with(u uri.URI) uri.URI {
	l.mu.Lock()
	defer l.mu.Unlock()
	stored, ok := l.all[u.Origin()]
	if !ok {
		return u
	}
	name, named := u.User()
	if same, _ := stored.User(); named && same != name {
		return u
	}
	return u.WithUserinfoOf(stored)
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r, "login form") {
		return
	}
	a, err := s.verify(r.PostForm)
	if err != nil || a.foreign {
		s.newPage(w, r, a).refuseUnsigned(err)
		return
	}
	u := a.url.WithoutUserinfo()
	parts := uri.Parts{Scheme: u.Scheme(), Host: u.Host(), Port: u.Port(0), Path: "/",
		Login: uri.Userinfo{Name: r.PostForm.Get("user"), HasName: true,
			Password: r.PostForm.Get("password"), HasPassword: true}}
	if known, err := parts.URI(); err == nil {
		s.logins.take(known)
	}
	a.url = u
	http.Redirect(w, r, s.link("/view", a), http.StatusSeeOther)
}
