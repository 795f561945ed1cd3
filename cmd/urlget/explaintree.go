package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

func (x *explainer) explainTree(e *explanation, u uri.URI) error {
	t := &x.opts.Tree
	scope, err := x.opts.Scope()
	if err != nil {
		return err
	}
	dir := cmp.Or(x.opts.Output.Dir, ".")
	layout := t.Layout()
	traits := x.client.Traits(u)
	e.Output = filepath.Join(dir, filepath.FromSlash(layout.Path(u, traits)))
	if traits.Robots == "" && strings.HasSuffix(u.URLPath(), "/") { // a directory
		e.Output = filepath.Join(dir, filepath.FromSlash(layout.Dir(u, traits))) + string(filepath.Separator)
	}
	if t.Spider {
		e.Output = "none: --spider saves nothing"
	}
	e.Rules = applying(append(scopeRules(scope, u), x.treeRules(u, traits.Robots != "")...))
	return x.explainState(e, dir, scope)
}

func (x *explainer) explainState(e *explanation, dir string, scope *crawl.Scope) error {
	t := &x.opts.Tree
	if x.opts.List.File != "" {
		return nil // its seeds are not known yet
	}
	var seeds []uri.URI
	for _, arg := range x.args {
		if _, u, err := x.template.parse(arg); err == nil {
			seeds = append(seeds, withoutReplacedLogin(x.opts, u))
		}
	}
	opts := &mirror.Options{Crawl: crawl.Options{Scope: *scope}, State: t.State,
		Newer: t.Mirror || x.opts.Output.Newer, Convert: t.Convert, Keep: x.opts.Output.NoClobber,
		Spider: t.Spider}
	state, waits, err := mirror.FindState(x.client, dir, seeds, opts)
	_, missing := os.Stat(state)
	switch {
	case errors.Is(err, crawl.ErrInUse):
		state += ", in use by another process"
	case err != nil:
		state += ", which cannot be opened: " + render.ErrorText(err)
	case waits:
		state += ": the tree was interrupted and is resumed"
	case t.State == "" && (!opts.Newer && !opts.Convert || t.Spider): // removed at the end
		return nil
	case missing == nil:
		state += " (of an earlier run)"
	}
	e.Rules = append(e.Rules, "the state is in "+state)
	return nil
}

// A rule is a sentence about a tree, if it applies.
type rule struct {
	on   bool
	text string
}

func applying(rules []rule) []string {
	var texts []string
	for _, r := range rules {
		if r.on {
			texts = append(texts, r.text)
		}
	}
	return texts
}

// scopeRules describes which links of a tree that starts at u are followed and which files are kept.
func scopeRules(s *crawl.Scope, u uri.URI) []rule {
	list := func(words []string) string { return strings.Join(words, ", ") }
	return []rule{
		{true, depthRule(s)},
		{s.Requisites && !s.SeedsOnly, "retrieves page requisites at any depth"},
		{true, hostRule(s, u)},
		{len(s.ExcludeDomains) > 0, "does not visit the domains " + list(s.ExcludeDomains)},
		{s.NoParent, "stays in " + u.TreeDir() + " and below"},
		{s.AcceptURL != nil, fmt.Sprintf("follows only URLs that match %s", s.AcceptURL)},
		{s.RejectURL != nil, fmt.Sprintf("does not follow URLs that match %s", s.RejectURL)},
		{len(s.Accept) > 0, "keeps only files with a suffix or pattern in " + list(s.Accept)},
		{len(s.Reject) > 0, "skips files with a suffix or pattern in " + list(s.Reject)},
		{len(s.AcceptTypes) > 0, "keeps only files of type " + list(s.AcceptTypes)},
	}
}

func depthRule(s *crawl.Scope) string {
	switch {
	case s.SeedsOnly && s.Requisites:
		return "follows only page requisites"
	case s.SeedsOnly:
		return "follows no links"
	case s.MaxDepth < 0:
		return "follows links to any depth"
	}
	return fmt.Sprintf("follows links to depth %d", s.MaxDepth)
}

func hostRule(s *crawl.Scope, u uri.URI) string {
	host := cmp.Or(u.Host(), "this machine")
	switch {
	case !s.SpanHosts && u.Port(0) != 0:
		return fmt.Sprintf("stays on %s, port %d", host, u.Port(0))
	case !s.SpanHosts:
		return "stays on " + host
	case len(s.Domains) > 0:
		return "visits " + host + " and the domains " + strings.Join(s.Domains, ", ")
	}
	return "visits any host"
}

func (x *explainer) treeRules(u uri.URI, robots bool) []rule {
	t, m := &x.opts.Tree, &x.opts.Many
	pace := fmt.Sprintf("runs %d transfers in parallel, at most %d per host", m.Jobs,
		min(m.Jobs, hostLimit(m, u.Scheme())))
	if m.Wait > 0 {
		pace += fmt.Sprintf(", with a wait of %s between requests", tty.WaitTime(m.Wait))
	}
	return []rule{
		{robots && t.NoRobots, "ignores robots.txt"},
		{robots && !t.NoRobots, "obeys robots.txt"},
		{true, pace},
		{t.Sitemaps, "also starts from the sitemaps of the server"},
		{t.Mirror || x.opts.Output.Newer, "skips unchanged files"},
		{x.opts.Output.NoClobber, "skips existing files"},
		{t.Delete > 0, fmt.Sprintf("deletes local files that are gone from the server, if that is at most "+
			"%d%% of them", t.Delete)},
		{t.Convert, "converts links to local files"},
		{t.Originals, "keeps the originals of converted pages as NAME.orig"},
		{t.AdjustExtension, "adds the extension .html to pages"},
	}
}
