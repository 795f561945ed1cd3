//go:build integration

package browser

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
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
  for (const [what, n] of [["main", 1], ["body > header", 1], ["h1", 1]]) {
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

  // The focus order is the order on the page.
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) say("an order of its own", e);
  const first = document.querySelector("a[href], button, input:not([type=hidden])");
  if (!first || first.getAttribute("href") !== "#main") list.push("the first link does not skip to the content");

  // Contrast: 4.5 to 1 (WCAG 1.4.3).
  const rgb = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0.99) return c;
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

// TestAccess checks each kind of page with the light and the dark color scheme.
func TestAccess(t *testing.T) {
	web := page(t, "<h1>A page</h1>")
	news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Articles: []nntpd.Article{
		article("<1@example.org>", "Alice", "Pears", "", "> I have\n\nSee http://pears.example/", 0),
		article("<2@example.org>", "Bob", "Re: Pears", "<1@example.org>", "Yes.", 0)}}}})
	g, f := startGopher(t), ftpd.Start(t, ftpd.Options{Tree: tree})
	b := newTab(t)
	for _, scheme := range []string{"light", "dark"} {
		b.screen(1000, 680, scheme)
		for _, rawURL := range []string{g.URL + "/1/", g.URL + "/0/guests%09%09%3F", "gopher://127.0.0.1:1/1/", "ftp://" + f.Addr + "/software/",
			"news://" + news.Addr + "/example.fruit", "nntp://" + news.Addr + "/example.fruit/2", web, "data:image/gif;base64,R0lGODlhAQABAAAAADs=",
			"data:application/zip,PK", g.URL + "/7/find", "http://[", "telnet://127.0.0.1/"} {
			b.open(rawURL)
			if violations := eval[[]string](b, problems); len(violations) > 0 {
				t.Errorf("%s, %s:\n%s", rawURL, scheme, strings.Join(violations, "\n"))
			}
		}
		for _, link := range []string{"Home", "History"} {
			b.loaded(click(`//nav/a[.="` + link + `"]`))
			if violations := eval[[]string](b, problems); len(violations) > 0 {
				t.Errorf("%s, %s:\n%s", link, scheme, strings.Join(violations, "\n"))
			}
		}
	}
}
