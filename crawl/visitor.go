package crawl

import (
	"context"
	"errors"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Visitor visits the pages of a crawl: it asks for robots.txt, and decides about links, redirects
// and sitemaps. Run has one, and so has each worker of a queue. It is safe for concurrent use.
type Visitor struct {
	Rules
	Robots   *Robots
	Frontier Frontier
	// Left, if not nil, is called for each link that is not followed, as Options.Left. Calls may
	// overlap.
	Left func(l Link, why Reason)

	attemptFailed func(host string, err error)
	seen          seenLinks
}

// A Frontier stores the pages that a crawl has found, by the key of their URL, and decides when they
// are visited. A call that failed may be repeated. It is safe for concurrent use.
type Frontier interface {
	// Add adds the page that a link leads to. A known page becomes nearer if the link is shorter than
	// the others, and its links are then followed again if the limit of depth requires it. A new page
	// takes one unit from the budget of its form, unless form is "". If a budget is spent, Add adds
	// nothing and returns the reason.
	Add(ctx context.Context, l *Link, form string) (Reason, error)
	// AddTarget adds the page that others redirect to, of which l.Via is the chain. If the page is in
	// its own chain, it is visited again. A frontier that visits each page once returns follow
	// instead: the request must follow the redirect.
	AddTarget(ctx context.Context, l *Link) (follow bool, err error)
	// MoveSeed records that the seed p redirects to another URL, and returns the seed of the links
	// that follow.
	MoveSeed(ctx context.Context, p *Page, to uri.URI) (uri.URI, error)
}

// A StoreError is the error of a Frontier or of Robots.Share that is not one of the page: it must be
// visited again.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *StoreError) Unwrap() error { return e.Err }

// Page returns the page that a link leads to. The URL of the link may have a login.
func (v *Visitor) Page(l Link) *Page {
	return &Page{Link: l, visitor: v}
}

// Visit visits a page with retrieve, unless the server's robots.txt forbids it. Retrieve passes the
// response to Page.Receive and the links to Page.AddLink, perhaps after Visit has returned. Visit
// returns the reason if the page is not one of the crawl: RobotsForbid, Moved, NeedsForm or Missing.
func (v *Visitor) Visit(ctx context.Context, p *Page, retrieve func(context.Context) error) (Reason, error) {
	allowed, err := v.checkRobots(ctx, p)
	if err != nil {
		return Followed, err
	}
	if !allowed {
		v.left(p.plainLink(), RobotsForbid)
		return RobotsForbid, nil
	}
	err = retrieve(ctx)
	switch {
	case errors.Is(err, ErrElsewhere):
		return Moved, nil
	case !p.isSeed() && (errors.Is(err, fetch.ErrNeedForm) || errors.Is(err, fetch.ErrNeedSearch)):
		v.left(p.plainLink(), NeedsForm)
		return NeedsForm, nil
	case p.Guessed && errors.Is(err, fetch.ErrNotFound):
		return Missing, nil
	}
	return Followed, err
}

// checkRobots reports whether robots.txt allows the visit, and sets p.Delay. It adds the sitemaps of
// a seed's server.
func (v *Visitor) checkRobots(ctx context.Context, p *Page) (allowed bool, err error) {
	sitemaps := v.Sitemaps && p.isSeed()
	if v.NoRobots && !sitemaps {
		return true, nil
	}
	rules, err := v.Robots.Rules(ctx, p.URL, p.Source())
	if err != nil && errors.As(err, new(*StoreError)) {
		return false, err
	}
	if err == nil && !v.NoRobots {
		p.Delay = rules.Delay
	}
	if err == nil && sitemaps {
		for l, why := range v.sitemaps(p, rules.Sitemaps) {
			if _, err := v.add(ctx, &l, why); err != nil {
				return false, err
			}
		}
	}
	if v.NoRobots || p.Depth == 0 {
		return true, nil
	}
	return err == nil && v.Robots.Allowed(rules, p.URL), err
}

// add adds the page of a link to the frontier if why is Followed. It reports the other links.
func (v *Visitor) add(ctx context.Context, l *Link, why Reason) (Reason, error) {
	if why == Followed {
		var err error
		if why, err = v.Frontier.Add(ctx, l, v.form(l)); err != nil {
			return why, err
		}
	}
	if why != Followed {
		v.left(*l, why)
	}
	return why, nil
}

func (v *Visitor) left(l Link, why Reason) {
	if v.Left != nil {
		v.Left(l, why)
	}
}
