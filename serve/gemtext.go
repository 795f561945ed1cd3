package serve

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/gemtext"
)

const gemtextType = "text/gemini"

const maxSections = 200

type section struct {
	Level    int
	Name, ID string
}

type gemtextLink struct {
	Name, Link  string
	Target      string // shown beside a name
	Date, Stamp string // of a link whose name begins with a date, as in a gemsub feed
	Image       string // link to the image that the browser loads on request
	Box         *searchBox
	Wrong       bool
}

type gemtextPage struct {
	*page
	open    string // name of the open block: "list", "quote", "verbatim" or ""
	boxes   int
	titled  bool
	started bool
	// dated has the links of a feed of gemtext: those whose names begin with a date.
	dated *reading
}

func (p *page) gemtext(r *bufio.Reader, resp *fetch.Response) error {
	first, _ := r.Peek(r.Buffered())
	for line := range gemtext.Lines(bytes.NewReader(first), false) {
		if _, _, ok := datedName(line.Name); ok && resp.Entries != nil {
			p.put("tools", tools{Follow: p.followForm(resp)})
			break
		}
	}
	limited := &io.LimitedReader{R: decodeText(r, resp.ContentType), N: maxText}
	g := &gemtextPage{page: p, dated: newReading(p.here)}
	p.put("gemtext", nil)
	lines := 0
	for line, err := range gemtext.Lines(limited, false) {
		if err != nil {
			g.close()
			return err
		}
		g.line(line)
		g.started = g.started || len(line.Text) > 0
		if lines++; lines == maxPeek {
			p.flush()
		}
	}
	g.close()
	if limited.N <= 0 {
		p.putCut()
	}
	return nil
}

func (g *gemtextPage) close() {
	g.block("")
	g.put("gemtextend", nil)
	if len(g.dated.entries) > 1 {
		g.s.readings.add(g.dated)
	}
}

var blocks = map[gemtext.Kind]string{
	gemtext.Item: "list", gemtext.Quote: "quote", gemtext.Verbatim: "verbatim",
}

func (g *gemtextPage) block(name string) {
	if name == g.open {
		return
	}
	if g.open != "" {
		g.put(g.open+"end", nil)
	}
	if g.open = name; name != "" {
		g.put(name, "")
	}
}

func (g *gemtextPage) line(line gemtext.Line) {
	text := readable(line.Text)
	if line.Cut {
		text += " …"
	}
	if line.Kind == gemtext.Fence { // the text after the opening mark describes what follows
		closes := g.open == "verbatim"
		g.block("")
		if !closes {
			g.open = "verbatim"
			g.put("verbatim", text)
		}
		return
	}
	g.block(blocks[line.Kind])
	switch line.Kind {
	case gemtext.Verbatim:
		g.put("verbatimline", text)
	case gemtext.Heading:
		if !g.started && text != "" && text == fetch.Printable(g.title) {
			g.titled = true // the page has this heading
			break
		}
		level := line.Level + 1
		if g.titled { // no level is left out
			level = max(2, line.Level)
		}
		h := section{Level: level, Name: text, ID: "section" + strconv.Itoa(len(g.sections)+1)}
		g.put("heading", h)
		if len(g.sections) < maxSections && text != "" {
			g.sections = append(g.sections, h)
		}
	case gemtext.Item:
		g.put("listitem", text)
	case gemtext.Quote:
		g.put("quoteline", text)
	case gemtext.Link, gemtext.Prompt:
		if text != "" {
			g.put("link", g.link(line))
		}
	default:
		if text != "" {
			g.put("paragraph", g.pieces(text))
		}
	}
}

// datedName splits a name that begins with a date, as in a gemsub feed.
func datedName(name string) (day time.Time, title string, ok bool) {
	day, err := time.Parse(time.DateOnly, name[:min(len(name), len(time.DateOnly))])
	if err != nil {
		return time.Time{}, name, false
	}
	return day, cmp.Or(strings.TrimLeft(name[len(time.DateOnly):], " -–—:"), name), true
}

var imageTypes = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"}

func (g *gemtextPage) link(line gemtext.Line) gemtextLink {
	name := readable([]byte(line.Name))
	out := gemtextLink{Name: cmp.Or(name, readable([]byte(line.Target)))}
	ref, err := uri.ParseRef(line.Target)
	u := g.here.url.Resolve(ref)
	if line.Cut || err != nil || !u.IsAbs() {
		return gemtextLink{Name: readable(line.Text), Wrong: true}
	}
	a := g.here.to(u)
	if line.Kind == gemtext.Prompt {
		g.boxes++
		out.Box = g.s.box(a, out.Name, "prompt"+strconv.Itoa(g.boxes))
		return out
	}
	out.Link = g.s.link("/view", a)
	if u.Origin() != g.here.url.Origin() {
		out.Target = fetch.Printable(cmp.Or(u.Host(), u.Scheme()))
	}
	if day, title, ok := datedName(out.Name); ok {
		g.dated.add(a.url, 0)
		out.Date, out.Stamp = day.Format(time.DateOnly), day.Format(time.DateOnly)
		out.Name = title
	}
	if slices.Contains(imageTypes, strings.ToLower(path.Ext(u.Path()))) {
		out.Image = g.s.link("/content", a)
	}
	return out
}

func gemtextTitle(first []byte) string {
	for line := range strings.Lines(string(first)) {
		if title, ok := strings.CutPrefix(line, "#"); ok && strings.HasSuffix(line, "\n") {
			return strings.TrimSpace(strings.TrimLeft(title, "#"))
		}
	}
	return ""
}
