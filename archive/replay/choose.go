package replay

import (
	"cmp"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// find returns the best capture: of several equally good ones the one nearest to the time, or the
// last one if that is zero. It returns nil if there is none.
func (a *Archive) find(p *preference) *snapshot {
	var best *snapshot
	for c := range a.matching(p) {
		if best == nil || p.compare(c, best) >= 0 {
			best = c
		}
	}
	return best
}

// alternatives returns all captures except than, best first. They are used if than is a revisit whose
// content is missing from the open archives.
func (a *Archive) alternatives(p *preference, than *snapshot) []*snapshot {
	list := slices.Collect(a.matching(p))
	list = slices.DeleteFunc(list, func(c *snapshot) bool { return c == than })
	slices.Reverse(list)
	slices.SortStableFunc(list, func(c, d *snapshot) int { return p.compare(d, c) })
	return list[:min(len(list), maxVersions)]
}

func (a *Archive) matching(p *preference) iter.Seq[*snapshot] {
	return func(yield func(*snapshot) bool) {
		for _, c := range a.capturesOf(record.Key(p.req.URL)) {
			if c.matches(p) && (p.usable == nil || p.usable(c.capture())) && !yield(c) {
				return
			}
		}
	}
}

func (c *snapshot) matches(p *preference) bool {
	req := p.req
	switch {
	case c.kind != exchangeRecord && !(c.hasMethod(req) && c.hasBody(p.bodyDigest)):
		return false
	case !c.rng.IsZero() && !(part{c.rng, c.total}).covers(req.Range), c.form != p.form:
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

func (c *snapshot) hasMethod(req *fetch.Request) bool {
	have, want := cmp.Or(c.method, "GET"), methodOf(req)
	return have == want || have == "HEAD" && want == "GET" && req.Op == fetch.OpStat
}

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
	usable     func(Capture) bool // see Options; may be nil
	variant    variant
}

func newPreference(req *fetch.Request, at time.Time, usable func(Capture) bool) *preference {
	fields := func(name string) []string { return req.Header[name] }
	return &preference{req, record.FormDigest(req.Form), requestDigest(req), at, usable, variantOf(fields)}
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
	succeeded := func(c *snapshot) bool { return !c.failed && c.status != http.StatusNotModified }
	hasOp := func(c *snapshot) bool { return c.kind != exchangeRecord || c.op == p.req.Op }
	return cmp.Or(
		prefer(succeeded(c), succeeded(d)),
		prefer(c.rng.IsZero(), d.rng.IsZero()),
		prefer(hasOp(c), hasOp(d)),
		prefer(!c.standalone, !d.standalone),
		prefer(!c.differs(p), !d.differs(p)),
	)
}

// prefer compares two values of which true is better.
func prefer(c, d bool) int {
	switch {
	case c == d:
		return 0
	case c:
		return 1
	}
	return -1
}

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
		return c.status == http.StatusNotModified
	}
	_, _, _, done, err := a.payload(p, 0)
	if err == nil {
		done()
	}
	return errors.Is(err, errMissingContent)
}
