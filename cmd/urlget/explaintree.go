package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// explainTree adds what a tree that begins at u would be made of, and where it would go.
func (g *getter) explainTree(e *explanation, u uri.URI) error {
	t := &g.opts.Tree
	scope, err := g.opts.Scope()
	if err != nil {
		return err
	}
	dir := cmp.Or(g.opts.Output.Dir, ".")
	layout := t.Layout()
	traits := g.client.Traits(u)
	e.Output = filepath.Join(dir, filepath.FromSlash(layout.Path(u, traits)))
	if traits.Robots == "" && strings.HasSuffix(u.URLPath(), "/") { // a directory
		e.Output = filepath.Join(dir, filepath.FromSlash(layout.Dir(u, traits))) + string(filepath.Separator)
	}
	if t.Spider {
		e.Output = "none: --spider saves nothing"
	}
	e.Rules = append(scopeRules(scope, u), g.treeRules(u, traits.Robots != "")...)
	return g.explainState(e, dir, scope)
}

// explainState adds what is known of the state of the tree.
func (g *getter) explainState(e *explanation, dir string, scope *crawl.Scope) error {
	t := &g.opts.Tree
	if g.opts.List.File != "" {
		return nil // which seeds it has is not known yet
	}
	var seeds []uri.URI
	for _, arg := range g.opts.Set().Args() {
		if _, u, err := g.parse(arg); err == nil {
			seeds = append(seeds, overruled(g.opts, u))
		}
	}
	opts := &mirror.Options{Crawl: crawl.Options{Scope: *scope}, State: t.State, Newer: t.Mirror || g.opts.Output.Newer, Spider: t.Spider}
	state, waits, err := mirror.FindState(g.client, dir, seeds, opts)
	_, missing := os.Stat(state)
	switch {
	case errors.Is(err, crawl.ErrInUse):
		state += ", which another process uses"
	case err != nil:
		state += ", which cannot be opened: " + render.Message(err)
	case waits:
		state += ": the tree was interrupted, and is gone on with"
	case t.State == "" && (!opts.Newer || t.Spider): // it is removed in the end
		return nil
	case missing == nil:
		state += " (of an earlier run)"
	}
	e.Rules = append(e.Rules, "the state is in "+state)
	return nil
}

// scopeRules says which links are followed, and what is kept of what they lead to, if the tree
// begins at u.
func scopeRules(s *crawl.Scope, u uri.URI) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	list := func(words []string) string { return strings.Join(words, ", ") }
	host := cmp.Or(u.Host(), "this machine")
	switch {
	case s.SeedsOnly && s.Requisites:
		add("follows only what the page needs to be shown")
	case s.SeedsOnly:
		add("follows no links")
	case s.MaxDepth < 0:
		add("follows any number of links in a row")
	default:
		add("follows at most %d links in a row", s.MaxDepth)
	}
	if s.Requisites && !s.SeedsOnly {
		add("takes what pages need to be shown, however deep")
	}
	switch {
	case !s.SpanHosts && u.Port(0) != 0:
		add("stays at %s, port %d", host, u.Port(0))
	case !s.SpanHosts:
		add("stays at %s", host)
	case len(s.Domains) > 0:
		add("goes to %s and the domains %s", host, list(s.Domains))
	default:
		add("goes to any host")
	}
	if len(s.ExcludeDomains) > 0 {
		add("does not go to the domains %s", list(s.ExcludeDomains))
	}
	if s.NoParent {
		add("stays in %s and below", crawl.Directory(u))
	}
	if s.AcceptURL != nil {
		add("follows only URLs that match %s", s.AcceptURL)
	}
	if s.RejectURL != nil {
		add("follows no URLs that match %s", s.RejectURL)
	}
	if len(s.Accept) > 0 {
		add("keeps only files whose names end in or match %s", list(s.Accept))
	}
	if len(s.Reject) > 0 {
		add("keeps no files whose names end in or match %s", list(s.Reject))
	}
	if len(s.AcceptTypes) > 0 {
		add("keeps only files of type %s", list(s.AcceptTypes))
	}
	return rules
}

// treeRules says what is heeded on the way, and what is done with files.
func (g *getter) treeRules(u uri.URI, robots bool) []string {
	t, m := &g.opts.Tree, &g.opts.Many
	var rules []string
	if robots {
		if t.NoRobots {
			rules = append(rules, "does not heed robots.txt")
		} else {
			rules = append(rules, "heeds robots.txt")
		}
	}
	pace := fmt.Sprintf("retrieves %d at once, at most %d from one host", m.Jobs, min(int(m.Jobs), hostLimit(m, u.Scheme())))
	if m.Wait > 0 {
		pace += fmt.Sprintf(", with %s between", tty.WaitTime(time.Duration(m.Wait)))
	}
	rules = append(rules, pace)
	for _, r := range []struct {
		on   bool
		text string
	}{
		{t.Sitemaps, "begins at the sitemaps of the server too"},
		{t.Mirror || g.opts.Output.Newer, "leaves files that are as the server has them"},
		{g.opts.Output.NoClobber, "leaves files that are there"},
		{t.Delete, "removes files of an earlier mirror that are gone"},
		{t.Convert, "makes links lead to the files"},
		{t.Originals, "keeps what the server sent as NAME.orig"},
		{t.Extend, "gives pages the extension .html"},
	} {
		if r.on {
			rules = append(rules, r.text)
		}
	}
	return rules
}
