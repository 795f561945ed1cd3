package serve

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// maxDownloads limits the rows with a download link, so that long listings stay fast.
const maxDownloads = 1000

type column struct {
	Key, Title string
	Number     bool
}

var columns = []column{
	{"score", "Score", true}, {"number", "No.", true}, {"from", "Author", false}, {"lines", "Lines", true},
	{"count", "Articles", true}, {"status", "Posting", false}, {"mode", "Mode", false},
	{"target", "Target", false}, {"description", "Description", false}, {"database", "Database", false},
	{"source", "Source", false}, {"uid", "UID", true}, {"dn", "Distinguished name", false},
}

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

func numberOf(facts fetch.Facts, name string) (float64, bool) {
	switch v := facts.Value(name).(type) {
	case uint64:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

type row struct {
	Icon, Kind  string
	Name        string
	Link        string // "" if there is none
	Download    string
	More        string // link to the Gopher+ attributes
	Sizes       bool   // the table has sizes
	Size, Exact string
	Dates       bool // the table has dates
	Date, Stamp string
	Cells       []cell
	Line        string // size, date and cells in a list
	Search      *searchBox
	Text        bool // informational text
	Wrong       bool
	Unread      bool
}

type cell struct {
	Text   string
	Number bool
}

var kinds = map[fetch.EntryKind][2]string{
	fetch.EntryListing: {"folder", "menu"},
	fetch.EntrySearch:  {"search", "search"},
	fetch.EntrySession: {"session", "session"},
	fetch.EntryError:   {"error", "error"},
	fetch.EntryObject:  {"file", "file"},
}

var wordIcons = map[string]string{
	"image": "image", "sound": "audio", "movie": "video", "article": "message", "group": "folder",
}

var typeIcons = map[string]string{
	"text/html": "page", "application/xhtml+xml": "page", "application/zip": "archive",
	"application/gzip": "archive", "application/x-gzip": "archive", "application/x-tar": "archive",
	"application/zstd": "archive", "application/x-bzip2": "archive", "application/x-xz": "archive",
	"application/x-7z-compressed": "archive",
}

func (l *listing) row(e fetch.Entry) row {
	facts := e.Facts()
	out := row{Sizes: l.sizes, Dates: l.dates, Text: e.Kind == fetch.EntryText,
		Wrong: e.Kind == fetch.EntryError,
		Name:  fetch.Printable(strings.ReplaceAll(e.Name, "\t", "        "))}
	if out.Name == "" && !out.Text {
		out.Name = "(no name)"
	}
	out.Icon, out.Kind = l.kind(e, facts)
	out.Unread, _ = facts.Value("unread").(bool)
	if e.Size >= 0 && e.Kind != fetch.EntryText {
		out.Size, out.Exact = sizeText(e.Size), exactSize(e.Size)
	}
	if !e.ModTime.IsZero() {
		out.Date, out.Stamp = dateText(e.ModTime), e.ModTime.UTC().Format("2006-01-02T15:04:05Z")
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
	if !e.URL.IsZero() {
		l.link(&out, e, facts)
	}
	return out
}

func (l *listing) kind(e fetch.Entry, facts fetch.Facts) (icon, label string) {
	icon, label = kinds[e.Kind][0], kinds[e.Kind][1]
	switch {
	case e.Kind == fetch.EntryListing && (l.layout == asTable || l.layout == asList):
		label = "directory"
	case e.Kind == fetch.EntryObject:
		switch family, _, _ := strings.Cut(e.ContentType, "/"); family {
		case "text", "image", "audio", "video", "message":
			icon, label = family, family
		}
		icon = cmp.Or(typeIcons[e.ContentType], icon)
	}
	if facts.Word != "" {
		icon, label = cmp.Or(wordIcons[facts.Word], icon), facts.Word
	}
	if typ := textOf(facts, "type"); len(typ) == 1 && e.Kind != fetch.EntryText && l.layout == asMenu {
		label = typ + " " + label // the item type of the protocol
	}
	return icon, label
}

func (l *listing) link(out *row, e fetch.Entry, facts fetch.Facts) {
	a := l.p.here.to(e.URL)
	if e.Kind == fetch.EntrySearch {
		l.boxes++
		out.Search = l.p.s.box(a, out.Name, "search"+strconv.Itoa(l.boxes))
		return
	}
	out.Link = l.p.s.link("/view", a)
	l.reading.add(a.url, l.depth)
	if e.Kind == fetch.EntryObject && l.layout == asTable && l.shown < maxDownloads {
		out.Download = l.p.s.link("/download", a)
	}
	if extras, _ := facts.Value("extras").([]string); len(extras) > 0 &&
		(extras[0] == "+" || extras[0] == "?") {
		out.More = l.p.s.attributes(a)
	}
}

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
