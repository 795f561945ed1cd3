package crawl

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	httpdriver "github.com/urlget/urlget/protocols/http"
)

func TestSeenLinksAreBounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		size  int // of each URL
		pages int // with different pageIDs
	}{
		{"many links", 10, 3},
		{"long URLs", 2000, 3},
		{"links of many sites", 10, maxSeen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s seenLinks
			long := strings.Repeat("x", tt.size)
			link := func(i int) linkID {
				return linkID{pageID{seed: strconv.Itoa(i % tt.pages)}, linkText{url: long + strconv.Itoa(i)}}
			}
			for i := range maxSeen + 10 {
				s.add(link(i))
				if s.n > maxSeen || s.text > maxSeenText || len(s.links) > maxSeenPages {
					t.Fatalf("after %d links: %d links, %d bytes, %d pages", i+1, s.n, s.text, len(s.links))
				}
			}
			n := 0
			for _, links := range s.links {
				n += len(links)
			}
			if n != s.n || !s.has(link(maxSeen+9)) {
				t.Errorf("%d links are kept, and %d counted; the last one is known: %t", n, s.n, s.has(link(maxSeen+9)))
			}
		})
	}
}

func TestLongRelationsAreNotKept(t *testing.T) {
	t.Parallel()
	var s seenLinks
	s.add(linkID{link: linkText{url: "u", rel: strings.Repeat("x", maxSeenText)}})
	if len(s.links) != 0 {
		t.Error("the link was kept")
	}
}

func TestKnownLinksAreStillDecided(t *testing.T) {
	t.Parallel()
	st, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	client := fetch.New(nil, httpdriver.Load)
	defer client.Close()
	seed := uri.MustParse("http://h.example/d/")
	var left []Reason
	c := &crawl{seeds: map[int]uri.URI{0: seed}, Options: Options{State: st, MaxAlike: 1, Scope: Scope{MaxDepth: 3, NoParent: true},
		Left: func(_ Link, why Reason) { left = append(left, why) }}}
	c.visitor = c.newVisitor(client)
	if _, err := st.begin([]string{seed.String()}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, link, rel string
		depth           int // of the page
		want            Reason
	}{
		{"new", "http://h.example/d/1", "a", 1, Followed},
		{"known", "http://h.example/d/1", "a", 1, Followed},
		{"another spelling", "http://H.example/d/%31", "a", 1, Followed},
		{"too many alike", "http://h.example/d/2", "a", 1, TooManyAlike},
		{"too many alike again", "http://h.example/d/2", "a", 1, TooManyAlike},
		{"known, but too deep here", "http://h.example/d/1", "a", 3, tooDeep},
		{"known, but robots must not follow it", "http://h.example/d/1", "nofollow", 1, NoFollow},
		{"not below the seed", "http://h.example/e", "a", 1, notBelow},
		{"not below the seed again", "http://h.example/e", "a", 1, notBelow},
	}
	for _, tt := range tests {
		left = nil
		p := c.page(newItem(&Link{URL: seed, From: seed, Depth: tt.depth, Save: true}), nil)
		if err := p.AddLink(t.Context(), fetch.Entry{URL: uri.MustParse(tt.link), Rel: tt.rel, Size: -1}); err != nil {
			t.Fatal(err)
		}
		if got := append(left, Followed)[0]; got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if n := st.Waiting(); n != 1 {
		t.Errorf("%d URLs are queued, want 1", n)
	}
	c.seeds[0] = uri.MustParse("http://h.example/f/") // the seed redirects
	st.moveSeed(0, c.seeds[0].String())
	left = nil
	p := c.page(newItem(&Link{URL: seed, From: seed, Depth: 1, Save: true}), nil)
	if err := p.AddLink(t.Context(), fetch.Entry{URL: uri.MustParse("http://h.example/d/1"), Rel: "a", Size: -1}); err != nil || len(left) != 1 || left[0] != notBelow {
		t.Errorf("after the redirect of the seed: left %v, %v", left, err)
	}
}
