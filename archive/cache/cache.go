// Package cache answers requests from what an archive has, while it is fresh, as a private cache of HTTP
// does (RFC 9111).
package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/internal/cachecontrol"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// Options configure a Middleware.
type Options struct {
	// Archive has the responses that were stored. The program records new ones with package capture
	// and ForCache, in a file that Archive follows.
	Archive *replay.Archive
	// Offline answers all requests from the archive, whatever their age, and sends nothing.
	Offline bool
	// Key is the key that [capture.Capture.ForCache] had when the responses were recorded. Others are
	// not used.
	Key []byte
	// Missing, if not nil, is called with the URL of each request that the archive cannot answer with
	// Offline.
	Missing func(uri.URI)
	// Now returns the time. Nil means time.Now.
	Now func() time.Time
}

// Middleware returns a middleware that answers GET requests of HTTP from the archive while the response
// there is fresh, or after the server has confirmed it. Other requests are sent to the server. It must
// be the innermost one.
func Middleware(opts Options) fetch.Middleware {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			l := newLookup(ctx, req, &opts)
			if opts.Offline {
				return l.offline(next)
			}
			if !cacheable(req) {
				return next.Open(ctx, req)
			}
			return l.open(next)
		})
	}
}

type lookup struct {
	*Options
	ctx    context.Context
	req    *fetch.Request
	unused string          // why a stored response is not used; "" if there is none
	keys   map[string]bool // whether the request has a key of stored responses; by key, Vary and login
	// variant and known return the variant of the request, without and with a login that the server has
	// to ask for.
	variant, known func() (*fetch.Variant, error)
	peers          map[time.Time]netip.Addr // the servers of the usable responses
	// confirmations are the stored responses 304, and refused is the latest one with another error.
	confirmations []replay.Capture
	refused       replay.Capture
}

func newLookup(ctx context.Context, req *fetch.Request, opts *Options) *lookup {
	variant := func(login bool) func() (*fetch.Variant, error) {
		return sync.OnceValues(func() (*fetch.Variant, error) { return fetch.VariantOf(ctx, req, login) })
	}
	return &lookup{
		Options: opts, ctx: ctx, req: req, variant: variant(false), known: variant(true),
		keys: make(map[string]bool), peers: make(map[time.Time]netip.Addr),
	}
}

func (l *lookup) stored(next fetch.Driver) fetch.Driver {
	return l.Archive.Middleware(replay.Options{Only: true, Usable: l.usable})(next)
}

func (l *lookup) usable(c replay.Capture) bool {
	switch {
	case c.Key == "":
		l.unused = "only a response of an earlier version"
	case !l.selects(&c): // RFC 9111, section 4.1
		l.unused = "only a response to a request with another login, or with other fields that its Vary names"
	case c.Status == http.StatusNotModified:
		l.confirmations = append(l.confirmations, c)
	case c.Incomplete: // RFC 9111, section 3.3
		l.unused = "only an incomplete response"
	case c.Login && fetch.Foreign(l.ctx):
		l.unused = "only a response to a request with a login"
	case c.Status >= 500 && !l.Offline: // RFC 9111, section 4.3.3: it does not replace an earlier one
		l.unused = "only an error of the server"
	default:
		if err := fetch.CheckCached(l.ctx, c.Address); err != nil {
			l.unused = "only a response that the policy refuses here: " + err.Error()
			return false
		}
		l.peers[c.Time.UTC()] = c.Address
		if c.Status >= 400 && !c.Time.Before(l.refused.Time) {
			l.refused = c
		}
		return true
	}
	return false
}

// use records where a response comes from that was captured at a time.
func (l *lookup) use(at time.Time) { fetch.ServedFromCache(l.ctx, l.peers[at.UTC()]) }

func (l *lookup) selects(c *replay.Capture) bool {
	if !l.Offline && slices.Contains(strings.Split(strings.ReplaceAll(c.Vary, " ", ""), ","), "*") {
		return false
	}
	id := fmt.Sprint(c.Login, c.Key, c.Vary)
	found, known := l.keys[id]
	if !known {
		found = l.hasKey(c, l.variant) || c.Login && l.hasKey(c, l.known)
		l.keys[id] = found
	}
	return found
}

func (l *lookup) hasKey(c *replay.Capture, variant func() (*fetch.Variant, error)) bool {
	v, err := variant()
	return err == nil && v.Key(l.Key, c.Vary) == c.Key
}

func (l *lookup) offline(next fetch.Driver) (*fetch.Response, error) {
	resp, err := l.stored(next).Open(l.ctx, l.req)
	if err == nil {
		l.use(resp.Capture.Time)
	}
	if !errors.Is(err, replay.ErrNoCapture) { // the error may be that of the time
		return resp, err
	}
	if l.Missing != nil {
		l.Missing(l.req.URL)
	}
	if l.unused != "" {
		return nil, fetch.ErrNotFound.Errorf("the cache has %s", l.unused)
	}
	return nil, err
}

func cacheable(req *fetch.Request) bool {
	return (req.Op == fetch.OpGet || req.Op == fetch.OpList) && !req.Sends() && req.Form == nil &&
		(req.Method == "" || req.Method == http.MethodGet) &&
		req.Range.IsZero() && req.Ranges == nil && req.IfChanged.IsZero()
}

func (l *lookup) open(next fetch.Driver) (*fetch.Response, error) {
	asked := cachecontrol.Of(l.req.Header)
	if asked.Has("only-if-cached") {
		next = fetch.DriverFunc(func(context.Context, *fetch.Request) (*fetch.Response, error) {
			return nil, notCached()
		})
	} else if asked.Has("no-store") {
		return next.Open(l.ctx, l.req)
	}
	stored := l.stored(next)
	resp, err := stored.Open(l.ctx, l.req)
	r, ok := l.response(resp, err)
	if ok && r.answers(l.req.Header, l.Now()) {
		l.use(r.captured)
		if resp != nil {
			resp.Header = r.header
		}
		return resp, err
	}
	if resp != nil {
		resp.Body.Close()
	}
	if resp == nil || !ok || resp.Validator.IsZero() || len(resp.Location) > 0 {
		return next.Open(l.ctx, l.req)
	}
	conditional := *l.req
	conditional.IfChanged = resp.Validator
	confirmed, err := next.Open(l.ctx, &conditional)
	unmodified, failed := errors.AsType[*fetch.Error](err)
	if !failed || !errors.Is(err, fetch.ErrNotModified) {
		return confirmed, err
	}
	if resp, err = stored.Open(l.ctx, l.req); err == nil {
		r.confirm(unmodified.Header, l.Now())
		resp.Header = r.header
	}
	return resp, err
}

// notCached returns the error for a request that only the cache may answer and that it cannot (RFC 9111,
// section 5.2.1.7).
func notCached() error {
	return &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Code: http.StatusGatewayTimeout},
		Err: errors.New("the cache has no fresh response, and only-if-cached is set")}
}

// response returns the stored response that replay has given as resp or, if its status is an error, as
// err. It returns false if there is none that the rules of HTTP apply to.
func (l *lookup) response(resp *fetch.Response, err error) (r response, ok bool) {
	switch refused, failed := errors.AsType[*fetch.Error](err); {
	case err == nil:
		at := resp.Capture.Time
		r = response{status: resp.Reply.Code, header: resp.Header, received: at, captured: at}
	case failed && refused.Reply.Code == l.refused.Status:
		at := l.refused.Time
		r = response{status: refused.Reply.Code, header: refused.Header, received: at, captured: at}
	}
	if r.status == 0 || r.header == nil {
		return r, false
	}
	changed, updates := l.Archive.Updates(l.req.URL)
	r.changed = changed
	updates = slices.DeleteFunc(updates, func(c replay.Capture) bool {
		return c.Status != http.StatusOK || c.Key == "" || !l.selects(&c)
	})
	updates = append(updates, l.confirmations...)
	slices.SortStableFunc(updates, func(c, d replay.Capture) int { return c.Time.Compare(d.Time) })
	for _, c := range updates {
		switch {
		case !c.Time.After(r.received):
		case c.Status == http.StatusNotModified && !r.hasValidator(c.Validator):
		case c.Status == http.StatusNotModified, r.describedBy(c.Header):
			r.confirm(c.Header, c.Time)
		default:
			r.changed = c.Time
		}
	}
	return r, true
}

// weakTag returns an entity tag for weak comparison (RFC 9110, section 8.8.3.2).
func weakTag(tag string) string { return strings.TrimPrefix(tag, "W/") }
