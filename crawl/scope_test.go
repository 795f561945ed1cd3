package crawl_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func TestFollow(t *testing.T) {
	t.Parallel()
	spanHosts := crawl.Scope{SpanHosts: true}
	tests := []struct {
		name  string
		scope crawl.Scope
		link  crawl.Link
		url   string
		want  crawl.Reason
		read  bool // the page is only read for links
	}{
		{name: "the same server", url: "http://h/x"},
		{name: "the same server over TLS", url: "https://h/x"},
		{name: "another port", url: "http://h:81/x", want: "host"},
		{name: "another host", url: "http://i/x", want: "host"},
		{name: "another scheme", url: "ftp://h/x", want: crawl.OtherScheme},
		{name: "data", scope: spanHosts, url: "data:,x", want: crawl.NoTarget},
		{name: "a session", link: crawl.Link{Kind: fetch.EntrySession}, url: "http://h/x", want: crawl.NoTarget},
		{name: "a search", link: crawl.Link{Kind: fetch.EntrySearch}, url: "http://h/x", want: crawl.NoTarget},
		{name: "parent link", link: crawl.Link{Rel: "parent"}, url: "http://h/", want: crawl.ParentListing},
		{name: "five links away", link: crawl.Link{Depth: 5}, url: "http://h/x"},
		{name: "six links away", link: crawl.Link{Depth: 6}, url: "http://h/x", want: "depth"},
		{name: "any depth", scope: crawl.Scope{MaxDepth: -1}, link: crawl.Link{Depth: 99}, url: "http://h/x"},
		{name: "an image beyond the depth", scope: crawl.Scope{Requisites: true}, link: crawl.Link{Depth: 6, Rel: "img"}, url: "http://h/x"},
		{name: "seeds only", scope: crawl.Scope{SeedsOnly: true}, link: crawl.Link{Depth: 1, Rel: "a"}, url: "http://h/x", want: "not_requisite"},
		{name: "requisite of a seed", scope: crawl.Scope{SeedsOnly: true, Requisites: true}, link: crawl.Link{Rel: "stylesheet"}, url: "http://h/x"},
		{name: "below", scope: crawl.Scope{NoParent: true}, url: "http://h/dir/x/y"},
		{name: "sibling directory with the same prefix", scope: crawl.Scope{NoParent: true}, url: "http://h/dirt/x", want: "parent"},
		{name: "above", scope: crawl.Scope{NoParent: true}, url: "http://h/", want: "parent"},
		{name: "up and down", scope: crawl.Scope{NoParent: true}, url: "http://h/dir/../x", want: "parent"},
		{name: "an image above", scope: crawl.Scope{NoParent: true, Requisites: true}, link: crawl.Link{Rel: "img"}, url: "http://h/i.png"},
		{name: "all hosts", scope: spanHosts, url: "ftp://i/x"},
		{name: "a domain", scope: crawl.Scope{SpanHosts: true, Domains: []string{"i.example"}}, url: "http://a.I.example/x"},
		{name: "other domain", scope: crawl.Scope{SpanHosts: true, Domains: []string{"i.example"}}, url: "http://xi.example/x", want: "domain"},
		{name: "excluded domain", scope: crawl.Scope{SpanHosts: true, ExcludeDomains: []string{".i.example"}}, url: "http://a.i.example/x", want: "domain"},
		{name: "accepted", scope: crawl.Scope{Accept: []string{".png", "a*"}}, url: "http://h/abc"},
		{name: "not accepted", scope: crawl.Scope{Accept: []string{".png", "a*"}}, url: "http://h/b.txt", want: "pattern"},
		{name: "a page that is not accepted", scope: crawl.Scope{Accept: []string{".png"}}, url: "http://h/d/b.html", read: true},
		{name: "a page at the depth limit that is not accepted", scope: crawl.Scope{Accept: []string{".png"}}, link: crawl.Link{Depth: 5}, url: "http://h/b.html", want: "pattern"},
		{name: "a directory that is not accepted", scope: crawl.Scope{Accept: []string{".png"}}, link: crawl.Link{Kind: fetch.EntryListing}, url: "http://h/d"},
		{name: "rejected", scope: crawl.Scope{Reject: []string{"*.[a-c]ng"}}, url: "http://h/a.bng", want: "pattern"},
		{name: "a suffix without a dot", scope: crawl.Scope{Accept: []string{"png"}}, url: "http://h/xpng"},
		{name: "a suffix and a query", scope: crawl.Scope{Accept: []string{"png"}}, url: "http://h/x.png?y.txt"},
		{name: "a suffix in a query", scope: crawl.Scope{Accept: []string{"png"}}, url: "http://h/x.txt?y.png", want: "pattern"},
		{name: "a pattern that matches only part of the name", scope: crawl.Scope{Accept: []string{"a?"}}, url: "http://h/abc", want: "pattern"},
		{name: "not in a class", scope: crawl.Scope{Reject: []string{"[!a-c]*"}}, url: "http://h/d.png", want: "pattern"},
		{name: "in a class", scope: crawl.Scope{Reject: []string{"[!a-c]*"}}, url: "http://h/b.png"},
		{name: "in a class negated with ^", scope: crawl.Scope{Reject: []string{"[^a-c]*"}}, url: "http://h/d.png", want: "pattern"},
		{name: "accepted and rejected", scope: crawl.Scope{Accept: []string{"png"}, Reject: []string{"a*"}}, url: "http://h/a.png", want: "pattern"},
		{name: "an empty suffix matches nothing", scope: crawl.Scope{Reject: []string{""}}, url: "http://h/a.png"},
		{name: "a directory's page is rejected as index.html", scope: crawl.Scope{Reject: []string{"index.html*"}}, url: "http://h/dir/?C=N", read: true},
		{name: "a directory's page is accepted as index.html", scope: crawl.Scope{Accept: []string{".html"}}, url: "http://h/dir/"},
		{name: "a directory's page is not accepted", scope: crawl.Scope{Accept: []string{".png"}}, url: "http://h/dir/", read: true},
		{name: "a page that is rejected", scope: crawl.Scope{Reject: []string{"htm*", "HTML"}}, url: "http://h/dir/x.HTML", read: true},
		{name: "a domain with a leading dot", scope: crawl.Scope{SpanHosts: true, Domains: []string{".i.example"}}, url: "http://i.example/x"},
		{name: "a subdomain of a domain with a leading dot", scope: crawl.Scope{SpanHosts: true, Domains: []string{".I.example."}}, url: "http://a.i.example/x"},
		{name: "a domain as prefix of another", scope: crawl.Scope{SpanHosts: true, Domains: []string{".i.example"}}, url: "http://i.example.org/x", want: "domain"},
		{name: "Domains do not exclude the server of the seed", scope: crawl.Scope{SpanHosts: true, Domains: []string{"i.example"}}, url: "http://h/x"},
		{name: "ExcludeDomains excludes the server of the seed", scope: crawl.Scope{ExcludeDomains: []string{"h"}}, url: "http://h/x", want: "domain"},
		{name: "an empty domain", scope: crawl.Scope{SpanHosts: true, Domains: []string{"."}}, url: "http://i.example/x", want: "domain"},
		{name: "matched", scope: crawl.Scope{AcceptURL: regexp.MustCompile("/d[0-9]/")}, url: "http://h/d1/x"},
		{name: "not matched", scope: crawl.Scope{AcceptURL: regexp.MustCompile("/d[0-9]/")}, url: "http://h/d/x", want: "regex"},
		{name: "matched by RejectURL", scope: crawl.Scope{RejectURL: regexp.MustCompile(`\?`)}, url: "http://h/d/x?y", want: "regex"},
		{name: "a listed page that is not accepted", scope: crawl.Scope{Accept: []string{".png"}}, link: crawl.Link{Listed: true}, url: "http://h/d/b.html", read: true},
		{name: "a listed page of a scheme without HTML", scope: crawl.Scope{SpanHosts: true, Accept: []string{".png"}}, link: crawl.Link{Listed: true}, url: "gemini://h/d/b.gmi", want: "pattern"},
		{name: "a linked page of a scheme without HTML", scope: crawl.Scope{SpanHosts: true, Accept: []string{".png"}}, url: "gemini://h/d/b.gmi", read: true},
		{name: "a directory without pages", scope: crawl.Scope{SpanHosts: true, Accept: []string{".html"}}, link: crawl.Link{Listed: true}, url: "ftp://h/d/", want: "pattern"},
		{name: "a long URL", url: "http://h/" + strings.Repeat("x", 2000), want: "length"},
		{name: "a deep path", url: "http://h/" + strings.Repeat("x/y/z/1/2/", 1) + strings.Repeat("a/b/c/d/e/", 20), want: "length"},
		{name: "a repeated segment", url: "http://h/a/a/a/a/", want: "repetition"},
		{name: "repeated pairs of segments", url: "http://h/x/a/b/a/b/a/b/a/b", want: "repetition"},
		{name: "segments that occur three times", url: "http://h/x/a/b/a/b/a/b"},
	}
	for _, tt := range tests {
		tt.link.URL, tt.link.Seed = uri.MustParse(tt.url), uri.MustParse("http://h/dir/page")
		tt.link.Traits = traits[tt.link.URL.PlainScheme()]
		keep, why := tt.scope.Follow(tt.link)
		if why != tt.want || why == crawl.Followed && keep == tt.read {
			t.Errorf("%s: %s: %q (keep %v), want %q", tt.name, tt.url, why, keep, tt.want)
		}
		if (why.Text() == "") != (why == crawl.Followed) {
			t.Errorf("text of reason %q is %q", why, why.Text())
		}
	}
}

// traits has the traits of the schemes that these tests use.
var traits = map[string]fetch.Traits{
	"http":   {Pages: true, HTML: true},
	"gemini": {Pages: true},
	"gopher": {Menus: true},
}

func TestNoParentInGopher(t *testing.T) {
	t.Parallel()
	scope := crawl.Scope{NoParent: true}
	for url, want := range map[string]crawl.Reason{
		"gopher://h/0/docs/a": crawl.Followed,
		"gopher://h/1/docs/b": crawl.Followed,
		"gopher://h/0/x":      "parent",
		"gopher://h/0/docsy":  "parent",
	} {
		if _, why := scope.Follow(crawl.Link{URL: uri.MustParse(url), Seed: uri.MustParse("gopher://h/1/docs")}); why != want {
			t.Errorf("%s: %q, want %q", url, why, want)
		}
	}
}

func TestKeepsType(t *testing.T) {
	t.Parallel()
	s := crawl.Scope{AcceptTypes: []string{"text/html", "image/*"}}
	for contentType, want := range map[string]bool{"text/html; charset=x": true, "IMAGE/png": true, "text/plain": false, "": false} {
		if got := s.KeepsType(contentType); got != want {
			t.Errorf("%q: %v", contentType, got)
		}
	}
}
