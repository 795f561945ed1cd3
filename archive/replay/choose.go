package replay

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// find returns the best capture for req: of several equally good ones the one nearest to at, or the
// last one if at is zero, as far as usable (see Options) allows. It returns nil if there is none.
func (a *Archive) find(req *fetch.Request, at time.Time, usable func(Capture) bool) *snapshot {
	p := newPreference(req, at)
	var best *snapshot
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c.matches(p) && (usable == nil || usable(c.capture())) && (best == nil || p.compare(c, best) >= 0) {
			best = c
		}
	}
	return best
}

// alternatives returns all other captures that match req, best first. They are used if than is a
// revisit whose content is missing from the open archives.
func (a *Archive) alternatives(req *fetch.Request, at time.Time, than *snapshot, usable func(Capture) bool) []*snapshot {
	p := newPreference(req, at)
	var list []*snapshot
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c != than && c.matches(p) && (usable == nil || usable(c.capture())) {
			list = append(list, c)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(c, d *snapshot) int { return p.compare(d, c) })
	return list[:min(len(list), maxVersions)]
}

// matches reports whether c matches the request of p.
func (c *snapshot) matches(p *preference) bool {
	req := p.req
	switch {
	case c.kind != exchangeRecord && !(c.hasMethod(req) && c.hasBody(p.bodyDigest)):
		return false
	case !c.coversRange(req.Range), c.form != p.form:
		return false
	case c.kind == exchangeRecord && c.view != req.View:
		return false
	case req.Op == fetch.OpDial || c.op == fetch.OpDial:
		return req.Op == c.op
	case c.op == fetch.OpStat:
		return req.Op == fetch.OpStat
	}
	return true
}

// coversRange reports whether c covers the range want. If want extends to the end of the content or
// beyond, the captured range must end there too.
func (c *snapshot) coversRange(want fetch.Range) bool {
	if c.rng.IsZero() || c.rng == want {
		return true
	}
	if c.total == 0 || want.IsZero() {
		return false
	}
	want = want.Of(c.total)
	return want.Offset == c.rng.Offset && c.rng.Offset+c.rng.Length == c.total &&
		(want.Length == 0 || want.Length > c.rng.Length)
}

// hasMethod reports whether c was requested with the method of req.
func (c *snapshot) hasMethod(req *fetch.Request) bool {
	have, want := cmp.Or(c.method, "GET"), methodOf(req)
	return have == want || have == "HEAD" && want == "GET" && req.Op == fetch.OpStat
}

// methodOf returns the HTTP method of a request.
func methodOf(req *fetch.Request) string {
	if req.Body != nil || req.GetBody != nil {
		return cmp.Or(req.Method, "POST")
	}
	return cmp.Or(req.Method, "GET")
}

// A preference ranks the captures that match a request.
type preference struct {
	req        *fetch.Request
	form       string // digest of the submitted form
	bodyDigest string // of the request; see bodyDigest
	at         time.Time
}

func newPreference(req *fetch.Request, at time.Time) *preference {
	return &preference{req: req, form: record.FormDigest(req.Form), bodyDigest: requestDigest(req), at: at}
}

// compare returns 1 if c is better than d, -1 if it is worse, and 0 if the later one in the archive
// is preferred.
func (p *preference) compare(c, d *snapshot) int {
	if order := p.rank(c, d); order != 0 {
		return order
	}
	if p.at.IsZero() {
		return c.date.Compare(d.date)
	}
	return cmp.Compare(d.date.Sub(p.at).Abs(), c.date.Sub(p.at).Abs())
}

// rank is compare without regard to time.
func (p *preference) rank(c, d *snapshot) int {
	for _, prefer := range []func(*snapshot) bool{
		func(c *snapshot) bool { return !c.failed && c.status != 304 },
		func(c *snapshot) bool { return c.rng.IsZero() },
		func(c *snapshot) bool { return c.kind != exchangeRecord || c.op == p.req.Op },
		func(c *snapshot) bool { return !c.standalone },
	} {
		switch {
		case prefer(c) && !prefer(d):
			return 1
		case prefer(d) && !prefer(c):
			return -1
		}
	}
	return 0
}

// lacksContent reports whether the content of a capture is missing from the open archives.
func (a *Archive) lacksContent(c *snapshot) bool {
	p := c.place
	switch c.kind {
	case warc.Revisit:
	case exchangeRecord:
		rec, done, err := a.read(c.place)
		if err != nil {
			return false
		}
		x, err := record.ReadExchange(rec.Block)
		done()
		if err != nil || x.Content == "" {
			return false
		}
		p, _ = a.byID(x.Content)
	default:
		return false
	}
	_, _, _, done, err := a.payload(p, 0)
	if err == nil {
		done()
	}
	return errors.Is(err, errMissingContent)
}
