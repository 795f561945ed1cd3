//go:build integration

package browser

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/encoding/charmap"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols"
)

const copiedStyle = `@import url("/more.css?v=3") layer(base); @import "more2.css"; #styled { color: rgb(1, 2, 3); background: url(/b.png) }`

// copiedSite serves a page of which each part fails from a disk, unless -k changes it: the page allows only
// its own host, its references have integrity and crossorigin, and only the header names its encoding.
func copiedSite(t *testing.T) string {
	t.Helper()
	var site *httptest.Server
	integrity := func(content string) string {
		sum := sha512.Sum384([]byte(content))
		return `crossorigin integrity="sha384-` + base64.StdEncoding.EncodeToString(sum[:]) + `"`
	}
	const script = `document.documentElement.dataset.script = "ran"`
	text := func(page string) string {
		encoded, err := charmap.Windows1251.NewEncoder().String(page)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contentType, content := "", ""
		switch path := r.URL.Path; {
		case path == "/":
			contentType, content = "text/html; charset=windows-1251", text(`<!DOCTYPE html><html><head><title>Страница</title>
<meta http-equiv="Content-Security-Policy" content="default-src `+site.URL+` 'unsafe-inline'; img-src `+site.URL+`">
<link rel="preconnect" href="http://outside.invalid/"><link rel="dns-prefetch" href="//outside.invalid">
<link rel="stylesheet" href="/style.css?v=3" `+integrity(copiedStyle)+`>
<script src="/s.js" `+integrity(script)+`></script>
<style>@import "/inline.css"; #inline { background-image: url('/i.png') }</style></head>
<body><p id="text">Привет</p><p id="styled">a</p><p id="imported">b</p><p id="second">c</p><p id="inline">d</p>
<img src="/i.png" crossorigin="anonymous"><img src="/none.png" srcset="/i1.png 1x, /i2.png 2x"><picture><source srcset="/p.png"><img src="/q.png"></picture>
<iframe srcdoc="&lt;link rel=stylesheet href=/style.css?v=3 crossorigin&gt;&lt;p id=styled&gt;&lt;img src=/f.png&gt;"></iframe>
<a id="next" href="/next#part">next</a><a href="http://outside.invalid/">outside</a></body></html>`)
		case path == "/next":
			contentType, content = "application/xhtml+xml; charset=windows-1251", text(`<html xmlns="http://www.w3.org/1999/xhtml"><head><title/>`+
				`<script src="s.js"/></head><body><p id="text">Привет</p><p id="part"/><img src="i.png"/></body></html>`)
		case path == "/style.css":
			contentType, content = "text/css", copiedStyle
		case path == "/more.css":
			contentType, content = "text/css", `#imported { color: rgb(4, 5, 6) }`
		case path == "/more2.css":
			contentType, content = "text/css", `#second { color: rgb(7, 8, 9) }`
		case path == "/inline.css":
			contentType, content = "text/css", `#inline { color: rgb(10, 11, 12) }`
		case path == "/s.js":
			contentType, content = "text/javascript", script
		case strings.HasSuffix(path, ".png") && path != "/none.png":
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Content-Type", "image/png")
			png.Encode(w, image.NewGray(image.Rect(0, 0, 3, 2)))
			return
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, content)
	}))
	t.Cleanup(site.Close)
	return site.URL + "/"
}

// mirrorCopy is urlget -r -k -E -nH.
func mirrorCopy(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := fetch.New(nil, protocols.All)
	defer c.Close()
	_, err = mirror.Run(t.Context(), &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(from)}, &mirror.Options{
		Crawl: crawl.Options{NoRobots: true}, Layout: mirror.Layout{NoHost: true}, Convert: true, Extend: true})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// trap is a proxy that records all requests, and passes none on.
type trap struct {
	lock     sync.Mutex
	requests []string
}

func (p *trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.Host)
	fmt.Fprintln(w, "trapped")
}

// to returns the requests to a host.
func (p *trap) to(host string) []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(p.requests), func(r string) bool { return !strings.Contains(r, host) })
}

// TestCopiesOpenFromDisk opens the copy of a site from a disk, in a browser all of whose requests end in a
// trap: it shows its text, styles and images, runs its scripts, and requests nothing.
func TestCopiesOpenFromDisk(t *testing.T) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed; run integration/chromium.sh")
	}
	site := copiedSite(t)
	dir := mirrorCopy(t, site)
	caught := &trap{}
	proxy := httptest.NewServer(caught)
	defer proxy.Close()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.ProxyServer(proxy.URL), chromedp.Flag("proxy-bypass-list", "<-loopback>"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	b := &tab{t: t, ctx: ctx}

	open := func(name string) {
		t.Helper()
		b.run(chromedp.Navigate((&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, name))}).String()),
			chromedp.WaitVisible("#text"))
		const images = `[document, ...[...document.querySelectorAll("iframe")].map(f => f.contentDocument)].flatMap(d => [...d.images])`
		for name, expression := range map[string]string{
			"the text":   `document.getElementById("text").textContent === "Привет"`,
			"the script": `document.documentElement.dataset.script === "ran"`,
			"the images": images + `.every(i => i.complete && i.naturalWidth === 3) && ` + images + `.length > 0`,
		} {
			if !eval[bool](b, expression) {
				t.Errorf("%s is missing in %s", name, eval[string](b, `document.documentElement.outerHTML`))
			}
		}
	}
	open("index.html")
	const style = `(d, id) => { const s = d.defaultView.getComputedStyle(d.getElementById(id)); return s.color + " " + s.backgroundImage.replace(/.*\//, "") }`
	for expression, want := range map[string]string{
		`(document, "styled")`:   `rgb(1, 2, 3) b.png")`,
		`(document, "imported")`: `rgb(4, 5, 6) none`,
		`(document, "second")`:   `rgb(7, 8, 9) none`,
		`(document, "inline")`:   `rgb(10, 11, 12) i.png")`,
		`(document.querySelector("iframe").contentDocument, "styled")`: `rgb(1, 2, 3) b.png")`,
	} {
		if got := eval[string](b, "("+style+")"+expression); got != want {
			t.Errorf("style of %s: %q, want %q", expression, got, want)
		}
	}
	if got := eval[int](b, `document.images.length`); got != 3 {
		t.Errorf("%d images", got)
	}
	open("next.xhtml")
	open("index.html")
	b.run(chromedp.Click("#next"), chromedp.WaitVisible("#part + img"))
	if got := eval[string](b, `location.hash + location.pathname.replace(/.*\//, "")`); got != "#partnext.xhtml" {
		t.Errorf("the link leads to %q", got)
	}
	host, _, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(site, "http://"), "/"))
	if got := append(caught.to(host), caught.to("outside.invalid")...); len(got) > 0 {
		t.Errorf("the copy requested %q", got)
	}

	b.run(chromedp.Navigate("http://outside.invalid/"))
	if len(caught.to("outside.invalid")) == 0 {
		t.Error("the trap catches nothing")
	}
}
