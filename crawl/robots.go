package crawl

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl/robots"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

const maxRules = 1000 // number of servers whose rules are in memory

// robotsRetry is the retry policy for robots.txt files. A Retry-After of more than a minute is
// shortened to a minute.
var robotsRetry = retry.Policy{Tries: 3, Wait: time.Second, MaxWait: time.Minute, Jitter: retry.NoJitter,
	Transient: func(err error) (time.Duration, bool) {
		after, ok := fetch.Transient(err)
		return min(after, time.Minute), ok
	}}

// Robots caches the robots.txt rules of servers for a day. It is safe for concurrent use.
type Robots struct {
	// Share, if not nil, lets several crawlers share one request. It returns the result of request,
	// called by this or by another crawler. An error that is not from request is not cached.
	Share func(ctx context.Context, site string,
		request func(context.Context) (*robots.Rules, error)) (*robots.Rules, error)

	client *fetch.Client
	agent  string
	mu     sync.Mutex
	sites  map[string]*siteRules
	order  []string // keys of sites, oldest first
}

type siteRules struct {
	ready chan struct{} // holds a value while no goroutine retrieves the rules
	known knownRules    // guarded by Robots.mu
}

type knownRules struct {
	until time.Time // expiry
	rules *robots.Rules
	err   error
}

// The lifetime of cached rules (RFC 9309, section 2.4) and of failures.
const (
	RulesFresh    = 24 * time.Hour
	failuresFresh = 10 * time.Minute
)

// NewRobots returns a cache of rules for the crawler named agent.
func NewRobots(client *fetch.Client, agent string) *Robots {
	return &Robots{client: client, agent: agent, sites: map[string]*siteRules{}}
}

// Rules returns the rules of the server of u. The URL from contains the link to u; it is zero if
// the user entered u. An error means that nothing may be retrieved from the server (RFC 9309,
// section 2.3.1.4), or that the policy forbids the link. The request for robots.txt is
// made on behalf of from, without the user's credentials. If the policy refuses u, nothing is sent.
func (c *Robots) Rules(ctx context.Context, u, from uri.URI) (*robots.Rules, error) {
	path := c.client.Traits(u).Robots
	if path == "" {
		return &robots.Rules{}, nil
	}
	if err := c.client.Check(&fetch.Request{URL: u, From: from}); err != nil {
		return nil, err
	}
	site := u.Site()
	s, known := c.site(site)
	if time.Now().Before(known.until) {
		return known.rules, known.err
	}
	ref, err := uri.ParseRef(path)
	if err != nil {
		return &robots.Rules{}, nil
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, fetch.ContextError(ctx)
	}
	defer func() { s.ready <- struct{}{} }()
	if known = c.knownRules(s); time.Now().Before(known.until) {
		return known.rules, known.err
	}
	known, valid := knownRules{}, true
	request := func(ctx context.Context) (*robots.Rules, error) {
		return c.retrieve(ctx, u.WithoutUserinfo().Resolve(ref), from)
	}
	if c.Share == nil {
		known.rules, known.err = request(ctx)
	} else {
		known.rules, known.err = c.Share(ctx, site, request)
		valid = known.err == nil || fetch.CodeOf(known.err) != ""
	}
	switch {
	case ctx.Err() != nil || !valid:
	case fetch.CodeOf(known.err) == fetch.ErrPolicy: // links from other pages may be allowed
	case known.err != nil && c.Share != nil: // Share caches failures itself
	case known.err != nil:
		known.until = time.Now().Add(failuresFresh)
	default:
		known.until = time.Now().Add(RulesFresh)
	}
	c.mu.Lock()
	s.known = known
	c.mu.Unlock()
	return known.rules, known.err
}

func (c *Robots) knownRules(s *siteRules) knownRules {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.known
}

func (c *Robots) site(name string) (*siteRules, knownRules) {
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
	return s, s.known
}

// Allowed reports whether rules, which must be those of the server of u, allow a visit of u. They
// are applied to the path and query, or to the selector if the scheme has menus.
func (c *Robots) Allowed(rules *robots.Rules, u uri.URI) bool {
	path := cmp.Or(u.Path(), "/")
	if query, ok := u.Query(); ok {
		path += "?" + query
	}
	if c.client.Traits(u).Menus {
		path = u.TreePath()
	}
	ok, _ := rules.Allowed(path)
	return ok
}

// retrieve retrieves a robots.txt. If the file is missing or access to it is denied, everything is
// allowed. If the server fails or is unreachable, the error forbids every request.
func (c *Robots) retrieve(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	for try := 1; ; try++ {
		rules, err := c.retrieveOnce(ctx, where, from)
		switch fetch.CodeOf(err) {
		case fetch.ErrPolicy:
			return nil, err
		case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrAuth, fetch.ErrNeedSearch, fetch.ErrNeedForm,
			fetch.ErrNotRetrievable:
			return &robots.Rules{}, nil
		}
		if err == nil {
			return rules, nil
		}
		pause, again := robotsRetry.Next(try, err)
		if !again || ctx.Err() != nil {
			_, transient := fetch.Transient(err)
			return nil, &fetch.Error{Op: "get", URL: where.Redacted(), Code: fetch.CodeOf(err),
				Retry: transient,
				Err:   fmt.Errorf("robots.txt is required, but unavailable: %w", err)}
		}
		if retry.Sleep(ctx, pause) != nil {
			return nil, fetch.ContextError(ctx)
		}
	}
}

func (c *Robots) retrieveOnce(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	resp, err := c.client.Do(ctx, &fetch.Request{URL: where, From: from, Anonymous: true})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return robots.Read(resp.Body, c.agent)
}
