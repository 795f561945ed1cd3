package cache

import (
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A response is a stored response, as far as its freshness depends on it.
type response struct {
	status    int // of HTTP; 0 for other schemes
	header    textproto.MIMEHeader
	received  time.Time
	validated time.Time // the latest confirmation by the server, or zero
}

// isHTTP reports whether the response has what the rules of HTTP need.
func (r response) isHTTP() bool { return r.status != 0 && r.header != nil }

// fresh reports whether the response may be used without asking the server (RFC 9111, section 4.2).
func (r response) fresh(now time.Time) bool {
	if d := directives(r.header["Cache-Control"]); d.has("no-cache") || d.has("no-store") {
		return false
	}
	return r.age(now) < r.lifetime()
}

// lifetime returns the time for which the response is fresh (RFC 9111, section 4.2.1).
func (r response) lifetime() time.Duration {
	if age, ok := directives(r.header["Cache-Control"]).seconds("max-age"); ok {
		return age
	}
	date := r.date()
	if expires := r.header.Get("Expires"); expires != "" {
		at, err := http.ParseTime(expires)
		if err != nil {
			return 0 // such as "0"
		}
		return at.Sub(date)
	}
	modified, err := http.ParseTime(r.header.Get("Last-Modified"))
	if err != nil || !slices.Contains(heuristic, r.status) {
		return 0
	}
	return min(date.Sub(modified)/10, maxHeuristic)
}

// maxHeuristic limits the lifetime of a response for which the server states none.
const maxHeuristic = 24 * time.Hour

// heuristic lists the statuses whose lifetime may be estimated (RFC 9110, section 15.1).
var heuristic = []int{200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}

func (r response) date() time.Time {
	if date, err := http.ParseTime(r.header.Get("Date")); err == nil {
		return date
	}
	return r.received
}

// age returns the time since the response was made or confirmed (RFC 9111, section 4.2.3).
func (r response) age(now time.Time) time.Duration {
	if !r.validated.IsZero() {
		return now.Sub(r.validated)
	}
	age := max(r.received.Sub(r.date()), 0)
	if text := r.header.Get("Age"); text != "" {
		if n, err := strconv.ParseUint(text, 10, 31); err == nil {
			age = max(age, time.Duration(n)*time.Second)
		}
	}
	return age + now.Sub(r.received)
}

type directives []string

// each calls f with the directives, in lower case, until it returns false.
func (d directives) each(f func(name, value string) bool) {
	for _, field := range d {
		for item := range strings.SplitSeq(field, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
			if !f(strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)) {
				return
			}
		}
	}
}

func (d directives) has(want string) (found bool) {
	d.each(func(name, _ string) bool {
		found = name == want
		return !found
	})
	return found
}

// seconds returns the value of a directive. A value that is not a number counts as 0 (RFC 9111, section
// 4.2.1), and of several the first one counts.
func (d directives) seconds(want string) (value time.Duration, ok bool) {
	d.each(func(name, text string) bool {
		if name != want {
			return true
		}
		ok = true
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			value = time.Duration(min(n, 1<<31)) * time.Second // RFC 9111, section 1.2.2
		}
		return false
	})
	return value, ok
}
