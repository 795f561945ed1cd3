package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

var (
	day     = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	errLost = &fetch.Error{Code: fetch.ErrTruncated, Err: errors.New("the rest is missing")}
)

// sequence yields the entries and then err, if there is one.
func sequence(err error, entries ...fetch.Entry) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(fetch.Entry{}, err)
		}
	}
}

func directory() []fetch.Entry {
	return []fetch.Entry{
		{URL: uri.MustParse("ftp://u:secret@h/pub/"), Name: "pub", Kind: fetch.EntryListing, Rel: "item", Size: -1, ModTime: day},
		{URL: uri.MustParse("ftp://h/a.txt"), Name: "a\x1b[2J.txt", Kind: fetch.EntryObject, Rel: "item", ContentType: "text/plain", Size: 12345, ModTime: day},
		{URL: uri.MustParse("ftp://h/b"), Name: "b", Kind: fetch.EntryObject, Size: -1},
	}
}

func menu() []fetch.Entry {
	return []fetch.Entry{
		{Name: "Welcome", Kind: fetch.EntryText, Size: -1},
		{Name: "", Kind: fetch.EntryText, Size: -1},
		{URL: uri.MustParse("gopher://h/1/x"), Name: "More", Kind: fetch.EntryListing, Size: -1},
		{URL: uri.MustParse("gopher://h/0/y"), Name: "Read\tme", Kind: fetch.EntryObject, ContentType: "text/plain", Size: -1},
		{URL: uri.MustParse("gopher://h/9/z"), Name: "Program", Kind: fetch.EntryObject, ContentType: "application/octet-stream", Size: -1},
		{URL: uri.MustParse("gopher://h/7/s"), Name: "Find", Kind: fetch.EntrySearch, Size: -1},
		{URL: uri.MustParse("telnet://h/"), Name: "Log in", Kind: fetch.EntrySession, Size: -1},
		{Name: "no such thing", Kind: fetch.EntryError, Size: -1},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		entries []fetch.Entry
		opts    *render.TextOptions
		want    string
	}{
		{"nothing", nil, nil, ""},
		{"directory", directory(), &render.TextOptions{Location: time.UTC}, `
dir       -  2026-03-04 05:06  pub
file  12345  2026-03-04 05:06  a\x1b[2J.txt
file      -  -                 b
`},
		{"directory with targets", directory()[:1], &render.TextOptions{Location: time.UTC, Targets: true}, `
dir  -  2026-03-04 05:06  pub  ftp://u:xxxxx@h/pub/
`},
		{"menu", menu(), nil, `
             Welcome

 1  menu     More
 2  text     Read\tme
 3  file     Program
 4  search   Find
 5  session  Log in
             error: no such thing
`},
		{"text only", menu()[:1], nil, "\nWelcome\n"},
		{"menu with targets", menu()[2:3], &render.TextOptions{Targets: true}, "\n 1  menu  More  gopher://h/1/x\n"},
		{"links without names", []fetch.Entry{
			{URL: uri.MustParse("http://h/a/pic%20ture.gif"), Kind: fetch.EntryObject, Size: -1},
			{URL: uri.MustParse("http://h/a/"), Name: " ", Kind: fetch.EntryObject, Size: -1},
			{URL: uri.MustParse("http://u:p@h/"), Kind: fetch.EntryObject, Size: -1},
		}, nil, " 1  file  pic ture.gif\n 2  file  a\n 3  file  http://u:xxxxx@h/\n"},
		{"text inside a table", append(menu()[:1], directory()[2], directory()[0]), &render.TextOptions{Location: time.UTC}, `
Welcome
file  -  -                 b
dir   -  2026-03-04 05:06  pub
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := render.Text(&b, sequence(nil, tt.entries...), tt.opts); err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimPrefix(tt.want, "\n"); b.String() != want {
				t.Errorf("%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

func TestTextPrintsLongListingsAsTheyArrive(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	const total = 1000
	entries := func(yield func(fetch.Entry, error) bool) {
		for i := range total {
			if i > 64 && strings.Count(b.String(), "\n") != i {
				t.Errorf("%d lines after %d entries", strings.Count(b.String(), "\n"), i)
				return
			}
			if !yield(fetch.Entry{URL: uri.MustParse("news:g"), Name: strconv.Itoa(i), Size: -1}, nil) {
				return
			}
		}
	}
	if err := render.Text(&b, entries, nil); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != total || !strings.HasSuffix(lines[total-1], "1000  file  999") {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestTruncatedListings(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *strings.Builder) error{
		"text": func(w *strings.Builder) error {
			return render.Text(w, sequence(errLost, directory()[1]), &render.TextOptions{Location: time.UTC})
		},
		"json": func(w *strings.Builder) error { return render.EntriesJSON(w, "x:", sequence(errLost, directory()[1])) },
	} {
		var b strings.Builder
		if err := write(&b); !errors.Is(err, fetch.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Count(b.String(), "\n") != 1 {
			t.Errorf("%s: %q", name, b.String())
		}
	}
}

var errFull = errors.New("disk full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	meta := &fetch.Meta{Size: 1}
	for name, err := range map[string]error{
		"text":   render.Text(full{}, sequence(nil, directory()...), nil),
		"json":   render.EntriesJSON(full{}, "x:", sequence(nil, directory()...)),
		"meta":   render.MetaText(full{}, "x:", meta, false),
		"record": render.MetaJSON(full{}, "x:", "x:", meta),
		"event":  render.NewEventWriter(full{}).Write(render.Start{}),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

var timeField = regexp.MustCompile(`"time":"[0-9]{4}-[^"]*Z",?`)

// untimed removes the time from each line. It returns a different text if a line has no time.
func untimed(lines string) string {
	if n := len(timeField.FindAllString(lines, -1)); n != strings.Count(lines, "\n") {
		return fmt.Sprintf("%d times in %s", n, lines)
	}
	return strings.ReplaceAll(timeField.ReplaceAllString(lines, ""), ",}", "}")
}

func TestEntriesJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := render.EntriesJSON(&b, "x:", sequence(nil, append(directory(), menu()[0])...)); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"entry","url":"ftp://u:xxxxx@h/pub/","listing":"x:","name":"pub","kind":"listing","mtime":"2026-03-04T05:06:07Z","rel":"item"}
{"event":"entry","url":"ftp://h/a.txt","listing":"x:","name":"a\u001b[2J.txt","kind":"object","content_type":"text/plain","size":12345,"mtime":"2026-03-04T05:06:07Z","rel":"item"}
{"event":"entry","url":"ftp://h/b","listing":"x:","name":"b","kind":"object"}
{"event":"entry","url":"","listing":"x:","name":"Welcome","kind":"text"}
`
	if got := untimed(b.String()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestCookiesAreMasked(t *testing.T) {
	t.Parallel()
	m := &fetch.Meta{Size: -1, Header: textproto.MIMEHeader{"Set-Cookie": {"id=s3cr3t; Path=/", "s3cr3t"}, "X-A": {"a=b"}}}
	var b strings.Builder
	if err := errors.Join(render.MetaText(&b, "http://h/x", m, true), render.MetaJSON(&b, "http://h/x", "", m)); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "s3cr3t") || !strings.Contains(s, `"Set-Cookie":["id=xxxxx",`) || !strings.Contains(s, "a=b") {
		t.Error(s)
	}
	if m.Header.Get("Set-Cookie") != "id=s3cr3t; Path=/" {
		t.Errorf("the header itself was changed: %q", m.Header)
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	m := &fetch.Meta{Kind: fetch.KindObject, Name: "x", ContentType: "text/plain", Size: 0, Reply: fetch.Reply{Code: 200, Text: "OK"},
		Header: textproto.MIMEHeader{"X-B": {"1", "2"}, "X-A": {"\x1b"}}}
	tests := []struct {
		name   string
		m      *fetch.Meta
		fields bool
		want   string
	}{
		{"all", m, false, "http://h/x\n  kind:   object\n  name:   x\n  type:   text/plain\n  size:   0\n  reply:  200 OK\n"},
		{"fields", m, true, "http://h/x\n  kind:   object\n  name:   x\n  type:   text/plain\n  size:   0\n  reply:  200 OK\n" +
			"  X-A:    \\x1b\n  X-B:    1\n  X-B:    2\n"},
		{"entity tag", &fetch.Meta{Size: -1, Validator: fetch.Validator{ETag: "t"}, Header: textproto.MIMEHeader{"Etag": {"t"}}}, false,
			"http://h/x\n  kind:  object\n  etag:  t\n"},
		{"made validator", &fetch.Meta{Size: -1, Validator: fetch.Validator{ETag: "t"}}, false, "http://h/x\n  kind:       object\n  validator:  t\n"},
		{"little", &fetch.Meta{Kind: fetch.KindListing, Size: -1}, true, "http://h/x\n  kind:  listing\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := render.MetaText(&b, "http://h/x", tt.m, tt.fields); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
	m.ModTime = day
	var b strings.Builder
	if err := render.MetaJSON(&b, "http://h/x", "http://h/y", m); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"described","url":"http://h/x","final_url":"http://h/y","kind":"object","name":"x","content_type":"text/plain","size":0,"mtime":"2026-03-04T05:06:07Z",` +
		`"status":200,"reply":"200 OK","header":{"X-A":["\u001b"],"X-B":["1","2"]}}` + "\n"
	if got := untimed(b.String()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A Record is a driver's record of an entry.
type Record struct{ driver, author, link string }

func (r Record) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: r.driver, List: []fetch.Fact{{Name: "author", Value: r.author}, {Name: "link", Value: r.link}}}
}

// A badRecord has a fact that cannot be encoded as JSON.
type badRecord struct{}

func (badRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "x", List: []fetch.Fact{{Name: "f", Value: func() {}}}}
}

func TestEntriesJSONHasTheDriversRecord(t *testing.T) {
	t.Parallel()
	entries := []fetch.Entry{
		{Name: "a", Size: -1, Sys: Record{"x", "me & you", "http://h/?a&b"}},
		{Name: "b", Size: 3, Sys: &Record{driver: "x"}},
		{Name: "c", Size: -1, Sys: badRecord{}},
		{Name: "d", Size: -1, Sys: Record{author: "of no driver"}},
	}
	var b strings.Builder
	if err := render.EntriesJSON(&b, "x:", sequence(nil, entries...)); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"entry","url":"","listing":"x:","name":"a","kind":"object","x":{"author":"me & you","link":"http://h/?a&b"}}` + "\n" +
		`{"event":"entry","url":"","listing":"x:","name":"b","kind":"object","size":3,"x":{"author":"","link":""}}` + "\n" +
		`{"event":"entry","url":"","listing":"x:","name":"c","kind":"object"}` + "\n" + `{"event":"entry","url":"","listing":"x:","name":"d","kind":"object"}` + "\n"
	if untimed(b.String()) != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestJSONDoesNotDeceive(t *testing.T) {
	t.Parallel()
	name := "a\u009b2Jb\u202ec\U000e0001d\u2028e\x7f\u00e4\U0001f600"
	var b strings.Builder
	if err := render.EntriesJSON(&b, "x:", sequence(nil, fetch.Entry{Name: name, Size: -1})); err != nil {
		t.Fatal(err)
	}
	if want := `{"event":"entry","url":"","listing":"x:","name":"a\u009b2Jb\u202ec\udb40\udc01d\u2028e\u007fä😀","kind":"object"}` + "\n"; untimed(b.String()) != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
	var back struct{ Name string }
	if err := json.Unmarshal([]byte(b.String()), &back); err != nil || back.Name != name {
		t.Errorf("reads back as %q, %v", back.Name, err)
	}
}

// An lsRecord is the record of a file in a listing with the format of ls.
type lsRecord struct {
	Mode   string
	Target string
}

func (r lsRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "ftp", List: []fetch.Fact{{Name: "mode", Value: r.Mode}, {Name: "target", Value: r.Target, Optional: true}}}
}

// A linkRecord has the kind of its object as the target.
type linkRecord struct{ Target string }

func (r linkRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "prospero", List: []fetch.Fact{{Name: "target", Value: r.Target}}}
}

type articleRecord struct {
	Number uint64
	From   string
}

func (r articleRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "nntp", Word: "article",
		List: []fetch.Fact{{Name: "number", Value: r.Number}, {Name: "from", Value: r.From}}}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\": \"b\u009b2J\u202e<\"}":        `{"a":"b\u009b2J\u202e<"}`,
		"{\"a\":\n\"\x9b\", \"b\":\"\u00e4\"}": `{"a":"�","b":"ä"}`,
		"{\"a\u202e\":[1,\t2]}":                `{"a\u202e":[1,2]}`,
	} {
		var b strings.Builder
		if err := render.WriteJSON(&b, json.RawMessage(text)); err != nil || b.String() != want+"\n" {
			t.Errorf("%q: %q, %v; want %q", text, b.String(), err, want)
		}
	}
}

func TestLongListings(t *testing.T) {
	t.Parallel()
	at := func(s string) uri.URI { return uri.Must(uri.Parse(s)) }
	tests := []struct {
		name    string
		entries []fetch.Entry
		want    string
	}{
		{"files", []fetch.Entry{
			{URL: at("ftp://h/b"), Name: "b", Rel: "item", Size: 1536, ModTime: day, Sys: lsRecord{Mode: "-rw-r--r--"}},
			{URL: at("ftp://h/a/"), Name: "a", Rel: "item", Kind: fetch.EntryListing, Size: -1, ModTime: day, Sys: lsRecord{Mode: "drwxr-xr-x"}},
			{URL: at("ftp://h/c%20d"), Name: "c d", Rel: "item", Size: 50 << 20, ModTime: day, Sys: lsRecord{Mode: "lrwxrwxrwx", Target: "b\x1b"}},
		}, `dir   drwxr-xr-x     -  2026-03-04 05:06  a
file  -rw-r--r--  1.5K  2026-03-04 05:06  b
file  lrwxrwxrwx   50M  2026-03-04 05:06  c d -> b\x1b
`},
		{"articles keep their order", []fetch.Entry{
			{URL: at("nntp://h/g/9"), Name: "z", Rel: "article", Size: -1, ModTime: day, Sys: articleRecord{9, `"Joe Doe" <joe@h.example>`}},
			{URL: at("nntp://h/g/10"), Name: "a", Rel: "article", Size: -1, ModTime: day, Sys: articleRecord{10, "x"}},
		}, `article   9  Joe Doe  -  2026-03-04 05:06  z
article  10  x        -  2026-03-04 05:06  a
`},
		{"targets that are kinds", []fetch.Entry{
			{URL: at("prospero://h//a"), Name: "a", Rel: "item", Size: -1, Sys: linkRecord{"FILE"}},
		}, " 1  file  a\n"},
		{"menus too", []fetch.Entry{
			{URL: at("gopher://h/0/x"), Name: "Zebras", Rel: "item", Size: -1},
			{URL: at("gopher://h/0/a"), Name: "Apes", Rel: "item", Size: -1},
		}, " 1  file  Zebras\n 2  file  Apes\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		opts := &render.TextOptions{Location: time.UTC, Long: true, Human: true, Sort: true}
		if err := render.Text(&b, sequence(nil, tt.entries...), opts); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
}

func TestSortingIsBounded(t *testing.T) {
	t.Parallel()
	n := 0
	endless := func(yield func(fetch.Entry, error) bool) {
		for ; yield(fetch.Entry{URL: uri.Must(uri.Parse("ftp://h/x")), Name: "x", Rel: "item", Size: 1}, nil); n++ {
		}
	}
	err := render.Text(full{}, endless, &render.TextOptions{Sort: true})
	if !errors.Is(err, errFull) || n > 10_000 {
		t.Errorf("%v after %d entries", err, n)
	}
}
