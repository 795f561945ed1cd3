package download_test

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, suggested, contentType, want string }{
		{url: "http://h/a/b.txt", want: "b.txt"},
		{url: "http://h/a/b.txt?q=/x/y", want: "b.txt"},
		{url: "http://h/a/b.txt#frag/ment", want: "b.txt"},
		{url: "http://h/a%20b.txt", want: "a b.txt"},
		{url: "http://h/a/", contentType: "text/html; charset=utf-8", want: "index.html"},
		{url: "http://h", contentType: "application/json", want: "index.json"},
		{url: "http://h/", want: "index"},
		{url: "http://h/", contentType: "x-unheard/of", want: "index"},
		{url: "http://h/", contentType: "not a type;;", want: "index"},
		{url: "http://h/a", suggested: "report.pdf", want: "report.pdf"},
		{url: "http://h/a", suggested: "../../etc/passwd", want: "passwd"},
		{url: "http://h/a", suggested: ".bashrc", want: "_.bashrc"},
		{url: "http://h/a", suggested: "-rf", want: "_-rf"},
		{url: "http://h/a", suggested: " \u200b.bashrc", want: "_.bashrc"},
		{url: "http://h/a", suggested: ". .", want: "a"},
		{url: "http://h/a", suggested: "b.part", want: "b_part"},
		{url: "http://h/b.part.JSON", want: "b_part.JSON"},
		{url: "http://h/b.part.new", want: "b_part.new"},
		{url: "http://h/b.particle", want: "b.particle"},
		{url: "http://h/a", suggested: "..", want: "a"},
		{url: "http://h/.profile", want: ".profile"},
		{url: "sftp://h/.profile", suggested: "_.profile", want: ".profile"},
		{url: "sftp://h/-rf", suggested: "-rf", want: "-rf"},
		{url: "http://h/a.profile", suggested: ".profile", want: "_.profile"},
		{url: "http://h/%20.profile", want: ".profile"},
		{url: "http://h/-%00/", want: "index"},
		{url: "http://h/a%5C.b", want: "_.b"},
		{url: "http://h/_.b", want: "_.b"},
		{url: "http://h/a/..%2F..%2Fpasswd", want: "..%2F..%2Fpasswd"},
		{url: "http://h/%2E%2E", contentType: "text/plain", want: "index.txt"},
		{url: "http://h/a%5Cb", want: "b"},
		{url: "http://h/a%0Ab%1B", want: "a%0Ab%1B"},
		{url: "ftp://h/pub/file.tar;type=i", want: "file.tar"},
		{url: "ftp://h/pub/file.tar;TYPE=A", want: "file.tar"},
		{url: "http://h/a;v=1", want: "a;v=1"},
		{url: "data:text/plain,hello", contentType: "text/plain", want: "index.txt"},
		{url: "news:abc@host", want: "index"},
	}
	for _, tt := range tests {
		meta := &fetch.Meta{Name: tt.suggested, ContentType: tt.contentType}
		if got := download.Name(uri.MustParse(tt.url), meta); got != tt.want {
			t.Errorf("%s, %q, %s: %q, want %q", tt.url, tt.suggested, tt.contentType, got, tt.want)
		}
	}
	if got := download.Name(uri.MustParse("http://h/"), nil); got != "index" {
		t.Errorf("without an answer: %q", got)
	}
}

func FuzzName(f *testing.F) {
	f.Add("http://h/a/b.txt", "x", "text/html")
	f.Add("ftp://h/%2e%2e;type=a", "..\\..", "image/png")
	f.Fuzz(func(t *testing.T, raw, suggested, contentType string) {
		u, err := uri.Parse(raw)
		if err != nil {
			return
		}
		name := download.Name(u, &fetch.Meta{Name: suggested, ContentType: contentType})
		if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\\\x00\n\r\x1b") {
			t.Errorf("Name(%q, %q, %q) = %q", raw, suggested, contentType, name)
		}
	})
}

// TestNamesChosenByServers saves resources whose URLs come from a server's listing or page.
func TestNamesChosenByServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, from, want string }{
		{"x-liar://h/.bashrc", "", ".bashrc"},
		{"x-liar://h/.bashrc", "x-liar://h/*", "_.bashrc"},
		{"x-liar://h/-rf", "x-liar://h/*", "_-rf"},
		{"x-liar://h/%20.x", "x-liar://h/*", "_.x"},
		{"x-liar://h/.bashrc", "http://elsewhere/", "_.bashrc"},
		{"x-liar://h/a.b-c", "x-liar://h/*", "a.b-c"},
		{"x-liar://h/..%2F..%2Fx", "x-liar://h/*", "_..%2F..%2Fx"},
	} {
		dir := t.TempDir()
		req := &fetch.Request{URL: uri.MustParse(tt.url)}
		if tt.from != "" {
			req.From = uri.MustParse(tt.from)
		}
		r, err := newLiar(pattern(10, 1)).downloader(t, dir).Do(t.Context(), req, "", nil)
		if err != nil || r.Name != tt.want {
			t.Errorf("%s, from %q: saved as %+v, %v; want %q", tt.url, tt.from, r, err, tt.want)
		}
	}
}
