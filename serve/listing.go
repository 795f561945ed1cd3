package serve

import (
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

const (
	// maxPeek is the number of entries read before the layout is chosen, and the number sent first.
	maxPeek          = 64
	maxDefaultSorted = 1000
)

// The layouts of listings. A list has the entries of a long directory in few elements, which
// browsers show much faster than a table.
const (
	asTable   = "table"
	asList    = "list"
	asMenu    = "menu"
	asThreads = "threads"
)

type layout struct{ head, row, end string }

var layouts = map[string]layout{
	asTable: {"tablehead", "row", "tableend"},
	asList:  {"listhead", "listrow", "listend"},
	asMenu:  {"menuhead", "item", "menuend"},
}

type listing struct {
	p       *page
	columns []column
	sizes   bool // entries have sizes
	dates   bool // entries have times
	mail    bool // entries are messages
	layout  string
	choices []string // applicable layouts
	sort    string
	down    bool
	filter  string
	shown   int
	total   int
	boxes   int
	words   string // of the search whose results are listed
	reading *reading
	depth   int    // of the article in its thread
	same    []fact // columns that are left out, because all entries have the same value
}

func (p *page) listing(resp *fetch.Response) {
	q := p.r.URL.Query()
	in := newEntryReader(resp.Entries, resp.Body)
	defer in.stop()
	p.await(func() { in.peek(1, nil) })
	in.peek(maxPeek, time.After(p.s.delay))
	if len(in.first) == 0 && in.err != nil {
		p.fail(in.err)
		return
	}
	l := &listing{p: p, sort: q.Get("sort"), down: q.Get("order") == "desc",
		filter:  strings.ToLower(q.Get("q")),
		reading: newReading(p.here)}
	if p.isSearchable() {
		l.words = wordsOf(p.here.url)
	}
	l.inspect(in.first)
	l.choose(q.Get("layout"))
	if in.complete {
		l.leaveOut(in.first)
	}
	if l.layout == asTable && l.sort == "" && p.s.Client.Traits(p.here.url).Tree {
		if in.peek(maxDefaultSorted+1, time.After(5*p.s.delay)); in.complete {
			slices.SortStableFunc(in.first, compareNames)
		} else if !slices.Contains(l.choices, q.Get("layout")) {
			l.layout = asList
		}
	}
	p.begin(http.StatusOK, p.title)
	p.views(resp)
	p.put("tools", l.tools(resp))
	if l.layout == asThreads {
		l.threads(in.all(p.flush))
	} else {
		l.write(in.all(p.flush))
	}
	p.failed = in.err
	p.s.readings.add(l.reading)
	p.put("count", struct {
		Shown, Total int
		Filter       bool
		Words        string
		Same         []fact
	}{l.shown, l.total, l.filter != "", fetch.Printable(l.words), l.same})
}

func (l *listing) leaveOut(entries []fetch.Entry) {
	if len(entries) < 2 || l.layout == asThreads {
		return
	}
	one := func(value func(fetch.Entry) string) (string, bool) {
		first := value(entries[0])
		differs := func(e fetch.Entry) bool { return value(e) != first }
		return first, first != "" && !slices.ContainsFunc(entries, differs)
	}
	if date, ok := one(func(e fetch.Entry) string { return dateText(e.ModTime) }); ok {
		l.dates = false
		l.same = append(l.same, fact{Name: "Date", Value: date})
	}
	l.columns = slices.DeleteFunc(l.columns, func(c column) bool {
		text, ok := one(func(e fetch.Entry) string { return textOf(e.Facts(), c.Key) })
		if ok {
			l.same = append(l.same, fact{Name: c.Title, Value: text})
		}
		return ok
	})
}

func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(minuteForm)
}

func (l *listing) inspect(first []fetch.Entry) {
	has := make(map[string]bool)
	articles := false
	for _, e := range first {
		l.sizes = l.sizes || e.Size >= 0 && e.Kind != fetch.EntryText
		l.dates = l.dates || !e.ModTime.IsZero()
		facts := e.Facts()
		for _, c := range columns {
			has[c.Key] = has[c.Key] || textOf(facts, c.Key) != ""
		}
		l.mail = l.mail || textOf(facts, "message_id") != ""
		articles = articles || l.mail && facts.Value("references") != nil
	}
	for _, c := range columns {
		if has[c.Key] {
			l.columns = append(l.columns, c)
		}
	}
	switch {
	case articles:
		l.choices = []string{asThreads, asTable}
	case l.sizes || l.dates || len(l.columns) > 0:
		l.choices = []string{asTable, asList, asMenu}
	default:
		l.choices = []string{asMenu, asTable}
	}
}

func (l *listing) choose(wanted string) {
	l.layout = l.choices[0]
	if slices.Contains(l.choices, wanted) {
		l.layout = wanted
	}
	if l.sort != "" && wanted != asList {
		l.layout = asTable
	}
}

func (l *listing) query(change ...string) string {
	q := url.Values{}
	for name, values := range l.p.r.URL.Query() {
		if name != "k" {
			q[name] = values
		}
	}
	for i := 0; i+1 < len(change); i += 2 {
		if change[i+1] == "" {
			q.Del(change[i])
		} else {
			q.Set(change[i], change[i+1])
		}
	}
	return "/view?" + q.Encode()
}

type choice struct {
	Name, Link string
	Now        bool
}

type tools struct {
	Filter  string
	Fields  []field
	Layouts []choice
	Search  *searchBox
	Follow  *followForm
}

func (l *listing) tools(resp *fetch.Response) tools {
	t := tools{Filter: l.p.r.URL.Query().Get("q")}
	for _, name := range []string{"u", "f", "x", "v", "t", "l", "s", "sort", "order", "layout"} {
		if v := l.p.r.URL.Query().Get(name); v != "" {
			t.Fields = append(t.Fields, field{name, v})
		}
	}
	for _, name := range l.choices {
		link := l.query("layout", name, "sort", "", "order", "")
		t.Layouts = append(t.Layouts, choice{name, link, name == l.layout})
	}
	if l.p.isSearchable() {
		t.Search = l.p.s.box(l.p.here, "Search this index", "here")
		t.Search.Words = fetch.Printable(l.words)
	}
	if l.words == "" && (l.mail || l.choices[0] == asMenu) {
		t.Follow = l.p.followForm(resp)
	}
	return t
}

func (l *listing) matches(e fetch.Entry) bool {
	return l.filter == "" || strings.Contains(strings.ToLower(e.Name), l.filter)
}

func (l *listing) write(entries iter.Seq[fetch.Entry]) {
	templates := layouts[l.layout]
	l.p.put(templates.head, struct {
		Headings []heading
		Caption  string
	}{l.headings(), fetch.Printable(l.p.here.url.Redacted())})
	if l.sort != "" {
		entries = l.sorted(entries)
	}
	for e := range entries {
		l.total++
		if l.matches(e) {
			l.put(templates.row, l.row(e))
		}
	}
	l.p.put(templates.end, nil)
}

// put writes an entry. It flushes once, after the first entries. Later output is sent as buffers
// fill.
func (l *listing) put(template string, value any) {
	l.p.put(template, value)
	if l.shown++; l.shown == maxPeek {
		l.p.flush()
	}
}
