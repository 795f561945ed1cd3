package queue

import (
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

type visit struct {
	*task
	crawl    *Crawl
	frontier *frontier
	id       string
	page     *crawl.Page
	skipped  crawl.Reason    // why nothing is saved, or ""
	resp     *fetch.Response // the latest response
}

// notWanted is the reason in the result of a page whose media type is not accepted.
const notWanted crawl.Reason = "not_wanted"

// prepare returns false if the page has been visited and has a result.
func (v *visit) prepare(ctx context.Context) (bool, error) {
	var err error
	page := v.sub.Page
	if v.crawl, err = v.crawlState.load(ctx, page.Secrets); err != nil {
		return false, err
	}
	if page.Seed.Userinfo().HasName { // of a former version
		if _, stored := v.crawl.secrets.Logins[page.Seed.Site()]; stored {
			page.Seed = page.Seed.WithoutUserinfo() // jobs for the links do not need it
		}
	}
	v.frontier, v.id = v.crawlState.frontierFor(v.delivery.Priority()), v.crawl.pageID(v.sub.Job.URL)
	m, err := v.frontier.visit(ctx, v.sub, v.id)
	if err != nil {
		return false, err
	}
	v.page = v.frontier.visitor.Page(v.link(m))
	if !m.followed() {
		return true, nil
	}
	finished, err := v.hasResult(ctx)
	return !finished, err
}

// link returns the link to the page, whose mark is m. The URL has the login for the seed's site if
// it is on that site.
func (v *visit) link(m mark) crawl.Link {
	j, page := v.sub.Job, v.sub.Page
	seed := page.Seed // has a login in jobs of former versions
	if stored, ok := v.crawl.secrets.Logins[seed.Site()]; ok {
		seed = stored
	}
	l := crawl.Link{URL: j.URL.WithLoginOf(seed), From: j.From, Seed: page.Seed, Depth: m.Depth,
		Rel: page.Rel, Kind: page.Kind,
		Size: -1, Save: !page.Read, Guessed: page.Guessed}
	if page.Moved {
		l.Via = []uri.URI{j.From}
	}
	if n := len(m.Via); page.Moved && n > 0 && m.Via[n-1] == j.From {
		l.Via = m.Via
	}
	return l
}

// retrieve visits the page and spools its body. An error is one of the engine.
func (v *visit) retrieve(ctx context.Context) (res *job.Result, spool Spool, err error) {
	why, err := v.frontier.visitor.Visit(ctx, v.page, func(ctx context.Context) error {
		res, spool = v.transfer(ctx)
		return res.Err
	})
	switch {
	case errors.As(err, new(*crawl.StoreError)):
		if spool != nil {
			spool.Discard()
		}
		return nil, nil, err
	case why != crawl.Followed:
		v.skipped, res = why, v.withoutFailure(res)
	case res == nil: // without robots.txt, nothing was requested
		res = v.failed(err)
	case v.skipped != "":
		res.Outcome = job.Skipped
	}
	return res, spool, nil
}

// withoutFailure returns the result of a skipped page. Res is that of its request, or nil.
func (v *visit) withoutFailure(res *job.Result) *job.Result {
	skipped := &job.Result{URL: v.sub.Job.URL.Redacted(), Outcome: job.Skipped, Started: time.Now(), Size: -1}
	if res != nil {
		skipped.Op, skipped.From, skipped.Depth, skipped.Attempt = res.Op, res.From, res.Depth, res.Attempt
		skipped.Started, skipped.Elapsed, skipped.Capture = res.Started, res.Elapsed, res.Capture
		skipped.FinalURL, skipped.Status, skipped.Reply = res.FinalURL, res.Status, res.Reply
	}
	if !v.page.Target.IsZero() {
		skipped.FinalURL = v.page.Target.Redacted()
	}
	return skipped
}

func (v *visit) job() job.Job {
	j := *v.sub.Job
	j.URL, j.Depth = v.page.URL, v.page.Depth
	switch {
	case v.page.IsDirectory():
		j.Op = fetch.OpList
	case v.crawlState.client.Traits(j.URL).Menus:
		j.Output = "-" // menus are documents
	}
	return j
}

func (v *visit) addHooks(ctx context.Context, h *job.Hooks) {
	h.Redirect = func(to uri.URI) error { return v.page.Redirect(ctx, to) }
	h.Response = func(resp *fetch.Response) error {
		v.recordProgress()
		return v.response(ctx, resp)
	}
	h.Listing = func(resp *fetch.Response) error { return spoolListing(h.Writer, resp.Entries) }
}

// response checks the response before its body is read. An error ends the transfer.
func (v *visit) response(ctx context.Context, resp *fetch.Response) error {
	v.resp = resp
	if err := v.page.Receive(ctx, resp); err != nil {
		return err
	}
	if v.keeps(resp) || resp.Entries != nil || v.page.Rel == "sitemap" {
		return nil
	}
	_, linked := links.Read(resp.Body, resp.ContentType, resp.URL)
	if !linked && !links.IsUnknown(resp.ContentType) {
		v.skipped = notWanted
		return job.ErrTaken
	}
	return nil
}

func (v *visit) keeps(resp *fetch.Response) bool {
	return v.page.Save && v.crawl.Scope.KeepsType(resp.ContentType)
}

// finish queues the links of the page, and returns the result of the visit. An error is one of the
// engine.
func (v *visit) finish(ctx context.Context, res *job.Result, spool Spool) (*job.Result, error) {
	switch {
	case v.skipped == crawl.Moved:
		return res, v.recordFollowed(ctx, func() error {
			err := v.page.Redirect(ctx, v.page.Target)
			if errors.Is(err, crawl.ErrElsewhere) {
				return nil
			}
			return err
		})
	case v.skipped != "", res.Outcome == job.Failed:
		return res, nil
	}
	return v.follow(ctx, res, spool)
}

// recordFollowed records that the links of the page were followed. If another worker has found a
// shorter path to the page, it calls again first.
func (v *visit) recordFollowed(ctx context.Context, again func() error) error {
	for {
		now, err := v.frontier.recordFollowed(ctx, v.id, v.page.Depth)
		if err != nil || now >= v.page.Depth {
			return err
		}
		v.page.Depth = now
		if err := again(); err != nil {
			return err
		}
	}
}
