package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/cookies"
	"github.com/urlget/urlget/queue"
	"github.com/urlget/urlget/queue/jetstream"
)

type crawlFlags struct {
	level                string
	acceptURL, rejectURL string
	scope                crawl.Scope
	noRobots, sitemaps   bool
	agent                string
	maxPages             int
	flags                *pflag.FlagSet
}

// define defines the flags, which equal those of urlget -r.
func (f *crawlFlags) define(flags *pflag.FlagSet) {
	f.flags = pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	f.flags.StringVarP(&f.level, "level", "l", "5",
		"follow at most `N` consecutive links; inf or 0 for no limit")
	f.flags.BoolVarP(&f.scope.Requisites, "page-requisites", "p", false,
		"retrieve page requisites: images, style sheets, scripts")
	f.flags.BoolVar(&f.scope.NoParent, "no-parent", false,
		"stay in the directory of the URL and its subdirectories")
	f.flags.StringSliceVarP(&f.scope.Accept, "accept", "A", nil,
		"save only files whose names match a suffix or pattern in `LIST`")
	f.flags.StringSliceVarP(&f.scope.Reject, "reject", "R", nil,
		"do not save files whose names match a suffix or pattern in `LIST`")
	f.flags.StringVar(&f.acceptURL, "accept-regex", "", "follow only URLs that match `REGEX`")
	f.flags.StringVar(&f.rejectURL, "reject-regex", "", "do not follow URLs that match `REGEX`")
	f.flags.StringSliceVar(&f.scope.AcceptTypes, "accept-type", nil,
		"save only the media types in `LIST`, such as image/*")
	f.flags.BoolVar(&f.scope.SpanHosts, "span-hosts", false, "follow links to other hosts")
	f.flags.StringSliceVarP(&f.scope.Domains, "domains", "D", nil,
		"with --span-hosts, follow links only to the domains in `LIST`")
	f.flags.StringSliceVar(&f.scope.ExcludeDomains, "exclude-domains", nil,
		"do not follow links to the domains in `LIST`")
	f.flags.BoolVar(&f.sitemaps, "sitemaps", false, "also start from the sitemaps of the servers")
	f.flags.BoolVar(&f.noRobots, "no-robots", false, "ignore robots.txt and nofollow")
	f.flags.StringVar(&f.agent, "robots-agent", "", "apply the robots.txt rules for `NAME` instead of urlget")
	f.flags.IntVar(&f.maxPages, "max-pages", 0, "follow at most `N` links in total (default 1,000,000)")
	flags.AddFlagSet(f.flags)
}

func (f *crawlFlags) firstSet() (name string) {
	f.flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			name = flag.Name
		}
	})
	return name
}

func (f *crawlFlags) crawl() (*queue.Crawl, error) {
	c := &queue.Crawl{
		Scope: f.scope, Agent: f.agent, NoRobots: f.noRobots, Sitemaps: f.sitemaps, MaxPages: f.maxPages,
	}
	n, err := strconv.Atoi(f.level)
	if f.level != "inf" && (err != nil || n < 0) {
		return nil, usage("--level must be 0 or more, or inf")
	}
	if c.Scope.MaxDepth = n; n == 0 {
		c.Scope.MaxDepth = -1
	}
	if f.maxPages < 0 {
		return nil, usage("--max-pages must be 0 or more")
	}
	if len(f.scope.Domains) > 0 && !f.scope.SpanHosts {
		return nil, usage("-D requires --span-hosts")
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

func (f *crawlFlags) start(ctx context.Context, name string, e queue.Engine,
	store func(context.Context) (queue.Store, error)) (*queue.Crawl, error) {
	want, err := f.crawl()
	if err != nil {
		return nil, err
	}
	want.Store = store
	c, started, err := queue.StartCrawl(ctx, e, want)
	if err != nil {
		return nil, err
	}
	if given := f.firstSet(); !started && given != "" {
		return nil, usage("the crawl %s exists and --%s would change it; omit the flag or use another name",
			name, given)
	}
	return c, nil
}

// maxCookieFile limits the cookies of a crawl in bytes. With logins and in base64, they must fit into
// a message.
const maxCookieFile = 700 << 10

// readCookies returns the cookies of a file in Netscape format, without those that have expired. It
// warns of skipped lines, and if no cookies are left. Without a name, it returns nil.
func (a *app) readCookies(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	jar := cookies.New()
	err := jar.Load(name)
	if skipped := (*cookies.SkipError)(nil); errors.As(err, &skipped) {
		fmt.Fprintf(a.err, "urlget: %s\n", fetch.Printable(err.Error()))
		err = nil
	}
	if err != nil {
		return nil, fileError(err)
	}
	var b bytes.Buffer
	if err := jar.Write(&b, true); err != nil {
		return nil, err
	}
	if b.Len() > maxCookieFile { // before the crawl is started
		return nil, fileError(fmt.Errorf("%s has %d bytes of cookies, and the limit is %d; "+
			"keep only those for the hosts of the crawl", name, b.Len(), maxCookieFile))
	}
	if bytes.Count(b.Bytes(), []byte("\n")) == 1 { // only the first line, a comment
		fmt.Fprintf(a.err, "warning: %s has no valid cookies, and the crawl will have none\n",
			fetch.Printable(name))
		return nil, nil
	}
	return b.Bytes(), nil
}

func (s *submitter) seed(ctx context.Context, text string) (known bool, err error) {
	u, err := parse(text)
	if err != nil {
		return false, err
	}
	return s.crawl.Submit(ctx, s.engine, s.priority, u, s.client.Traits(u))
}

// crawlsCommand returns the command that lists crawls, which need no queue of their name.
func (a *app) crawlsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "crawls", Short: "Print the names of the crawls", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := a.crawls(cmd.Context())
			for _, name := range names {
				if _, err := fmt.Fprintln(a.out, fetch.Printable(name)); err != nil {
					return fileError(err)
				}
			}
			return err
		}}
	a.queueFlags.define(cmd.Flags())
	return cmd
}

func (a *app) crawls(ctx context.Context) ([]string, error) {
	a.queueFlags.mustExist = true
	e, done, err := a.queueFlags.open(ctx, nil)
	var none *jetstream.NoQueueError
	if errors.As(err, &none) {
		return none.Crawls, nil
	}
	if err != nil {
		return nil, err
	}
	defer done()
	return e.Crawls(ctx)
}
