package flags

import (
	"regexp"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
)

// Layout returns the file layout of a tree.
func (t *Tree) Layout() *mirror.Layout {
	return &mirror.Layout{NoHost: t.NoHost, Flat: t.Flat, CutDirs: t.CutDirs}
}

// Scope returns the rules for links of a tree.
func (o *Options) Scope() (*crawl.Scope, error) {
	t := &o.Tree
	s := &crawl.Scope{
		Requisites: t.Requisites, SeedsOnly: !t.Recursive && !t.Mirror, NoParent: t.NoParent,
		SpanHosts: t.Span, Domains: t.Domains, ExcludeDomains: t.NoDomains,
		Accept: t.Accept, Reject: t.Reject, AcceptTypes: t.Types,
	}
	if s.MaxDepth = t.Level; s.MaxDepth == 0 || t.Mirror && !o.Given("level") {
		s.MaxDepth = -1
	}
	for _, r := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"accept-regex", t.AcceptURL, &s.AcceptURL}, {"reject-regex", t.RejectURL, &s.RejectURL}} {
		if r.text == "" {
			continue
		}
		re, err := regexp.Compile(r.text)
		if err != nil {
			return nil, failure.Usagef("--%s: %v", r.name, err)
		}
		*r.to = re
	}
	if t.NoDirs != nil {
		s.RejectURL = withoutDirs(s.RejectURL, t.NoDirs)
	}
	return s, nil
}

// withoutDirs extends reject, which may be nil, by the URLs in dirs. An asterisk matches any part of
// a name.
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
