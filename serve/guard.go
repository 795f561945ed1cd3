package serve

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// cookie returns the name of the cookie with the token. Cookies are the same for all ports of a
// host, so the port is part of it.
func cookie(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "urlget-" + port
}

// The beginnings of the server's own URLs. A URL that a user types without a scheme gets the secure one.
const (
	plainWeb  = "http://"
	secureWeb = "https://"
)

// origin returns the origin of the page that r is for. The host was checked.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return secureWeb + r.Host
	}
	return plainWeb + r.Host
}

// socketOrigin returns the same for WebSockets.
func socketOrigin(r *http.Request) string { return "ws" + strings.TrimPrefix(origin(r), "http") }

// secure sets the fields of all answers. The pages consist of the program's own markup and of text
// that was escaped; should that fail, nothing but the program's own script can run, and nothing can
// be loaded from elsewhere.
func secure(w http.ResponseWriter, r *http.Request) {
	o := origin(r)
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src "+o+"/static/app.js; style-src "+o+"/static/app.css; "+
		"img-src "+o+"/content "+o+"/static/; media-src "+o+"/content; frame-src "+o+"/content; form-action "+o+
		"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // "no-referrer" would take the origin from what our own pages send
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// strange sets the fields of an answer with content of a stranger: it has no origin and no scripts,
// and what it shows and what its forms send goes through the server.
func strange(w http.ResponseWriter, r *http.Request) {
	c := origin(r) + "/content"
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox allow-forms allow-top-navigation-by-user-activation; default-src 'none'; img-src "+c+" data:; "+
		"media-src "+c+" data:; font-src "+c+" data:; style-src "+c+" 'unsafe-inline'; frame-src "+c+"; form-action "+origin(r)+"; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Del("X-Frame-Options") // a page of a stranger may have frames
	h.Del("Cross-Origin-Opener-Policy")
	h.Del("Cross-Origin-Resource-Policy") // and no origin, that of its images included
}

// guarded returns a handler that only the user reaches: who has the token, from a page of ours.
func (s *Server) guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := ""
		if r.Method == http.MethodGet && r.URL.Path == "/" {
			given = r.URL.Query().Get("token")
		}
		c, err := r.Cookie(cookie(r))
		user := err == nil && s.isToken(c.Value)
		if given != "" && (s.isToken(given) || !user && s.takesOnce(given)) {
			http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: s.Token, Path: "/", HttpOnly: true, Secure: r.TLS != nil,
				SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		switch {
		case !user && given != "":
			http.Error(w, "This is not the token, or not any more: the address that urlget opens in the browser by itself works once. "+
				"Open the address that urlget printed when it began to serve.", http.StatusForbidden)
		case !user:
			http.Error(w, "Open the address that urlget printed when it began to serve: it has the token.", http.StatusForbidden)
		case r.Method == http.MethodPost && !ours(r):
			http.Error(w, "Another page sent this.", http.StatusForbidden)
		default:
			next(w, r)
		}
	})
}

func (s *Server) isToken(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.Token)) == 1
}

// ours reports whether a page of ours made the request.
func ours(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // browsers that are older do not say it
	return r.Header.Get("Origin") == origin(r) && (site == "" || site == "same-origin")
}

// takesOnce reports whether text is a token that is good once, which it is no longer.
func (s *Server) takesOnce(text string) bool {
	_, ok := s.once.take(text)
	return ok
}
