package serve

import (
	"crypto/tls"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const hues = 12

func hue(u uri.URI) string {
	if u.Host() == "" {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(hostPort(u)))
	return "hue" + strconv.Itoa(int(h.Sum32()%hues))
}

const serif, sans = "serif", "sans"

func faceCookie(r *http.Request) string { return cookie(r) + "-face" }

func (p *page) look() (class, other string) {
	class = hue(p.here.url)
	if c, err := p.r.Cookie(faceCookie(p.r)); err == nil && c.Value == serif {
		return strings.TrimSpace(class + " " + serif), sans
	}
	return class, serif
}

func (s *Server) chooseFace(w http.ResponseWriter, r *http.Request) {
	if !parseForm(w, r, "form") {
		return
	}
	face := sans
	if r.PostForm.Get("face") == serif {
		face = serif
	}
	http.SetCookie(w, &http.Cookie{Name: faceCookie(r), Value: face, Path: "/", MaxAge: 365 * 24 * 60 * 60,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode})
	next := "/"
	if a, err := s.verify(r.PostForm); err == nil {
		next = s.link("/view", a)
	}
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (p *page) summary(resp *fetch.Response, secured *tls.ConnectionState) string {
	var list []string
	if resp.ContentType != "" {
		kind, _, _ := strings.Cut(resp.ContentType, ";")
		list = append(list, fetch.Printable(kind))
	}
	if resp.Size >= 0 && resp.Kind == fetch.KindObject {
		list = append(list, sizeText(resp.Size))
	}
	switch {
	case resp.Capture != nil:
		list = append(list, "from the archive")
	case secured != nil:
		list = append(list, resp.URL.Scheme()+" over "+tls.VersionName(secured.Version))
	default:
		list = append(list, resp.URL.Scheme())
	}
	if resp.Framing == fetch.FramedByClose {
		list = append(list, "the end of the content cannot be verified")
	}
	return strings.Join(list, " · ")
}
