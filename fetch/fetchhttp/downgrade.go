package fetchhttp

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const maxSecureHosts = 10_000

// A secureHosts value holds the hosts whose pages a proxy retrieves with https although its clients ask
// for them with http.
type secureHosts struct {
	mu    sync.Mutex
	hosts map[string]bool // host and port
}

func (s *secureHosts) has(u uri.URI) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[u.HostPort(443)]
}

func (s *secureHosts) add(u uri.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil || len(s.hosts) >= maxSecureHosts {
		s.hosts = make(map[string]bool)
	}
	s.hosts[u.HostPort(443)] = true
}

// upgraded returns the URL that the proxy retrieves for one of a client without TLS.
func (p *Proxy) upgraded(u uri.URI) uri.URI {
	if u.Port(80) == 80 && p.secure.has(u.WithoutPort(80)) {
		if secure, err := uri.Parse("https" +
			strings.TrimPrefix(u.WithoutPort(80).String(), "http")); err == nil {
			return secure
		}
	}
	return u
}

// isUpgrade reports whether a redirect leads from a URL to the same URL with https, and remembers the
// host.
func (p *Proxy) isUpgrade(from, to uri.URI) bool {
	plain := strings.Replace(to.WithoutPort(443).String(), "https://", "http://", 1)
	if from.Scheme() != "http" || to.Scheme() != "https" || to.Port(443) != 443 ||
		plain != from.WithoutPort(80).String() || p.secure.has(to) {
		return false
	}
	p.secure.add(to)
	return true
}

// location returns the target of a redirect, for a client without TLS if downgrade is set.
func (p *Proxy) location(to uri.URI, downgrade bool) string {
	if downgrade && to.Scheme() == "https" && to.Port(443) == 443 {
		p.secure.add(to)
		return strings.Replace(to.WithoutPort(443).String(), "https://", "http://", 1)
	}
	return to.String()
}

// downgrade adapts a response to a client without TLS: the fields that require TLS are removed, and
// links to https become links to http.
func (p *Proxy) downgrade(h http.Header, resp *fetch.Response) {
	h.Del("Strict-Transport-Security")
	h.Del("Content-Security-Policy")
	for i, value := range h["Set-Cookie"] {
		var kept []string
		for part := range strings.SplitSeq(value, ";") {
			if name := strings.ToLower(strings.TrimSpace(part)); name != "secure" && name != "samesite=none" {
				kept = append(kept, part)
			}
		}
		h["Set-Cookie"][i] = strings.Join(kept, ";")
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "text/html", "application/xhtml+xml", "text/css":
	default:
		return
	}
	if h.Get("Content-Encoding") != "" {
		return
	}
	for _, name := range []string{"Content-Length", "Etag",
		"Digest", "Repr-Digest", "Content-Digest", "Content-Md5"} {
		h.Del(name)
	}
	resp.Size = -1
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&plainLinks{r: resp.Body, seen: func(host string) {
		if u, err := uri.Parse("https://" + host + "/"); err == nil {
			p.secure.add(u)
		}
	}}, resp.Body}
}

var (
	secureLink = []byte("https://")
	plainLink  = []byte("http://")
)

// plainLinks replaces "https://" by "http://", and reports the hosts.
type plainLinks struct {
	r    io.Reader
	seen func(host string)
	in   []byte // read and not yet searched
	out  []byte // to be returned
	err  error
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
			l.seen(string(rest[:end]))
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
