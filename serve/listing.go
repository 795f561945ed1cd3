package serve

import (
	"cmp"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// maxPeek is the number of entries read before the layout is chosen, and the number sent first.
	maxPeek = 64
	// maxDefaultSorted is the number of entries up to which directories are sorted by default.
	maxDefaultSorted = 1000
	// maxDownloads limits the rows with a download link, so that long listings stay fast.
	maxDownloads = 1000
	// maxHeld limits how many entries are held in memory for sorting and threads.
	maxHeld = 50_000
)

// A column shows the entry facts with one name.
type column struct {
	Key, Title string
	Number     bool
}

var columns = []column{
	{"score", "Score", true}, {"number", "No.", true}, {"from", "Author", false}, {"lines", "Lines", true},
	{"count", "Articles", true}, {"status", "Posting", false}, {"mode", "Mode", false}, {"target", "Target", false},
	{"description", "Description", false}, {"database", "Database", false}, {"source", "Source", false}, {"uid", "UID", true},
	{"dn", "Distinguished name", false},
}

// textOf returns a fact as text, or "" if it is unknown or not a scalar.
func textOf(facts fetch.Facts, name string) string {
	switch v := facts.Value(name).(type) {
	case string:
		return fetch.Printable(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	case int64:
		if v >= 0 { // negative numbers mean unknown
			return strconv.FormatInt(v, 10)
		}
	}
	return ""
}

// numberOf returns a fact as a number. It returns false if the fact is not a number.
func numberOf(facts fetch.Facts, name string) (float64, bool) {
	switch v := facts.Value(name).(type) {
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// A row is an entry in the form that templates show.
type row struct {
	Icon, Kind string
	Name       string
	Link       string // "" if there is none
	Download   string
	More       string // link to the Gopher+ attributes
	Sizes      bool   // the table has sizes
	Size       string
	Exact      string
	Dates      bool // the table has dates
	Date       string
	Stamp      string
	Cells      []cell
	Line       string // size, date and cells in a list
	Search     *searchBox
	Text       bool // informational text
	Wrong      bool
}

type cell struct {
	Text   string
	Number bool
}

// A searchBox is a form for search words.
type searchBox struct {
	Action string
	Fields []field
	Label  string
	ID     string
}

// A field is a hidden form field.
type field struct{ Name, Value string }

// The layouts of listings. A list has the entries of a long directory in few elements, which
// browsers show much faster than a table.
const (
	asTable   = "table"
	asList    = "list"
	asMenu    = "menu"
	asThreads = "threads"
)

// A listing is a listing that is being written.
type listing struct {
	p       *page
	columns []column
	sizes   bool // entries have sizes
	dates   bool // entries have times
	layout  string
	choices []string // applicable layouts
	sort    string
	down    bool
	filter  string
	shown   int
	total   int
	boxes   int
	reading *reading
}

// listing writes a directory, menu, newsgroup or search result.
func (p *page) listing(resp *fetch.Response) {
	q := p.r.URL.Query()
	l := &listing{p: p, sort: q.Get("sort"), down: q.Get("order") == "desc", filter: strings.ToLower(q.Get("q"))}
	next, stop := iter.Pull2(resp.Entries)
	defer stop()
	var first []fetch.Entry
	complete := false // first has all entries
	read := func(n int) {
		for len(first) < n && !complete {
			e, err, ok := next()
			if err != nil {
				p.failed = err
			}
			if !ok || err != nil {
				complete = true
				return
			}
			first = append(first, e)
		}
	}
	read(maxPeek)
	if len(first) == 0 && p.failed != nil {
		p.fail(p.failed)
		p.failed = nil
		return
	}
	l.reading = &reading{listing: p.here, index: map[uri.URI]int{}}
	l.choose(first, q.Get("layout"))
	if l.layout == asTable && l.sort == "" && p.s.Client.Traits(p.here.url).Tree {
		if read(maxDefaultSorted + 1); complete {
			slices.SortStableFunc(first, compareNames)
		} else if !slices.Contains(l.choices, q.Get("layout")) {
			l.layout = asList
		}
	}
	p.begin(http.StatusOK, p.title)
	p.views(resp)
	p.put("tools", l.tools())
	rest := func(yield func(fetch.Entry) bool) {
		for _, e := range first {
			if !yield(e) {
				return
			}
		}
		for p.failed == nil {
			e, err, ok := next()
			if err != nil {
				p.failed = err
			}
			if !ok || err != nil || !yield(e) {
				return
			}
		}
	}
	switch {
	case l.layout == asThreads:
		l.threads(rest)
	case l.layout == asMenu:
		l.menu(rest)
	case l.layout == asList:
		l.list(rest)
	default:
		l.table(rest)
	}
	p.s.readings.add(l.reading)
	p.put("count", struct {
		Shown, Total int
		Filter       bool
	}{l.shown, l.total, l.filter != ""})
}

// choose selects the layout and the columns by the facts of the first entries.
func (l *listing) choose(first []fetch.Entry, wanted string) {
	has := make(map[string]bool)
	articles := false
	for _, e := range first {
		l.sizes = l.sizes || e.Size >= 0 && e.Kind != fetch.EntryText
		l.dates = l.dates || !e.ModTime.IsZero()
		facts := e.Facts()
		for _, c := range columns {
			if textOf(facts, c.Key) != "" {
				has[c.Key] = true
			}
		}
		articles = articles || textOf(facts, "message_id") != "" && facts.Value("subject") != nil
	}
	for _, c := range columns {
		if has[c.Key] {
			l.columns = append(l.columns, c)
		}
	}
	l.choices = []string{asTable, asList, asMenu}
	switch {
	case articles:
		l.choices = []string{asThreads, asTable}
	case l.sizes || l.dates || len(l.columns) > 0:
	default:
		l.choices = []string{asMenu, asTable}
	}
	l.layout = l.choices[0]
	if slices.Contains(l.choices, wanted) {
		l.layout = wanted
	}
	if l.sort != "" && wanted != asList {
		l.layout = asTable
	}
}

// query returns the link to this page with some query values replaced.
func (l *listing) query(change ...string) string {
	q := url.Values{}
	for name, values := range l.p.r.URL.Query() {
		if !slices.Contains([]string{"k"}, name) {
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
}

func (l *listing) tools() tools {
	t := tools{Filter: l.p.r.URL.Query().Get("q")}
	for _, name := range []string{"u", "f", "x", "v", "t", "l", "s", "sort", "order", "layout"} {
		if v := l.p.r.URL.Query().Get(name); v != "" {
			t.Fields = append(t.Fields, field{name, v})
		}
	}
	for _, name := range l.choices {
		t.Layouts = append(t.Layouts, choice{name, l.query("layout", name, "sort", "", "order", ""), name == l.layout})
	}
	if l.p.isSearchable() {
		t.Search = l.p.s.box(l.p.here, "Search this index", "here")
	}
	return t
}

// isSearchable reports whether the URL of the listing can take search words.
func (p *page) isSearchable() bool {
	if p.s.Client.Traits(p.here.url).Pages { // any web URL can have a query, but few pages search by it
		return false
	}
	_, err := p.here.url.WithSearch("words")
	return err == nil
}

// box returns the search form of an address.
func (s *Server) box(a address, label, id string) *searchBox {
	b := &searchBox{Action: "/search", Label: label, ID: id}
	for name, values := range s.query(a) {
		b.Fields = append(b.Fields, field{name, values[0]})
	}
	slices.SortFunc(b.Fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	return b
}

// matches reports whether an entry matches the filter.
func (l *listing) matches(e fetch.Entry) bool {
	return l.filter == "" || strings.Contains(strings.ToLower(e.Name), l.filter)
}

// A heading is the header of a column.
type heading struct {
	Title  string
	Link   string
	Sorted string // "ascending", "descending" or ""
	Number bool
}

func (l *listing) headings() []heading {
	all := []heading{{Title: "Kind"}, {Title: "Name"}}
	keys := []string{"kind", "name"}
	if l.sizes {
		all, keys = append(all, heading{Title: "Size", Number: true}), append(keys, "size")
	}
	if l.dates {
		all, keys = append(all, heading{Title: "Date"}), append(keys, "date")
	}
	for _, c := range l.columns {
		all = append(all, heading{Title: c.Title, Number: c.Number})
		keys = append(keys, c.Key)
	}
	for i, key := range keys {
		order := ""
		if l.sort == key {
			all[i].Sorted = "ascending"
			if l.down {
				all[i].Sorted = "descending"
			} else {
				order = "desc"
			}
		}
		layout := ""
		if l.layout == asList {
			layout = asList
		}
		all[i].Link = l.query("sort", key, "order", order, "layout", layout)
	}
	return all
}

// table writes entries as table rows, in the order of arrival unless sorting is requested.
func (l *listing) table(entries iter.Seq[fetch.Entry]) {
	l.p.put("tablehead", struct {
		Headings []heading
		Caption  string
	}{l.headings(), fetch.Printable(l.p.here.url.Redacted())})
	if l.sort != "" {
		entries = l.sorted(entries)
	}
	l.rows("row", entries)
	l.p.put("tableend", nil)
}

// list writes entries as lines of a list.
func (l *listing) list(entries iter.Seq[fetch.Entry]) {
	l.p.put("listhead", struct {
		Headings []heading
		Caption  string
	}{l.headings(), fetch.Printable(l.p.here.url.Redacted())})
	if l.sort != "" {
		entries = l.sorted(entries)
	}
	l.rows("listrow", entries)
	l.p.put("listend", nil)
}

// menu writes entries as a menu: links with their types, and text.
func (l *listing) menu(entries iter.Seq[fetch.Entry]) {
	l.p.put("menuhead", fetch.Printable(l.p.here.url.Redacted()))
	l.rows("item", entries)
	l.p.put("menuend", nil)
}

// rows writes entries with a template.
func (l *listing) rows(template string, entries iter.Seq[fetch.Entry]) {
	for e := range entries {
		l.total++
		if !l.matches(e) {
			continue
		}
		l.put(template, l.row(e))
	}
}

// put writes an entry. It flushes once, after the first entries. Later output is sent as buffers
// fill.
func (l *listing) put(template string, value any) {
	l.p.put(template, value)
	if l.shown++; l.shown == maxPeek {
		l.p.flush()
	}
}

// kinds has the icon and the label of each kind of entry.
var kinds = map[fetch.EntryKind][2]string{
	fetch.EntryListing: {"folder", "menu"}, fetch.EntrySearch: {"search", "search"}, fetch.EntrySession: {"session", "session"},
	fetch.EntryText: {"", ""}, fetch.EntryError: {"error", "error"}, fetch.EntryObject: {"file", "file"},
}

// wordIcons has the icons for words of protocols that tell more than the kind of the entry.
var wordIcons = map[string]string{"image": "image", "sound": "audio", "movie": "video", "article": "message", "group": "folder"}

// row returns the row of an entry.
func (l *listing) row(e fetch.Entry) row {
	facts := e.Facts()
	out := row{Sizes: l.sizes, Dates: l.dates, Icon: kinds[e.Kind][0], Kind: kinds[e.Kind][1], Name: fetch.Printable(strings.ReplaceAll(e.Name, "\t", "        ")),
		Text: e.Kind == fetch.EntryText, Wrong: e.Kind == fetch.EntryError}
	if out.Name == "" && !out.Text {
		out.Name = "(no name)"
	}
	if e.Kind == fetch.EntryListing && (l.layout == asTable || l.layout == asList) {
		out.Kind = "directory"
	}
	if family, _, _ := strings.Cut(e.ContentType, "/"); e.Kind == fetch.EntryObject {
		switch family {
		case "text", "image", "audio", "video", "message":
			out.Icon, out.Kind = family, family
		}
	}
	if facts.Word != "" {
		out.Kind = facts.Word
		out.Icon = cmp.Or(wordIcons[facts.Word], out.Icon)
	}
	if typ := textOf(facts, "type"); len(typ) == 1 && !out.Text && l.layout == asMenu {
		out.Kind = typ + " " + out.Kind // the item type of the protocol
	}
	if e.Size >= 0 && e.Kind != fetch.EntryText {
		out.Size, out.Exact = sizeText(e.Size), exactSize(e.Size)
	}
	if !e.ModTime.IsZero() {
		out.Date, out.Stamp = e.ModTime.UTC().Format("2006-01-02 15:04"), e.ModTime.UTC().Format("2006-01-02T15:04:05Z")
	}
	if l.layout == asList {
		out.Line = l.line(out, facts)
		if e.Kind == fetch.EntryListing {
			out.Name += "/"
		}
	} else {
		for _, c := range l.columns {
			out.Cells = append(out.Cells, cell{textOf(facts, c.Key), c.Number})
		}
	}
	if e.URL.IsZero() {
		return out
	}
	a := l.p.here.to(e.URL)
	if e.Kind == fetch.EntrySearch {
		l.boxes++
		out.Search = l.p.s.box(a, out.Name, "search"+strconv.Itoa(l.boxes))
		return out
	}
	out.Link = l.p.s.link("/view", a)
	l.reading.add(a.url)
	if e.Kind == fetch.EntryObject && l.layout == asTable && l.shown < maxDownloads {
		out.Download = l.p.s.link("/download", a)
	}
	if extras, _ := facts.Value("extras").([]string); len(extras) > 0 && (extras[0] == "+" || extras[0] == "?") {
		out.More = l.p.s.attributes(a)
	}
	return out
}

// line returns the columns of a row in a list, padded to a common width.
func (l *listing) line(r row, facts fetch.Facts) string {
	var b strings.Builder
	if l.sizes {
		fmt.Fprintf(&b, "  %8s", r.Size)
	}
	if l.dates {
		fmt.Fprintf(&b, "  %16s", r.Date)
	}
	for _, c := range l.columns {
		fmt.Fprintf(&b, "  %s", textOf(facts, c.Key))
	}
	return b.String()
}

// compareNames orders the entries of a directory: directories first, then by name without regard to
// case.
func compareNames(a, b fetch.Entry) int {
	if x, y := a.Kind == fetch.EntryListing, b.Kind == fetch.EntryListing; x != y {
		if x {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Name, b.Name))
}

// sorted yields entries in the requested order, with text and errors last. Entries beyond maxHeld
// follow unsorted.
func (l *listing) sorted(entries iter.Seq[fetch.Entry]) iter.Seq[fetch.Entry] {
	type keyed struct {
		e     fetch.Entry
		facts fetch.Facts
		last  bool
	}
	return func(yield func(fetch.Entry) bool) {
		next, stop := iter.Pull(entries)
		defer stop()
		var held []keyed
		for len(held) < maxHeld {
			e, ok := next()
			if !ok {
				break
			}
			held = append(held, keyed{e, e.Facts(), e.Kind == fetch.EntryText || e.Kind == fetch.EntryError})
		}
		order := func(a, b keyed) int {
			switch l.sort {
			case "name":
				return strings.Compare(strings.ToLower(a.e.Name), strings.ToLower(b.e.Name))
			case "size":
				return cmp.Compare(a.e.Size, b.e.Size)
			case "date":
				return a.e.ModTime.Compare(b.e.ModTime)
			case "kind":
				return cmp.Or(cmp.Compare(a.e.Kind, b.e.Kind), strings.Compare(a.e.ContentType, b.e.ContentType))
			}
			x, isNumber := numberOf(a.facts, l.sort)
			y, areNumbers := numberOf(b.facts, l.sort)
			if isNumber && areNumbers {
				return cmp.Compare(x, y)
			}
			return strings.Compare(textOf(a.facts, l.sort), textOf(b.facts, l.sort))
		}
		slices.SortStableFunc(held, func(a, b keyed) int {
			if a.last != b.last {
				if a.last {
					return 1
				}
				return -1
			}
			if l.down {
				a, b = b, a
			}
			return order(a, b)
		})
		for _, k := range held {
			if !yield(k.e) {
				return
			}
		}
		for e, ok := next(); ok; e, ok = next() {
			if !yield(e) {
				return
			}
		}
	}
}

// sizeText formats a size with a binary unit.
func sizeText(n int64) string {
	if n < 0 {
		return ""
	}
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n), -1
	for f >= 1024 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	digits := 1
	if f >= 10 {
		digits = 0
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[unit:unit+1] + "iB"
}

func exactSize(n int64) string { return fmt.Sprintf("%d bytes", n) }
