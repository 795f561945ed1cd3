package crawl

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl/robots"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

const maxRules = 1000 // servers whose rules are in memory

// robotsRetry is the policy for robots.txt files. A server that asks for a longer pause than a minute
// is asked again after that.
var robotsRetry = retry.Policy{Tries: 3, Wait: time.Second, MaxWait: time.Minute, Jitter: retry.NoJitter,
	Transient: func(err error) (time.Duration, bool) {
		after, ok := fetch.Transient(err)
		return min(after, time.Minute), ok
	}}

// Robots has the rules of servers. They are asked for when they are needed, and again after a day.
type Robots struct {
	// Share, if not nil, is how crawlers that have something in common ask a server but once: it
	// returns what ask does, for this or another one. An error that is not of ask is not remembered.
	Share func(ctx context.Context, site string, ask func(context.Context) (*robots.Rules, error)) (*robots.Rules, error)

	client *fetch.Client
	agent  string
	mu     sync.Mutex
	sites  map[string]*siteRules
	order  []string // of those in sites, the oldest first
}

// siteRules are those of one server.
type siteRules struct {
	ready chan struct{} // holds a value if nobody is asking for them
	until time.Time     // when they are asked for again
	rules *robots.Rules
	err   error
}

// For how long rules count, as RFC 9309 has it in section 2.4, and that there are none to be had.
const (
	RulesFresh    = 24 * time.Hour
	failuresFresh = 10 * time.Minute
)

// NewRobots returns the rules for the crawler of that name.
func NewRobots(client *fetch.Client, agent string) *Robots {
	return &Robots{client: client, agent: agent, sites: map[string]*siteRules{}}
}

// Rules returns the rules of the server of u, to which from led; zero if the user named u. An error
// means that nothing may be retrieved from it (RFC 9309, section 2.3.1.4), or that the policy does
// not let from lead there. Robots.txt is requested as from could have led to it, without the user's
// credentials, and nothing is sent if the policy refuses u.
func (c *Robots) Rules(ctx context.Context, u, from uri.URI) (*robots.Rules, error) {
	path, err := uri.ParseRef(c.client.Traits(u).Robots)
	if path.IsZero() || err != nil {
		return &robots.Rules{}, nil
	}
	where := u.WithoutUserinfo().Resolve(path)
	if err := c.client.Check(&fetch.Request{URL: u, From: from}); err != nil {
		return nil, err
	}
	s := c.site(u.Site())
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, fetch.ContextError(ctx)
	}
	defer func() { s.ready <- struct{}{} }()
	if time.Now().Before(s.until) {
		return s.rules, s.err
	}
	told := true
	ask := func(ctx context.Context) (*robots.Rules, error) { return c.ask(ctx, where, from) }
	if c.Share == nil {
		s.rules, s.err = ask(ctx)
	} else {
		s.rules, s.err = c.Share(ctx, u.Site(), ask)
		told = s.err == nil || fetch.CodeOf(s.err) != ""
	}
	switch {
	case ctx.Err() != nil || !told:
	case fetch.CodeOf(s.err) == fetch.ErrPolicy: // others may lead there
	case s.err != nil && c.Share != nil: // those it is shared with remember for how long that counts
	case s.err != nil:
		s.until = time.Now().Add(failuresFresh)
	default:
		s.until = time.Now().Add(RulesFresh)
	}
	return s.rules, s.err
}

func (c *Robots) site(name string) *siteRules {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sites[name]
	if s == nil {
		s = &siteRules{ready: make(chan struct{}, 1)}
		s.ready <- struct{}{}
		c.sites[name] = s
		c.order = append(c.order, name)
		if len(c.order) > maxRules {
			delete(c.sites, c.order[0])
			c.order = c.order[1:]
		}
	}
	return s
}

// RobotsPath returns what the rules are about: path and query, or the selector.
func RobotsPath(u uri.URI) string {
	if _, err := uri.ParseGopher(u); err == nil {
		return u.TreePath()
	}
	path := u.Path()
	if path == "" {
		path = "/"
	}
	if query, ok := u.Query(); ok {
		path += "?" + query
	}
	return path
}

// ask retrieves a robots.txt. That there is none, or that we may not have it, allows everything;
// that the server fails or cannot be reached forbids it.
func (c *Robots) ask(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	for try := 1; ; try++ {
		rules, err := c.askOnce(ctx, where, from)
		switch fetch.CodeOf(err) {
		case fetch.ErrPolicy:
			return nil, err
		case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrAuth, fetch.ErrNeedSearch, fetch.ErrNeedForm, fetch.ErrNotRetrievable:
			return &robots.Rules{}, nil
		}
		if err == nil {
			return rules, nil
		}
		pause, again := robotsRetry.Next(try, err)
		if !again || ctx.Err() != nil {
			_, transient := fetch.Transient(err)
			return nil, &fetch.Error{Op: "get", URL: where.Redacted(), Code: fetch.CodeOf(err), Retry: transient,
				Err: fmt.Errorf("nothing may be retrieved without the rules for robots: %w", err)}
		}
		if retry.Sleep(ctx, pause) != nil {
			return nil, fetch.ContextError(ctx)
		}
	}
}

func (c *Robots) askOnce(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	resp, err := c.client.Do(ctx, &fetch.Request{URL: where, From: from, Anonymous: true})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return robots.Read(resp.Body, c.agent)
}
