package file_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/protocols/file"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		dir := t.TempDir()
		if err := os.CopyFS(dir, tree); err != nil {
			t.Fatal(err)
		}
		return fetchtest.Site{Load: file.Load, URL: func(name string) string { return fileURL(filepath.Join(dir, name)) }}
	}})
}

// TestConformanceConfined runs the suite on a directory that URLs cannot leave.
func TestConformanceConfined(t *testing.T) {
	t.Parallel()
	fetchtest.Run(t, fetchtest.Harness{Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
		dir := t.TempDir()
		if err := os.CopyFS(dir, tree); err != nil {
			t.Fatal(err)
		}
		return fetchtest.Site{Load: file.With(file.Options{Root: openRoot(t, dir)}),
			URL: func(name string) string { return fileURL(filepath.Join("/", name)) }}
	}})
}

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// fileURL returns the URL of an absolute path.
func fileURL(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return uri.Must(uri.File{Path: name}.URI()).String()
}

func write(t testing.TB, content string, elem ...string) string {
	t.Helper()
	name := filepath.Join(elem...)
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestHost(t *testing.T) {
	t.Parallel()
	name := write(t, "x", t.TempDir(), "a.txt")
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	c := drive.Client(t, nil, file.Load)
	for _, host := range []string{"", "localhost", "LOCALHOST", here, strings.ToUpper(here)} {
		resp, err := c.Get(t.Context(), strings.Replace(fileURL(name), "file://", "file://"+host, 1))
		if err != nil {
			t.Errorf("host %q: %v", host, err)
			continue
		}
		resp.Body.Close()
	}
	_, err = c.Get(t.Context(), "file://elsewhere.example/etc/motd")
	var e *fetch.Error
	if !errors.As(err, &e) || e.Code != fetch.ErrNotRetrievable || !strings.Contains(e.Error(), "is another host") ||
		!strings.Contains(e.Hint, "ftp://elsewhere.example/etc/motd") {
		t.Errorf("another host: %v (hint %q)", err, e.Hint)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	name := filepath.ToSlash(write(t, "x", t.TempDir(), "a?b"))
	c := drive.Client(t, nil, file.Load)
	tests := []struct {
		url  string
		code fetch.Code
	}{
		{"file:" + name, ""}, // RFC 8089, "file:/path", and "?" has no meaning (RFC 1738, section 3.10)
		{"file://" + name, ""},
		{"file://user@localhost" + name, fetch.ErrURL},
		{"file://localhost:80" + name, fetch.ErrURL},
		{"file:a?b", fetch.ErrURL},
		{"file:///a%2Fb", fetch.ErrURL},
		{"file:///a%00b", fetch.ErrURL},
		{fileURL(name) + "/", fetch.ErrNotFound},
		{fileURL(name) + "/b", fetch.ErrNotFound},
	}
	for _, tt := range tests {
		resp, err := c.Get(t.Context(), tt.url)
		if got := fetch.CodeOf(err); got != tt.code {
			t.Errorf("%s: %v, want class %q", tt.url, err, tt.code)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	when := time.Date(2020, 2, 3, 4, 5, 6, 789, time.UTC)
	tests := []struct{ name, content, mediaType string }{
		{"a.HTML", "x", "text/html"},
		{"a.tar.gz", "x", "application/gzip"},
		{"readme", "some text\n", "text/plain; charset=utf-8"},
		{"page", "<!DOCTYPE html><p>", "text/html; charset=utf-8"},
		{"image.unknown", "\x89PNG\x0d\x0a\x1a\x0a", "image/png"},
		{"empty", "", ""},
	}
	c := drive.Client(t, nil, file.Load)
	for _, tt := range tests {
		name := write(t, tt.content, dir, tt.name)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
		m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(fileURL(name))})
		if err != nil {
			t.Fatal(err)
		}
		if m.ContentType != tt.mediaType || m.Size != int64(len(tt.content)) || m.Name != tt.name || m.ETag == "" ||
			m.Framing != fetch.FramedByProtocol || m.ModTime.Truncate(time.Second) != when.Truncate(time.Second).Local() {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}

// TestGeneratedFiles reads files that report another size than that of their content: 0 in /proc, and
// a page in /sys.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"/proc/self/status": "VmHWM", "/sys/class/net/lo/mtu": "\n"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		got, resp, err := drive.Do(t, drive.Client(t, nil, file.Load), &fetch.Request{URL: uri.MustParse("file://" + name)})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Size != -1 || !strings.Contains(got, want) {
			t.Errorf("%s: size %d, %d bytes, %v", name, resp.Size, len(got), err)
		}
	}
}

// TestSparseFiles reads a file that has no blocks, as those in /sys, but content.
func TestSparseFiles(t *testing.T) {
	t.Parallel()
	name := write(t, "", t.TempDir(), "a")
	if err := os.Truncate(name, 10_000); err != nil {
		t.Fatal(err)
	}
	got, resp, err := drive.Do(t, drive.Client(t, nil, file.Load), &fetch.Request{URL: uri.MustParse(fileURL(name))})
	if err != nil || resp.Size != 10_000 || got != strings.Repeat("\x00", 10_000) {
		t.Errorf("size %d, %d bytes, %v", resp.Size, len(got), err)
	}
}

func TestIfChanged(t *testing.T) {
	t.Parallel()
	name := write(t, "0123456789", t.TempDir(), "a")
	c := drive.Client(t, nil, file.Load)
	now, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(fileURL(name))})
	if err != nil {
		t.Fatal(err)
	}
	seconds := fetch.Validator{ModTime: now.ModTime.Truncate(time.Second)}
	part := fetch.Range{Offset: 4}
	tests := []struct {
		name string
		v    fetch.Validator
		r    fetch.Range
		want string // "" means ErrNotModified
	}{
		{"same tag", fetch.Validator{ETag: now.ETag}, fetch.Range{}, ""},
		{"same time", fetch.Validator{ModTime: now.ModTime}, fetch.Range{}, ""},
		{"same time in seconds", seconds, fetch.Range{}, ""},
		{"other tag of the same time", fetch.Validator{ETag: `"x"`, ModTime: now.ModTime}, fetch.Range{}, "0123456789"},
		{"newer than what is there", fetch.Validator{ModTime: now.ModTime.Add(-time.Hour)}, fetch.Range{}, "0123456789"},
		{"older than what is there", fetch.Validator{ModTime: now.ModTime.Add(time.Hour)}, fetch.Range{}, ""},
		{"part of another time", fetch.Validator{ModTime: now.ModTime.Add(time.Hour)}, part, "0123456789"},
		{"part of the same", now.Validator, part, "456789"},
		{"part of another", fetch.Validator{ETag: `"x"`}, part, "0123456789"},
		{"part of anything", fetch.Validator{}, part, "456789"},
	}
	for _, tt := range tests {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(fileURL(name)), IfChanged: tt.v, Range: tt.r})
		if tt.want == "" {
			if !errors.Is(err, fetch.ErrNotModified) {
				t.Errorf("%s: %v, want ErrNotModified", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != tt.want || resp.Range.IsZero() != (len(tt.want) == 10) {
			t.Errorf("%s: %q of range %+v, want %q", tt.name, got, resp.Range, tt.want)
		}
	}
}

func TestRangeBeyondTheEnd(t *testing.T) {
	t.Parallel()
	name := write(t, "0123", t.TempDir(), "a")
	for _, r := range []fetch.Range{{Offset: 4}, {Offset: 100, Length: 1}, {Offset: -1, Length: 1}, {Offset: 1, Length: -1}} {
		_, err := drive.Client(t, nil, file.Load).Do(t.Context(), &fetch.Request{URL: uri.MustParse(fileURL(name)), Range: r})
		if !errors.Is(err, fetch.ErrRange) {
			t.Errorf("%+v: %v, want ErrRange", r, err)
		}
	}
}

// TestChangingFile reads files that grow or shrink after they were opened.
func TestChangingFile(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*bytes.Buffer, io.Reader) error{
		"Read":    func(b *bytes.Buffer, r io.Reader) error { _, err := b.ReadFrom(struct{ io.Reader }{r}); return err },
		"WriteTo": func(b *bytes.Buffer, r io.Reader) error { _, err := io.Copy(b, r); return err },
		"WriteTo without ReadFrom": func(b *bytes.Buffer, r io.Reader) error {
			_, err := io.Copy(struct{ io.Writer }{b}, r)
			return err
		},
	}
	for way, read := range ways {
		for _, size := range []int64{1, 100} {
			name := write(t, "0123456789", t.TempDir(), "a")
			resp, err := drive.Client(t, nil, file.Load).Get(t.Context(), fileURL(name))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, size); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			err = read(&got, resp.Body)
			resp.Body.Close()
			switch {
			case size < 10 && !errors.Is(err, fetch.ErrTruncated):
				t.Errorf("%s of a file that shrank: %v, want ErrTruncated", way, err)
			case size > 10 && (err != nil || got.String() != "0123456789"):
				t.Errorf("%s of a file that grew: %q, %v", way, &got, err)
			}
		}
	}
}

// TestCopyToFile copies more than one chunk from an offset through the kernel.
func TestCopyToFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := bytes.Repeat([]byte("0123456789abcde\n"), 20<<20/16)
	name := write(t, string(content), dir, "in")
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	resp, err := drive.Client(t, nil, file.Load).Do(t.Context(), &fetch.Request{URL: uri.MustParse(fileURL(name)),
		Range: fetch.Range{Offset: 5, Length: 18 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(out, resp.Body)
	if err != nil || n != 18<<20 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	got, err := os.ReadFile(out.Name())
	if err != nil || !bytes.Equal(got, content[5:5+(18<<20)]) {
		t.Errorf("%d bytes, which are not the right ones; %v", len(got), err)
	}
}

func TestCanceledBody(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err := drive.Client(t, nil, file.Load).Get(ctx, fileURL(write(t, "0123", t.TempDir(), "a")))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel(why)
	if _, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, why) {
		t.Errorf("%v, want the cause of the context", err)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, "12345", dir, "a b.txt")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := drive.Client(t, nil, file.Load)
	base := fileURL(dir) + "/"
	got := map[string]fetch.Entry{}
	for _, e := range drive.MustList(t, c, fileURL(dir)) {
		if e.Rel != "item" || e.ModTime.IsZero() {
			t.Errorf("entry %+v", e)
		}
		got[e.URL.String()] = e
	}
	if e := got[base+"a%20b.txt"]; e.Name != "a b.txt" || e.Kind != fetch.EntryObject || e.Size != 5 || e.ContentType != "text/plain" {
		t.Errorf("file: %+v", e)
	}
	if e := got[base+"sub/"]; e.Name != "sub" || e.Kind != fetch.EntryListing || e.Size != -1 {
		t.Errorf("directory: %+v", e)
	}
	body, resp, err := drive.Do(t, c, &fetch.Request{URL: uri.MustParse(fileURL(dir))})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(body, "\r\n")
	if len(lines) != 3 || got[strings.TrimSpace(lines[0])].Name == "" || got[strings.TrimSpace(lines[1])].Name == "" {
		t.Errorf("body %q, %v", body, err)
	}
	if resp.Kind != fetch.KindListing || resp.ContentType != "text/uri-list" || resp.URL.String() != base {
		t.Errorf("%s is %s of type %s, want %s", resp.URL, resp.Kind, resp.ContentType, base)
	}
	m, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(base)})
	if err != nil || m.Kind != fetch.KindListing {
		t.Errorf("Stat: %+v, %v", m, err)
	}
}

func TestListOfFile(t *testing.T) {
	t.Parallel()
	for _, err := range drive.Client(t, nil, file.Load).List(t.Context(), fileURL(write(t, "", t.TempDir(), "a"))) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
	}
}

// TestLongListing reads a directory of more than one chunk.
func TestLongListing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := write(t, "", t.TempDir(), "first")
	want := map[string]bool{}
	for i := range 600 { // more than two chunks
		name := "f" + strings.Repeat("x", i%200) + string(rune('A'+i/200))
		if err := os.Link(first, filepath.Join(dir, name)); err != nil { // cheaper than a new file
			t.Fatal(err)
		}
		want[name] = true
	}
	for e, err := range drive.Client(t, nil, file.Load).List(t.Context(), fileURL(dir)) {
		if err != nil || !want[e.Name] {
			t.Fatalf("entry %q, %v", e.Name, err)
		}
		delete(want, e.Name)
	}
	if len(want) > 0 {
		t.Errorf("%d are missing", len(want))
	}
}

func TestExplainSteps(t *testing.T) {
	t.Parallel()
	_, err := drive.Client(t, nil, file.Load).Explain(&fetch.Request{URL: uri.MustParse("file://localhost/a%20b%0Ac")})
	if fetch.CodeOf(err) != fetch.ErrURL {
		t.Errorf("a line end in a name: %v", err)
	}
	x, err := drive.Client(t, nil, file.Load).Explain(&fetch.Request{URL: uri.MustParse("file:///C:/a%20b")})
	if err != nil || len(x.Steps) != 1 || !strings.HasSuffix(x.Steps[0], "a b") {
		t.Errorf("%+v, %v", x, err)
	}
}
