// Package cookies implements an HTTP cookie jar (RFC 6265) that can be saved in the file format of
// Netscape, curl and wget. Parse and Add read and write the header fields.
package cookies

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

const (
	// maxCookie bounds the name plus the value of a cookie, and maxPath its path, in bytes.
	maxCookie = 4096
	maxPath   = 1024
	// maxOfSite bounds the cookies of one registrable domain, and maxCookies those of a jar. The
	// oldest ones are removed.
	maxOfSite  = 200
	maxCookies = 10_000
	// maxAge bounds the lifetime of a cookie (RFC 6265bis, section 5.5).
	maxAge = 400 * 24 * time.Hour
)

// A Jar implements [http.CookieJar]. It rejects cookies for public suffixes, such as co.uk, and those
// with a tab, which ends a field in a file. It is safe for concurrent use.
type Jar struct {
	mu           sync.Mutex
	sites        map[string][]*cookie // by the domain below the public suffix; oldest first
	count        int
	lastSequence int64 // number of cookies created
	changed      bool
	removed      []*cookie // expired ones that replaced cookies of a file
	now          func() time.Time
}

type cookie struct {
	name, value      string // as sent, with quotes
	domain, path     string
	hostOnly         bool // not for subdomains
	secure, httpOnly bool
	expires          time.Time // zero for the end of the session
	kept             bool      // a file has it, so that it outlives the session
	received         bool      // a server set it, not a file
	sequence         int64
}

// New returns an empty jar.
func New() *Jar { return &Jar{sites: make(map[string][]*cookie), now: time.Now} }

// SetCookies implements [http.CookieJar].
func (j *Jar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range cookies {
		if accepted, ok := j.accept(u, c); ok {
			accepted.received = true
			j.put(accepted)
		}
	}
}

// accept applies the rules of RFC 6265, section 5.3, and those of RFC 6265bis on insecure origins and
// on the name prefixes __Secure- and __Host-.
func (j *Jar) accept(u *url.URL, c *http.Cookie) (*cookie, bool) {
	host, protected := strings.ToLower(u.Hostname()), u.Scheme == "https"
	result := &cookie{name: c.Name, value: quotedValue(c), path: c.Path,
		secure: c.Secure, httpOnly: c.HttpOnly}
	if result.path == "" || result.path[0] != '/' {
		result.path = directory(u.Path)
	}
	var ok bool
	result.domain, result.hostOnly, ok = domainOf(host, c.Domain)
	switch {
	case !ok || !result.fits() || result.secure && !protected:
		return nil, false
	case !result.keepsPrefix() || result.isCalled("__Host-") && (c.Domain != "" || c.Path != "/"):
		return nil, false
	case !protected && j.shadows(result):
		return nil, false
	}
	now := j.now()
	switch {
	case c.MaxAge < 0:
		result.expires = time.Unix(1, 0)
	case c.MaxAge > 0:
		result.expires = now.Add(time.Duration(min(int64(c.MaxAge), int64(maxAge/time.Second))) * time.Second)
	case !c.Expires.IsZero():
		result.expires = c.Expires
		if last := now.Add(maxAge); result.expires.After(last) {
			result.expires = last
		}
	}
	return result, true
}

// fits reports whether c is within the bounds and can be sent and saved.
func (c *cookie) fits() bool {
	return isSendable(c.name, c.value) && !strings.ContainsFunc(c.path, isControl) &&
		len(c.name)+len(c.value) <= maxCookie && len(c.path) <= maxPath
}

// isCalled reports whether the name of c begins with prefix. It ignores case, because servers may do
// so.
func (c *cookie) isCalled(prefix string) bool {
	return len(c.name) >= len(prefix) && strings.EqualFold(c.name[:len(prefix)], prefix)
}

// keepsPrefix reports whether c is as the prefix of its name promises (RFC 6265bis, section 4.1.3).
func (c *cookie) keepsPrefix() bool {
	switch {
	case c.isCalled("__Secure-"):
		return c.secure
	case c.isCalled("__Host-"):
		return c.secure && c.hostOnly && c.path == "/"
	}
	return true
}

// shadows reports whether c, which was received without TLS, would replace a secure cookie.
func (j *Jar) shadows(c *cookie) bool {
	return slices.ContainsFunc(j.sites[site(c.domain)], func(old *cookie) bool {
		return old.secure && old.name == c.name && pathMatches(c.path, old.path) &&
			(below(c.domain, old.domain) || below(old.domain, c.domain))
	})
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// domainOf returns the domain of a cookie that host sets with the attribute Domain.
func domainOf(host, attribute string) (domain string, hostOnly, ok bool) {
	domain = strings.ToLower(strings.TrimPrefix(attribute, "."))
	switch {
	case host == "":
		return "", false, false
	case attribute == "", domain == host && (isAddress(host) || isSuffix(domain)):
		return host, true, true
	case domain == "", strings.HasSuffix(domain, "."), isAddress(host), isSuffix(domain),
		!below(host, domain):
		return "", false, false
	}
	return domain, false, true
}

func isSuffix(domain string) bool { return publicsuffix.List.PublicSuffix(domain) == domain }

func site(host string) string {
	if s, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return s
	}
	return host
}

func below(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// directory returns the default path of a cookie (RFC 6265, section 5.1.4).
func directory(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 || path[0] != '/' {
		return "/"
	}
	return path[:i]
}

// pathMatches reports whether a request for requestPath gets a cookie with path (RFC 6265, section
// 5.1.4).
func pathMatches(requestPath, path string) bool {
	rest, ok := strings.CutPrefix(requestPath, path)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(path, "/"))
}

// put stores c and replaces an older version. If c has expired, it only removes that.
func (j *Jar) put(c *cookie) {
	key := site(c.domain)
	list := j.sites[key]
	i := slices.IndexFunc(list, func(old *cookie) bool {
		return old.name == c.name && old.domain == c.domain && old.path == c.path
	})
	if j.expired(c) {
		if i >= 0 {
			if list[i].kept {
				j.removed = append(j.removed, c)
			}
			j.remove(key, i)
		}
		return
	}
	j.changed = true
	if i >= 0 {
		c.sequence, c.kept = list[i].sequence, c.kept || list[i].kept
		list[i] = c
		return
	}
	if len(list) >= maxOfSite {
		j.remove(key, j.oldest(list))
	}
	if j.count >= maxCookies {
		j.removeOldest()
	}
	j.lastSequence++
	j.count++
	c.sequence = j.lastSequence
	j.sites[key] = append(j.sites[key], c)
}

func (j *Jar) expired(c *cookie) bool { return !c.expires.IsZero() && !c.expires.After(j.now()) }

// oldest returns the index of the first expired cookie, or 0, the oldest one.
func (j *Jar) oldest(list []*cookie) int { return max(slices.IndexFunc(list, j.expired), 0) }

func (j *Jar) remove(key string, i int) {
	j.changed = true
	j.count--
	if j.sites[key] = slices.Delete(j.sites[key], i, i+1); len(j.sites[key]) == 0 {
		delete(j.sites, key)
	}
}

func (j *Jar) removeOldest() {
	first := ""
	for key, list := range j.sites {
		if first == "" || list[0].sequence < j.sites[first][0].sequence {
			first = key
		}
	}
	j.remove(first, 0)
}

// Cookies implements [http.CookieJar].
func (j *Jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.sites) == 0 {
		return nil
	}
	host, path := strings.ToLower(u.Hostname()), cmp.Or(u.Path, "/")
	var matching []*cookie
	for _, c := range j.sites[site(host)] {
		isHost := host == c.domain || !c.hostOnly && below(host, c.domain)
		if isHost && pathMatches(path, c.path) && (!c.secure || u.Scheme == "https") && !j.expired(c) {
			matching = append(matching, c)
		}
	}
	slices.SortStableFunc(matching, func(a, b *cookie) int { // RFC 6265, section 5.4
		return cmp.Or(len(b.path)-len(a.path), cmp.Compare(a.sequence, b.sequence))
	})
	list := make([]*http.Cookie, len(matching))
	for i, c := range matching {
		list[i] = &http.Cookie{Name: c.name}
		setValue(list[i], c.value)
	}
	return list
}

var _ http.CookieJar = (*Jar)(nil)
