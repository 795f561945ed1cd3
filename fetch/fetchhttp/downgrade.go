package fetchhttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxSecureHosts = 10_000
	// secureTime is the time for which a host is known to redirect to https.
	secureTime = time.Hour
)

// A secureHosts value holds the hosts that have redirected a request for http to https themselves, so
// that the next one is made with https at once. What other hosts say about them does not count.
type secureHosts struct {
	mu    sync.Mutex
	until map[string]time.Time // by host and port
}

func (s *secureHosts) has(u uri.URI) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.until[u.HostPort(443)])
}

func (s *secureHosts) add(u uri.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil || len(s.until) >= maxSecureHosts {
		s.until = make(map[string]time.Time)
	}
	s.until[u.HostPort(443)] = time.Now().Add(secureTime)
}

func (s *secureHosts) forget(u uri.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.until, u.HostPort(443))
}

// secureTwin returns the URL of https for one of http with the default port.
func secureTwin(u uri.URI) (uri.URI, bool) {
	if u.Scheme() != "http" || u.Port(80) != 80 {
		return u, false
	}
	secure, err := uri.Parse("https" + strings.TrimPrefix(u.WithoutPort(80).String(), "http"))
	return secure, err == nil
}

// exchangeUpgraded is exchange for a client without TLS, which asks for resources of https with http. A
// host is asked with https if it redirects there, and if it does not answer requests for http. If the
// request with https fails, the host is asked with http again.
func (p *Proxy) exchangeUpgraded(ctx context.Context, r *http.Request, u uri.URI) (*fetch.Response, error) {
	secure, ok := secureTwin(u)
	again := r.ContentLength == 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	if ok && p.secure.has(secure) {
		resp, err := p.exchange(ctx, r, secure)
		if err == nil && !isRedirect(resp, u) {
			return resp, nil
		}
		p.secure.forget(secure)
		if err == nil || !again || !isUnreachable(err) {
			return resp, err
		}
		ok = false
	}
	resp, err := p.exchange(ctx, r, u)
	switch {
	case !ok:
		return resp, err
	case err == nil && !isRedirect(resp, secure):
		return resp, nil
	case err == nil:
		p.secure.add(secure)
		if !again {
			return resp, nil // which leads the client here again
		}
		resp.Body.Close()
	case !again || !isUnreachable(err):
		return nil, err
	}
	second, failed := p.exchange(ctx, r, secure)
	switch {
	case failed == nil:
		return second, nil
	case err == nil:
		p.secure.forget(secure)
		return nil, failed
	}
	return nil, err
}

// isUnreachable reports whether a server has not answered.
func isUnreachable(err error) bool {
	code := fetch.CodeOf(err)
	return code == fetch.ErrNetwork || code == fetch.ErrTLS
}

// isRedirect reports whether a response redirects to u.
func isRedirect(resp *fetch.Response, u uri.URI) bool {
	text := resp.Header.Get("Location")
	if resp.Reply.Code/100 != 3 || text == "" {
		return false
	}
	loc, err := uri.ParseRef(text)
	if err != nil {
		return false
	}
	to := resp.URL.Resolve(loc)
	port := to.Port(0)
	if port == 80 && to.Scheme() == "http" || port == 443 && to.Scheme() == "https" {
		to = to.WithoutPort(port)
	}
	if u.Scheme() == "http" {
		u = u.WithoutPort(80)
	}
	return to.String() == u.String()
}

// plainLocation returns the target of a redirect for a client without TLS.
func plainLocation(text string) string {
	to, err := uri.Parse(text)
	if err != nil || to.Scheme() != "https" || to.Port(443) != 443 {
		return text
	}
	return "http" + strings.TrimPrefix(to.WithoutPort(443).String(), "https")
}

// downgrade adapts a response to a client without TLS: the fields that require TLS are removed, and
// links to https become links to http.
func downgrade(h http.Header, resp *fetch.Response) {
	h.Del("Strict-Transport-Security")
	h.Del("Content-Security-Policy")
	if to := h.Get("Location"); to != "" {
		h.Set("Location", plainLocation(to))
	}
	for i, value := range h["Set-Cookie"] {
		var kept []string
		for part := range strings.SplitSeq(value, ";") {
			if name := strings.ToLower(strings.TrimSpace(part)); name != "secure" && name != "samesite=none" {
				kept = append(kept, part)
			}
		}
		h["Set-Cookie"][i] = strings.Join(kept, ";")
	}
	if !hasLinks(h) || resp.Reply.Code == http.StatusPartialContent {
		return
	}
	for _, name := range []string{"Content-Length", "Etag", "Accept-Ranges",
		"Digest", "Repr-Digest", "Content-Digest", "Content-Md5"} {
		h.Del(name)
	}
	resp.Size = -1
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&plainLinks{r: resp.Body}, resp.Body}
}

// hasLinks reports whether links are replaced in the content of a response with a header.
func hasLinks(h http.Header) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml", "text/css":
		return h.Get("Content-Encoding") == ""
	}
	return false
}

// exchangeWhole is exchangeUpgraded that retrieves all of a page whose links are replaced, because ranges of
// it would not fit what the client has.
func (p *Proxy) exchangeWhole(ctx context.Context, r *http.Request, u uri.URI) (*fetch.Response, error) {
	resp, err := p.exchangeUpgraded(ctx, r, u)
	if err != nil || resp.Reply.Code != http.StatusPartialContent || !hasLinks(http.Header(resp.Header)) ||
		r.Method != http.MethodGet || r.ContentLength != 0 {
		return resp, err
	}
	resp.Body.Close()
	r.Header.Del("Range")
	r.Header.Del("If-Range")
	return p.exchangeUpgraded(ctx, r, u)
}

var (
	secureLink = []byte("https://")
	plainLink  = []byte("http://")
)

// plainLinks replaces "https://" by "http://" before hosts without a port.
type plainLinks struct {
	r   io.Reader
	in  []byte // read and not yet searched
	out []byte // to be returned
	err error
}

// maxHost limits a host name that is recognized (RFC 1035, section 2.3.4).
const maxHost = 255

func (l *plainLinks) Read(p []byte) (int, error) {
	for len(l.out) == 0 && l.err == nil {
		buf := make([]byte, 32<<10)
		n, err := l.r.Read(buf)
		l.in, l.err = append(l.in, buf[:n]...), err
		l.replace()
	}
	if len(l.out) == 0 {
		return 0, l.err
	}
	n := copy(p, l.out)
	l.out = l.out[n:]
	return n, nil
}

// replace appends in to out with the links replaced. It keeps a link at the end of in until the rest of
// its host is read.
func (l *plainLinks) replace() {
	for {
		i := bytes.Index(l.in, secureLink)
		if i < 0 {
			break
		}
		rest := l.in[i+len(secureLink):]
		end := bytes.IndexFunc(rest, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' ||
				r == '-')
		})
		if end < 0 && len(rest) <= maxHost && l.err == nil {
			l.out, l.in = append(l.out, l.in[:i]...), l.in[i:]
			return
		}
		if end < 0 {
			end = len(rest)
		}
		if end > 0 && (end == len(rest) || rest[end] != ':') { // another port cannot be upgraded later
			l.out = append(append(l.out, l.in[:i]...), plainLink...)
		} else {
			l.out = append(l.out, l.in[:i+len(secureLink)]...)
		}
		l.in = rest
	}
	keep := 0
	if l.err == nil {
		keep = min(len(l.in), len(secureLink)-1)
	}
	l.out, l.in = append(l.out, l.in[:len(l.in)-keep]...), l.in[len(l.in)-keep:]
}
