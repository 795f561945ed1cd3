package replay_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
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

// A part is a member of a WACZ file.
type part struct {
	name    string
	content []byte
}

// writePacked writes a WACZ file whose datapackage.json has the digests of all members.
func writePacked(t *testing.T, parts ...part) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.wacz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []string
	z := zip.NewWriter(f)
	add := func(p part) {
		method := zip.Store
		if strings.HasPrefix(p.name, "pages/") {
			method = zip.Deflate
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: p.name, Method: method})
		if err == nil {
			_, err = w.Write(p.content)
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf(`{"path":%q,"hash":"sha256:%x","bytes":%d}`, p.name, sha256.Sum256(p.content), len(p.content)))
	}
	for _, p := range parts {
		add(p)
	}
	if len(parts) > 0 && parts[len(parts)-1].name != "datapackage.json" {
		add(part{"datapackage.json", []byte(`{"profile":"data-package","resources":[` + strings.Join(list, ",") + `]}`)})
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// cdxj returns the index lines of records.
func cdxj(t *testing.T, file, records string) []string {
	t.Helper()
	var lines []string
	if _, err := warc.Index(strings.NewReader(records), file, func(e warc.IndexEntry) error {
		lines = append(lines, string(e.AppendTo(nil)))
		return nil
	}); err != nil && !isDamage(err) {
		t.Fatal(err)
	}
	return lines
}

func isDamage(err error) bool {
	_, ok := errors.AsType[*warc.DamageError](err)
	return ok
}

// zipped compresses each text as a separate gzip member.
func zipped(t *testing.T, texts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, text := range texts {
		z := gzip.NewWriter(&out)
		io.WriteString(z, text)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// With an index, the archives in a WACZ file are not scanned; damage in them would reveal it. The
// responses are the same with every index.
func TestPackedIndex(t *testing.T) {
	t.Parallel()
	records := strings.Join(sample(), "")
	const damage = "rubbish\r\n"
	second := response("http://h.example/second", ok("second")) + damage
	lines := cdxj(t, "a.warc", records)
	index := strings.Join(lines, "")
	both := index + strings.Join(cdxj(t, "b.warc", second), "")
	archives := []part{{"archive/a.warc", []byte(records)}, {"archive/b.warc", []byte(second)}}
	replaced := func(old, new string) string { return strings.Replace(both, old, new, 1) }
	for _, tt := range []struct {
		name    string
		parts   []part
		damaged int // number of damage errors, of scanned archives and of the index
		message string
	}{
		{"complete index", []part{{"indexes/index.cdx.gz", zipped(t, both)}}, 0, ""},
		{"plain", []part{{"indexes/index.cdxj", []byte(both)}}, 0, ""},
		{"compressed blocks with an index of blocks", []part{{"indexes/index.cdx.gz", zipped(t, append(lines, strings.Join(cdxj(t, "b.warc", second), ""))...)},
			{"indexes/index.idx", []byte("!meta 0 {\"format\":\"cdxj-gzip-1.0\",\"filename\":\"index.cdx.gz\"}\nexample,h)/ 2026 {\"offset\":0,\"length\":9}\n")}}, 0, ""},
		{"one index per file", []part{{"indexes/a.cdx.gz", zipped(t, index)}, {"indexes/b.cdxj", []byte(strings.Join(cdxj(t, "b.warc", second), ""))}}, 0, ""},
		{"with invalid lines", []part{{"indexes/index.cdxj", []byte("!x\n" + strings.Repeat("x", 100_000) + "\n" + both + "a 2026 {")}}, 0, ""},
		{"index of one of two files", []part{{"indexes/index.cdxj", []byte(index)}}, 1, "b.warc"},
		{"index of missing files", []part{{"indexes/index.cdxj", []byte(strings.ReplaceAll(both, "b.warc", "c.warc"))}}, 1, "b.warc"},
		{"index by a program that knows only HTTP", []part{{"indexes/index.cdxj", []byte(strings.ReplaceAll(both, `"instant"`, `"other"`))}}, 1, "a.warc"},
		{"no index", nil, 2, ""},
		{"truncated index", []part{{"indexes/index.cdx.gz", zipped(t, both)[:200]}}, 3, "reading its WARC files instead"},
		{"not in gzip format", []part{{"indexes/index.cdx.gz", []byte(both)}}, 3, "reading its WARC files instead"},
		{"wrong digest", []part{{"indexes/index.cdxj", []byte(both)},
			{"datapackage.json", fmt.Appendf(nil, `{"resources":[{"path":"indexes/index.cdxj","hash":"sha256:%x"}]}`, sha256.Sum256(nil))}}, 3, "digest mismatch"},
		{"growing index", []part{{"indexes/index.cdx.gz", zipped(t, both+strings.Repeat("x", 16<<20))}}, 3, "decompressed size is more than 100 times"},
		{"entry of another record", []part{{"indexes/index.cdxj", []byte(both + strings.ReplaceAll(lines[0], "/a", "/never"))}}, 3, "wrong index entry for"},
		{"offset beyond the end", []part{{"indexes/index.cdxj", []byte(replaced(`"offset":"`, `"offset":"9999999`))}}, 3, "wrong index entry for"},
		{"negative offset", []part{{"indexes/index.cdxj", []byte(replaced(`"offset":"`, `"offset":"-`))}}, 3, "wrong index entry for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := replay.Open(writePacked(t, append(append([]part(nil), archives...), tt.parts...)...))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			c := replayClient(a)
			defer c.Close()
			for range 2 {
				for rawURL, want := range map[string]string{"http://h.example/a": "pear", "http://h.example/form": "! not_found", "http://h.example/by-date": "pear",
					"http://h.example/by-id": "pear", "ftp://h.example/bare": "bare", "ftp://h.example/list/": "a\r\n", "ftp://h.example/gone": "! not_found",
					"http://h.example/never": "! not_found", "http://h.example/second": "second"} {
					if got := get(c, getRequest(rawURL)); got != want {
						t.Errorf("%s: %q, want %q", rawURL, got, want)
					}
				}
			}
			post := getRequest("http://h.example/form")
			post.Method, post.GetBody = "POST", formBody
			if got := get(c, post); got != "posted" {
				t.Errorf("POST: %q", got)
			}
			if damage := a.Damage(); len(damage) != tt.damaged || !strings.Contains(fmt.Sprint(damage), tt.message) {
				t.Errorf("damage %q, want %d errors", damage, tt.damaged)
			}
			if list, _, err := a.URLs(func(url string) bool { return strings.HasPrefix(url, "http:") }, 10); err != nil || len(list) != 5 {
				t.Errorf("%q, %v", list, err)
			}
			if n := len(a.Captures(uri.MustParse("http://h.example/a"), 10)); n != 1 || a.Len() == 0 {
				t.Errorf("%d captures, Len %d", n, a.Len())
			}
		})
	}
}

func TestPackedIndexLimit(t *testing.T) {
	t.Parallel()
	records := strings.Join(sample(), "")
	lines := cdxj(t, "a.warc", records)
	archive := part{"archive/a.warc", []byte(records)}
	if _, err := replay.OpenLimit(1, writePacked(t, archive, part{"indexes/index.cdx.gz", zipped(t, lines...)})); err == nil || !strings.Contains(err.Error(), "too many records in the index") {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	a, err := replay.OpenLimit(1, writePacked(t, archive, part{"indexes/index.cdx.gz", zipped(t, lines[:4]...)}))
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
}

// FuzzPackedIndex requests every URL of an arbitrary index.
func FuzzPackedIndex(f *testing.F) {
	const record = "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: ftp://h.example/a\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\npear\r\n\r\n"
	f.Add([]byte("h 2026 {\"url\":\"ftp://h.example/a\",\"filename\":\"a.warc\",\"offset\":\"0\",\"length\":\"1\",\"instant\":\"2026\",\"origin\":\"7\"}\n"))
	f.Fuzz(func(t *testing.T, index []byte) {
		a, err := replay.Open(writePacked(t, part{"archive/a.warc", []byte(record)}, part{"indexes/index.cdxj", index}))
		if err != nil {
			return
		}
		defer a.Close()
		c := replayClient(a)
		defer c.Close()
		list, _, err := a.URLs(func(string) bool { return true }, 10)
		if err != nil {
			t.Error(err)
		}
		for _, rawURL := range append(list, "ftp://h.example/a") {
			if got := get(c, getRequest(rawURL)); got != "pear" && got != "! not_found" && rawURL == "ftp://h.example/a" {
				t.Errorf("%s: %q", rawURL, got)
			}
		}
	})
}

// The index of another program gives the method of a request, but not its position. Without the request
// record, its body is not known.
func TestPackedIndexMethods(t *testing.T) {
	t.Parallel()
	posted := response("http://h.example/form", ok("posted"), id("1"))
	request := record("request", "http://h.example/form", "application/http; msgtype=request", "POST /form HTTP/1.1\r\nContent-Length: 3\r\n\r\na=1", "WARC-Concurrent-To: <urn:1>\r\n")
	line := `example,h)/form?__wb_method=post 20260101000000 {"url":"http://h.example/form","filename":"a.warc","offset":"0","length":"9","method":"POST"}` + "\n"
	for records, want := range map[string]string{
		posted + request: "posted ! not_found ! not_found",
		posted:           "! not_found ! not_found ! not_found",
		posted + response("http://h.example/other", ok("x"), id("2")): "! not_found ! not_found ! not_found",
	} {
		a, err := replay.Open(writePacked(t, part{"archive/a.warc", []byte(records)}, part{"indexes/index.cdx", []byte(line)}))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		c := replayClient(a)
		defer c.Close()
		post, empty := getRequest("http://h.example/form"), getRequest("http://h.example/form")
		post.Method, post.GetBody = "POST", formBody
		empty.Method = "POST"
		if got := get(c, post) + " " + get(c, empty) + " " + get(c, getRequest("http://h.example/form")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A capture names the WACZ file and the WARC file in it, whether it was found by an index or not.
func TestPackedCapturesNameTheirFile(t *testing.T) {
	t.Parallel()
	records := response("http://h.example/", ok("pear"))
	for name, parts := range map[string][]part{"with an index": {{"indexes/index.cdx", []byte(strings.Join(cdxj(t, "b.warc", records), ""))}}, "without": nil} {
		file := writePacked(t, append([]part{{"archive/b.warc", []byte(records)}}, parts...)...)
		a, err := replay.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		c := replayClient(a)
		defer c.Close()
		if m, err := c.Stat(t.Context(), getRequest("http://h.example/")); err != nil || m.Capture == nil || m.Capture.Source != file+"/b.warc" {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// replayClient returns a client that uses only the archive.
func replayClient(a *replay.Archive) *fetch.Client {
	return fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})}}, drivers)
}

// If the index is wrong about one WARC file, a file that it does not mention is not scanned again.
func TestArchivesAreScannedOnce(t *testing.T) {
	t.Parallel()
	one, two := response("http://h.example/1", ok("pear")), response("http://h.example/2", ok("pear"))
	lines := strings.Replace(strings.Join(cdxj(t, "two.warc", two), ""), `"offset":"0"`, `"offset":"7"`, 1)
	a, err := replay.Open(writePacked(t, part{"archive/one.warc", []byte(one)}, part{"archive/two.warc", []byte(two)},
		part{"indexes/index.cdx.gz", zipped(t, lines)}))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, rawURL := range []string{"http://h.example/2", "http://h.example/1"} {
		if list := a.Captures(uri.MustParse(rawURL), 10); len(list) != 1 {
			t.Errorf("%s: %d captures, want 1", rawURL, len(list))
		}
	}
}

// Files of one name in several WACZ files in one are told apart, with and without their indexes, which
// share one limit.
func TestCollectionsOfPackedFiles(t *testing.T) {
	t.Parallel()
	one, two := response("http://h.example/1", ok("pear")), response("http://h.example/2", ok("plum"))
	three := response("http://h.example/3", ok("quince"))
	inner := func(records string, parts ...part) []byte {
		content, err := os.ReadFile(writePacked(t, append([]part{{"archive/data.warc", []byte(records)}}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	index := func(records string) part {
		return part{"indexes/index.cdx.gz", zipped(t, cdxj(t, "data.warc", records)...)}
	}
	file := writePacked(t, part{"one.wacz", inner(one, index(one))}, part{"archive/two.wacz", inner(two, index(two))},
		part{"three.wacz", inner(three)})
	a, err := replay.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c := replayClient(a)
	defer c.Close()
	for n, want := range map[int]string{1: "pear", 2: "plum", 3: "quince", 4: "! not_found"} {
		if got := get(c, getRequest(fmt.Sprintf("http://h.example/%d", n))); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if m, err := c.Stat(t.Context(), getRequest("http://h.example/2")); err != nil || m.Capture.Source != file+"/two.wacz/data.warc" {
		t.Errorf("%+v, %v", m, err)
	}
	many := strings.Join(sample(), "")
	if n := len(cdxj(t, "data.warc", many)); n > 12 {
		t.Fatalf("the sample has %d records, more than the limit", n)
	}
	file = writePacked(t, part{"one.wacz", inner(many, index(many))}, part{"two.wacz", inner(many, index(many))})
	if _, err := replay.OpenLimit(3, file); err == nil || !strings.Contains(err.Error(), "too many records in the index") {
		t.Errorf("%v", err)
	}
}
