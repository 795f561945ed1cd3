//go:build integration

package browser

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/serve"
)

const art = "       ,--./,-.        the orchard in June, drawn from the gate, looking up the slope towards the house\n" +
	"      / #      \\\n     |          |\n      \\        /\n       `._,._,'\n"

const letter = "We meet at nine at the upper gate. Bring gloves; ladders are there. The plan is at gopher://gopher.example/1/plan and the list " +
	"of trees hangs in the shed.\r\n\r\nIn April the first trees to flower are the pears, then the cherries, and last of all the apples, which wait until no more " +
	"frost is to be expected.\r\n"

// postcard is a message with a text, a page, a table and a picture of one pixel.
const postcard = "From: Ann Pear <ann@orchard.example>\nTo: joe@example.org\nSubject: Pears of the orchard\nDate: Mon, 2 Sep 2024 10:00:00 +0000\n" +
	"Content-Type: multipart/mixed; boundary=B\n\n--B\n\nHello Joe,\n\nthe pears are ripe.\n\n> Are the pears ripe?\n> Joe\n\nAnn\n" +
	"--B\nContent-Type: text/html\n\n<h1>Pears</h1><img src=http://tracker.test/x.png>\n--B\nContent-Type: text/csv; name=table.csv\n\na,b\n" +
	"--B\nContent-Type: image/gif; name=pear.gif\nContent-Transfer-Encoding: base64\n\nR0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\n--B--\n"

// gallery starts servers and returns the URLs of pages that show the design.
func gallery(t *testing.T) (urls map[string]string, trusted *tls.Config) {
	cfg, trusted := servers.Certificate()
	hole := gopherd.Start(t, gopherd.Options{Text: true, Tree: fstest.MapFS{"about": {Data: []byte(letter)}}, Items: map[string][]string{"/": {
		"0About this server\t/about\t$HOST\t$PORT", "1The orchard\t/orchard\t$HOST\t$PORT", "i\t\t$HOST\t$PORT", "iWelcome to the orchard.\t\t$HOST\t$PORT",
		"i" + strings.Join(strings.Split(strings.TrimRight(art, "\n"), "\n"), "\t\t$HOST\t$PORT\r\ni") + "\t\t$HOST\t$PORT", "i\t\t$HOST\t$PORT",
		"7Search the orchard\t/find\t$HOST\t$PORT", "hThe page of the orchard on the web\tURL:http://www.example/\t$HOST\t$PORT",
		"8A session on the orchard's terminal\t\tterm.example\t23", "9All pears\t/pears.zip\t$HOST\t$PORT", "IA map\t/map.gif\t$HOST\t$PORT", "3The cellar is closed\t\t$HOST\t$PORT"}}})
	files, many := fstest.MapFS{}, fstest.MapFS{}
	for i, name := range []string{"archive/x", "images/x", "README", "orchard-2026.tar.gz", "map.png", "notes-1994.txt", "notes-1995.txt", "pears.zip", "song.mp3",
		"a-name-that-is-rather-long-because-somebody-put-the-whole-title-of-a-paper-into-it.pdf"} {
		files[name] = &fstest.MapFile{Data: make([]byte, 1<<(2*i)), ModTime: day.AddDate(i, -i, i)}
	}
	for i := range 1200 {
		many[fmt.Sprintf("tree-%04d.txt", i)] = &fstest.MapFile{Data: make([]byte, i), ModTime: day.AddDate(0, 0, i)}
	}
	capsule := geminid.Start(t, geminid.Options{TLS: cfg, Types: map[string]string{".gmi": "text/gemini"}, Replies: map[string]string{"/members": "60 Members only\r\n"}, Tree: fstest.MapFS{
		"index.gmi": {Data: []byte("# A capsule of trees\n\nWelcome. The orchard lies on the south slope above the river. In April the first trees to flower are the pears, then the cherries, and last of all " +
			"the apples, which wait until no more frost is to be expected.\n\n## Places\n\n=> log.gmi 2026-10-03 The log\n=> members Members only\n=> https://www.example/ A page of the web\n=> gopher://orchard.example/ The gopher hole\n\n" +
			"> Nobody who plants pears plants them for himself.\n\n## Varieties\n\n* Conference\n* Beurré Hardy\n* A very long item that explains at some length why the orchard has forty-one varieties and not forty, which is a story in itself\n\n" +
			"### In June\n\n```the orchard\n" + art + "```\n")}}})
	group := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
		article("<1@example.org>", "Alice <alice@example.org>", "Which pears keep over winter?", "", "I have too many.", 0),
		article("<2@example.org>", "Bob <bob@example.org>", "Re: Which pears keep over winter?", "<1@example.org>", "> I have too many.\n> Really.\n\nConference pears. See http://pears.example/keep.html", 2),
		article("<3@example.org>", "Carol <carol@example.org>", "Re: Which pears keep over winter?", "<1@example.org> <2@example.org>", "Agreed.", 5),
		article("<5@example.org>", "Erin <erin@example.org>", "Grafting apples", "", "How?", 12)}}}})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/feed":
			w.Header().Set("Content-Type", "application/atom+xml")
			io.WriteString(w, `<feed xmlns="http://www.w3.org/2005/Atom"><title>Fruit</title><entry><title>Apples</title><link href="/apples"/><updated>2026-09-01T00:00:00Z</updated>`+
				`<summary>They are red.</summary></entry><entry><title>Pears</title><link href="/pears"/><updated>2026-10-01T00:00:00Z</updated><summary>They are ripe.</summary></entry></feed>`)
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<h1>A page</h1><p>"+letter)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	mail := filepath.Join(t.TempDir(), "message.eml")
	if err := os.WriteFile(mail, []byte(postcard), 0o666); err != nil {
		t.Fatal(err)
	}
	host := telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) {
		c.Send("\x1b[1;33;44m Library of the fruit hole \x1b[m\r\n\r\n 1  Pears\r\n 2  Apples\r\n\r\nYour choice: ")
		c.Read(make([]byte, 1))
	}})
	return map[string]string{"home": "", "following": "/following", "thread": "news://" + group.Addr + "/example.fruit", "menu": hole.URL + "/1/", "text": hole.URL + "/0/about", "directory": "ftp://" + ftpd.Start(t, ftpd.Options{Tree: files}).Addr + "/",
		"long": "ftp://" + ftpd.Start(t, ftpd.Options{Tree: many}).Addr + "/", "capsule": "gemini://" + capsule.Addr + "/index.gmi", "identity": "gemini://" + capsule.Addr + "/members",
		"group": "news://" + group.Addr + "/example.fruit", "article": "nntp://" + group.Addr + "/example.fruit/2", "feed": web.URL + "/feed", "page": web.URL + "/page", "mail": "file://" + mail,
		"about": hole.URL + "/1/", "chrome": hole.URL + "/1/", "error": "gopher://orchrad.invalid/", "absent": web.URL + "/absent", "session": "telnet://" + host.Addr + "/"}, trusted
}

// TestGallery shows pages on a screen and on a phone, in light and dark mode. URLGET_GALLERY is a directory
// for their pictures.
func TestGallery(t *testing.T) {
	urls, trusted := gallery(t)
	dir := t.TempDir()
	b := newTab(t, sessions(t), func(s *serve.Options, o *fetch.Options) {
		o.TLS, s.Identities, s.Bookmarks = trusted, dir, filepath.Join(dir, "bookmarks")
	})
	for _, name := range []string{"feed", "capsule", "group", "menu", "error"} {
		b.open(urls[name])
		if eval[bool](b, `!!document.querySelector('form[action="/follow"]')`) {
			b.loaded(click(`form[action="/follow"] button`))
		}
	}
	for name, rawURL := range urls {
		for _, width := range []int64{1280, 375} {
			for _, scheme := range []string{"light", "dark"} {
				b.screen(width, map[int64]int64{1280: 800, 375: 720}[width], scheme)
				if rawURL == "" || strings.HasPrefix(rawURL, "/") {
					b.run(chromedp.Navigate(b.server.URL + "/" + strings.TrimPrefix(rawURL, "/")))
				} else {
					b.open(rawURL)
				}
				if name == "thread" {
					b.follow("whole thread")
				}
				if name == "session" {
					b.loaded(click(`.failure button`))
					b.until(`document.getElementById("lines").innerText.includes("Your choice:")`)
				}
				if button := map[string]string{"about": "About this page", "chrome": "Menu"}[name]; button != "" {
					b.run(click(`//header/button[.="` + button + `"]`))
					b.until(`!!document.querySelector(":popover-open")`)
				}
				b.blur()
				for what, script := range map[string]string{"": problems, "overflow: ": overflow} {
					if found := eval[[]string](b, script); len(found) > 0 {
						t.Errorf("%s, %d pixels, %s: %s%s", name, width, scheme, what, strings.Join(found[:min(len(found), 4)], "\n"))
					}
				}
				to := os.Getenv("URLGET_GALLERY")
				if to == "" {
					continue
				}
				picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(to, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), picture, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
