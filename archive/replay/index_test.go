package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// writeIndexed writes an archive and its index, which change may modify. It returns the path of the
// archive.
func writeIndexed(t *testing.T, change func(index string) string, records ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.warc")
	text := []byte(strings.Join(records, ""))
	var index bytes.Buffer
	if err := warc.WriteIndex(&index, bytes.NewReader(text), "a.warc"); err != nil && !isDamage(err) {
		t.Fatal(err)
	}
	for name, content := range map[string]string{path: string(text), strings.TrimSuffix(path, ".warc") + ".cdxj": change(index.String())} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func unchanged(index string) string { return index }

// sample returns an archive with records of many kinds. Damage in the middle reveals whether the
// archive was scanned.
func sample() []string {
	return []string{
		record("warcinfo", "", "application/warc-fields", "software: x\r\n"),
		response("http://h.example/a", ok("pear"), id("1"), date("2026-01-01T00:00:00Z")),
		record("request", "http://h.example/form", "application/http; msgtype=request", "POST /form HTTP/1.1\r\nHost: h.example\r\nContent-Length: 3\r\n\r\na=1",
			"WARC-Concurrent-To: <urn:form>\r\n"),
		response("http://h.example/form", ok("posted"), id("form")),
		"rubbish\r\n",
		record("revisit", "http://h.example/by-date", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
			"WARC-Refers-To-Target-URI: <http://h.example/a>\r\n", "WARC-Refers-To-Date: 2026-01-01T00:00:00Z\r\n"),
		record("revisit", "http://h.example/by-id", "application/http; msgtype=response", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "WARC-Refers-To: <urn:1>\r\n"),
		record("resource", "ftp://h.example/bare", "text/plain", "bare"),
		record("resource", "ftp://h.example/list/", "text/plain", "a\r\n", id("c")),
		record("metadata", "ftp://h.example/list/", "application/x-urlget-entries+json-seq", `{"url":"ftp://h.example/list/a","name":"a","kind":"object","size":4}`+"\n", id("e")),
		record("metadata", "ftp://h.example/list/", "application/x-urlget-exchange+json",
			`{"url":"ftp://h.example/list/","op":"list","content":"urn:c","entries":"urn:e","answer":{"kind":"listing","size":-1}}`),
		record("metadata", "ftp://h.example/gone", "application/x-urlget-exchange+json",
			`{"url":"ftp://h.example/gone","op":"get","failure":{"class":"not_found","message":"550 no"}}`),
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	late := response("http://h.example/late", ok("late"))
	for _, tt := range []struct {
		name     string
		change   func(string) string
		appended string // appended to the archive, not covered by the index
		scanned  bool   // the archive is scanned despite the index
	}{
		{"complete index", unchanged, "", false},
		{"not sorted", func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			for i := range len(lines) / 2 {
				lines[i], lines[len(lines)-1-i] = lines[len(lines)-1-i], lines[i]
			}
			return strings.TrimPrefix(strings.Join(lines, ""), "\n")
		}, "", false},
		{"with invalid lines", func(s string) string { return "rubbish\n" + strings.Repeat("x", 100_000) + "\n" + s + "a 2026 {" }, "", false},
		{"of the start of the file", unchanged, late, false},
		{"without a coverage line", func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest }, "", true},
		{"coverage beyond the end", func(s string) string { return strings.Replace(s, `"size":"`, `"size":"9`, 1) }, "", true},
		{"of another file", func(s string) string { return strings.Replace(s, `{"filename":"a.warc"`, `{"filename":"b.warc"`, 1) }, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := writeIndexed(t, tt.change, sample()...)
			if tt.appended != "" {
				f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				f.WriteString(tt.appended)
				f.Close()
			}
			a, err := replay.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Damage() != nil; got != tt.scanned {
				t.Errorf("archive was scanned: %v, want %v", got, tt.scanned)
			}
			if n := len(a.Captures(uri.MustParse("http://h.example/a"), 10)); n != 1 || a.Len() == 0 {
				t.Errorf("%d captures, Len %d", n, a.Len())
			}
			a.Close()
			c := clientOf(t, replay.Options{}, path)
			want := map[string]string{"http://h.example/a": "pear", "http://h.example/form": "! not_found", "http://h.example/by-date": "pear",
				"http://h.example/by-id": "pear", "ftp://h.example/bare": "bare", "ftp://h.example/list/": "a\r\n", "ftp://h.example/gone": "! not_found",
				"http://h.example/never": "! not_found", "http://h.example/late": "! not_found"}
			if tt.appended != "" {
				want["http://h.example/late"] = "late"
			}
			for range 2 {
				for rawURL, content := range want {
					if got := get(c, getRequest(rawURL)); got != content {
						t.Errorf("%s: %q, want %q", rawURL, got, content)
					}
				}
			}
			post := getRequest("http://h.example/form")
			post.Method, post.GetBody = "POST", formBody
			if got := get(c, post); got != "posted" {
				t.Errorf("POST: %q", got)
			}
			n := 0
			for e, err := range c.List(t.Context(), "ftp://h.example/list/") {
				if n++; err != nil || e.Name != "a" {
					t.Errorf("%+v, %v", e, err)
				}
			}
			if n != 1 {
				t.Errorf("%d members", n)
			}
		})
	}
}

// An index with wrong entries does not yield URLs that no record has.
func TestWrongIndexEntries(t *testing.T) {
	t.Parallel()
	records := sample()[:4]
	size := len(strings.Join(records, ""))
	for name, line := range map[string]string{
		"another record":             `{"url":"http://h.example/x","filename":"a.warc","offset":"%d","length":"1"}`,
		"no record":                  `{"url":"http://h.example/x","filename":"a.warc","offset":"3","length":"1","request":"%d","origin":"7"}`,
		"offset beyond the end":      `{"url":"http://h.example/x","filename":"a.warc","offset":"99999999999999","length":"1"}`,
		"negative offset":            `{"url":"http://h.example/x","filename":"a.warc","offset":"-5","length":"1"}`,
		"file outside the directory": `{"url":"http://h.example/x","filename":"/etc/passwd","offset":"0","length":"1"}`,
	} {
		path := writeIndexed(t, func(string) string {
			line := line
			if strings.Contains(line, "%d") {
				line = fmt.Sprintf(line, len(records[0]))
			}
			return fmt.Sprintf("!urlget {\"filename\":\"a.warc\",\"size\":\"%d\"}\nx 20260101000000 %s\n", size, line)
		}, records...)
		if got := get(clientOf(t, replay.Options{}, path), getRequest("http://h.example/x")); got != "! not_found" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Cached lookups are dropped, but never between a capture and the records to which it refers.
func TestCachedIndexLookups(t *testing.T) {
	t.Parallel()
	var records []string
	const many = 100
	for i := range many {
		records = append(records, record("resource", fmt.Sprintf("ftp://h.example/%d", i), "text/plain", fmt.Sprint(i)))
	}
	a, err := replay.Open(writeIndexed(t, unchanged, records...))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.SetMaxCached(10)
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})}}, drivers)
	defer c.Close()
	for i := range many {
		if got := get(c, getRequest(fmt.Sprintf("ftp://h.example/%d", i))); got != fmt.Sprint(i) {
			t.Fatalf("%d: %q", i, got)
		}
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("ftp://h.example/1"), Op: fetch.OpStat}); err != nil {
		t.Error(err)
	}
}

// The number of records without an index is limited.
func TestTooManyRecords(t *testing.T) {
	t.Parallel()
	path := writeIndexed(t, unchanged, sample()...)
	if a, err := replay.OpenLimit(1, path); err != nil {
		t.Error(err)
	} else {
		a.Close()
	}
	if err := os.Remove(strings.TrimSuffix(path, ".warc") + ".cdxj"); err != nil {
		t.Fatal(err)
	}
	if a, err := replay.OpenLimit(len(sample())-1, path); err != nil {
		t.Error(err)
	} else {
		a.Close()
	}
	if _, err := replay.OpenLimit(len(sample())-2, path); !errors.Is(err, replay.ErrTooMany) {
		t.Error(err)
	}
}

// An archive that is followed has the records whose index lines are complete, in addition to those that
// it had before.
func TestFollowedArchives(t *testing.T) {
	t.Parallel()
	first := response("http://h.example/a", ok("pear"), date("2020-01-01T00:00:00Z"))
	path := writeIndexed(t, unchanged, first)
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Follow(path); err != nil {
		t.Fatal(err)
	}
	count := func(path string) int { return len(a.Captures(uri.MustParse("http://h.example/"+path), 10)) }
	write := func(name, text string) {
		t.Helper()
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	before := a.Loaded(uri.MustParse("http://h.example/a"))
	if count("a") != 1 || count("b") != 0 {
		t.Errorf("at first: %d and %d captures", count("a"), count("b"))
	}
	second := response("http://h.example/a", ok("plum"), date("2021-01-01T00:00:00Z")) + response("http://h.example/b", ok("apple"), date("2021-01-01T00:00:00Z"))
	write(path, second)
	var index bytes.Buffer
	if err := warc.WriteIndex(&index, strings.NewReader(first+second), "a.warc"); err != nil {
		t.Fatal(err)
	}
	known, err := os.ReadFile(strings.TrimSuffix(path, ".warc") + ".cdxj")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string // those of the second part
	for line := range strings.Lines(index.String()) {
		if !strings.Contains(string(known), line) && strings.Contains(line, "20210101") {
			lines = append(lines, line)
		}
	}
	text := "rubbish\n" + strings.ReplaceAll(lines[0], "a.warc", "other.warc") + strings.Join(lines, "")
	half := strings.LastIndex(text, lines[1]) + 20
	write(strings.TrimSuffix(path, ".warc")+".cdxj", text[:half])
	if count("a") != 2 || count("b") != 0 {
		t.Errorf("with half of the last line: %d and %d captures", count("a"), count("b"))
	}
	write(strings.TrimSuffix(path, ".warc")+".cdxj", text[half:])
	if count("a") != 2 || count("b") != 1 {
		t.Errorf("at the end: %d and %d captures", count("a"), count("b"))
	}
	if after := a.Loaded(uri.MustParse("http://h.example/a")); after[0] != before[0] {
		t.Error("a record that was known is read again")
	}
	c := replayClient(a)
	defer c.Close()
	if got := get(c, getRequest("http://h.example/a")) + " " + get(c, getRequest("http://h.example/b")); got != "plum apple" {
		t.Error(got)
	}
	if err := a.Follow(filepath.Join(t.TempDir(), "absent.warc")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func formBody() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("a=1")), nil }
