//go:build integration

package browser

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/serve"
)

// problems is a script that returns violations of WCAG 2.2 (level AA) on a page: problems for users
// who are blind, have low vision or use no mouse.
const problems = `(() => {
  const list = [];
  const say = (what, e) => list.push(what + ": " + e.outerHTML.slice(0, 160));
  const shown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const name = (e) => (e.getAttribute("aria-label") ||
    (e.getAttribute("aria-labelledby") || "").split(/\s+/).map((id) => id && document.getElementById(id)?.textContent).join(" ") ||
    [...(e.labels || [])].map((l) => l.textContent).join(" ") || e.getAttribute("alt") || e.getAttribute("title") || "").trim();

  // Labels and names.
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (!name(e)) say("no label", e);
  for (const e of document.querySelectorAll("a[href], button, summary")) if (!name(e) && !e.textContent.trim()) say("no name", e);
  for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) say("no alternative", e);
  for (const e of document.querySelectorAll("iframe")) if (!e.title) say("no title", e);
  for (const e of document.querySelectorAll("svg.icon")) if (e.getAttribute("aria-hidden") !== "true") say("an icon that is read", e);
  for (const e of document.querySelectorAll("th")) if (!e.hasAttribute("scope")) say("no scope", e);

  // Landmarks, headings, language, identifiers.
  for (const [what, n] of [["main", 1], ["body > header", 1], ["body > footer", 1], ["h1", 1]]) {
    const found = document.querySelectorAll(what).length;
    if (found !== n) list.push(found + " of " + what);
  }
  for (const e of document.querySelectorAll("nav, aside, section, [role=search], [role=region]")) if (!name(e)) say("a landmark without a name", e);
  if (!document.documentElement.lang) list.push("no language");
  if (!document.title) list.push("no title");
  if (!document.querySelector('meta[name=viewport]')) list.push("no viewport");
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) list.push("twice: " + id);
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) say("a level of headings is left out", e);
    level = own;
  }

  // The structure of lists and tables, and roles (the rules of axe for WCAG 2.0 A).
  for (const e of document.querySelectorAll("ul > *, ol > *")) if (e.tagName !== "LI") say("not an item of a list", e);
  for (const e of document.querySelectorAll("li")) if (!e.parentElement.matches("ul, ol")) say("an item without a list", e);
  for (const e of document.querySelectorAll("dl > *")) if (!e.matches("dt, dd")) say("neither term nor definition", e);
  for (const e of document.querySelectorAll("summary")) if (!e.parentElement.matches("details")) say("a summary without details", e);
  for (const e of document.querySelectorAll("table")) if (!e.querySelector("th")) say("a table without headers", e);
  for (const e of document.querySelectorAll("a a, a button, button a, summary a, summary button, a input")) say("a control within a control", e);
  for (const e of document.querySelectorAll("div[aria-label], span[aria-label], p[aria-label], pre[aria-label]")) if (!e.hasAttribute("role")) say("a label without a role", e);
  for (const e of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
    for (const id of (e.getAttribute("aria-labelledby") || e.getAttribute("aria-describedby")).split(/\s+/)) if (!document.getElementById(id)) say("a reference to nothing", e);
  for (const e of document.querySelectorAll("[aria-hidden=true]")) if (e.querySelector("a, button, input") || e.tabIndex >= 0) say("a hidden control", e);
  for (const e of document.querySelectorAll("[role]"))
    if (!["search", "region", "status", "alert", "group", "note", "presentation", "log", "img"].includes(e.getAttribute("role"))) say("an unknown role", e);
  const labels = [...document.querySelectorAll("nav, aside, [role=search], [role=region]")].map((e) => e.tagName + name(e));
  for (const l of labels) if (labels.indexOf(l) !== labels.lastIndexOf(l)) list.push("two landmarks have the name " + l);
  for (const e of document.querySelectorAll("body > *"))
    if (!e.matches("header, main, nav, aside, footer, .skip, script") && e.textContent.trim()) say("outside of the landmarks", e);
  if (/user-scalable\s*=\s*no|maximum-scale/.test(document.querySelector("meta[name=viewport]")?.content)) list.push("no zoom");
  for (const e of document.querySelectorAll("body *")) {
    const s = getComputedStyle(e);
    if (shown(e) && /auto|scroll/.test(s.overflowX + s.overflowY) && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1) &&
      e.tabIndex < 0 && !e.querySelector("a[href], button, input")) say("scrolled by the mouse only", e);
  }

  // Links in text are not told by color only (1.4.1), and controls have 24 pixels (2.5.8).
  for (const e of document.querySelectorAll("p a[href]:not(.button), pre a[href], li a[href], td a[href]"))
    if (shown(e) && !e.closest("nav[popover]") && !getComputedStyle(e).textDecorationLine.includes("underline")) say("a link that only its color shows", e);
  for (const e of document.querySelectorAll("button, input:not([type=hidden]), select, summary, .button")) {
    const r = e.getBoundingClientRect();
    if (shown(e) && (r.width < 24 || r.height < 24)) say("small: " + r.width.toFixed(1) + "x" + r.height.toFixed(1), e);
  }

  // The focus order is the order on the page.
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) say("an order of its own", e);
  const first = document.querySelector("a[href], button, input:not([type=hidden])");
  if (!first || first.getAttribute("href") !== "#main") list.push("the first link does not skip to the content");

  // Contrast: 4.5 to 1 (WCAG 1.4.3).
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const known = new Map(); // the colors of the style are not in RGB
  const rgb = (c) => {
    if (!known.has(c)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = c;
      canvas.fillRect(0, 0, 1, 1);
      known.set(c, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(c);
  };
  const light = ([r, g, b]) => {
    const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
    }
    return [255, 255, 255];
  };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !shown(e)) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) say("contrast " + ratio.toFixed(2), e);
  }
  return list;
})()`

// samples starts servers and returns a URL for each kind of page.
func samples(t *testing.T) (urls []string, trusted *tls.Config) {
	news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
		article("<1@example.org>", "Alice", "Pears", "", "> I have\n\nSee http://pears.example/", 0),
		article("<2@example.org>", "Bob", "Re: Pears", "<1@example.org>", "Yes.", 0)}}}})
	g, f := startGopher(t), ftpd.Start(t, ftpd.Options{Tree: tree})
	many := fstest.MapFS{}
	for i := range 1200 {
		many[fmt.Sprintf("file-%04d", i)] = &fstest.MapFile{ModTime: day}
	}
	_, trusted = servers.Certificate()
	gem := geminid.Start(t, geminid.Options{Types: map[string]string{".gmi": "text/gemini"}, Tree: fstest.MapFS{
		"a.gmi": {Data: []byte("# Fruit\n\nText, http://www.example/.\n=> b.gmi 2026-01-01 A link\n## Kinds\n* one\n> quoted\n```art\n" + strings.Repeat("----------", 30) + "\n```\n")}}})
	return []string{g.URL + "/1/", g.URL + "/0/guests%09%09%3F", g.URL + "/0/fruit/pear.txt", "gopher://127.0.0.1:1/1/", "ftp://" + f.Addr + "/software/",
		"ftp://" + ftpd.Start(t, ftpd.Options{Tree: many}).Addr + "/", "news://" + news.Addr + "/example.fruit", "nntp://" + news.Addr + "/example.fruit/2",
		page(t, "<h1>A page</h1>"), "data:image/gif;base64,R0lGODlhAQABAAAAADs=", "data:application/zip,PK", g.URL + "/7/find", "http://[",
		"telnet://127.0.0.1/", "gemini://" + gem.Addr + "/a.gmi",
		"data:application/rss+xml,<rss><channel><title>News</title><item><title>Pears</title><link>http://www.example/</link><description>They are ripe.</description></item></channel></rss>"}, trusted
}

// TestAccess checks each kind of page with the light and the dark color scheme.
func TestAccess(t *testing.T) {
	urls, trusted := samples(t)
	b := newTab(t, func(s *serve.Options, o *fetch.Options) {
		o.TLS, s.Identities = trusted, t.TempDir()
	})
	for _, scheme := range []string{"light", "dark"} {
		b.screen(1000, 680, scheme)
		for _, rawURL := range urls {
			b.open(rawURL)
			if violations := eval[[]string](b, problems); len(violations) > 0 {
				t.Errorf("%.100s, %s:\n%s", rawURL, scheme, strings.Join(violations, "\n"))
			}
		}
		for _, link := range []string{"Home", "Following", "History", "Home"} {
			b.loaded(click(`//nav//a[.="` + link + `"]`))
			if violations := eval[[]string](b, problems); len(violations) > 0 {
				t.Errorf("%s, %s:\n%s", link, scheme, strings.Join(violations, "\n"))
			}
		}
	}
}

// overflow is a script that returns the elements that are wider than the window and do not scroll.
const overflow = `(() => {
  const list = [];
  if (document.documentElement.scrollWidth > innerWidth) list.push("the page is " + document.documentElement.scrollWidth + " pixels wide");
  for (const e of document.querySelectorAll("body *")) {
    const r = e.getBoundingClientRect();
    if (r.width && r.right > innerWidth + 1 && !e.closest("pre, .wide, .hidden, .skip")) list.push(e.outerHTML.slice(0, 160));
    if (e.matches(".list li") && r.height > 200) list.push("narrow: " + e.outerHTML.slice(0, 160));
  }
  return list;
})()`

// TestZoom shows each kind of page at 200 % of a small window (WCAG 1.4.4), and in 320 pixels (1.4.10).
func TestZoom(t *testing.T) {
	urls, trusted := samples(t)
	b := newTab(t, func(_ *serve.Options, o *fetch.Options) { o.TLS = trusted })
	for _, width := range []int64{500, 320} { // 200 % of 1000 pixels are 500 pixels of CSS
		b.run(chromedp.EmulateViewport(width, 340, chromedp.EmulateScale(2)))
		for _, rawURL := range append(urls, "") {
			if rawURL == "" {
				b.loaded(click(`//nav//a[.="Home"]`))
			} else {
				b.open(rawURL)
			}
			if found := eval[[]string](b, overflow); len(found) > 0 {
				t.Errorf("%.100s, %d pixels:\n%s", rawURL, width, strings.Join(found[:min(len(found), 5)], "\n"))
			}
		}
	}
}

// TestWithoutScripts uses pages with the keyboard only and without JavaScript.
func TestWithoutScripts(t *testing.T) {
	b := newTab(t)
	b.run(func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return v, err
	})
	// tab presses Tab until the focused element has this text or name.
	tab := func(want string) {
		t.Helper()
		for range 100 {
			b.run(chromedp.KeyEvent(kb.Tab))
			if eval[bool](b, fmt.Sprintf(`[document.activeElement.innerText, document.activeElement.id].includes(%q)`, want)) {
				return
			}
		}
		t.Fatalf("Tab does not lead to %q", want)
	}
	enter := func() { t.Helper(); b.loaded(chromedp.KeyEvent(kb.Enter)) }
	b.open("ftp://" + ftpd.Start(t, ftpd.Options{Tree: tree}).Addr + "/software/")
	if eval[bool](b, `window.step !== undefined`) {
		t.Error("scripts run")
	}
	b.blur()
	tab("Skip to content")
	b.run(chromedp.KeyEvent(kb.Enter))
	tab("filter")
	b.run(chromedp.KeyEvent("README"))
	enter()
	b.shows("1 of 4 entries")
	tab("README")
	enter()
	b.shows("Programs.")
	b.open(startGopher(t).URL + "/1/")
	tab("search1")
	b.run(chromedp.KeyEvent("pear"))
	enter()
	b.shows("A pear, found")
	b.open("data:application/atom+xml,<feed><title>News</title><entry><title>Pears</title><link href=\"data:,ripe\"/></entry></feed>")
	tab("Follow")
	enter()
	tab("Menu")
	b.run(chromedp.KeyEvent(kb.Enter))
	tab("Following")
	enter()
	b.shows("1 unread")
	tab("Pears")
	enter()
	tab("Menu")
	b.run(chromedp.KeyEvent(kb.Enter))
	tab("History")
	enter()
	b.shows("README")
	tab("Clear history")
	enter()
	if strings.Contains(b.text(), "README") {
		t.Error("the history was not cleared")
	}
}
