package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// treeSettings are what the flags say of trees: what is retrieved recursively, and where it goes.
type treeSettings struct {
	recursive, mirror, requisites, spider bool
	level                                 string
	noParent, span, sitemaps              bool
	accept, reject, types                 []string
	domains, noDomains                    []string
	noDirs                                []string
	acceptURL, rejectURL                  string
	noHost, flat, force                   bool
	cut                                   number
	remove, convert, originals, extend    bool
	commands                              []string
	noRobots                              bool
	state                                 string
}

// addTreeFlags defines the flags for what is retrieved recursively.
func addTreeFlags(f *pflag.FlagSet, s *settings) {
	t := &s.tree
	f.BoolVarP(&t.recursive, "recursive", "r", false, "retrieve what the URLs lead to as well, as a tree of files")
	f.BoolVarP(&t.mirror, "mirror", "m", false, "keep a copy: -r -N -l inf, and remember the state")
	f.BoolVarP(&t.requisites, "page-requisites", "p", false, "retrieve what pages need: images, styles, scripts")
	t.level = "5"
	f.VarP((*level)(&t.level), "level", "l", "follow at most `N` links in a row; inf or 0 for any number")
	f.BoolVar(&t.noParent, "no-parent", false, "stay in the directory of the URL and below (also -np)")
	f.StringSliceVarP(&t.accept, "accept", "A", nil, "keep only files that end in or match one of `LIST`")
	f.StringSliceVarP(&t.reject, "reject", "R", nil, "keep no files that end in or match one of `LIST`")
	f.StringVar(&t.acceptURL, "accept-regex", "", "follow only URLs that match `REGEX`")
	f.StringVar(&t.rejectURL, "reject-regex", "", "follow no URLs that match `REGEX`")
	f.StringSliceVar(&t.types, "accept-type", nil, "keep only the media types in `LIST`, as in image/*")
	f.StringSliceVar(&t.noDirs, "exclude-directories", nil, "do not go into the directories in `LIST`, as in /cgi-bin,/tmp*")
	f.BoolVar(&t.span, "span-hosts", false, "go to other hosts too")
	f.StringSliceVarP(&t.domains, "domains", "D", nil, "with --span-hosts, go only to the domains in `LIST`")
	f.StringSliceVar(&t.noDomains, "exclude-domains", nil, "do not go to the domains in `LIST`")
	f.BoolVar(&t.sitemaps, "sitemaps", false, "begin at the sitemaps of the servers too")
	f.BoolVar(&t.spider, "spider", false, "save nothing, only see what is there")
	f.BoolVar(&t.noRobots, "no-robots", false, "do not heed robots.txt (also -e robots=off)")
	f.VarP((*several)(&t.commands), "execute", "e", "robots=off is the one `COMMAND` that there is")
	f.BoolVar(&t.remove, "delete", false, "remove files of an earlier mirror that are gone")
	f.BoolVarP(&t.convert, "convert-links", "k", false, "make links in pages and menus lead to the files")
	f.BoolVarP(&t.originals, "backup-converted", "K", false, "keep what the server sent as NAME.orig")
	f.BoolVarP(&t.extend, "adjust-extension", "E", false, "give pages the extension .html")
	f.BoolVarP(&t.force, "force-directories", "x", false, "make directories for single files too")
	f.BoolVar(&t.noHost, "no-host-directories", false, "leave out the directory of the host (also -nH)")
	f.BoolVar(&t.flat, "no-directories", false, "make no directories (also -nd)")
	f.Var(&t.cut, "cut-dirs", "leave out the first `N` directories")
	f.StringVar(&t.state, "crawl-state", "", "keep the state in `FILE`, not in .urlget")
}

// on reports whether a tree is asked for.
func (t *treeSettings) on() bool { return t.recursive || t.mirror || t.requisites || t.spider }

// level is the value of --level.
type level string

func (l *level) String() string { return string(*l) }
func (l *level) Type() string   { return "number" }

func (l *level) Set(text string) error {
	if n, err := strconv.Atoi(text); text != endless && (err != nil || n < 0) {
		return errors.New("want a number from 0, or inf")
	}
	*l = level(text)
	return nil
}

func (t *treeSettings) layout() *mirror.Layout {
	return &mirror.Layout{NoHost: t.noHost, Flat: t.flat, CutDirs: int(t.cut)}
}

// check finds flags that contradict each other.
func (t *treeSettings) check(s *settings) error {
	for _, c := range t.commands {
		key, value, _ := strings.Cut(strings.ReplaceAll(c, " ", ""), "=")
		switch {
		case key != "robots" || value != "off" && value != "on":
			return &usageError{"-e " + c + ": the one command is robots=off", "curl's -e is --header 'Referer: URL'"}
		case value == "off":
			t.noRobots = true
		}
	}
	if !t.on() {
		for name, hint := range treeOnly {
			if s.given(name) {
				return &usageError{"--" + name + " is for trees: it needs -r, -m or -p", hint}
			}
		}
		return nil
	}
	switch {
	case s.output != "":
		return &usageError{"-O names one file, and a tree has many", "-P DIR saves them below a directory"}
	case s.resume && s.archive.warc == "": // else it is the archive that is continued
		return usage("-c is for single files: a tree that was interrupted goes on by itself, and -N leaves what is unchanged")
	case s.rng != "" || s.checksum != "" || s.sha256 || s.parts || s.text || s.part > 0:
		return usage("--range, --checksum, --sha256 and the flags for messages are for single files")
	case s.send.method != "":
		return &usageError{"--method: what trees lead to is only retrieved", "wget's -X is --exclude-directories"}
	case s.send.data != nil || s.send.postFile != "" || s.send.answers != nil:
		return usage("--data, --post-file and --form are for single URLs: what trees lead to is only retrieved")
	case s.errorContent:
		return usage("--content-on-error is for single files")
	case t.remove && !t.mirror && !s.newer:
		return usage("--delete needs -m or -N: without them nothing is remembered of what was there")
	case len(t.domains) > 0 && !t.span:
		return &usageError{"-D says which hosts --span-hosts goes to: it needs that flag", "without it no other host is asked"}
	case t.originals && !t.convert:
		return usage("-K keeps what -k converts: it needs -k")
	}
	for _, f := range []struct {
		name string
		list []string
	}{{"-A", t.accept}, {"-R", t.reject}} {
		if err := crawl.CheckNames(f.list); err != nil {
			return usage("%s: %v", f.name, err)
		}
	}
	_, err := t.scope()
	return err
}

// scope returns which links are followed.
func (t *treeSettings) scope() (*crawl.Scope, error) {
	s := &crawl.Scope{Requisites: t.requisites, SeedsOnly: !t.recursive && !t.mirror, NoParent: t.noParent, SpanHosts: t.span,
		Domains: t.domains, ExcludeDomains: t.noDomains, Accept: t.accept, Reject: t.reject, AcceptTypes: t.types}
	if s.MaxDepth, _ = strconv.Atoi(t.level); s.MaxDepth == 0 {
		s.MaxDepth = -1
	}
	for _, r := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"accept-regex", t.acceptURL, &s.AcceptURL}, {"reject-regex", t.rejectURL, &s.RejectURL}} {
		if r.text == "" {
			continue
		}
		re, err := regexp.Compile(r.text)
		if err != nil {
			return nil, usage("--%s: %v", r.name, err)
		}
		*r.to = re
	}
	if t.noDirs != nil {
		s.RejectURL = withoutDirs(s.RejectURL, t.noDirs)
	}
	return s, nil
}

// treeScope is the scope that -m counts in.
func (a *app) treeScope() (*crawl.Scope, error) {
	scope, err := a.set.tree.scope()
	if err == nil && a.set.tree.mirror && !a.set.given("level") {
		scope.MaxDepth = -1
	}
	return scope, err
}

// withoutDirs returns what matches the URLs that reject matches, which may be nil, and those in the
// directories. An asterisk in one is any part of a name.
func withoutDirs(reject *regexp.Regexp, dirs []string) *regexp.Regexp {
	list := make([]string, len(dirs))
	for i, dir := range dirs {
		list[i] = strings.ReplaceAll(regexp.QuoteMeta("/"+strings.Trim(dir, "/")), `\*`, "[^/]*")
	}
	text := "^[a-z0-9+.-]+://[^/]*(?:" + strings.Join(list, "|") + ")(?:/|$)"
	if reject != nil {
		text += "|" + reject.String()
	}
	return regexp.MustCompile(text)
}

// mirror retrieves what the URLs that were gathered lead to.
func (a *app) mirror(ctx context.Context) error {
	if len(a.seeds) == 0 || a.set.many.failFast && a.exit.status() != exitOK {
		return nil
	}
	urls, given := a.seedURLs()
	t := &a.set.tree
	scope, err := a.treeScope()
	if err != nil {
		return err
	}
	r := a.runner()
	opts := &mirror.Options{
		Crawl:        crawl.Options{Scope: *scope, Schedule: a.treeSchedule(), NoRobots: t.noRobots, Sitemaps: t.sitemaps},
		Layout:       *t.layout(),
		State:        t.state,
		Newer:        t.mirror || a.set.newer,
		Keep:         a.set.keep,
		Delete:       t.remove,
		Spider:       t.spider,
		Convert:      t.convert,
		Originals:    t.originals,
		Extend:       t.extend,
		Tries:        r.Tries,
		MaxRetryWait: r.MaxRetryWait,
		Retry: func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error) {
			treeVisitOf(ctx).retry(wait, render.Message(inWords(err)))
			a.emit(render.Retry(u.Redacted(), failed+1, wait, err))
			a.say("%s: %s; trying again in %s", u.Redacted(), render.Message(inWords(err)), waitTime(wait))
		},
	}
	if a.set.verbose {
		opts.Crawl.Left = func(l crawl.Link, why crawl.Reason) {
			if why != crawl.NoTarget && why != crawl.ParentListing {
				a.say("not followed: %s: %s", l.URL.Redacted(), why.Text())
			}
		}
	}
	a.showTree(opts)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var received atomic.Int64
	quota := int64(a.set.many.quota)
	opts.Ended = func(e mirror.Event) {
		if e.Outcome == job.Failed && ctx.Err() != nil && context.Cause(ctx) == errFailFast {
			return // it was broken off for another one
		}
		place, number := given(e)
		a.treeEnded(e, place, number)
		switch e.Outcome {
		case job.Saved:
			received.Add(e.Size)
		case job.Failed:
			if a.set.many.failFast {
				cancel(errFailFast)
			}
		}
	}
	opts.Crawl.Enough = func() bool { return quota > 0 && received.Load() >= quota }
	begun := time.Now()
	report, err := mirror.Run(ctx, a.files, urls, opts)
	a.tally.came(report.Received)
	if report.Kept != "" {
		a.say("nothing was removed, as %s", report.Kept)
	}
	if !a.set.quiet && !a.set.json {
		least := 2
		if report.Saved+report.Failed == 0 && err == nil {
			least = 1 // of which nothing was told
		}
		io.WriteString(a.con.prose(), a.tally.summary(time.Since(begun), a.con.paint, least))
	}
	if errors.Is(err, crawl.ErrEnough) {
		a.say("the quota of %d bytes is reached: the same command goes on from here", quota)
		return nil
	}
	if err != nil && context.Cause(ctx) == errFailFast {
		return nil // the user was told what failed
	}
	if err != nil && (ctx.Err() != nil || fetch.CodeOf(err) == fetch.ErrFile) && (report.Received+report.Saved+report.Unchanged+report.Listed > 0 || report.Continued) {
		a.say("the same command goes on from here")
	}
	return err
}

// A seed is what the user gave for a tree to begin at: as which number and, in a list, where.
type seed struct {
	url    uri.URI
	number int
	place  string // FILE:LINE; "" for arguments
}

// seedURLs returns where trees begin, and a function that returns as what the user gave the URL of
// an event. What trees lead to counts as given after all that was.
func (a *app) seedURLs() ([]uri.URI, func(mirror.Event) (place string, number int)) {
	urls := make([]uri.URI, len(a.seeds))
	first := make(map[string]seed, len(a.seeds))
	for i, s := range a.seeds {
		urls[i] = s.url
		if _, twice := first[crawl.Key(s.url)]; !twice {
			first[crawl.Key(s.url)] = s
		}
	}
	return urls, func(e mirror.Event) (string, int) {
		if s, ok := first[crawl.Key(e.URL)]; ok && e.From.IsZero() {
			return s.place, s.number
		}
		return "", math.MaxInt
	}
}

// treeEnded tells of one URL of a tree, and of a failure where it was given, as which number.
func (a *app) treeEnded(e mirror.Event, place string, number int) {
	url := e.URL.WithoutUserinfo().String()
	a.con.counts(func(n *treeCount) {
		switch e.Outcome {
		case job.Failed:
			n.failed++
		case mirror.Deleted:
		default:
			n.done++
		}
	})
	if e.Outcome == job.Failed {
		if a.set.tree.spider && !e.From.IsZero() {
			place = e.From.Redacted() // where the link is to be mended
		}
		a.failed(number, place, url, e.Err)
		return
	}
	path := ""
	if e.Path != "" {
		path = filepath.Join(cmp.Or(a.out.dir, "."), filepath.FromSlash(e.Path))
	}
	emit := func(ev render.Event) {
		ev.Status = e.Status
		if ev.Name == "saved" && e.Elapsed > 0 {
			ev.Rate = math.Round(float64(e.Received) / e.Elapsed.Seconds())
		}
		a.emit(ev)
	}
	said := func() {
		if a.set.verbose {
			a.say("%s: %s", url, strings.ReplaceAll(string(e.Outcome), "_", " "))
		}
	}
	switch e.Outcome {
	case job.Saved:
		emit(render.Saved(url, path, e.Size, "", e.Elapsed))
		a.say("saved %s (%s)", fetch.Printable(path), sizeText(e.Size))
	case mirror.Deleted:
		a.emit(render.Deleted(url, path))
		a.say("deleted %s, which is gone", fetch.Printable(path))
		return
	case job.Listed:
		emit(render.Listed(url, 0, e.Elapsed))
	case job.Unchanged:
		emit(render.Unchanged(url, path, e.Elapsed))
		said()
	case job.NoContent:
		emit(render.Skipped(url, "", "no_content", e.Elapsed))
		said()
	default:
		reason := "not_wanted"
		if path != "" {
			reason = "exists"
		}
		emit(render.Skipped(url, path, reason, e.Elapsed))
		said()
	}
	a.tally.add(&job.Result{Outcome: e.Outcome})
}
