//go:build integration

// Package browser tests the pages of urlget serve in Chromium: on a screen, on a phone, with the
// dark color scheme, with the keyboard only, and under attack by other sites. It also opens copies of sites
// from a disk.
package browser

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/text/encoding/unicode"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/fetchtest/servers/tftpd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/serve"
)

// chromium is the running browser, or nil if there is none.
var chromium context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if strings.Contains(os.Getenv("URLGET_LAB"), "required") || os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "browser:", err, "(integration/chromium.sh installs it)")
			return 1
		}
		return m.Run() // each test reports why it is skipped
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1000, 680), chromedp.Flag("lang", "en"))...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "browser: chromium does not start:", err)
		return 1
	}
	chromium = ctx
	return m.Run()
}

// A tab is a browser tab that shows a page of a server.
type tab struct {
	t      *testing.T
	ctx    context.Context
	server *httptest.Server
	// address is the URL with the token that the user opens.
	address string
}

// newTab starts a server and opens its page.
func newTab(t *testing.T, change ...func(*serve.Options, *fetch.Options)) *tab {
	t.Helper()
	if chromium == nil {
		t.Skip("chromium is not installed; run integration/chromium.sh")
	}
	opts := serve.Options{Bookmarks: filepath.Join(t.TempDir(), "bookmarks")}
	common := &fetch.Options{Recorder: serve.Recorder()}
	for _, f := range change {
		f(&opts, common)
	}
	opts.Client, opts.Foreign = fetch.New(common, protocols.All), fetch.New(common, protocols.All)
	server := httptest.NewUnstartedServer(nil)
	opts.Hosts = []string{server.Listener.Addr().String()}
	s := serve.New(opts)
	server.Config.Handler = s
	server.Start()
	ctx, cancel := chromedp.NewContext(chromium)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(func() {
		stop()
		cancel()
		server.CloseClientConnections()
		server.Close()
		s.Close()
		opts.Client.Close()
		opts.Foreign.Close()
	})
	b := &tab{t, ctx, server, s.Address(opts.Hosts[0])}
	b.run(chromedp.Navigate(b.address), chromedp.WaitVisible("#url"))
	return b
}

type step = chromedp.Action[chromedp.Void]

// actionTimeout limits the time of an action. On a busy machine, some take longer than a minute.
const actionTimeout = 3 * time.Minute

func (b *tab) run(steps ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, actionTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.outerHTML`))
		b.t.Fatalf("%v\n%s", err, text)
	}
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// loaded performs steps that load another page, and waits for that page.
func (b *tab) loaded(steps ...step) {
	b.t.Helper()
	eval[bool](b, `window.before = true`)
	b.run(steps...)
	b.until(`!window.before && document.readyState === "complete"`)
}

// until waits until an expression is true, on any page.
func (b *tab) until(expression string) {
	b.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		done, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && done {
			return
		}
		if time.Since(begin) > actionTimeout {
			b.t.Fatalf("%s: %v, %v", expression, done, err)
		}
	}
}

// open types a URL into the address field.
func (b *tab) open(rawURL string) {
	b.t.Helper()
	b.loaded(chromedp.SetValue("#url", rawURL), chromedp.SendKeys("#url", kb.Enter))
}

// follow clicks the link with this text.
func (b *tab) follow(text string) {
	b.t.Helper()
	b.loaded(click(fmt.Sprintf(`//main//a[normalize-space()=%q]`, text)))
}

// click clicks the first element that matches a selector, or a path if it starts with a slash.
func click(selector string) step {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		find := fmt.Sprintf("document.querySelector(%q)", selector)
		if strings.HasPrefix(selector, "/") {
			find = fmt.Sprintf("document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue", selector)
		}
		at, err := chromedp.Evaluate[[]float64](`(() => { const e = `+find+`; const box = e.closest("[popover]");
			if (box && !box.matches(":popover-open")) box.showPopover();
			e.scrollIntoView({block: "center"});
			const r = e.getClientRects()[0]; return [r.left + r.width / 2, r.top + r.height / 2] })()`)(ctx, t)
		if err != nil {
			return v, fmt.Errorf("%s: %w", selector, err)
		}
		return chromedp.MouseClickXY(at[0], at[1])(ctx, t)
	}
}

// blur removes the focus.
func (b *tab) blur() {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
}

// text returns the visible text.
func (b *tab) text() string {
	b.t.Helper()
	return eval[string](b, `document.querySelector("main").innerText`)
}

// shows fails unless all texts are visible.
func (b *tab) shows(texts ...string) {
	b.t.Helper()
	for _, want := range texts {
		if got := b.text(); !strings.Contains(got, want) {
			b.t.Errorf("page lacks %q:\n%s", want, got)
		}
	}
}

// keep saves a screenshot for the documentation, if requested.
func (b *tab) keep(name string) {
	b.t.Helper()
	if os.Getenv("URLGET_WRITE") == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("../../docs/img", name), picture, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// screen sets the window size and the color scheme.
func (b *tab) screen(width, height int64, scheme string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(width, height), func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return v, err
	})
}

var day = time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)

var tree = fstest.MapFS{
	"fruit/pear.txt":               {Data: []byte("A pear is a fruit.\r\nSee gopher://gopher.example/1/pears for more.\r\n"), ModTime: day},
	"fruit/apple.txt":              {Data: []byte("An apple a day keeps the doctor away.\r\n"), ModTime: day.AddDate(0, 1, 0)},
	"fruit/citrus/lemon/sour.txt":  {Data: []byte("Lemons are sour.\r\n"), ModTime: day},
	"fruit/citrus/orange.txt":      {Data: []byte("An orange is orange.\r\n"), ModTime: day},
	"guests":                       {ModTime: day},
	"large.bin":                    {Data: make([]byte, 256<<10), ModTime: day.AddDate(0, 0, 2)},
	"software/terminal-2.4.tar.gz": {Data: make([]byte, 81_000), ModTime: day.AddDate(0, 2, 3)},
	"software/browser-1.0.tar.gz":  {Data: make([]byte, 1_400_000), ModTime: day.AddDate(0, 0, -40)},
	"software/README":              {Data: []byte("Programs.\n"), ModTime: day},
	"software/pictures/logo.gif":   {Data: []byte("GIF89a"), ModTime: day},
}

// article returns an article that replies to others.
func article(id, from, subject, references, body string, hours int) nntpd.Article {
	if references != "" {
		references = "References: " + references + "\n"
	}
	return nntpd.Article{ID: id, Text: fmt.Sprintf("From: %s\nNewsgroups: example.fruit\nSubject: %s\nDate: %s\nMessage-ID: %s\n%s\n%s\n",
		from, subject, day.Add(time.Duration(hours)*time.Hour).Format(time.RFC1123Z), id, references, body)}
}

// startGopher starts a gopher server with a menu that has an item of each kind.
func startGopher(t *testing.T) *gopherd.Server {
	return gopherd.Start(t, gopherd.Options{Tree: tree, Text: true, Plus: true,
		Items: map[string][]string{"/": {
			"iWelcome to the fruit hole.\t\t$HOST\t$PORT", "i\t\t$HOST\t$PORT",
			"7Search the fruit\t/find\t$HOST\t$PORT", "0Sign the guest book\t/guests\t$HOST\t$PORT\t?", "8A session\t\tterm.example\t23",
			"hA page of the web\tURL:http://www.example/\t$HOST\t$PORT"}},
		Replies: map[string]string{"/find\tpear": "0A pear, found\t/fruit/pear.txt\t127.0.0.1\t70\r\n.\r\n"},
		Attributes: map[string]string{"/guests": "+ASK:\r\n Note: Please sign.\r\n Ask: Your name:\tnobody\r\n" +
			" Choose: Colour:\tred\tgreen\r\n AskL: Your story:\r\n Select: Sure?:1\r\n"}})
}

// TestEveryScheme opens one URL of each scheme with a test server.
func TestEveryScheme(t *testing.T) {
	secure := httptest.NewTLSServer(http.FileServerFS(tree))
	t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	web := httptest.NewServer(http.FileServerFS(tree))
	t.Cleanup(web.Close)
	wais := waisd.Start(t, waisd.Options{Tree: tree})
	news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Description: "All about fruit",
		Articles: []nntpd.Article{article("<pear@example.org>", "Alice <alice@example.org>", "Pears", "", "A pear is a fruit.", 0)}}}})
	file := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(file, []byte("A file."), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newTab(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = &tls.Config{RootCAs: roots} })
	for _, stop := range []struct{ url, want string }{
		{"data:,A%20pear%20is%20a%20fruit.", "A pear is a fruit."},
		{"file://" + file, "A file."},
		{file, "A file."},
		{web.URL + "/fruit/pear.txt", "A pear is a fruit."},
		{secure.URL + "/fruit/pear.txt", "A pear is a fruit."},
		{"ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/fruit/", "apple.txt"},
		{startGopher(t).URL + "/1/fruit", "pear.txt"},
		{"gemini://" + geminid.Start(t, geminid.Options{Tree: tree, TLS: &tls.Config{Certificates: secure.TLS.Certificates}}).Addr + "/fruit/", "pear.txt"},
		{"tftp://" + tftpd.Start(t, tftpd.Options{Tree: tree}).Addr + "/fruit/pear.txt", "A pear is a fruit."},
		{"cso://" + csod.Start(t, csod.Options{Replies: map[string]string{"pear": "-200:1:    name: Alice Pear\r\n"}}).Addr + "/pear", "Alice Pear"},
		{"finger://" + queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{"alice": "Login: alice\r\n"}}).Addr + "/alice", "Login: alice"},
		{"whois://" + queryd.Start(t, queryd.Options{Scheme: "whois", Reply: func(q string) string { return "domain: " + q + "\r\n" }}).Addr + "/example.org", "domain: example.org"},
		{"dict://" + dictd.Start(t, dictd.Options{Words: map[string]string{"pear": "A sweet fruit.\r\n"}}).Addr + "/d:pear", "A sweet fruit."},
		{"news://" + news.Addr + "/*", "example.fruit"},
		{"news://" + news.Addr + "/example.fruit", "Pears"},
		{"nntp://" + news.Addr + "/example.fruit/1", "A pear is a fruit."},
		{"wais://" + wais.Addr + "/fruit?pear", "pear.txt"},
		{"prospero://" + prosperod.Start(t, prosperod.Options{Tree: tree}).Addr + "//fruit", "apple.txt"},
		{"telnet://127.0.0.1/", "urlget serve --terminal"},
		{"mailto:alice@example.org", "Edit the address"},
	} {
		b.open(stop.url)
		b.shows(stop.want)
	}
}

func TestMenus(t *testing.T) {
	b := newTab(t)
	b.open(startGopher(t).URL + "/1/")
	b.shows("Welcome to the fruit hole.", "Search the fruit")
	b.keep("menu.png")
	for _, link := range []string{"fruit", "citrus", "lemon", "sour.txt"} {
		b.follow(link)
	}
	b.shows("Lemons are sour.")
	b.run(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.until(`document.querySelector("main")?.innerText.includes("sour.txt")`)
}

func TestCapsule(t *testing.T) {
	tree := fstest.MapFS{"index.gmi": {Data: []byte("# The fruit capsule\n\nNotes on fruit, one page for each kind. " + strings.Repeat("Pears are eaten in autumn. ", 12) +
		"\n\n=> pears.gmi 2026-10-03 Pears in autumn\n=> apples.gmi 2026-09-12 Apples\n=> gemini://other.example/ A friend\n=> pear.svg A drawing\n\n## Kinds\n\n* Apples\n* Pears\n* Lemons\n\n" +
		"> A pear is ripe for ten minutes.\n\n### A drawing in text\n\n```a pear\n   (\n  ( )\n (   )\n```\n")},
		"pears.gmi": {Data: []byte("# Pears in autumn\n=> . Back\n")},
		"pear.svg":  {Data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="18" fill="green"/></svg>`)}}
	_, trusted := servers.Certificate()
	s := geminid.Start(t, geminid.Options{Tree: tree, Types: map[string]string{".gmi": "text/gemini", ".svg": "image/svg+xml"}})
	b := newTab(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = trusted })
	b.open("gemini://" + s.Addr + "/index.gmi")
	b.shows("The fruit capsule", "2026-10-03")
	if got := eval[string](b, `document.querySelector(".contents").innerText`); got != "Kinds\nA drawing in text" {
		t.Errorf("the contents are %q", got)
	}
	b.keep("capsule.png")
	if n := eval[int](b, `document.querySelector(".prose img").naturalWidth`); n != 0 {
		t.Error("the image was loaded before a request")
	}
	b.run(click(`.prose summary`))
	b.until(`document.querySelector(".prose img").naturalWidth > 0`)
	b.follow("Pears in autumn")
	b.follow("Back")
}

func TestSearch(t *testing.T) {
	b := newTab(t)
	b.open(startGopher(t).URL + "/1/")
	b.loaded(chromedp.SendKeys("#search1", "pear"+kb.Enter))
	b.shows("A pear, found")
}

func TestForms(t *testing.T) {
	b := newTab(t)
	b.open(startGopher(t).URL + "/1/")
	b.follow("Sign the guest book")
	b.shows("Please sign.", "Your name:")
	b.run(chromedp.SetValue("#a1", "Bob"), chromedp.SetValue("#a2", "green"), chromedp.SetValue("#a3", "one\ntwo"))
	b.keep("form.png")
	b.loaded(click(".questions button"))
	b.shows("Bob", "green", "one", "two")
}

func TestThreads(t *testing.T) {
	news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
		article("<1@example.org>", "Alice <alice@example.org>", "Which pears keep over winter?", "", "I have too many.", 0),
		article("<2@example.org>", "Bob <bob@example.org>", "Re: Which pears keep over winter?", "<1@example.org>", "> I have too many.\n\nConference pears. See http://pears.example/keep.html", 2),
		article("<3@example.org>", "Carol <carol@example.org>", "Re: Which pears keep over winter?", "<1@example.org> <2@example.org>", "Agreed.", 5),
		article("<4@example.org>", "Dave <dave@example.org>", "Re: Which pears keep over winter?", "<1@example.org>", "None.", 9),
		article("<5@example.org>", "Erin <erin@example.org>", "Grafting apples", "", "How?", 12),
	}}}})
	b := newTab(t)
	b.open("news://" + news.Addr + "/example.fruit")
	if got := eval[string](b, `[...document.querySelectorAll(".threads li")].map(e => e.className.match(/d\d+/)[0] + e.querySelector(".author").innerText).join()`); got != "d0Erin,d0Alice,d1Bob,d2Carol,d1Dave" {
		t.Errorf("the threads are %s", got)
	}
	b.keep("threads.png")
	b.loaded(click(`.threads li:nth-child(3) a`))
	b.shows("Conference pears.", "Bob <bob@example.org>")
	b.follow("<1@example.org>")
	b.shows("I have too many.")
}

func TestSortListings(t *testing.T) {
	b := newTab(t)
	b.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/software/")
	names := func() string {
		return eval[string](b, `[...document.querySelectorAll("tr.entry:not(.off) .name")].map(e => e.innerText).join()`)
	}
	b.loaded(click(`//th/a[.="Size"]`))
	if got := names(); got != "pictures,README,terminal-2.4.tar.gz,browser-1.0.tar.gz" {
		t.Errorf("by size: %s", got)
	}
	b.loaded(click(`//th/a[.="Size"]`))
	if got := names(); got != "browser-1.0.tar.gz,terminal-2.4.tar.gz,README,pictures" {
		t.Errorf("by size, the largest first: %s", got)
	}
	if got := eval[string](b, `document.querySelector("th[aria-sort]").getAttribute("aria-sort")`); got != "descending" {
		t.Errorf("the order is called %s", got)
	}
	b.keep("listing.png")
	b.run(chromedp.SendKeys("#filter", "tar"))
	b.until(`document.querySelectorAll("tr.entry:not(.off)").length < 3`)
	if got := names(); got != "browser-1.0.tar.gz,terminal-2.4.tar.gz" {
		t.Errorf("rows while the filter is typed: %s", got)
	}
	if got := eval[string](b, `[...document.querySelectorAll("#shown, .count[role]")].map(e => e.innerText).join()`); got != "2 of 4 entries,2 of 4 entries" {
		t.Errorf("the counts are %s", got)
	}
	b.loaded(chromedp.SendKeys("#filter", kb.Enter))
	if got := names(); got != "browser-1.0.tar.gz,terminal-2.4.tar.gz" {
		t.Errorf("the filter leaves %s", got)
	}
}

// TestReplay opens the archive of a page that changed, after its server has stopped.
func TestReplay(t *testing.T) {
	version := "first"
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<h1>The %s version</h1><a href=/gone>gone</a>", version)
	}))
	path := filepath.Join(t.TempDir(), "site.warc.gz")
	w, err := warc.Create(path, warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := fetch.New(&fetch.Options{Recorder: capture.New(w, nil, func(err error) { t.Error(err) })}, protocols.All)
	for _, step := range []struct{ version, path string }{{"first", "/"}, {"first", "/gone"}, {"second", "/"}} {
		version = step.version
		if step.version == "second" {
			time.Sleep(1100 * time.Millisecond) // archives have a resolution of seconds
		}
		c.ReadAll(t.Context(), web.URL+step.path, 1<<20)
	}
	c.ReadAll(t.Context(), "gopher://"+strings.TrimPrefix(web.URL, "http://")+"/1/", 1<<20) // this request fails
	c.Close()
	web.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	archive, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { archive.Close() })
	b := newTab(t, func(s *serve.Options, o *fetch.Options) {
		s.Archive, s.ArchiveOnly = archive, true
		o.Middleware = []fetch.Middleware{serve.Archived(archive, replay.Options{Only: true})}
		o.DialContext = func(context.Context, string, string) (net.Conn, error) {
			t.Error("the server got a connection")
			return nil, io.EOF
		}
	})
	b.open(web.URL + "/")
	b.inFrame("The second version")
	b.shows("Captured on")
	b.loaded(click(`//a[.="Earlier"]`))
	b.inFrame("The first version")
	b.loaded(click(`//a[.="Later"]`))
	b.inFrame("The second version")
	if n := eval[int](b, `[...document.querySelectorAll(".band a")].filter(a => a.textContent == "Live page").length`); n != 0 {
		t.Error("an archive alone has a live page")
	}
	b.loaded(click(`//a[.="Archive"]`))
	if got := eval[string](b, `[...document.querySelectorAll("h2, .host .name")].map(e => e.innerText).join(" ")`); !strings.HasSuffix(got, web.URL+" / /gone") {
		t.Errorf("the archive has %q", got)
	}
	b.run(chromedp.SendKeys("#filter", "gone"))
	b.until(`[...document.querySelectorAll(".entry")].filter(e => e.offsetParent).length === 1`)
	b.open(web.URL + "/")
	b.loaded(click(`//a[.="Captures"]`))
	if n := eval[int](b, `document.querySelectorAll(".captures li").length`); n != 2 {
		t.Errorf("%d captures", n)
	}
	if n := eval[int](b, `document.querySelectorAll(".calendar td a").length`); n != 1 {
		t.Errorf("%d days in the calendar", n)
	}
	b.loaded(click(`.captures li a`))
	b.inFrame("The first version")
	b.open(web.URL + "/never")
	b.shows("not in the archive")
	b.open(web.URL + "/gone")
	b.shows("does not have this page")
	b.run(click(`.failure summary`)) // Details
	b.shows("404")
}

// inFrame waits until the frame shows a text. Frames in other processes are separate targets, so it
// asks the server for its targets.
func (b *tab) inFrame(want string) {
	b.t.Helper()
	src := eval[string](b, `document.querySelector("iframe").src`)
	resp, err := http.Get(src)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(text), want) {
		b.t.Errorf("the frame has no %q but %s", want, text)
	}
}

// TestFramesDoNotConnect opens pages that ask the browser to connect to another host, behind elements
// that hide tags from a reader that knows no SVG, and in charsets that only the header names. The first
// page that succeeds connects; later ones would use the same connection.
func TestFramesDoNotConnect(t *testing.T) {
	connections := make(chan string, 100)
	trap := httptest.NewUnstartedServer(http.NotFoundHandler())
	trap.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections <- "a connection"
		}
	}
	trap.Start()
	t.Cleanup(trap.Close)
	hint := `<link rel=preconnect href="` + trap.URL + `/"><a target=_top href="` + trap.URL + `/">x</a>`
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(hint + `<img src="/done.png">`)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][2]string{
		"/style": {"text/html", "<svg><style/></svg>" + hint}, "/title": {"text/html", "<svg><title/></svg>" + hint},
		"/textarea": {"text/html", "<math><textarea/></math>" + hint}, "/wide": {"text/html; charset=utf-16le", wide},
		"/xhtml": {"application/xhtml+xml", `<html xmlns="http://www.w3.org/1999/xhtml"><title/><link rel="preconnect" href="` + trap.URL + `/"/><img src="/done.png"/></html>`},
		"/svg":   {"text/html", `<iframe src="/picture"></iframe>`},
		"/picture": {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><link xmlns="http://www.w3.org/1999/xhtml" rel="preconnect" href="` + trap.URL + `/"/>` +
			`<image href="/done.png"/></svg>`},
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done.png" {
			connections <- "done"
			return
		}
		w.Header().Set("Content-Type", pages[r.URL.Path][0])
		io.WriteString(w, pages[r.URL.Path][1])
		if pages[r.URL.Path][0] == "text/html" && r.URL.Path != "/svg" {
			io.WriteString(w, `<img src="/done.png">`)
		}
	}))
	t.Cleanup(evil.Close)
	b := newTab(t)
	for path := range pages {
		if path == "/picture" {
			continue
		}
		b.open(evil.URL + path)
		select {
		case what := <-connections:
			if what != "done" {
				t.Errorf("%s: %s", path, what)
			}
		case <-time.After(actionTimeout):
			t.Fatalf("%s was not loaded completely", path)
		}
	}
}

// TestHostilePage opens a hostile page and waits for its attempts.
func TestHostilePage(t *testing.T) {
	requests := make(chan string, 100)
	beacon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests <- r.URL.Path }))
	t.Cleanup(beacon.Close)
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	var served string
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/done.png" {
			requests <- "done"
			return
		}
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, served)
	}))
	t.Cleanup(evil.Close)
	b := newTab(t)
	script := `fetch("` + beacon.URL + `/script"); parent.location = "` + beacon.URL + `/top"; document.title = "evil"`
	served = `<script>` + script + `</script><svg onload='` + script + `'><img src=x onerror='` + script + `'>` +
		`<meta http-equiv=refresh content="0;url=` + beacon.URL + `/refresh"><iframe src="javascript:` + url.PathEscape(script) + `"></iframe>` +
		`<iframe srcdoc="<script>` + url.PathEscape(script) + `</script>"></iframe><form action="` + beacon.URL + `/form"><button autofocus>b</button></form>` +
		`<img src="file://` + secret + `"><object data="` + beacon.URL + `/object"></object><link rel=prefetch href="` + beacon.URL + `/prefetch">` +
		`<style>@import url("//` + strings.TrimPrefix(beacon.URL, "http://") + `/css");</style><base href="` + beacon.URL + `/"><img src="` + evil.URL + `/done.png">`
	b.open(evil.URL + "/")
	seen := []string{}
	for last := ""; last != "done"; {
		select {
		case last = <-requests:
			seen = append(seen, last)
		case <-time.After(actionTimeout):
			t.Fatalf("page was not loaded completely; requests: %q", seen)
		}
	}
	for _, what := range seen {
		// Requests through the server are as harmless as an image.
		if what != "done" && what != "/css" && what != "/object" && what != "/prefetch" {
			t.Errorf("the page did %s", what)
		}
	}
	if title := eval[string](b, `document.title`); strings.Contains(title, "evil") {
		t.Errorf("the title is %q", title)
	}
	if got := eval[string](b, `location.origin`); got != b.server.URL {
		t.Errorf("the browser is at %s", got)
	}
	if opaque := eval[bool](b, `(() => { try { return document.querySelector("iframe").contentDocument === null } catch (e) { return true } })()`); !opaque {
		t.Error("the frame has the origin of the page")
	}
}

// TestFirstPaint opens a menu of 10,000 entries.
func TestFirstPaint(t *testing.T) {
	const entries = 10_000
	var menu strings.Builder
	for i := range entries {
		fmt.Fprintf(&menu, "0Document number %d\t/doc/%d\t127.0.0.1\t70\r\n", i, i)
	}
	g := gopherd.Start(t, gopherd.Options{Tree: tree, Replies: map[string]string{"/many": menu.String() + ".\r\n"}})
	b := newTab(t)
	b.open(g.URL + "/1/") // the first page loads styles and scripts
	b.open(g.URL + "/1/many")
	if n := eval[int](b, `document.querySelectorAll(".entry").length`); n != entries {
		t.Fatalf("%d entries", n)
	}
	paint := eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	load := eval[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("first paint after %.0f ms, all %d entries after %.0f ms", paint, entries, load)
	if paint >= 300 && os.Getenv("URLGET_MEASURE") != "" {
		t.Errorf("first paint after %.0f ms, want less than 300", paint)
	}
}

// TestLongDirectory opens a directory of 10,000 files. In October 2026 its page had 122,211 nodes.
func TestLongDirectory(t *testing.T) {
	const entries, nodes = 10_000, 122_211 / 3
	many := fstest.MapFS{}
	for i := range entries {
		many[fmt.Sprintf("doc/document-%05d.txt", i)] = &fstest.MapFile{Data: make([]byte, i), ModTime: day}
	}
	f := ftpd.Start(t, ftpd.Options{Tree: many})
	b := newTab(t)
	b.open("ftp://" + f.Addr + "/") // the first page loads styles and scripts
	b.open("ftp://" + f.Addr + "/doc/")
	if n := eval[int](b, `document.querySelectorAll(".entry").length`); n != entries {
		t.Fatalf("%d entries", n)
	}
	if n := eval[int](b, `(() => { let n = 0; const all = document.createTreeWalker(document, NodeFilter.SHOW_ALL); while (all.nextNode()) n++; return n })()`); n > nodes {
		t.Errorf("%d nodes, want at most %d", n, nodes)
	}
	paint := eval[float64](b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`)
	load := eval[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("first paint after %.0f ms, all %d entries after %.0f ms", paint, entries, load)
	if (paint >= 300 || load >= 2000) && os.Getenv("URLGET_MEASURE") != "" {
		t.Errorf("first paint after %.0f ms, complete after %.0f ms, want less than 300 and 2000", paint, load)
	}
	b.run(chromedp.SendKeys("#filter", "09999"))
	b.until(`document.querySelectorAll(".entry:not(.off)").length === 1`)
	b.loaded(click(`//nav[@class="order"]/a[.="Size"]`))
	b.loaded(click(`//nav[@class="order"]/a[.="Size"]`))
	if got := eval[string](b, `document.querySelector(".list li").innerText`); !strings.HasPrefix(got, "document-09999.txt") {
		t.Errorf("the largest file is %q", got)
	}
	b.loaded(click(`//nav[@aria-label="Layout"]/a[.="table"]`))
	if n := eval[int](b, `document.querySelectorAll("tr.entry").length`); n != entries {
		t.Errorf("%d rows in the table", n)
	}
}

// TestKeyboard uses a page without a mouse.
func TestKeyboard(t *testing.T) {
	b := newTab(t)
	press := func(key string) { b.t.Helper(); b.run(chromedp.KeyEvent(key)) }
	active := func() string {
		return eval[string](b, `document.activeElement.innerText || document.activeElement.id || document.activeElement.name`)
	}
	b.open(startGopher(t).URL + "/1/")
	b.blur()
	var order []string
	for range 6 {
		press(kb.Tab)
		order = append(order, active())
	}
	if got := strings.Join(order, ","); got != "Skip to content,Home,Reload,url,About this page,Menu" {
		t.Errorf("Tab leads to %s", got)
	}
	if eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
		t.Error("the focused element is not visible")
	}
	b.blur()
	press("/")
	if got := eval[string](b, `document.activeElement.id`); got != "url" {
		t.Errorf("/ leads to %q", got)
	}
	b.blur()
	press("j")
	first := active()
	if first != "fruit" {
		t.Errorf("j leads to %q, not to the first entry", first)
	}
	press("j")
	press("k")
	if active() != first {
		t.Errorf("j and k lead from %q to %q", first, active())
	}
	b.run(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll("main a")].find(a => a.innerText == "fruit").focus()`))
	b.loaded(chromedp.KeyEvent(kb.Enter))
	b.shows("pear.txt")
	b.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/fruit/")
	b.blur()
	press("j") // not the directories above, the layouts, the orders
	if active() != "citrus" {
		t.Errorf("j leads to %q, not to the first entry", active())
	}
	press("#")
	if got := eval[string](b, `[1, 2].map(n => document.querySelector(`+"`[data-number=\"${n}\"]`"+`).innerText).join()`); got != "citrus,apple.txt" {
		t.Errorf("the first numbers are on %s", got)
	}
	press("#")
	b.blur()
	b.loaded(chromedp.KeyEvent("u"))
	b.shows("software")
	b.follow("fruit")
	b.follow("apple.txt")
	b.blur()
	b.loaded(chromedp.KeyEvent("n"))
	b.shows("A pear is a fruit")
	b.loaded(chromedp.KeyEvent("p"))
	b.shows("keeps the doctor away")
	press("i")
	b.until(`document.querySelector("#about").matches(":popover-open")`)
	press(kb.Escape)
	b.until(`!document.querySelector("#about").matches(":popover-open")`)
	press("#") // then the number of a link, here of the directory above
	press("1")
	b.loaded(chromedp.KeyEvent(kb.Enter))
	b.shows("software")
	b.loaded(chromedp.KeyEvent("?"))
	b.shows("number the links")
}

// TestPhone uses a window of 360 pixels.
func TestPhone(t *testing.T) {
	b := newTab(t)
	b.screen(360, 740, "light")
	for _, u := range []string{startGopher(t).URL + "/1/", "ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/software/"} {
		b.open(u)
		if width := eval[int](b, `document.documentElement.scrollWidth`); width > 360 {
			t.Errorf("%s: the page is %d pixels wide", u, width)
		}
		if size := eval[float64](b, `parseFloat(getComputedStyle(document.querySelector(".name")).fontSize)`); size < 14 {
			t.Errorf("%s: the text has %g pixels", u, size)
		}
	}
	b.keep("phone.png")
}

func TestDark(t *testing.T) {
	b := newTab(t)
	b.screen(1000, 680, "dark")
	b.open(startGopher(t).URL + "/1/")
	if got := eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`); !strings.HasPrefix(got, "oklch(0.19 ") {
		t.Errorf("the paper is %s", got)
	}
	b.keep("dark.png")
}

// page serves an HTML page and returns its URL.
func page(t *testing.T, text string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}
