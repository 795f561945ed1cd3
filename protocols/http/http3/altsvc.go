package http3

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/internal/quoted"
)

const (
	// maxOrigins bounds how many origins are remembered; maxServices, how many alternatives of each
	// field are read.
	maxOrigins  = 1000
	maxServices = 16
	// defaultAge is how long an alternative holds that does not say it (RFC 7838, section 3.1), and
	// maxAge how long any does.
	defaultAge = 24 * time.Hour
	maxAge     = 30 * 24 * time.Hour
	// grudge is how long a server is asked by TCP that could not be reached by HTTP/3.
	grudge = 5 * time.Minute
)

// services knows where origins are reached by HTTP/3, and where they were not.
type services struct {
	mu     sync.Mutex
	known  map[origin]service
	failed map[origin]time.Time // until when a host and port are left alone
	now    func() time.Time
}

// A service is the port at which an origin says that it speaks HTTP/3, and how long that holds.
type service struct {
	port  string
	until time.Time
}

func newServices() *services {
	return &services{known: make(map[origin]service), failed: make(map[origin]time.Time), now: time.Now}
}

// at returns where to ask an origin by HTTP/3, "host:port", unless that has failed.
func (s *services) at(o origin) (addr string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, to := s.now(), o
	if known, ok := s.known[o]; ok {
		if now.Before(known.until) {
			to.port = known.port
		} else {
			delete(s.known, o)
		}
	}
	if until, ok := s.failed[to]; ok {
		if now.Before(until) {
			return "", false
		}
		delete(s.failed, to)
	}
	return to.addr(), true
}

// fail remembers that an origin could not be reached at addr.
func (s *services) fail(o origin, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.failed) >= maxOrigins {
		clear(s.failed)
	}
	s.failed[origin{o.host, port}] = s.now().Add(grudge)
}

// learn heeds the Alt-Svc fields of an answer from an origin. They take the place of earlier ones (RFC
// 7838, section 3).
func (s *services) learn(o origin, h http.Header) {
	fields := h["Alt-Svc"]
	if len(fields) == 0 {
		return
	}
	age, _ := strconv.ParseUint(h.Get("Age"), 10, 31)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, o)
	for _, alt := range parseAltSvc(strings.Join(fields, ",")) {
		left := alt.age - time.Duration(age)*time.Second
		if left <= 0 || !alt.serves(o) {
			continue
		}
		if len(s.known) >= maxOrigins {
			clear(s.known)
		}
		s.known[o] = service{port: alt.port, until: s.now().Add(left)}
		return
	}
}

// An alternative is one of the servers that an Alt-Svc field names.
type alternative struct {
	host string // "" for that of the origin
	port string
	age  time.Duration
}

// serves reports whether the alternative is heeded: other hosts are not, so that no server chooses
// whom we send packets to, nor are ports of other services (RFC 7838, section 9.1).
func (a alternative) serves(o origin) bool {
	if a.host != "" && !strings.EqualFold(a.host, o.host) {
		return false
	}
	port, _ := strconv.ParseUint(a.port, 10, 16)
	return port >= 1024 || port == 443 || a.port == o.port
}

// parseAltSvc returns the alternatives for HTTP/3 in a field, the best first (RFC 7838, section 3).
// There are none if it says clear. What is malformed ends it.
func parseAltSvc(field string) []alternative {
	var list []alternative
	p := altParser{field}
	for len(list) < maxServices {
		p.skip(" \t,")
		protocol := p.upTo("=; \t,")
		if !p.take('=') {
			return list // clear, or the end
		}
		authority, ok := p.value()
		if !ok {
			return list
		}
		alt := alternative{age: defaultAge}
		ok = protocol == "h3" && alt.setAuthority(authority)
		for p.skip(" \t"); p.take(';'); p.skip(" \t") {
			p.skip(" \t")
			name := p.upTo("=; \t,")
			if name == "" {
				continue
			}
			if !p.take('=') {
				return list
			}
			value, whole := p.value()
			if !whole {
				return list
			}
			if strings.EqualFold(name, "ma") {
				seconds, err := strconv.ParseUint(value, 10, 63)
				ok = ok && err == nil
				alt.age = time.Duration(min(seconds, uint64(maxAge/time.Second))) * time.Second
			}
		}
		if ok {
			list = append(list, alt)
		}
		if p.rest != "" && p.rest[0] != ',' {
			return list
		}
	}
	return list
}

// setAuthority sets host and port, and reports whether they are such.
func (a *alternative) setAuthority(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 {
		return false
	}
	a.host, a.port = host, strconv.FormatUint(n, 10)
	return true
}

// An altParser reads a field from its beginning.
type altParser struct{ rest string }

func (p *altParser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

// upTo returns what comes before the first of a set of characters.
func (p *altParser) upTo(set string) string {
	n := strings.IndexAny(p.rest, set)
	if n < 0 {
		n = len(p.rest)
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text
}

func (p *altParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// value reads a token or a quoted string (RFC 9110, section 5.6.4).
func (p *altParser) value() (text string, ok bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		text = p.upTo("; \t,")
		return text, text != ""
	}
	text, p.rest, ok = quoted.Cut(p.rest)
	return text, ok
}
