package crawl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/robots"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	maxRules    = 1000 // servers whose rules are in memory
	robotsTries = 3
	robotsPause = time.Second // after the first try; it doubles
)

// A robotsCache has the rules of servers. They are asked for when they are needed.
type robotsCache struct {
	client *fetch.Client
	agent  string
	mu     sync.Mutex
	sites  map[string]*siteRules
	order  []string // of those in sites, the oldest first
}

// siteRules are those of one server.
type siteRules struct {
	ready chan struct{} // holds a value if nobody is asking for them
	known bool
	rules *robots.Rules
	err   error
}

func newRobots(client *fetch.Client) *robotsCache {
	return &robotsCache{client: client, sites: map[string]*siteRules{}}
}

// rules returns the rules of the server of u. An error means that nothing may be retrieved from it
// (RFC 9309, section 2.3.1.4).
func (c *robotsCache) rules(ctx context.Context, u uri.URI) (*robots.Rules, error) {
	where, ok := RobotsURL(u)
	if !ok {
		return &robots.Rules{}, nil
	}
	s := c.site(site(u))
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, fetch.ContextError(ctx)
	}
	defer func() { s.ready <- struct{}{} }()
	if !s.known {
		s.rules, s.err = c.ask(ctx, where, u)
		s.known = ctx.Err() == nil
	}
	return s.rules, s.err
}

func (c *robotsCache) site(name string) *siteRules {
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

// RobotsURL returns where the robots.txt for u is. It reports false if the scheme has none, as most
// of those have whose directories are listed.
func RobotsURL(u uri.URI) (uri.URI, bool) {
	var err error
	switch Family(u) {
	case "http", "gemini":
		ref, _ := uri.Parse("/robots.txt")
		return u.Resolve(ref), true
	case "gopher":
		u, err = uri.Gopher{Scheme: u.Scheme(), Host: u.Host(), Port: u.Port(0), Type: '0', Selector: "/robots.txt"}.URI()
		return u, err == nil
	}
	return uri.URI{}, false
}

// robotsPath returns what the rules are about: path and query, or the selector.
func robotsPath(u uri.URI) string {
	if Family(u) == "gopher" {
		return treePath(u)
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
func (c *robotsCache) ask(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	pause := robotsPause
	for try := 1; ; try++ {
		rules, err := c.askOnce(ctx, where, from)
		switch fetch.CodeOf(err) {
		case fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrAuth, fetch.ErrNeedSearch, fetch.ErrNeedForm, fetch.ErrNotRetrievable:
			return &robots.Rules{}, nil
		}
		if err == nil {
			return rules, nil
		}
		own := (*fetch.Error)(nil)
		if try == robotsTries || !errors.As(err, &own) || !own.Retry || ctx.Err() != nil {
			return nil, &fetch.Error{Op: "get", URL: where.Redacted(), Code: fetch.CodeOf(err), Retry: own != nil && own.Retry,
				Err: fmt.Errorf("nothing may be retrieved without the rules for robots: %w", err)}
		}
		timer := time.NewTimer(max(pause, min(own.RetryAfter, time.Minute)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fetch.ContextError(ctx)
		}
		pause *= 2
	}
}

func (c *robotsCache) askOnce(ctx context.Context, where, from uri.URI) (*robots.Rules, error) {
	resp, err := c.client.Do(ctx, &fetch.Request{URL: where.WithUserinfoOf(from), From: from})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return robots.Read(resp.Body, c.agent)
}
