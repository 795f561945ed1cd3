package queue_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/queue"
)

// TestWorkersCrawlAsTree crawls generated sites by workers and as a tree: sites of pages, of menus and
// of directories, with redirects, robots.txt, sitemaps and forms. Both visit the same pages with the
// same outcomes, save the same bodies, and leave the same links for the same reasons.
func TestWorkersCrawlAsTree(t *testing.T) {
	simulate(t, func(t *testing.T, seed uint64) { newHypertext(seed).run(t) })
}

// schemes are kinds of sites, by the traits and operations of their drivers.
var schemes = []fetch.Scheme{
	{Name: "http", Port: 80, Ops: []fetch.Op{fetch.OpGet},
		Traits: fetch.Traits{RedirectTarget: true, Tree: true, Pages: true, HTML: true, Robots: "/robots.txt"}},
	{Name: "gemini", Port: 1965, Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Traits: fetch.Traits{Tree: true, Pages: true, Robots: "/robots.txt"}},
	{Name: "gopher", Port: 70, Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Traits: fetch.Traits{Menus: true, Robots: "/0/robots.txt"}},
	{Name: "ftp", Port: 21, Ops: []fetch.Op{fetch.OpGet, fetch.OpList}, Traits: fetch.Traits{RedirectTarget: true, Tree: true}},
}

// A hypertext is the resources of some hosts of one scheme.
type hypertext struct {
	scheme fetch.Scheme
	rand   *rand.Rand
	nodes  map[string]*node // by URL
	urls   []string
	def    queue.Crawl
}

// A node is a resource.
type node struct {
	kind  nodeKind
	links []string // targets, and that of a redirect
	// nofollow is set if robots must not follow the links.
	nofollow bool
}

type nodeKind int

const (
	document  nodeKind = iota
	directory          // a listing or a menu
	image
	redirect
	absent
	form
)

func newHypertext(seed uint64) *hypertext {
	r := rand.New(rand.NewPCG(seed, 3))
	h := &hypertext{rand: r, scheme: schemes[r.IntN(len(schemes))], nodes: map[string]*node{}}
	hosts := 1 + r.IntN(2)
	h.add(h.url(0, "", directory), directory)
	filtered := r.IntN(3) == 0
	for i := range 2 + r.IntN(30) {
		dir := []string{"", "a/", "a/b/", "secret/", "c d/"}[r.IntN(5)]
		kind := nodeKind(r.IntN(int(form) + 3))
		switch {
		case kind > form:
			kind = document
		case kind == directory:
			dir = fmt.Sprintf("%sd%d/", dir, i)
		case kind == redirect && (filtered || !h.scheme.Pages):
			kind = absent // whether the target of a redirect is saved depends on the first link to it
		}
		h.add(h.url(r.IntN(hosts), fmt.Sprintf("%s\x00%d", dir, i), kind), kind)
	}
	for i, url := range h.urls {
		h.link(i, h.nodes[url])
	}
	h.def = queue.Crawl{Scope: crawl.Scope{MaxDepth: -1, SpanHosts: r.IntN(3) == 0, NoParent: r.IntN(6) == 0, Requisites: r.IntN(3) == 0},
		NoRobots: r.IntN(4) == 0, Sitemaps: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		h.def.Scope.MaxDepth = 1 + r.IntN(4)
	}
	if filtered {
		h.def.Scope.Accept = [][]string{nil, {"txt", "html"}, {"*1*"}}[r.IntN(3)]
		h.def.Scope.Reject = [][]string{nil, {"png"}, {"2*"}}[r.IntN(3)]
		h.def.Scope.AcceptTypes = [][]string{nil, {"text/*"}, {"image/png"}}[r.IntN(3)]
	}
	return h
}

// url returns the URL of a path, in which a NUL stands for nothing in the name of a directory.
func (h *hypertext) url(host int, path string, kind nodeKind) string {
	path, number, _ := strings.Cut(path, "\x00")
	base := fmt.Sprintf("%s://h%d/", h.scheme.Name, host)
	name := number + map[nodeKind]string{document: ".html", image: ".png", form: "", absent: ".txt", redirect: ".html"}[kind]
	path = strings.ReplaceAll(path, " ", "%20")
	switch {
	case h.scheme.Menus && kind == directory && path == "":
		return base
	case h.scheme.Menus && kind == directory:
		return base + "1/" + strings.TrimSuffix(path, "/")
	case h.scheme.Menus:
		return base + "0/" + path + name
	case kind == directory:
		return base + path
	}
	return base + path + name
}

func (h *hypertext) add(url string, kind nodeKind) {
	if h.nodes[url] == nil {
		h.urls = append(h.urls, url)
	}
	h.nodes[url] = &node{kind: kind}
}

func (h *hypertext) link(i int, n *node) {
	any := func() string { return h.urls[h.rand.IntN(len(h.urls))] }
	switch n.kind {
	case redirect:
		n.links = []string{h.scheme.Name + "://elsewhere/"}
		if later := h.urls[i+1:]; len(later) > 0 && h.rand.IntN(6) > 0 { // in no circle
			if to := later[h.rand.IntN(len(later))]; h.nodes[to].kind != image {
				n.links[0] = to
			}
		}
	case document, directory:
		n.nofollow = h.scheme.HTML && h.rand.IntN(8) == 0
		for range h.rand.IntN(7) {
			n.links = append(n.links, any())
		}
		if h.rand.IntN(4) == 0 {
			n.links = append(n.links, h.scheme.Name+"://elsewhere/x", "x-unknown://h0/", h.scheme.Name+"://h0/d/d/d/d/d/d/d/d")
		}
		if h.scheme.Menus {
			n.links = append(n.links, h.scheme.Name+"://h0/1/", h.scheme.Name+"://h0:70/")
		}
	}
}

// Open implements fetch.Driver.
func (h *hypertext) Open(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
	url := req.URL.String()
	if path := req.URL.Path(); path == h.scheme.Robots {
		return respond("text/plain", "User-agent: *\nDisallow: /secret\nSitemap: /map.xml\n"), nil
	} else if path == "/map.xml" && h.scheme.HTML {
		return respond("application/xml", fmt.Sprintf("<urlset><url><loc>%s</loc></url></urlset>", h.urls[len(h.urls)-1])), nil
	}
	n := h.nodes[url]
	if n == nil {
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	}
	switch n.kind {
	case absent:
		return nil, &fetch.Error{Code: fetch.ErrNotFound}
	case form:
		return nil, &fetch.Error{Code: fetch.ErrNeedSearch}
	case image:
		return respond("image/png", "\x89PNG "+url), nil
	case redirect:
		resp := respond("", "")
		resp.Location = []uri.URI{uri.MustParse(n.links[0])}
		return resp, nil
	}
	switch {
	case h.scheme.HTML:
		return respond("text/html", h.html(url, n)), nil
	case h.scheme.Pages:
		return respond("text/gemini", url+"\n=> "+strings.Join(n.links, "\n=> ")), nil
	case n.kind == directory:
		resp := respond("", url+"\n"+strings.Join(n.links, "\n"))
		resp.Kind, resp.Parse = fetch.KindListing, h.members
		return resp, nil
	}
	return respond("text/plain", url), nil
}

func respond(contentType, body string) *fetch.Response {
	return &fetch.Response{Meta: fetch.Meta{Size: int64(len(body)), ContentType: contentType}, Body: io.NopCloser(strings.NewReader(body))}
}

func (h *hypertext) html(url string, n *node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>%s</title>\n", url)
	if n.nofollow {
		fmt.Fprintln(&b, "<meta name=robots content=nofollow>")
	}
	for _, to := range n.links {
		tag := "<a href=%q>there</a>\n"
		if strings.HasSuffix(to, ".png") {
			tag = "<img src=%q>\n"
		}
		fmt.Fprintf(&b, tag, to)
	}
	return b.String()
}

// members parses a listing: a line for itself, and one for each member.
func (h *hypertext) members(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		lines := bufio.NewScanner(r)
		for lines.Scan(); lines.Scan(); {
			e := fetch.Entry{Rel: "item", Size: -1, Kind: fetch.EntryObject}
			if to := lines.Text(); to != "" {
				e.URL = uri.MustParse(to)
			}
			if to := e.URL.Path(); h.scheme.Menus && (to == "/" || strings.HasPrefix(to, "/1")) || !h.scheme.Menus && strings.HasSuffix(to, "/") {
				e.Kind = fetch.EntryListing
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (h *hypertext) run(t *testing.T) {
	client := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		s := h.scheme
		s.Driver = h
		reg.Register(s)
	})
	defer client.Close()
	seed := uri.MustParse(h.urls[0])
	if h.rand.IntN(5) == 0 {
		seed = uri.MustParse(h.urls[h.rand.IntN(len(h.urls))])
	}
	workers, tree := crawlByWorkers(t, client, h.def, seed), crawlAsTree(t, client, h.def, seed)
	compare(t, "ends", workers.plainEnds(), tree.plainEnds())
	compare(t, "has the body", workers.bodies, tree.bodies)
	compare(t, "is not followed", workers.finallyLeft(), tree.finallyLeft())
	if t.Failed() {
		t.Logf("%s, seed %s, %+v", h.scheme.Name, seed, h.def)
		for _, url := range h.urls {
			t.Logf("%s %+v", url, *h.nodes[url])
		}
	}
}

func compare[V comparable](t *testing.T, what string, workers, tree map[string]V) {
	all := maps.Clone(workers)
	maps.Copy(all, tree)
	for _, url := range slices.Sorted(maps.Keys(all)) {
		w, byWorkers := workers[url]
		v, byTree := tree[url]
		if byWorkers != byTree || w != v {
			t.Errorf("%s %s: by workers %v %v, as a tree %v %v", url, what, byWorkers, w, byTree, v)
		}
	}
}

// plainEnds returns the outcomes of the pages. Workers have results of pages that a tree leaves.
// A page with links that is not saved is read.
func (h *harvest) plainEnds() map[string]string {
	ends := map[string]string{}
	for url, end := range h.ends {
		switch end {
		case "robots", "form", "not_found":
		case "listed", "not_wanted":
			ends[url] = "read"
		default:
			ends[url] = end
		}
	}
	return ends
}

// finallyLeft returns the reasons of the links that were not followed from any page. Whether a link
// was also found from a page that was too far away depends on the order of the visits.
func (h *harvest) finallyLeft() map[string]crawl.Reason {
	byDistance := func(why crawl.Reason) bool { return why == "depth" || why == "pattern" }
	decided := map[string]bool{}
	for url := range h.ends {
		decided[url] = true
	}
	for key, why := range h.left {
		if url, _, _ := strings.Cut(key, " "); !byDistance(why) {
			decided[url] = true
		}
	}
	left := maps.Clone(h.left)
	maps.DeleteFunc(left, func(key string, why crawl.Reason) bool {
		url, _, _ := strings.Cut(key, " ")
		return decided[url] && byDistance(why)
	})
	return left
}
