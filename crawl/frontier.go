package crawl

import (
	"context"

	"github.com/urlget/urlget/fetch/uri"
)

// Add implements Frontier.
func (c *crawl) Add(_ context.Context, l *Link, form string) (Reason, error) {
	it := newItem(l)
	if skipped, err := c.skipUnchanged(it, l.Listed); skipped || err != nil {
		return Followed, err
	}
	added, err := c.State.add(it, c.Scope.Limit(), form, c.visitor.MaxAlike)
	switch added {
	case tooManyAlike:
		return TooManyAlike, err
	case newlyQueued:
		c.reportWaiting()
	}
	return Followed, err
}

// AddTarget implements Frontier.
func (c *crawl) AddTarget(_ context.Context, l *Link) (follow bool, err error) {
	it := newItem(l)
	added := alreadyKnown
	if l.Returns() && len(it.Via) <= maxRevisits {
		c.visitor.seen.clear() // the depth of the URL may grow
		added, err = c.State.addAgain(it)
	} else {
		added, err = c.State.add(it, c.Scope.Limit(), "", 0)
	}
	if added == newlyQueued {
		c.reportWaiting()
	}
	return false, err
}

// maxRevisits is the number of redirects after which none leads to a URL of its chain again.
const maxRevisits = 50

// MoveSeed implements Frontier.
func (c *crawl) MoveSeed(_ context.Context, p *Page, to uri.URI) (uri.URI, error) {
	c.mu.Lock()
	c.seeds[p.seed] = to
	c.mu.Unlock()
	c.State.moveSeed(p.seed, to.WithoutUserinfo().String())
	return to, nil
}
