//go:build integration

package browser

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// archived starts a site and returns it with an archive of two versions of its pages. The live
// version is the third.
func archived(t *testing.T) (site *httptest.Server, archive *replay.Archive) {
	version := "first"
	site = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>The %s version of %s</h1>", version, r.URL.Path)
	}))
	t.Cleanup(site.Close)
	path := filepath.Join(t.TempDir(), "site.warc.gz")
	w, err := warc.Create(path, warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, func(err error) { t.Error(err) })}, protocols.All)
	for _, step := range []struct{ version, path string }{{"first", "/"}, {"first", "/orchard/pears"}, {"second", "/"}} {
		if version != step.version {
			version = step.version
			time.Sleep(1100 * time.Millisecond) // archives have a resolution of seconds
		}
		c.ReadAll(t.Context(), site.URL+step.path, 1<<20)
	}
	c.Close()
	version = "third"
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if archive, err = replay.Open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	return site, archive
}

// withArchive returns the options of a page that replays an archive and uses the network.
func withArchive(archive *replay.Archive) func(*serve.Options, *fetch.Options) {
	return func(s *serve.Options, o *fetch.Options) {
		s.Archive, o.Middleware = archive, []fetch.Middleware{serve.Archived(archive, replay.Options{})}
	}
}

// tasks are the tasks for newcomers in docs/serve.md, with the steps that the page describes.
var tasks = []struct {
	name string
	do   func(t *testing.T)
}{
	{"find an article and its replies", func(t *testing.T) {
		news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
			article("<1@example.org>", "Alice <alice@example.org>", "Apples", "", "They are red.", 0),
			article("<2@example.org>", "Bob <bob@example.org>", "Which pears keep?", "", "I have too many.", 1),
			article("<3@example.org>", "Carol <carol@example.org>", "Re: Which pears keep?", "<2@example.org>", "Conference pears.", 2)}}}})
		b := newTab(t)
		b.open("news://" + news.Addr + "/example.fruit")
		b.run(chromedp.SendKeys("#filter", "pears"))
		b.until(`[...document.querySelectorAll(".entry")].filter(e => e.offsetParent).length === 2`)
		b.follow("Which pears keep?")
		b.shows("I have too many.")
		b.loaded(click(`//a[.="Next"]`))
		b.shows("Conference pears.", "Carol")
	}},
	{"read a discussion", func(t *testing.T) {
		news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
			article("<2@example.org>", "Bob <bob@example.org>", "Which pears keep?", "", "I have too many.\nWhat now?", 1),
			article("<3@example.org>", "Carol <carol@example.org>", "Re: Which pears keep?", "<2@example.org>", "> I have too many.\n> What now?\n\nConference pears.", 2)}}}})
		b := newTab(t)
		b.open("news://" + news.Addr + "/example.fruit")
		b.follow("whole thread")
		b.shows("What now?", "Conference pears.")
		if eval[bool](b, `document.querySelector(".fold pre").checkVisibility()`) {
			t.Error("the quote is not folded")
		}
		b.run(click(`.fold summary`))
		b.until(`document.querySelector(".fold pre").checkVisibility()`)
	}},
	{"read a capsule", func(t *testing.T) {
		_, trusted := servers.Certificate()
		g := geminid.Start(t, geminid.Options{Types: map[string]string{".gmi": "text/gemini"}, Tree: fstest.MapFS{
			"index.gmi": {Data: []byte("# Fruit\n\n" + strings.Repeat("A paragraph.\n\n", 100) + "## Pears\n\nPears are ripe.\n")}}})
		b := newTab(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = trusted })
		b.open("gemini://" + g.Addr + "/index.gmi")
		b.run(click(`.contents a`))
		b.until(`scrollY > 500 && document.querySelector("#section1").getBoundingClientRect().top < innerHeight`)
	}},
	{"read the news of a feed", func(t *testing.T) {
		var feed *httptest.Server
		feed = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/feed" {
				fmt.Fprintf(w, "The article %s", r.URL.Path)
				return
			}
			w.Header().Set("Content-Type", "application/atom+xml")
			io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom"><title>Fruit</title><entry><title>Apples</title><link href="/apples"/><updated>2026-09-01T00:00:00Z</updated></entry>`+
				`<entry><title>Pears</title><link href="/pears"/><updated>2026-10-01T00:00:00Z</updated></entry></feed>`)
		}))
		t.Cleanup(feed.Close)
		b := newTab(t)
		b.open(feed.URL + "/feed")
		b.follow("Pears")
		b.shows("The article /pears")
		b.loaded(click(`//a[.="Next"]`))
		b.shows("The article /apples")
	}},
	{"see what is new on several pages", func(t *testing.T) {
		feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/atom+xml")
			io.WriteString(w, `<feed><title>Fruit</title><entry><title>Apples</title><link href="/apples"/><updated>2026-09-01T00:00:00Z</updated></entry></feed>`)
		}))
		t.Cleanup(feed.Close)
		news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
			article("<1@example.org>", "Alice <alice@example.org>", "Which pears keep?", "", "I have too many.", 0)}}}})
		b := newTab(t)
		for _, rawURL := range []string{feed.URL + "/feed", "news://" + news.Addr + "/example.fruit"} {
			b.open(rawURL)
			b.blur()
			b.loaded(chromedp.KeyEvent("s"))
			b.shows("Unfollow")
		}
		b.loaded(click(`//a[.="Following"]`))
		b.shows("2 unread")
		b.loaded(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter)) // the older one
		b.shows("I have too many.")
		b.loaded(chromedp.KeyEvent("h"))
		b.shows("1 unread")
	}},
	{"compare two captures", func(t *testing.T) {
		site, archive := archived(t)
		b := newTab(t, withArchive(archive))
		b.open(site.URL + "/")
		b.inFrame("The second version")
		b.loaded(click(`//a[.="Earlier"]`))
		b.inFrame("The first version")
		b.loaded(click(`//a[.="Captures"]`))
		if n := eval[int](b, `document.querySelectorAll(".captures li").length`); n != 2 {
			t.Errorf("%d captures", n)
		}
	}},
	{"find a page in an archive", func(t *testing.T) {
		_, archive := archived(t)
		b := newTab(t, withArchive(archive))
		b.loaded(click(`//a[.="Archive"]`))
		b.run(chromedp.SendKeys("#filter", "pears"))
		b.until(`[...document.querySelectorAll(".entry")].filter(e => e.offsetParent).length === 1`)
		b.follow("/orchard/pears")
		b.inFrame("version of /orchard/pears")
	}},
	{"find words in an archive", func(t *testing.T) {
		_, archive := archived(t)
		b := newTab(t, withArchive(archive))
		b.loaded(click(`//a[.="Archive"]`))
		b.loaded(chromedp.SendKeys("#words", "orchard version"+kb.Enter))
		b.shows("1 document has all words")
		b.loaded(click(`.found a`))
		b.inFrame("version of /orchard/pears")
	}},
	{"see the current version of an archived page", func(t *testing.T) {
		site, archive := archived(t)
		b := newTab(t, withArchive(archive))
		b.open(site.URL + "/")
		b.loaded(click(`//a[.="Live page"]`))
		b.inFrame("The third version")
	}},
	{"find the largest file of a directory", func(t *testing.T) {
		b := newTab(t)
		b.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/software/")
		b.loaded(click(`//th/a[.="Size"]`))
		b.loaded(click(`//th/a[.="Size"]`))
		if got := eval[string](b, `document.querySelector("tr.entry .name").innerText`); got != "browser-1.0.tar.gz" {
			t.Errorf("the largest file is %s", got)
		}
	}},
	{"search an index (Gopher, WAIS, Dict)", func(t *testing.T) {
		b := newTab(t)
		b.open(startGopher(t).URL + "/1/")
		b.loaded(chromedp.SendKeys("#search1", "pear"+kb.Enter))
		b.shows("A pear, found")
	}},
	{"be recognized by a capsule", func(t *testing.T) {
		cfg, _ := servers.Certificate()
		cfg = cfg.Clone()
		cfg.ClientAuth = tls.RequestClientCert
		var name atomic.Value
		capsule := geminid.Start(t, geminid.Options{TLS: cfg, Replies: map[string]string{"/": "20 text/gemini\r\n# Orchard\n"}, Seen: func(state tls.ConnectionState) {
			if name.Store(""); len(state.PeerCertificates) > 0 {
				name.Store(state.PeerCertificates[0].Subject.CommonName)
			}
		}})
		dir := t.TempDir()
		b := newTab(t, func(s *serve.Options, o *fetch.Options) { s.Identities, o.TLS = dir, serve.Identify(o.TLS) })
		b.open("gemini://" + capsule.Addr + "/")
		b.loaded(click(`//a[.="Identity"]`))
		b.loaded(chromedp.SendKeys("#name", "Alice"+kb.Enter))
		b.shows("Orchard")
		if name.Load() != "Alice" {
			t.Errorf("the capsule got the certificate of %q", name.Load())
		}
	}},
	{"log in", func(t *testing.T) {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "alice" || password != "pears" {
				w.Header().Set("WWW-Authenticate", `Basic realm="orchard"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			io.WriteString(w, "Welcome to the orchard.")
		}))
		t.Cleanup(site.Close)
		b := newTab(t)
		b.open(site.URL + "/")
		b.shows("requires a login")
		b.run(chromedp.SendKeys("#user", "alice"))
		b.loaded(chromedp.SendKeys("#password", "pears"+kb.Enter))
		b.shows("Welcome to the orchard.")
	}},
	{"save a file", func(t *testing.T) {
		content := bytes.Repeat([]byte("pears"), 1<<20)
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="pears.bin"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}))
		t.Cleanup(site.Close)
		dir := t.TempDir()
		b := newTab(t)
		b.run(func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
			_, err = cdp.Call(ctx, t, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
				Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
			return v, err
		})
		b.open(site.URL + "/fruit")
		want := "urlget -c '" + site.URL + "/fruit'"
		if got := eval[string](b, `document.querySelector("aside code").innerText`); got != want {
			t.Errorf("the command is %s, want %s", got, want)
		}
		b.run(click(`//a[.="Download"]`))
		for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			got, err := os.ReadFile(filepath.Join(dir, "pears.bin"))
			if bytes.Equal(got, content) {
				break
			}
			if time.Since(begin) > actionTimeout {
				t.Fatalf("the file has %d bytes, want %d: %v", len(got), len(content), err)
			}
		}
	}},
	{"see what the server said", func(t *testing.T) {
		b := newTab(t)
		b.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/fruit/")
		b.run(click(`//aside//summary[.="Conversation"]`))
		if got := eval[string](b, `document.querySelector(".talk").innerText`); !strings.Contains(got, "220 ") {
			t.Errorf("the conversation is %q", got)
		}
	}},
	{"find a page that you visited", func(t *testing.T) {
		b := newTab(t)
		b.open(startGopher(t).URL + "/0/fruit/pear.txt")
		b.loaded(click(`//nav//a[.="Home"]`))
		if got := eval[string](b, `[...document.getElementById("url").list.options].map(o => o.value).join()`); !strings.Contains(got, "/0/fruit/pear.txt") {
			t.Errorf("the address bar suggests %s", got)
		}
		b.loaded(click(`//nav//a[.="History"]`))
		b.loaded(click(`.places a`))
		b.shows("A pear is a fruit.")
	}},
}

// TestTasks does the tasks of docs/serve.md, and requires that the table there has no others.
func TestTasks(t *testing.T) {
	text, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| task | on the page |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented, tested []string
	for line := range strings.Lines(table) {
		documented = append(documented, strings.TrimSpace(strings.Split(line, "|")[1]))
	}
	for _, task := range tasks {
		tested = append(tested, task.name)
		t.Run(task.name, task.do)
	}
	if got, want := strings.Join(documented, "\n"), strings.Join(tested, "\n"); got != want {
		t.Errorf("the tasks in docs/serve.md are\n%s\nwant\n%s", got, want)
	}
}
