package replay

import (
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Find returns the time of the capture that matches req and is nearest to at, or the last one if at
// is zero. It returns false if there is none.
func (a *Archive) Find(req *fetch.Request, at time.Time) (time.Time, bool) {
	p := newPreference(req, at, nil)
	best := a.find(p)
	if best == nil {
		return time.Time{}, false
	}
	if a.lacksContent(best) {
		for _, c := range a.alternatives(p, best) {
			if !a.lacksContent(c) {
				return c.date, true
			}
		}
	}
	return best.date, true
}

// Times returns the times of the captures that the archive may replay for a request, oldest first.
// Failures that may have been temporary, and captures of a part, are only among them if there is
// nothing better.
func (a *Archive) Times(req *fetch.Request) []time.Time {
	p := newPreference(req, time.Time{}, nil)
	best := a.find(p)
	if best == nil {
		return nil
	}
	var list []time.Time
	for c := range a.matching(p) {
		if p.rank(c, best) == 0 {
			list = append(list, c.date)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// URLs returns the captured URLs that match, sorted and at most limit, and reports whether there are
// more.
func (a *Archive) URLs(match func(url string) bool, limit int) (list []string, more bool, err error) {
	found := make(map[string]bool)
	note := func(key string) {
		switch {
		case found[key] || !match(key):
		case len(found) < limit:
			found[key] = true
		default:
			more = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(a.scanned.captures)) {
		note(key)
	}
	for _, x := range a.indexes {
		err = errors.Join(err, x.each(func(e warc.IndexEntry) error {
			if key := record.KeyOf(e.URL); key != "" {
				note(key)
			}
			return nil
		}))
	}
	return slices.Sorted(maps.Keys(found)), more, err
}

// A Capture describes one captured exchange.
type Capture struct {
	Time time.Time
	Op   fetch.Op
	// Status is the HTTP status; 0 for other schemes.
	Status int
	// Failure is the error of the exchange; nil if it succeeded, and always nil for HTTP. Only
	// Captures sets it.
	Failure *fetch.Error
	// Incomplete is set if the content was not captured to its end.
	Incomplete bool
	// The other fields are set in the archives of a cache only (see capture.Capture.ForCache). Key is
	// that of the requests that the response answers (see driver.Variant), Vary the fields of the
	// header of that name, and Login reports whether the request identified a user.
	Key, Vary string
	Login     bool
	// Address is the address of the server, or zero if it is unknown.
	Address netip.Addr
	// Validator is the validator in the request of a 304: the value of If-None-Match or, without it,
	// of If-Modified-Since. Header is the header of a 304, and
	// in Updates of a response to HEAD.
	Validator string
	Header    textproto.MIMEHeader
}

// Updates returns what a cache learned about the resource of a URL other than from its content: when a
// request may last have changed it (RFC 9111, section 4.4), or zero, and the responses to HEAD, with their
// Header.
func (a *Archive) Updates(u uri.URI) (changed time.Time, heads []Capture) {
	key := record.Key(u)
	for _, c := range a.capturesOf(key) {
		if c.method == http.MethodHead && c.cache != nil {
			heads = append(heads, c.capture())
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	changed = a.scanned.changed[key]
	if t := a.cached[0].changed[key]; t.After(changed) {
		changed = t
	}
	return changed, heads
}

type cacheFields struct {
	key, vary, validator string
	login                bool
	header               textproto.MIMEHeader // of a 304 or a response to HEAD
	address              netip.Addr
}

// readCacheFields sets c.cache from a record, except vary.
func (c *snapshot) readCacheFields(rec *warc.Record) {
	words := strings.Fields(rec.Get(record.CacheKey))
	if len(words) == 0 {
		return
	}
	login := slices.Contains(words, record.CacheLogin)
	c.cache = &cacheFields{key: words[0], login: login, validator: rec.Get(record.CacheValidator)}
	if !slices.Contains(words, record.CacheProxied) {
		c.cache.address, _ = netip.ParseAddr(rec.Get("WARC-IP-Address")) // zero if it is invalid
	}
}

func (c *snapshot) capture() Capture {
	found := Capture{Time: c.date, Op: c.op, Status: c.status, Incomplete: c.incomplete}
	if f := c.cache; f != nil {
		found.Key, found.Vary, found.Login = f.key, f.vary, f.login
		found.Address, found.Validator, found.Header = f.address, f.validator, f.header
	}
	return found
}

// Text returns the operation and the HTTP status.
func (c *Capture) Text() string {
	text := c.Op.String()
	if c.Status != 0 {
		text += " " + strconv.Itoa(c.Status)
	}
	return text
}

// Captures returns at most limit captures of a URL, oldest first.
func (a *Archive) Captures(u uri.URI, limit int) []Capture {
	found := slices.Clone(a.capturesOf(record.Key(u)))
	slices.SortStableFunc(found, func(c, d *snapshot) int { return c.date.Compare(d.date) })
	var list []Capture
	for _, c := range found[:min(len(found), limit)] {
		one := c.capture()
		if c.kind == exchangeRecord {
			if rec, done, err := a.read(c.place); err == nil {
				if x, err := record.ReadExchange(rec.Block); err == nil && x.Failure != nil {
					one.Failure = x.Failure.Error()
				}
				done()
			}
		}
		list = append(list, one)
	}
	return list
}
