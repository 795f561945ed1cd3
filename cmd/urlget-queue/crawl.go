package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

// following is what the flags of submit say of a crawl.
type following struct {
	level                string
	acceptURL, rejectURL string
	scope                crawl.Scope
	noRobots, sitemaps   bool
	agent                string
	maxPages             int
	flags                *pflag.FlagSet
}

// define defines the flags, which are those of urlget -r.
func (f *following) define(flags *pflag.FlagSet) {
	f.flags = pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	f.flags.StringVarP(&f.level, "level", "l", "5", "follow at most `N` links in a row; inf or 0 for any number")
	f.flags.BoolVarP(&f.scope.Requisites, "page-requisites", "p", false, "retrieve what pages need: images, styles, scripts")
	f.flags.BoolVar(&f.scope.NoParent, "no-parent", false, "stay in the directory of the URL and below")
	f.flags.StringSliceVarP(&f.scope.Accept, "accept", "A", nil, "keep only files that end in or match one of `LIST`")
	f.flags.StringSliceVarP(&f.scope.Reject, "reject", "R", nil, "keep no files that end in or match one of `LIST`")
	f.flags.StringVar(&f.acceptURL, "accept-regex", "", "follow only URLs that match `REGEX`")
	f.flags.StringVar(&f.rejectURL, "reject-regex", "", "follow no URLs that match `REGEX`")
	f.flags.StringSliceVar(&f.scope.AcceptTypes, "accept-type", nil, "keep only the media types in `LIST`, as in image/*")
	f.flags.BoolVar(&f.scope.SpanHosts, "span-hosts", false, "go to other hosts too")
	f.flags.StringSliceVarP(&f.scope.Domains, "domains", "D", nil, "with --span-hosts, go only to the domains in `LIST`")
	f.flags.StringSliceVar(&f.scope.ExcludeDomains, "exclude-domains", nil, "do not go to the domains in `LIST`")
	f.flags.BoolVar(&f.sitemaps, "sitemaps", false, "begin at the sitemaps of the servers too")
	f.flags.BoolVar(&f.noRobots, "no-robots", false, "do not heed robots.txt")
	f.flags.StringVar(&f.agent, "robots-agent", "", "heed what robots.txt says to `NAME`, not to urlget")
	f.flags.IntVar(&f.maxPages, "max-pages", 0, "follow `N` links in all; 1,000,000 if nothing is said")
	flags.AddFlagSet(f.flags)
}

// given returns the name of a flag that says how to crawl, "" if none was given.
func (f *following) given() (name string) {
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			name = flag.Name
		}
	})
	return name
}

// crawl returns what the flags say.
func (f *following) crawl() (*queue.Crawl, error) {
	c := &queue.Crawl{Scope: f.scope, Agent: f.agent, NoRobots: f.noRobots, Sitemaps: f.sitemaps, MaxPages: f.maxPages}
	n, err := strconv.Atoi(f.level)
	if f.level != "inf" && (err != nil || n < 0) {
		return nil, usage("--level: want a number from 0, or inf")
	}
	if c.Scope.MaxDepth = n; n == 0 {
		c.Scope.MaxDepth = -1
	}
	if f.maxPages < 0 {
		return nil, usage("--max-pages: want 0 or more")
	}
	if len(f.scope.Domains) > 0 && !f.scope.SpanHosts {
		return nil, usage("-D says which hosts --span-hosts goes to: it needs that flag")
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"-A", f.scope.Accept}, {"-R", f.scope.Reject}} {
		if err := crawl.CheckNames(l.list); err != nil {
			return nil, usage("%s: %v", l.name, err)
		}
	}
	for _, r := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"accept-regex", f.acceptURL, &c.Scope.AcceptURL}, {"reject-regex", f.rejectURL, &c.Scope.RejectURL}} {
		if r.text == "" {
			continue
		}
		if *r.to, err = regexp.Compile(r.text); err != nil {
			return nil, usage("--%s: %v", r.name, err)
		}
	}
	return c, nil
}

// start starts the crawl that the flags name, or finds it.
func (f *following) start(ctx context.Context, name string, e queue.Engine) (*queue.Crawl, error) {
	want, err := f.crawl()
	if err != nil {
		return nil, err
	}
	c, started, err := queue.StartCrawl(ctx, e, want)
	if err != nil {
		return nil, err
	}
	if given := f.given(); !started && given != "" {
		return nil, usage("the crawl %s has begun, and --%s would change it: leave it out, or take another name", name, given)
	}
	return c, nil
}

// seed submits where a crawl begins.
func (s *submitter) seed(ctx context.Context, text string) (known bool, err error) {
	u, err := uri.ParseLoose(text)
	if err != nil {
		return false, &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	if !u.IsAbs() {
		return false, &fetch.Error{Code: fetch.ErrURL, URL: u.Redacted(), Err: errors.New("the URL has no scheme")}
	}
	return s.crawl.Submit(ctx, s.engine, s.priority, u, s.client.Traits(u))
}

// state returns how a crawl is, in a word.
func state(c *queue.Crawl, s *queue.Status) string {
	switch {
	case s.Depth() == 0:
		return "over"
	case c.Stopped:
		return "stopped"
	}
	return "at work"
}

// stop stops a crawl, or lets it go on.
func (a *app) stop(ctx context.Context, e *jetstream.Engine, stopped bool) error {
	if err := queue.StopCrawl(ctx, e, stopped); err != nil {
		return err
	}
	word := "goes on"
	if stopped {
		word = "stopped"
	}
	_, err := fmt.Fprintf(a.err, "%s: %s\n", a.reach.crawl, word)
	return err
}

// crawls lists the names of crawls.
func (a *app) crawls(ctx context.Context, e *jetstream.Engine) error {
	names, err := e.Crawls(ctx)
	for _, name := range names {
		if _, err := fmt.Fprintln(a.out, fetch.Printable(name)); err != nil {
			return fileError(err)
		}
	}
	return err
}
