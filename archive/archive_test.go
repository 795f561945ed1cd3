package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/crawl/mirror"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/warccheck"
	"github.com/urlget/urlget/protocols/file"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/gemini"
	"github.com/urlget/urlget/protocols/gopher"
	urlhttp "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/wais"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// imported returns the records that an import writes, without the warcinfo record, and the reported
// problems.
func imported(t *testing.T, do func(*archive.Importer) error) (list []*warccheck.Record, problems []string, report archive.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.warc.gz")
	w, err := warc.Create(path, warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := archive.New(w, capture.NewSeen(), func(err error) { problems = append(problems, err.Error()) })
	if err := errors.Join(do(m), w.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = warccheck.Read(file); err != nil {
		t.Fatal(err)
	}
	return list[1:], problems, m.Report()
}

func record(id, kind, date, target, contentType, block string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-00000000000%s>\r\nWARC-Date: %s\r\nWARC-Target-URI: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		kind, id, date, target, contentType, len(block), block)
}

func TestMergeArchives(t *testing.T) {
	t.Parallel()
	const web = "application/http;msgtype=response"
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npe\r\n2\r\nar\r\n0\r\n\r\n"
	plain := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"
	one := record("1", "response", "2020-01-01T00:00:00Z", "<http://h/1>", web, plain) +
		record("2", "request", "2020-01-01T00:00:00Z", "<http://h/1>", "application/http;msgtype=request", "GET /1 HTTP/1.1\r\n\r\n")
	two := record("3", "response", "20210101000000", "http://h/2", web, chunked) +
		record("1", "response", "2020-01-01T00:00:00Z", "http://h/1", web, plain) +
		record("4", "resource", "2022-01-01T00:00:00Z", "ftp://h/4", "text/plain", "pear") +
		"rubbish\r\n" +
		record("5", "response", "2022-01-01T00:00:00Z", "http://h/5", web, strings.Replace(plain, "200 OK", "404 No", 1)) +
		record("6", "response", "2022-01-01T00:00:00Z", "http://h/6", web+"\r\nWARC-Truncated: disconnect", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npear") +
		record("7", "metadata", "2022-01-01T00:00:00Z", "http://h/1", "application/warc-fields", "a: b\r\n")
	list, problems, report := imported(t, func(m *archive.Importer) error {
		return errors.Join(m.WARC(t.Context(), strings.NewReader(one), "one"), m.WARC(t.Context(), strings.NewReader(two), "two"))
	})
	var got []string
	for _, r := range list {
		got = append(got, r.Type+" "+r.Field("WARC-Target-URI"))
	}
	want := []string{"response http://h/1", "request http://h/1", "revisit http://h/2", "revisit ftp://h/4", "response http://h/5", "response http://h/6", "metadata http://h/1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	revisit := list[2]
	if string(revisit.Block) != "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" || revisit.Field("WARC-Refers-To-Target-URI") != "http://h/1" ||
		revisit.Field("WARC-Refers-To") != "<urn:uuid:00000000-0000-4000-8000-000000000001>" || revisit.Field("WARC-Refers-To-Date") != "2020-01-01T00:00:00.000000Z" || revisit.Field("WARC-Date") != "2021-01-01T00:00:00.000000Z" || revisit.Field("WARC-Truncated") != "length" {
		t.Errorf("%v: %q", revisit.Fields, revisit.Block)
	}
	if len(list[3].Block) != 0 {
		t.Errorf("%q", list[3].Block)
	}
	if report != (archive.Report{Records: 7, Revisits: 2, Known: 1}) || len(problems) != 1 || !strings.Contains(problems[0], "two: damaged at byte") {
		t.Errorf("%+v %q", report, problems)
	}
	for content, want := range map[string]string{"": "a file: no WARC records", "Dear diary\n": "a file: no WARC records"} {
		m := archive.New(nil, nil, func(error) {})
		if err := m.WARC(t.Context(), strings.NewReader(content), "a file"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}

// Other programs also write interim responses and other forms of the head. A revisit keeps only the
// head of the final response.
func TestRevisitHeads(t *testing.T) {
	t.Parallel()
	const web = "application/http;msgtype=response"
	const pear = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"
	for _, tt := range []struct{ block, want string }{
		{"HTTP/1.1 100 Continue\r\n\r\n" + pear, pear[:len(pear)-4]},
		{"HTTP/2 200\r\nContent-Type: text/plain\r\n\r\npear", "HTTP/2.0 200\r\nContent-Type: text/plain\r\n\r\n"},
		{"HTTP/1.1 200 OK\nContent-Length: 4\n\npear", "HTTP/1.1 200 OK\nContent-Length: 4\n\n"},
		{"HTTP/1.1 200 OK\r\nA: b\r\n \r\nC: d\r\n\r\npear", "HTTP/1.1 200 OK\r\nA: b\r\n \r\nC: d\r\n\r\n"},
	} {
		file := record("1", "response", "2020-01-01T00:00:00Z", "http://h/1", web, pear) + record("2", "response", "2021-01-01T00:00:00Z", "http://h/2", web, tt.block)
		list, _, report := imported(t, func(m *archive.Importer) error { return m.WARC(t.Context(), strings.NewReader(file), "one") })
		if len(list) != 2 || report.Revisits != 1 || string(list[1].Block) != tt.want {
			t.Errorf("%q: %+v, %q", tt.block, report, list[1].Block)
		}
	}
}

// A record that is damaged in one archive is imported from another archive.
func TestDamagedRecordsAreReplaced(t *testing.T) {
	t.Parallel()
	digest := fmt.Sprintf("text/plain\r\nWARC-Block-Digest: sha256:%x", sha256.Sum256([]byte("pear")))
	complete := record("1", "resource", "2020-01-01T00:00:00Z", "ftp://h/1", digest, "pear")
	noDigest := record("1", "resource", "2020-01-01T00:00:00Z", "ftp://h/1", "text/plain", "pear")
	pack := func(text string, change func([]byte) []byte) string {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		z.Write([]byte(text))
		z.Close()
		return string(change(b.Bytes()))
	}
	flip := func(b []byte) []byte { return bytes.Replace(b, []byte("pear"), []byte("peas"), 1) }
	for _, tt := range []struct{ name, first, second string }{
		{"truncated within the block", complete[:len(complete)-6], complete},
		{"truncated after the block", complete[:len(complete)-4], complete},
		{"truncated after the block, without a digest", noDigest[:len(noDigest)-2], noDigest},
		{"changed byte", pack(complete, flip), complete},
		{"changed byte, without a digest", pack(noDigest, flip), noDigest},
		{"changed byte, not compressed", string(flip([]byte(complete))), complete},
		{"wrong Content-Length", strings.Replace(complete, "Content-Length: 4", "Content-Length: 3", 1), complete},
		{"truncated gzip member", pack(complete, func(b []byte) []byte { return b[:len(b)-4] }), complete},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list, problems, report := imported(t, func(m *archive.Importer) error {
				err := m.WARC(t.Context(), strings.NewReader(tt.first), "one")
				if err != nil && !strings.Contains(err.Error(), "no WARC records") {
					return err
				}
				return m.WARC(t.Context(), strings.NewReader(tt.second), "two")
			})
			if len(list) != 1 || list[0].Type != "resource" || string(list[0].Block) != "pear" || len(problems) != 1 || report.Records != 1 {
				t.Errorf("%d records, %q, %+v", len(list), problems, report)
			}
		})
	}
}

// A mirror is imported under the URLs of its files, without the files that were changed.
func TestImportMirror(t *testing.T) {
	t.Parallel()
	day := time.Date(1994, time.December, 20, 12, 0, 0, 0, time.UTC)
	s := httptest.NewTLSServer(http.FileServerFS(fstest.MapFS{
		"index.html": {Data: []byte(`<a href="pear.txt">pear</a> <a href="/apple.txt">apple</a>`), ModTime: day},
		"pear.txt":   {Data: []byte("A pear is a fruit.\n"), ModTime: day},
		"apple.txt":  {Data: []byte("An apple a day.\n"), ModTime: day},
	}))
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	for _, originals := range []bool{false, true} {
		c := fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: roots}}, urlhttp.Load)
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = mirror.Run(context.Background(), &download.Downloader{Client: c, Root: root}, []uri.URI{uri.MustParse(s.URL + "/")},
			&mirror.Options{Newer: true, Convert: true, Originals: originals, Crawl: crawl.Options{Scope: crawl.Scope{MaxDepth: -1}}})
		c.Close()
		root.Close()
		if err != nil {
			t.Fatal(err)
		}
		host := strings.ReplaceAll(strings.TrimPrefix(s.URL, "https://"), ":", "+")
		if err := os.WriteFile(filepath.Join(dir, host, "apple.txt"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if kind, err := archive.KindOf(dir); kind != archive.Mirror || err != nil {
			t.Errorf("%s, %v", kind, err)
		}
		twice := func(m *archive.Importer) error {
			return errors.Join(m.Mirror(t.Context(), dir), m.Mirror(t.Context(), dir))
		}
		if _, _, report := imported(t, twice); report.Revisits == 0 || report.Records != 4*report.Revisits {
			t.Errorf("second import: %+v", report)
		}
		for range 2 { // imports do not change the mirror
			list, problems, _ := imported(t, func(m *archive.Importer) error { return m.Mirror(t.Context(), dir) })
			got := make(map[string]string)
			for _, r := range list {
				if r.Type == warc.Resource {
					got[strings.TrimPrefix(r.Field("WARC-Target-URI"), s.URL)] = string(r.Block)
				}
			}
			want := map[string]string{"/pear.txt": "A pear is a fruit.\n"}
			wantProblems := 2
			if originals {
				want["/"] = `<a href="pear.txt">pear</a> <a href="/apple.txt">apple</a>`
				wantProblems = 1
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || len(problems) != wantProblems {
				t.Errorf("got %q\nwant %q\n%q", got, want, problems)
			}
		}
	}
}

func checkUnknownKind(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "not a WARC, ARC, WACZ, HAR or MHTML file, a mailbox (mbox, Maildir) or a mirror") {
		t.Errorf("error %v, want that the kind is unknown", err)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tt := range map[string]struct {
		content string
		want    archive.Kind
	}{
		"a": {"WARC/1.0\r\n", archive.WARC}, "b": {"\x1f\x8b\x08\x00\x00", archive.WARC}, "c": {"From a b", archive.Mailbox},
		"d": {"Dear diary", ""}, "g": {"filedesc://a.arc 0.0.0.0 ", archive.WARC}, "e": {"", ""}, "f": {"WAR", ""}, "h": {"BZh91AY&SY", archive.WARC},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		switch got, err := archive.KindOf(path); {
		case got != tt.want:
			t.Errorf("%q: %q, want %q; %v", tt.content, got, tt.want, err)
		case tt.want == "":
			checkUnknownKind(t, err)
		case err != nil:
			t.Error(err)
		}
	}
	_, err := archive.KindOf(dir)
	checkUnknownKind(t, err)
	if _, err := archive.KindOf(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// Files are created only below the directory, whatever URLs and names an archive contains.
func TestExtractStaysInside(t *testing.T) {
	t.Parallel()
	const web = "application/http;msgtype=response"
	var records []string
	targets := []string{"http://h.example/../../out", "http://h.example/%2e%2e/%2e%2e/out", "http://h.example/..%2f..%2fout", `http://h.example/..\..\out`,
		"http://../out", "http://%2e%2e/out", "ftp://h.example/%2F..%2F../out", "ftp://h.example/../../out", "gopher://h.example/0/../../out",
		"gopher://h.example/0..%2f..%2fout", "gemini://h.example/../../out", "http://h.example/.urlget/x", "http://h.example/a%00b", "http://h.example/CON", "file:///out"}
	for i, target := range targets {
		kind, contentType, block := "resource", "text/plain", "pear"
		if strings.HasPrefix(target, "http") {
			kind, contentType, block = "response", web, "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"../../out\"\r\nContent-Length: 4\r\n\r\npear"
		}
		records = append(records, record(fmt.Sprintf("%x", i), kind, "2020-01-01T00:00:00Z", target, contentType, block))
	}
	parent := t.TempDir()
	inside := filepath.Join(parent, "a", "b")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(parent, filepath.Join(inside, "h.example")); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "x.warc")
	if err := os.WriteFile(path, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := 0
	for _, link := range []bool{true, false} {
		if !link {
			os.Remove(filepath.Join(inside, "h.example"))
		}
		saved += extractAll(t, path, inside)
	}
	if saved < 5 {
		t.Errorf("%d files saved, want at least 5", saved)
	}
	for _, dir := range []string{parent, filepath.Join(parent, "a")} {
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 1 {
			t.Errorf("files outside the directory: %v, %v", list, err)
		}
	}
}

// Deep URLs are saved in the directory of the server, because nested directories take too long.
func TestExtractDeepURLs(t *testing.T) {
	t.Parallel()
	const web = "application/http;msgtype=response"
	const pear = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"
	var records []string
	for i, target := range []string{strings.Repeat("a/", 99) + "f", strings.Repeat("a/", 100) + "f", strings.Repeat("b/", 2000) + "f", strings.Repeat("c/", 2000) + "f"} {
		records = append(records, record(fmt.Sprint(i), "response", "2020-01-01T00:00:00Z", "http://h.example/"+target, web, pear))
	}
	file := filepath.Join(t.TempDir(), "x.warc")
	if err := os.WriteFile(file, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if saved := extractAll(t, file, dir); saved != 4 {
		t.Errorf("%d files saved, want 4", saved)
	}
	if _, err := os.Stat(filepath.Join(dir, "h.example", strings.Repeat("a/", 99), "f")); err != nil {
		t.Error(err)
	}
	if flat, _ := filepath.Glob(filepath.Join(dir, "h.example", "*-f")); len(flat) != 3 {
		t.Errorf("%q", flat)
	}
}

// TestExtractKeepsURLsApart extracts URLs that a mirror would number, twice. Each has a file of its own.
func TestExtractKeepsURLsApart(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a.txt": "gopher://h.example/0/a.txt", "%00a.txt": "gopher://h.example/0a.txt",
		"db/TEXT/9/3=0 9 %2Fx.txt;": "wais://h.example/db/TEXT/9/3=0%209%20%2Fx.txt;", "db/TEXT/9/3=9 18 %2Fx.txt;": "wais://h.example/db/TEXT/9/3=9%2018%20%2Fx.txt;"}
	var records []string
	for _, target := range want {
		records = append(records, record(fmt.Sprintf("%x", len(records)), "resource", "2020-01-01T00:00:00Z", target, "text/plain", target))
	}
	path, dir := filepath.Join(t.TempDir(), "x.warc"), t.TempDir()
	if err := os.WriteFile(path, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if saved := extractAll(t, path, dir); saved != len(want) {
			t.Errorf("%d files, want %d", saved, len(want))
		}
		for name, text := range want {
			if b, err := os.ReadFile(filepath.Join(dir, "h.example", filepath.FromSlash(name))); string(b) != text {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}

// A mirror would make a directory of a page that others are below. Each URL has a file, in any order.
func TestExtractPagesWithURLsBelow(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"
	targets := []string{"http://h.example/a", "http://h.example/a/b", "http://h.example/a/b/c", "http://h.example/d"}
	var records []string
	for i, target := range targets {
		records = append(records, record(fmt.Sprint(i), "response", "2020-01-01T00:00:00Z", target, "application/http;msgtype=response",
			fmt.Sprintf("%s%20.20s", head, target[9:])))
	}
	name := filepath.Join(t.TempDir(), "x.warc")
	if err := os.WriteFile(name, []byte(strings.Join(records, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"", "h.example/a/b", "h.example/d"} { // directories
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(before)), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if saved := extractAll(t, name, dir); saved != len(targets) {
				t.Errorf("%q: %d files saved, want %d", before, saved, len(targets))
			}
			var found []string
			filepath.WalkDir(dir, func(path string, e fs.DirEntry, _ error) error {
				if !e.IsDir() {
					text, _ := os.ReadFile(path)
					found = append(found, "http://h."+strings.TrimSpace(string(text)))
				}
				return nil
			})
			if slices.Sort(found); !slices.Equal(found, targets) {
				t.Errorf("%q: %q", before, found)
			}
		}
	}
}

func extractAll(t *testing.T, path, dir string) (saved int) {
	t.Helper()
	a, err := replay.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c := fetch.New(&fetch.Options{Middleware: []fetch.Middleware{a.Middleware(replay.Options{Only: true})}}, urlhttp.Load, file.Load, ftp.Load, gemini.Load, gopher.Load, wais.Load)
	defer c.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d := &download.Downloader{Client: c, Root: root}
	list, _, err := a.URLs(func(string) bool { return true }, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range list {
		u, err := uri.Parse(text)
		if err != nil {
			continue
		}
		if ok, _ := archive.Extract(t.Context(), d, u); ok {
			saved++
		}
	}
	if err := d.Flush(); err != nil {
		t.Error(err)
	}
	return saved
}

// A head without an end is not held in memory.
func TestEndlessHead(t *testing.T) { // not parallel: it measures allocations
	const size = 16 << 20
	file := record("1", "response", "2020-01-01T00:00:00Z", "http://h/1", "application/http;msgtype=response", "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", size))
	w, err := warc.Create(filepath.Join(t.TempDir(), "out.warc.gz"), warc.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := archive.New(w, capture.NewSeen(), func(err error) { t.Error(err) }).WARC(t.Context(), strings.NewReader(file), "one"); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 2*size {
		t.Errorf("%d bytes allocated", used)
	}
}

// Records of an existing archive are not added again, unless they are damaged in it.
func TestAddKnown(t *testing.T) {
	t.Parallel()
	sum := fmt.Sprintf("\r\nWARC-Payload-Digest: sha256:%x", sha256.Sum256([]byte("pear")))
	block := strings.Replace(sum, "Payload", "Block", 1)
	existing := record("1", "resource", "2020-01-01T00:00:00Z", "ftp://h/1", "text/plain"+sum+block, "pear")
	additions := existing + record("2", "resource", "2021-01-01T00:00:00Z", "ftp://h/2", "text/plain", "pear")
	for name, tt := range map[string]struct {
		existing string
		want     archive.Report
	}{
		"complete":  {existing, archive.Report{Records: 1, Revisits: 1, Known: 1}},
		"damaged":   {strings.Replace(existing, "\r\n\r\npear", "\r\n\r\npeat", 1), archive.Report{Records: 2, Revisits: 1}},
		"truncated": {strings.Replace(existing, "\r\nContent-Length", "\r\nWARC-Truncated: length\r\nContent-Length", 1), archive.Report{Records: 1, Known: 1}},
	} {
		path := filepath.Join(t.TempDir(), "out.warc.gz")
		w, err := warc.Create(path, warc.WriterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := archive.New(w, capture.NewSeen(), func(err error) { t.Errorf("%s: %v", name, err) })
		if err := errors.Join(m.AddKnown(t.Context(), strings.NewReader(tt.existing)), m.WARC(t.Context(), strings.NewReader(additions), "added"), w.Close()); err != nil {
			t.Fatal(err)
		}
		if m.Report() != tt.want {
			t.Errorf("%s: %+v, want %+v", name, m.Report(), tt.want)
		}
	}
}
