package cache

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/internal/cachecontrol"
)

// A response is a stored response, as far as its freshness depends on it.
type response struct {
	status   int // of HTTP; 0 for other schemes
	header   textproto.MIMEHeader
	captured time.Time
	received time.Time // captured, or the time when the server confirmed it
	// changed is the time of the last request that may have changed the resource, or zero.
	changed time.Time
}

// hasValidator reports whether the response has the validator of a request, by weak comparison.
func (r *response) hasValidator(sent string) bool {
	if own := r.header.Get("Etag"); own != "" {
		return weakTag(sent) == weakTag(own)
	}
	at, err := http.ParseTime(sent)
	own, ownErr := http.ParseTime(r.header.Get("Last-Modified"))
	return err == nil && ownErr == nil && at.Equal(own)
}

// describedBy reports whether the header of a response to HEAD is of the same content (RFC 9111, section
// 4.3.5).
func (r *response) describedBy(head textproto.MIMEHeader) bool {
	for _, name := range []string{"Etag", "Last-Modified", "Content-Length"} {
		if text := head.Get(name); text != "" && text != r.header.Get(name) {
			return false
		}
	}
	return true
}

// confirm changes the response as a 304 with a header does that was received later (RFC 9111, sections
// 3.2 and 4.3.4).
func (r *response) confirm(header textproto.MIMEHeader, received time.Time) {
	merged := make(textproto.MIMEHeader, len(r.header)+len(header))
	maps.Copy(merged, r.header)
	for _, name := range ofTransfer {
		delete(merged, name)
	}
	connection := strings.Split(strings.Join(header["Connection"], ","), ",")
	for name, values := range header {
		named := func(field string) bool { return strings.EqualFold(strings.TrimSpace(field), name) }
		if !slices.Contains(ofContent, name) && !slices.ContainsFunc(connection, named) {
			merged[name] = values
		}
	}
	r.header, r.received = merged, received
}

// ofTransfer lists the fields that hold for one transfer only: without them in a 304 there are none.
var ofTransfer = []string{"Age", "Date"}

// ofContent lists the fields that a 304 does not replace, because they are about how the stored content
// was sent and is processed, or about a connection.
var ofContent = []string{"Connection", "Content-Encoding", "Content-Length", "Content-Md5", "Content-Range",
	"Content-Type", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// answers reports whether the response may be used without asking the server, for a request with a header
// (RFC 9111, sections 4.2 and 5.2.1).
func (r *response) answers(request textproto.MIMEHeader, now time.Time) bool {
	asked, own := cachecontrol.Of(request), cachecontrol.Of(r.header)
	age, lifetime := r.age(now), r.lifetime()
	switch limit, limited := asked.Seconds("max-age"); {
	case own.Has("no-cache"), own.ForbidsStore(r.status):
		return false
	case !r.changed.IsZero() && !r.changed.Before(r.received):
		return false
	case asked.Has("no-cache"), asked == nil && strings.EqualFold(request.Get("Pragma"), "no-cache"):
		return false
	case limited && (age > limit || limit == 0):
		return false
	}
	if fresh, ok := asked.Seconds("min-fresh"); ok {
		return lifetime-age >= max(fresh, 1)
	}
	stale, ok := asked.Seconds("max-stale")
	switch {
	case age < lifetime:
		return true
	case !ok || own.Has("must-revalidate"):
		return false
	}
	return asked.Bare("max-stale") || age-lifetime <= stale
}

// lifetime returns the time for which the response is fresh (RFC 9111, section 4.2.1).
func (r *response) lifetime() time.Duration {
	own := cachecontrol.Of(r.header)
	if age, ok := own.Seconds("max-age"); ok {
		return age
	}
	date := r.date()
	if expires, ok := r.header["Expires"]; ok {
		at, err := http.ParseTime(expires[0])
		if err != nil {
			return 0 // such as "0"
		}
		return at.Sub(date)
	}
	modified, err := http.ParseTime(r.header.Get("Last-Modified"))
	if err != nil || !slices.Contains(heuristic, r.status) && !own.Has("public") {
		return 0
	}
	return min(date.Sub(modified)/10, maxHeuristic)
}

// maxHeuristic limits the lifetime of a response for which the server states none.
const maxHeuristic = 24 * time.Hour

// heuristic lists the statuses whose lifetime may be estimated (RFC 9110, section 15.1).
var heuristic = []int{200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501}

func (r *response) date() time.Time {
	if date, err := http.ParseTime(r.header.Get("Date")); err == nil {
		return date
	}
	return r.received
}

// age returns the time since the response was made or confirmed (RFC 9111, section 4.2.3). An Age that
// is not a number counts as infinite, although section 5.1 would ignore it: it came from a cache that
// cannot be trusted.
func (r *response) age(now time.Time) time.Duration {
	age := max(r.received.Sub(r.date()), 0)
	if text := r.header["Age"]; len(text) > 0 {
		first, _, _ := strings.Cut(text[0], ",")
		stated, ok := cachecontrol.Seconds(strings.TrimSpace(first))
		if !ok {
			stated = cachecontrol.Infinite
		}
		age = max(age, stated)
	}
	return age + max(now.Sub(r.received), 0)
}
