package render_test

import (
	"errors"
	"iter"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
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
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), b.String()); diff != "" {
				t.Error(diff)
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

func TestListingsThatBreakOff(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *strings.Builder) error{
		"text": func(w *strings.Builder) error {
			return render.Text(w, sequence(errLost, directory()[1]), &render.TextOptions{Location: time.UTC})
		},
		"json": func(w *strings.Builder) error { return render.EntriesJSON(w, sequence(errLost, directory()[1])) },
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

func TestWritersThatFail(t *testing.T) {
	t.Parallel()
	meta := &fetch.Meta{Size: 1}
	for name, err := range map[string]error{
		"text":   render.Text(full{}, sequence(nil, directory()...), nil),
		"json":   render.EntriesJSON(full{}, sequence(nil, directory()...)),
		"meta":   render.MetaText(full{}, "x:", meta, false),
		"record": render.MetaJSON(full{}, "x:", meta),
		"event":  render.NewEventWriter(full{}).Write(render.Event{}),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEntriesJSON(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := render.EntriesJSON(&b, sequence(nil, append(directory(), menu()[0])...)); err != nil {
		t.Fatal(err)
	}
	want := `{"url":"ftp://u:xxxxx@h/pub/","name":"pub","kind":"listing","mtime":"2026-03-04T05:06:07Z","rel":"item"}
{"url":"ftp://h/a.txt","name":"a\u001b[2J.txt","kind":"object","content_type":"text/plain","size":12345,"mtime":"2026-03-04T05:06:07Z","rel":"item"}
{"url":"ftp://h/b","name":"b","kind":"object"}
{"name":"Welcome","kind":"text"}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	const u = "http://h/x?a&b"
	meta := &fetch.Meta{Kind: fetch.KindObject, ContentType: "text/plain", Size: 5, Total: 9, Reply: fetch.Reply{Code: 206, Text: "Partial"}}
	meta.ETag, meta.ModTime = `"e"`, day
	failure := &fetch.Error{Code: fetch.ErrNotFound, Reply: fetch.Reply{Code: 404, Text: "Not\x1b Found"}}
	tests := []struct {
		event render.Event
		want  string
	}{
		{render.Start(u, day), `{"event":"start","url":"http://h/x?a&b","time":"2026-03-04T05:06:07Z"}`},
		{render.Redirect(u, "http://h/x", "http://h/y"), `{"event":"redirect","url":"http://h/x?a&b","from":"http://h/x","to":"http://h/y"}`},
		{render.Response(u, meta), `{"event":"response","url":"http://h/x?a&b","kind":"object","content_type":"text/plain","size":9,` +
			`"mtime":"2026-03-04T05:06:07Z","etag":"\"e\"","reply":"206 Partial"}`},
		{render.Response(u, &fetch.Meta{Kind: fetch.KindListing, Size: -1}), `{"event":"response","url":"http://h/x?a&b","kind":"listing"}`},
		{render.Progress(u, 0, -1), `{"event":"progress","url":"http://h/x?a&b","bytes":0}`},
		{render.Progress(u, 3, 5), `{"event":"progress","url":"http://h/x?a&b","bytes":3,"size":5}`},
		{render.Retry(u, 2, 1500*time.Millisecond, failure), `{"event":"retry","url":"http://h/x?a&b","attempt":2,"wait":1.5,"error":"not found (404 Not\\x1b Found)"}`},
		{render.Saved(u, "x", 5, "ab", 2*time.Second), `{"event":"saved","url":"http://h/x?a&b","bytes":5,"path":"x","sha256":"ab","seconds":2}`},
		{render.Failed(u, failure, 8), `{"event":"error","url":"http://h/x?a&b","reply":"404 Not\\x1b Found","class":"not found","exit":8,"message":"not found (404 Not\\x1b Found)"}`},
		{render.Failed(u, errors.New("a\nb"), 1), `{"event":"error","url":"http://h/x?a&b","exit":1,"message":"a\\nb"}`},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := render.NewEventWriter(&b).Write(tt.event); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want+"\n", b.String()); diff != "" {
			t.Error(diff)
		}
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
		{"little", &fetch.Meta{Kind: fetch.KindListing, Size: -1}, true, "http://h/x\n  kind:  listing\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		if err := render.MetaText(&b, "http://h/x", tt.m, tt.fields); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, b.String()); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	m.ModTime = day
	var b strings.Builder
	if err := render.MetaJSON(&b, "http://h/x", m); err != nil {
		t.Fatal(err)
	}
	want := `{"url":"http://h/x","kind":"object","name":"x","content_type":"text/plain","size":0,"mtime":"2026-03-04T05:06:07Z",` +
		`"reply":"200 OK","header":{"X-A":["\u001b"],"X-B":["1","2"]}}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
