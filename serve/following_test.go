package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/serve"
)

const button = ">Follow</button>"

// follow presses the button of the page of a URL.
func (u *user) follow(rawURL string) page {
	u.t.Helper()
	p := u.post("/follow", fieldsOf(u.t, u.open(rawURL), button))
	p.want(u.t, http.StatusOK, ">Unfollow</button>")
	return p
}

var newsItem = regexp.MustCompile(`<li class="entry( unread)?"><time>([^<]*)</time><span class="name">(?:<span class="hidden">Unread: </span>)?(?:<a [^>]*>)?([^<]*)`)

// items returns the items of the page of followed pages. Unread ones begin with a star.
func (p page) items() string {
	var list []string
	for _, m := range newsItem.FindAllStringSubmatch(p.text, -1) {
		list = append(list, strings.Replace(m[1], " unread", "*", 1)+strings.TrimSpace(m[2]+" "+m[3]))
	}
	return strings.Join(list, "\n")
}

func wantItems(t *testing.T, p page, want ...string) {
	t.Helper()
	if got := p.items(); got != strings.Join(want, "\n") {
		t.Errorf("the items are\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A journal is an Atom feed whose entries and state change.
type journal struct {
	*httptest.Server
	entries atomic.Value // string
	hits    atomic.Int64
}

func newJournal(t *testing.T, entries string) *journal {
	j := &journal{}
	j.entries.Store(entries)
	j.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch text := j.entries.Load().(string); {
		case r.URL.Path != "/feed":
			io.WriteString(w, "The page "+r.URL.Path)
		case text == "":
			http.Error(w, "out of order", http.StatusInternalServerError)
		default:
			j.hits.Add(1)
			w.Header().Set("Content-Type", "application/atom+xml")
			io.WriteString(w, "<feed><title>Journal</title>"+text+"</feed>")
		}
	}))
	t.Cleanup(j.Close)
	return j
}

func entry(title, date string) string {
	return `<entry><title>` + title + `</title><link href="/` + title + `"/><updated>` + date + `</updated></entry>`
}

func TestPagesOfEachKindAreFollowed(t *testing.T) {
	t.Parallel()
	cfg, trusted := servers.Certificate()
	log := geminid.Start(t, geminid.Options{TLS: cfg, Types: map[string]string{".gmi": "text/gemini"}, Tree: fstest.MapFS{
		"log.gmi": {Data: []byte("# Log\n=> a.gmi 2026-10-03 - Grafting\n=> /about About\n=> b.gmi 2026-09-01\n")}, "a.gmi": {Data: []byte("How to graft.\n")},
		"plain.gmi": {Data: []byte("# Plain\n=> a.gmi Grafting\n")}}})
	hole := gopherd.Start(t, gopherd.Options{Text: true, Items: map[string][]string{"/": {"iA phlog\t\t$HOST\t$PORT", "02026-08-01 Ladders\t/l\t$HOST\t$PORT", "0No date     2026-Nov-29     1 KB\t/n\t$HOST\t$PORT", "1..      \t/up\t$HOST\t$PORT"}}})
	group := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: []nntpd.Article{
		{ID: "<1@x>", Text: "From: a\nNewsgroups: x.y\nSubject: Pears\nDate: Wed, 16 Sep 2026 12:00:00 +0000\nMessage-ID: <1@x>\n\nx\n"}}}}})
	feed := newJournal(t, entry("old", "2020-01-01T00:00:00Z")+entry("future", "2999-01-01T00:00:00Z")+`<entry><title type="html">&lt;b>Bold</title><updated>2026-09-20T00:00:00Z</updated></entry>`)
	u := start(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = trusted })
	u.get("/following").want(t, http.StatusOK, "You follow no page yet.")
	for _, rawURL := range []string{"gemini://" + log.Addr + "/log.gmi", hole.URL + "/1/", "news://" + group.Addr + "/x.y", feed.URL + "/feed"} {
		u.follow(rawURL)
	}
	p := u.get("/following")
	p.want(t, http.StatusOK, "8 unread", "kept until urlget ends", ">Journal</a>")
	wantItems(t, p, "*2026-10-03 Grafting", "*2026-09-20 Bold", "*2026-09-16 Pears", "*2026-09-01 2026-09-01", "*2026-08-01 Ladders", "*2020-01-01 old", "*No date", "*future")
	u.get(p.find(t, "/view?", "/a.gmi")).want(t, http.StatusOK, "How to graft.")
	u.get("/").want(t, http.StatusOK, "New on followed pages", "Pears")
	for _, rawURL := range []string{"gemini://" + log.Addr + "/plain.gmi", "data:,text", feed.URL + "/page", write(t, "x.txt", "a")} {
		u.open(rawURL).without(t, button)
	}
}

// TestPagesOfferTheirFeed checks the links of pages to feeds; only the first one is offered.
func TestPagesOfferTheirFeed(t *testing.T) {
	t.Parallel()
	feed := newJournal(t, entry("a", "2026-01-01T00:00:00Z"))
	u := start(t)
	for head, offered := range map[string]bool{
		`<link rel="alternate" type="application/atom+xml" href="` + feed.URL + `/feed"><link rel=alternate type=application/rss+xml href=/other>`: true,
		`<link rel="feed alternate" type="application/rss+xml; charset=utf-8" href="` + feed.URL + `/feed">`:                                       true,
		`<link rel="alternate" hreflang="de" href="/de">`:                                                                                          false,
		`<link rel="alternate stylesheet" type="application/rss+xml" href="/feed">`:                                                                false,
		`<link rel="alternate" type="application/atom+xml" href="file:///etc/passwd">`:                                                             false,
		`<link rel="alternate" type="application/atom+xml" href="mailto:a@b.example">`:                                                             false,
		`<a rel="alternate" type="application/atom+xml" href="/feed">no link of the head</a>`:                                                      false,
	} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil // it is detected
			fmt.Fprintf(w, "<!DOCTYPE html><title>Site</title>%s<p>Text", head)
		}))
		p := u.open(site.URL)
		if !offered {
			p.without(t, button, "Feed of this page")
			site.Close()
			continue
		}
		p.want(t, http.StatusOK, "Feed of this page")
		u.get(p.find(t, "/view?", "feed")).want(t, http.StatusOK, "<h1>Journal")
		u.post("/follow", fieldsOf(t, p, button)).want(t, http.StatusOK, "<h1>Journal", ">Unfollow</button>")
		u.get("/following").want(t, http.StatusOK, ">Site</a>")
		p = u.open(site.URL)
		p.want(t, http.StatusOK, ">Unfollow</button>")
		u.post("/unfollow", fieldsOf(t, p, ">Unfollow</button>"))
		site.Close()
	}
}

func TestNewItemsAreUnreadUntilTheyAreOpened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	keep := func(o *serve.Options, _ *fetch.Options) { o.History = file }
	j := newJournal(t, entry("a", "2026-01-01T00:00:00Z")+entry("b", "2026-02-01T00:00:00Z")+entry("none", ""))
	u := start(t, keep)
	u.follow(j.URL + "/feed")
	p := u.get("/following")
	wantItems(t, p, "*2026-02-01 b", "*2026-01-01 a", "*none")
	u.get(p.find(t, "/view?", "/a"))
	wantItems(t, u.get("/following"), "*2026-02-01 b", "2026-01-01 a", "*none")
	if n := j.hits.Load(); n != 3 {
		t.Errorf("%d requests, want two of the page and one to update", n)
	}
	u.post("/following", url.Values{"read": {"1"}}).want(t, http.StatusOK, "Nothing is unread.")
	j.entries.Store(entry("c", "2026-03-01T00:00:00Z") + entry("late", "") + entry("a", "2026-01-01T00:00:00Z") + entry("none", ""))
	p = u.post("/following", url.Values{"update": {"1"}})
	p.want(t, http.StatusOK, "2 unread")
	items := strings.Split(p.items(), "\n")
	if len(items) != 4 || !regexp.MustCompile(`^\*2\d\d\d-\d\d-\d\d late$`).MatchString(items[0]) || items[1] != "*2026-03-01 c" {
		t.Errorf("an item without a date is not as old as its first update: %q", items)
	}
	again := start(t, keep).get("/following") // a later run
	again.want(t, http.StatusOK, "2 unread", "kept in "+file)
	if got := again.items(); got != p.items() {
		t.Errorf("a later run shows\n%s\nwant\n%s", got, p.items())
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	u.post("/forget", nil)
	if text, _ := os.ReadFile(file); strings.Contains(string(text), `"read"`) || !strings.Contains(string(text), `"follow":"yes"`) {
		t.Errorf("the cleared history is %s", text)
	}
	u.post("/unfollow", fieldsOf(t, u.get("/following"), ">Unfollow</button>")).want(t, http.StatusOK, button)
	start(t, keep).get("/following").want(t, http.StatusOK, "You follow no page yet.")
}

func TestTheFailureOfAFollowedPageIsBesideIt(t *testing.T) {
	t.Parallel()
	good, bad := newJournal(t, entry("good", "2026-01-01T00:00:00Z")), newJournal(t, entry("bad", "2026-01-02T00:00:00Z"))
	u := start(t)
	u.follow(good.URL + "/feed")
	u.follow(bad.URL + "/feed")
	u.get("/following").without(t, `class="wrong"`)
	bad.entries.Store("")
	p := u.post("/following", url.Values{"update": {"1"}})
	p.want(t, http.StatusOK, `<p class="wrong">127.0.0.1 has a problem of its own.</p>`)
	wantItems(t, p, "*2026-01-02 bad", "*2026-01-01 good") // those of the last update stay
	bad.entries.Store("<entry><title>half</title></entry><entry")
	u.post("/following", url.Values{"update": {"1"}}).want(t, http.StatusOK, "half", `<p class="wrong">`)
	bad.Close()
	u.post("/following", url.Values{"update": {"1"}}).want(t, http.StatusOK, "127.0.0.1 refuses connections on this port.")
}

// Another site can neither follow a page nor start an update, and a page that another server led to is
// updated without what belongs to the user.
func TestOnlyTheUserFollowsPages(t *testing.T) {
	t.Parallel()
	j := newJournal(t, entry("a", "2026-01-01T00:00:00Z"))
	var locked atomic.Bool
	secret := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); locked.Load() && password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/atom+xml")
		io.WriteString(w, "<feed><title>S</title>"+entry("private", "2026-01-01T00:00:00Z")+"</feed>")
	}))
	t.Cleanup(secret.Close)
	u := start(t)
	form := fieldsOf(t, u.open(j.URL+"/feed"), button)
	evil := u.request(http.MethodPost, "/follow", strings.NewReader(form.Encode()))
	evil.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	evil.Header.Set("Origin", "http://evil.example")
	u.do(evil).want(t, http.StatusForbidden)
	forged := url.Values{"u": {secret.URL}, "s": {form.Get("s")}}
	u.post("/follow", forged).want(t, http.StatusForbidden)
	u.get("/following").want(t, http.StatusOK, "You follow no page yet.")

	u.post("/follow", form)
	before := j.hits.Load()
	r := u.request(http.MethodGet, "/following", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if u.do(r).want(t, http.StatusOK, "Journal"); j.hits.Load() != before {
		t.Error("a link of another site has started an update")
	}

	lead := u.open(web(t, "text/html", `<a href="`+secret.URL+`/feed">x</a>`).URL)
	u.post("/follow", fieldsOf(t, u.get(u.get(lead.find(t, "/content?")).find(t, "/view?", "/feed")), button))
	locked.Store(true)
	u.open(strings.Replace(secret.URL, "http://", "http://joe:secret@", 1)+"/typed").want(t, http.StatusOK, "private")
	p := u.get("/following")
	p.want(t, http.StatusOK, `<p class="wrong">The update failed: authentication failed`)
	p.without(t, "private")
	start(t).get("/following").want(t, http.StatusOK, "You follow no page yet.") // another user
}

func TestFollowedPagesAreBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "history")
	var text strings.Builder
	for i := range 210 {
		fmt.Fprintf(&text, `{"time":"2026-01-02T03:04:05Z","url":"data:application/atom+xml,%d","title":"x%d","follow":"yes"}`+"\n", i, i)
	}
	text.WriteString(`{"url":"data:,0","follow":"maybe"}` + "\n" + `{"url":"relative","follow":"yes"}` + "\n")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var many strings.Builder
	for i := range 100 {
		many.WriteString(entry(fmt.Sprint("e", i), fmt.Sprintf("2026-01-01T00:%02d:00Z", i%60)))
	}
	j := newJournal(t, many.String())
	u := start(t, func(o *serve.Options, _ *fetch.Options) { o.History = file })
	u.post("/follow", fieldsOf(t, u.open(j.URL+"/feed"), button)).want(t, http.StatusBadGateway, "200 pages are followed")
	p := u.get("/following")
	if n := strings.Count(p.text, `aria-label="Unfollow `); n != 200 {
		t.Errorf("%d pages are followed", n)
	}
	p.want(t, http.StatusOK, "neither a feed nor a listing")

	few := start(t)
	few.follow(j.URL + "/feed")
	if n := strings.Count(few.get("/following").items(), "\n") + 1; n != 40 {
		t.Errorf("%d items of one page", n)
	}
}
