package wacz_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
)

func record(kind, target, contentType, block string) string {
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:%s>\r\nWARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Target-URI: %s\r\nContent-Type: %s\r\n"+
		"WARC-Payload-Digest: sha1:X\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, target, target, contentType, len(block), block)
}

const web = "application/http;msgtype=response"

func source(name string, records ...string) wacz.File {
	text := strings.Join(records, "")
	return wacz.File{Name: name, SectionReader: io.NewSectionReader(strings.NewReader(text), 0, int64(len(text)))}
}

func packed(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	err := wacz.Write(&out, []wacz.File{
		source("a.warc", record("response", "http://h.example/page", web, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"),
			record("response", "http://h.example/gone", web, "HTTP/1.1 404 No\r\nContent-Type: text/html\r\n\r\n"),
			record("response", "http://h.example/a.png", web, "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nx")),
		source("b.warc", record("resource", "gopher://h.example/1", "text/plain", "a menu"), record("resource", "dns:h.example", "text/dns", "x")),
	}, wacz.Options{Title: "Pears", Software: "test", Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	file := packed(t)
	r, err := wacz.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r.Verify(func(text string) { t.Error(text) })
	var names, targets []string
	for _, f := range r.Files() {
		names = append(names, f.Name)
		in, err := warc.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := in.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			targets = append(targets, rec.TargetURI())
		}
	}
	if !slices.Equal(names, []string{"a.warc", "b.warc"}) || len(targets) != 5 {
		t.Errorf("%q %q", names, targets)
	}

	// Read the file as other programs do.
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	member := func(name string) []byte {
		f, err := z.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	index, err := gzip.NewReader(bytes.NewReader(member("indexes/index.cdx.gz")))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(index)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if len(list) != 5 || !slices.IsSorted(list) || !strings.Contains(string(lines), `"filename":"b.warc"`) {
		t.Errorf("index lines: %q", list)
	}
	pages := strings.Split(strings.TrimSpace(string(member("pages/pages.jsonl"))), "\n")
	if want := []string{`{"format":"json-pages-1.0","id":"pages","title":"All pages"}`, `{"url":"http://h.example/page","ts":"2026-01-02T03:04:05Z"}`,
		`{"url":"gopher://h.example/1","ts":"2026-01-02T03:04:05Z"}`}; !slices.Equal(pages, want) {
		t.Errorf("pages: %q", pages)
	}
	var pkg struct {
		Profile, Title, Created string
		Version                 string `json:"wacz_version"`
		Resources               []struct{ Path, Hash string }
	}
	if err := json.Unmarshal(member("datapackage.json"), &pkg); err != nil || pkg.Profile != "data-package" || pkg.Version != "1.1.1" ||
		pkg.Created != "2026-01-02T03:04:05Z" || len(pkg.Resources) != 4 || !strings.HasPrefix(pkg.Resources[0].Hash, "sha256:") {
		t.Errorf("%+v, %v", pkg, err)
	}
}

// Version 1.0.0 nests the hash and the size of a member.
func TestVerifyVersion100(t *testing.T) {
	t.Parallel()
	const text = "WARC/1.0\r\n"
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	for _, tt := range []struct{ resource, want string }{
		{`"stats":{"hash":"` + sum + `","bytes":10},"hashing":"sha256"`, ""},
		{`"stats":{"hash":"sha256:` + sum + `","bytes":10}`, ""},
		{`"stats":{"hash":"` + sum + `","bytes":9}`, `"archive/a.warc": size is not 9 bytes`},
		{`"stats":{"hash":"` + strings.Repeat("0", 64) + `","bytes":10}`, `"archive/a.warc": digest mismatch`},
	} {
		var file bytes.Buffer
		z := zip.NewWriter(&file)
		for name, content := range map[string]string{"archive/a.warc": text,
			"datapackage.json": `{"wacz_version":"1.0.0","resources":[{"path":"archive/a.warc",` + tt.resource + `}]}`} {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(w, content)
		}
		z.Close()
		r, err := wacz.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		r.Verify(func(text string) { got = append(got, text) })
		if all := strings.Join(got, "; "); all != tt.want {
			t.Errorf("%s: %q, want %q", tt.resource, all, tt.want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	one := record("resource", "x:1", "text/plain", "a")
	var shared bytes.Buffer
	z := gzip.NewWriter(&shared)
	io.WriteString(z, one+one)
	z.Close()
	for name, tt := range map[string]struct {
		list []wacz.File
		err  string
	}{
		"a path":           {[]wacz.File{source("../a.warc", one)}, "invalid or duplicate file name"},
		"no name":          {[]wacz.File{source("", one)}, "invalid or duplicate file name"},
		"a duplicate name": {[]wacz.File{source("a.warc", one), source("a.warc", one)}, "invalid or duplicate file name"},
		"shared members":   {[]wacz.File{source("a.warc.gz", shared.String())}, "records share a compressed member"},
	} {
		if err := wacz.Write(io.Discard, tt.list, wacz.Options{}); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %s", name, err, tt.err)
		}
	}
}

// zipped returns a ZIP file with members given as name and content.
func zipped(t testing.TB, method uint16, members ...string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, members[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// nest packs a WACZ file into others, depth times.
func nest(t testing.TB, file []byte, depth int) []byte {
	for range depth {
		file = zipped(t, zip.Store, "archive/in.wacz", string(file))
	}
	return file
}

// TestFilesInFiles reads a collection of WACZ files: their archives, and what is wrong with them.
func TestFilesInFiles(t *testing.T) {
	t.Parallel()
	one := record("resource", "x:1", "text/plain", "a")
	about := fmt.Sprintf(`{"resources":[{"path":"archive/a.warc","hash":"md5:x","bytes":%d}]}`, len(one))
	wrong := string(zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json", strings.Replace(about, "md5:x", "sha256:00", 1)))
	signed := string(zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json", about, "datapackage-digest.json",
		fmt.Sprintf(`{"hash":"sha256:%x","signedData":{"signature":"AAAA"}}`, sha256.Sum256([]byte(about)))))
	deep := string(nest(t, []byte(signed), 3))
	file := zipped(t, zip.Store, "archive/own.warc", one, "archive/wrong.wacz", wrong, "deep.wacz", deep,
		"datapackage.json", `{"profile":"multi-wacz-package","resources":[{"path":"archive/own.warc","bytes":`+fmt.Sprint(len(one))+
			`},{"path":"archive/wrong.wacz","bytes":`+fmt.Sprint(len(wrong))+`},{"path":"deep.wacz","bytes":`+fmt.Sprint(len(deep))+`}]}`)
	r, err := wacz.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var names, problems []string
	for f := range r.All() {
		names = append(names, f.Name)
		if got, err := io.ReadAll(f); err != nil || string(got) != one {
			t.Errorf("%s: %q, %v", f.Name, got, err)
		}
	}
	r.Verify(func(text string) { problems = append(problems, text) })
	if want := []string{"own.warc", "wrong.wacz/a.warc", "deep.wacz/in.wacz/in.wacz/in.wacz/a.warc"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	if len(problems) == 0 || problems[0] != `"wrong.wacz": "archive/a.warc": digest mismatch` || !r.IsSigned() {
		t.Errorf("problems %q, signed %v", problems, r.IsSigned())
	}
}

func TestUntrustedFiles(t *testing.T) {
	t.Parallel()
	one := record("resource", "x:1", "text/plain", "a")
	many := []string{"archive/a.warc", one}
	for i := range 100_000 {
		many = append(many, fmt.Sprint(i), "")
	}
	for name, tt := range map[string]struct {
		file []byte
		err  string
	}{
		"too many members":             {zipped(t, zip.Store, many...), "the limit is 100000"},
		"not a ZIP file":               {[]byte("Dear diary"), "not a valid zip file"},
		"no WARC file":                 {zipped(t, zip.Store, "datapackage.json", "{}"), "no WARC files"},
		"a compressed WARC member":     {zipped(t, zip.Deflate, "archive/a.warc", one), `"archive/a.warc": compressed in the ZIP file`},
		"a compressed WACZ member":     {zipped(t, zip.Deflate, "a.wacz", string(packed(t))), `"a.wacz": compressed in the ZIP file`},
		"a truncated ZIP file":         {packed(t)[:100], "not a valid zip file"},
		"a truncated WACZ member":      {zipped(t, zip.Store, "a.wacz", string(packed(t)[:100])), `"a.wacz": zip: not a valid zip file`},
		"too many files in each other": {nest(t, packed(t), 5), "more than 4 WACZ files in each other"},
		"the same member many times":   {zipped(t, zip.Store, slices.Repeat([]string{"a.wacz", string(zipped(t, zip.Store, many[:100_000]...))}, 3)...), "the limit is 100000"},
	} {
		if _, err := wacz.NewReader(bytes.NewReader(tt.file), int64(len(tt.file))); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %s", name, err, tt.err)
		}
	}
	for name, file := range map[string][]byte{
		"no datapackage.json":         zipped(t, zip.Store, "archive/a.warc", one),
		"a member without an entry":   zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json", `{}`),
		"an invalid datapackage.json": zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json", `rubbish`),
		"an entry without a member": zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json",
			`{"resources":[{"path":"archive/a.warc","hash":"md5:x","bytes":`+fmt.Sprint(len(one))+`},{"path":"../../etc/passwd","bytes":5}]}`),
		"a wrong size": zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json", `{"resources":[{"path":"archive/a.warc","bytes":-5}]}`),
		"a wrong digest": zipped(t, zip.Store, "archive/a.warc", one, "datapackage.json",
			`{"resources":[{"path":"archive/a.warc","hash":"sha256:00","bytes":`+fmt.Sprint(len(one))+`}]}`),
		"a wrong digest of datapackage.json": zipped(t, zip.Store, "archive/a.warc", one, "datapackage-digest.json", `{"hash":"sha256:00"}`, "datapackage.json",
			`{"resources":[{"path":"archive/a.warc","hash":"md5:x","bytes":`+fmt.Sprint(len(one))+`}]}`),
		"a changed byte": bytes.Replace(packed(t), []byte("a menu"), []byte("a mEnu"), 1),
	} {
		r, err := wacz.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		problems := 0
		if r.Verify(func(string) { problems++ }); problems == 0 {
			t.Errorf("%s: no problem reported", name)
		}
	}
}

// A signature is not checked, which a caller can tell; it must be that of the file.
func TestSignedFiles(t *testing.T) {
	t.Parallel()
	one := record("resource", "x:1", "text/plain", "a")
	about := fmt.Sprintf(`{"resources":[{"path":"archive/a.warc","hash":"md5:x","bytes":%d}]}`, len(one))
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(about)))
	for _, tt := range []struct {
		name, own string
		signed    bool
		problems  int
	}{
		{"unsigned", `{"hash":"` + sum + `"}`, false, 0},
		{"signed", `{"hash":"` + sum + `","signedData":{"hash":"` + sum + `","signature":"AAAA","publicKey":"AAAA"}}`, true, 0},
		{"signed by a server", `{"hash":"` + sum + `","signedData":{"signature":"AAAA","domain":"h.example"}}`, true, 0},
		{"another file", `{"hash":"` + sum + `","signedData":{"hash":"sha256:00","signature":"AAAA"}}`, true, 1},
		{"unreadable", `{"hash":"` + sum + `","signedData":"AAAA"}`, true, 1},
	} {
		file := zipped(t, zip.Store, "archive/a.warc", one, "datapackage-digest.json", tt.own, "datapackage.json", about)
		r, err := wacz.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		problems := 0
		r.Verify(func(text string) { problems++ })
		if r.IsSigned() != tt.signed || problems != tt.problems {
			t.Errorf("%s: signed %v, %d problems", tt.name, r.IsSigned(), problems)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(packed(f))
	f.Add(zipped(f, zip.Store, "archive/a.warc", "x"))
	f.Add(nest(f, packed(f), 2))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := wacz.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		for in := range r.All() {
			if in.Size() > int64(len(file)) {
				t.Errorf("member of %d bytes in a file of %d", in.Size(), len(file))
			}
			io.CopyN(io.Discard, in, 1<<20)
		}
		r.Verify(func(string) {})
	})
}
