// Package hsts stores the hosts that want https only (RFC 6797, HTTP Strict Transport Security), in
// the file format of wget.
package hsts

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/internal/quoted"
)

// maxHosts limits the hosts of a store and of a file. The oldest are dropped.
const maxHosts = 10_000

// A Store holds hosts, each until the time that it stated. It is safe for concurrent use. The zero
// value is an empty store.
type Store struct {
	mu      sync.Mutex
	hosts   map[string]host
	changed map[string]bool // since the last Load or Save
}

// A host is a Known HSTS Host. One that is over, with a time of 0, tells Save to delete it.
type host struct {
	created    time.Time
	maxAge     time.Duration
	subdomains bool
}

func (h host) over(now time.Time) bool { return now.Sub(h.created) >= h.maxAge }

// Observe notes the values of the field Strict-Transport-Security in a response from the named host. The
// caller has verified the host's certificate. Only the first value counts, and not if it is malformed.
// Addresses are ignored.
func (s *Store) Observe(name string, values []string) {
	if len(values) == 0 {
		return
	}
	name, ok := canonical(name)
	if !ok {
		return
	}
	h, ok := parse(values[0])
	if !ok {
		return
	}
	h.created = time.Now().Truncate(time.Second) // as in the file
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.hosts[name]; !known && h.maxAge == 0 {
		return
	}
	if s.changed == nil {
		s.changed = make(map[string]bool)
	}
	s.changed[name] = true
	s.set(name, h)
}

// set adds a host. If there are too many, it drops a tenth of the others, so that the next ones cost
// nothing.
func (s *Store) set(name string, h host) {
	if s.hosts == nil {
		s.hosts = make(map[string]host)
	}
	s.hosts[name] = h
	if len(s.hosts) <= maxHosts {
		return
	}
	names := make([]string, 0, len(s.hosts))
	for old := range s.hosts {
		if old != name {
			names = append(names, old)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(s.hosts[a].created.Compare(s.hosts[b].created), strings.Compare(a, b))
	})
	for _, old := range names[:len(names)/10] {
		delete(s.hosts, old)
		delete(s.changed, old)
	}
}

// Has reports whether URLs of the named host are to be requested with https: it said so, or a domain
// above it that included its subdomains.
func (s *Store) Has(name string) bool {
	name, ok := canonical(name)
	if !ok {
		return false
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for domain, found := name, len(s.hosts) > 0; found; _, domain, found = strings.Cut(domain, ".") {
		if h, known := s.hosts[domain]; known && !h.over(now) && (h.subdomains || domain == name) {
			return true
		}
	}
	return false
}

// canonical returns a name in lower case and without the dot at its end. Ok is false for addresses, in
// any notation that the system may accept (127.1).
func canonical(name string) (_ string, ok bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(name); err == nil || name == "" || len(name) > 253 {
		return "", false
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return name, last != "" && (last[0] < '0' || last[0] > '9') && !strings.ContainsAny(name, " \t\r\n\x00")
}

// maxAge limits the time for which a host is known, so that it can be computed with.
const maxAge = 100 * 365 * 24 * time.Hour

// parse reads a field (RFC 6797, section 6.1). A directive that occurs twice makes it malformed. Unknown
// directives are ignored.
func parse(field string) (h host, ok bool) {
	seen := map[string]bool{}
	for rest := field; rest != ""; {
		name, value, valued, after, ok := directive(rest)
		if !ok {
			return host{}, false
		}
		rest = after
		if name == "" && !valued {
			continue
		}
		if !isToken(name) || seen[name] {
			return host{}, false
		}
		seen[name] = true
		switch name {
		case "max-age":
			if h.maxAge, ok = seconds(value); !ok {
				return host{}, false
			}
		case "includesubdomains":
			if h.subdomains = true; valued {
				return host{}, false
			}
		}
	}
	return h, seen["max-age"]
}

// directive cuts the first directive from s, which ends at a semicolon.
func directive(s string) (name, value string, valued bool, rest string, ok bool) {
	end := strings.IndexAny(s, ";=")
	if end < 0 {
		return strings.ToLower(trim(s)), "", false, "", true
	}
	name = strings.ToLower(trim(s[:end]))
	if s[end] == ';' {
		return name, "", false, s[end+1:], true
	}
	s = strings.TrimLeft(s[end+1:], " \t")
	if text, after, quoted := quoted.Cut(s); quoted {
		after, rest, _ = strings.Cut(after, ";")
		return name, text, true, rest, trim(after) == ""
	}
	value, rest, _ = strings.Cut(s, ";")
	value = trim(value)
	return name, value, true, rest, isToken(value)
}

func trim(s string) string { return strings.Trim(s, " \t") }

func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

// seconds reads digits. A number that is too large is the largest.
func seconds(digits string) (time.Duration, bool) {
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > int64(maxAge/time.Second) {
		return maxAge, true
	}
	return time.Duration(n) * time.Second, true
}
