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
	// maxOrigins limits the remembered origins, and maxServices the alternatives read from one
	// field.
	maxOrigins  = 1000
	maxServices = 16
	// defaultAge is the lifetime of an alternative without "ma" (RFC 7838, section 3.1), and maxAge
	// the longest accepted lifetime.
	defaultAge = 24 * time.Hour
	maxAge     = 30 * 24 * time.Hour
	// tcpPeriod is the time during which a server that was unreachable over HTTP/3 is contacted over
	// TCP.
	tcpPeriod = 5 * time.Minute
)

// services records the ports where origins offer HTTP/3, and where it failed.
type services struct {
	mu     sync.Mutex
	known  map[origin]service
	failed map[origin]time.Time // end of the pause for a host and port
	now    func() time.Time
}

// A service is the port where an origin offers HTTP/3, and its expiry time.
type service struct {
	port  string
	until time.Time
}

func newServices() *services {
	return &services{known: make(map[origin]service), failed: make(map[origin]time.Time), now: time.Now}
}

// at returns the address for HTTP/3 with an origin, "host:port". Ok is false if it failed recently.
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
	s.failed[origin{o.host, port}] = s.now().Add(tcpPeriod)
}

// learn stores the Alt-Svc fields of a response of an origin. They replace earlier ones (RFC 7838,
// section 3).
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

// An alternative is a server named by an Alt-Svc field.
type alternative struct {
	host string // "" for the host of the origin
	port string
	age  time.Duration
}

// serves reports whether the alternative is accepted. Other hosts are not, because a server must
// not choose the destination of our packets. Nor are ports of other services (RFC 7838, section
// 9.1).
func (a alternative) serves(o origin) bool {
	if a.host != "" && !strings.EqualFold(a.host, o.host) {
		return false
	}
	port, _ := strconv.ParseUint(a.port, 10, 16)
	return port >= 1024 || port == 443 || a.port == o.port
}

// parseAltSvc returns the alternatives for HTTP/3 in a field, best first (RFC 7838, section 3). It
// returns none for "clear". Parsing stops at the first syntax error.
func parseAltSvc(field string) []alternative {
	var list []alternative
	p := altParser{field}
	for len(list) < maxServices {
		p.skip(" \t,")
		protocol := p.upTo("=; \t,")
		if !p.take('=') {
			return list // "clear", or the end
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

func (a *alternative) setAuthority(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, perr := strconv.ParseUint(port, 10, 16)
	if err != nil || perr != nil || n == 0 {
		return false
	}
	a.host, a.port = host, strconv.FormatUint(n, 10)
	return true
}

type altParser struct{ rest string }

func (p *altParser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

// upTo cuts the text before the first character of a set.
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

// value cuts a token or a quoted string (RFC 9110, section 5.6.4).
func (p *altParser) value() (text string, ok bool) {
	if !strings.HasPrefix(p.rest, `"`) {
		text = p.upTo("; \t,")
		return text, text != ""
	}
	text, p.rest, ok = quoted.Cut(p.rest)
	return text, ok
}
