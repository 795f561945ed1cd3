package mirror

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// addUnlinked adds the files of earlier mirrors that no page links to and that the server reports as
// not found. Other files stay, because a link may be out of scope or come back; so do those of other
// start URLs than those of this run. It sends one request
// at a time, and none to a host after a temporary failure, or for a start URL one of whose pages
// could not be read: that page may link to the files.
func (d *deletion) addUnlinked(ctx context.Context, seeds []uri.URI, earlier []removal) error {
	robots := crawl.NewRobots(d.d.Client, cmp.Or(d.Crawl.Agent, crawl.DefaultAgent))
	busy := map[string]bool{}
	for _, r := range earlier {
		u := r.url
		if !d.d.Client.Traits(u).Pages || busy[u.Host()] || len(d.placesOf(u)) == 0 ||
			d.failedStart(u) != nil {
			continue
		}
		if page := d.unreadPage(u); page != "" {
			d.keep(page, "the page could not be read and may link to them")
			continue
		}
		req := d.unlinkedRequest(u, seeds)
		pause, ok := d.mayRequest(ctx, robots, req)
		if !ok {
			continue
		}
		err := d.probe(ctx, req)
		if ctx.Err() != nil {
			return fetch.ContextError(ctx)
		}
		if _, again := fetch.Transient(err); again {
			busy[u.Host()] = true
		}
		if errors.Is(err, fetch.ErrNotFound) {
			d.removals = append(d.removals, r)
		}
		if retry.Sleep(ctx, pause) != nil {
			return fetch.ContextError(ctx)
		}
	}
	return nil
}

func (d *deletion) unreadPage(u uri.URI) string {
	for _, p := range d.placesOf(u) {
		if p.unread != "" {
			return p.unread
		}
	}
	return ""
}

// unlinkedRequest returns a request for a URL of an earlier mirror, by its key. Its redirects are
// not followed.
func (m *mirror) unlinkedRequest(u uri.URI, seeds []uri.URI) *fetch.Request {
	v, _ := m.memoOf(u)
	u = v.url(u.String())
	for _, seed := range seeds {
		if seed.SameSite(u) {
			u = u.WithLoginOf(seed)
			break
		}
	}
	return &fetch.Request{URL: u, From: seeds[0].WithoutUserinfo(),
		Redirect: func(uri.URI) error { return crawl.ErrElsewhere }}
}

func (m *mirror) mayRequest(ctx context.Context, robots *crawl.Robots,
	req *fetch.Request) (pause time.Duration, ok bool) {
	pause = max(m.Crawl.Schedule.Host.Delay, 0)
	if m.Crawl.NoRobots {
		return pause, true
	}
	rules, err := robots.Rules(ctx, req.URL, req.From)
	if err != nil {
		return 0, false
	}
	return max(pause, rules.Delay), robots.Allowed(rules, req.URL)
}

// probe requests the metadata of a resource and, if the server refuses that or does not find it, the
// resource if it has changed: some servers reply to HEAD with 404 for each resource. The error is of
// class ErrNotFound only if it does not exist.
func (m *mirror) probe(ctx context.Context, req *fetch.Request) error {
	_, err := m.d.Client.Stat(ctx, req)
	if err == nil || errors.Is(err, crawl.ErrElsewhere) {
		return err
	}
	if _, again := fetch.Transient(err); again {
		return err
	}
	v, _ := m.memoOf(req.URL)
	req.IfChanged = v.Validator
	resp, err := m.d.Client.Do(ctx, req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}
