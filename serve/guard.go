package serve

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// cookie returns the name of the token cookie. Cookies are shared by all ports of a host, so the
// name contains the port.
func cookie(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "urlget-" + port
}

// The prefixes of the server's own URLs. A URL that the user enters without a scheme gets
// secureWeb.
const (
	plainWeb  = "http://"
	secureWeb = "https://"
)

// origin returns the origin of the server in r. The Host header field has been checked.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return secureWeb + r.Host
	}
	return plainWeb + r.Host
}

func socketOrigin(r *http.Request) string { return "ws" + strings.TrimPrefix(origin(r), "http") }

// setSecurityHeaders sets the security header fields of all responses. Page markup comes from
// templates that escape their data. If escaping fails, the policy still allows only the program's
// own scripts and no resources of other origins.
func setSecurityHeaders(w http.ResponseWriter, r *http.Request) {
	o, static := origin(r), staticFiles().path
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; "+
		"script-src "+o+static+"app.js; style-src "+o+static+"app.css; "+
		"img-src "+o+"/content data:; media-src "+o+"/content; frame-src "+o+"/content; "+
		"form-action "+o+"; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // "no-referrer" would set Origin to null in our own POST requests
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// setUntrustedHeaders sets the header fields of a response with untrusted content. It gets no
// origin and no scripts, and its resources and forms go through the server.
func setUntrustedHeaders(w http.ResponseWriter, r *http.Request) {
	c := origin(r) + "/content"
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox allow-forms allow-top-navigation-by-user-activation; "+
		"default-src 'none'; img-src "+c+" data:; media-src "+c+" data:; font-src "+c+" data:; "+
		"style-src "+c+" 'unsafe-inline'; frame-src "+c+"; form-action "+origin(r)+"; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Del("X-Frame-Options") // an untrusted page may have frames
	h.Del("Cross-Origin-Opener-Policy")
	h.Del("Cross-Origin-Resource-Policy") // the frame and its images have no origin
}

// requireToken returns a handler that requires the token, and for POST requests a page of this
// server.
func (s *Server) requireToken(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := ""
		if r.Method == http.MethodGet && r.URL.Path == "/" {
			given = r.URL.Query().Get("token")
		}
		c, err := r.Cookie(cookie(r))
		user := err == nil && s.isToken(c.Value)
		if given != "" && (s.isToken(given) || !user && s.takeOneTimeToken(given)) {
			http.SetCookie(w, &http.Cookie{Name: cookie(r), Value: s.Token, Path: "/",
				HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		switch {
		case !user && given != "":
			http.Error(w, "The token is wrong or has expired. The address opened by --open works only once. "+
				"Open the address that urlget printed at start.", http.StatusForbidden)
		case !user:
			http.Error(w, "The token is missing. Open the address that urlget printed at start.",
				http.StatusForbidden)
		case r.Method == http.MethodPost && !isSameOrigin(r):
			http.Error(w, "The request does not come from a page of this server.", http.StatusForbidden)
		default:
			next(w, r)
		}
	})
}

func (s *Server) isToken(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(s.Token)) == 1
}

func isSameOrigin(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site") // missing in older browsers
	return r.Header.Get("Origin") == origin(r) && (site == "" || site == "same-origin")
}

// isCrossSite reports whether a page of another site led to the request. Such a request shows a form,
// but does not start the work.
func isCrossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site != "" && site != "same-origin" && site != "none"
}

func (s *Server) takeOneTimeToken(text string) bool {
	_, ok := s.oneTimeTokens.take(text)
	return ok
}
