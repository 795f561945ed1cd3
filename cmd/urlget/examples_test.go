package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// exampleSite serves any path.
func exampleSite() http.Handler {
	content := func(path string) string { return "the content of " + path }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/files/":
			io.WriteString(w, `<title>Index of /files/</title><a href="a.txt">a.txt</a> <a href="b.png">b.png</a>`)
		case path == "/form":
			io.WriteString(w, r.FormValue("name"))
		case path == "/SHA256SUMS":
			fmt.Fprintf(w, "%x  large.iso\n", sha256.Sum256([]byte(content("/large.iso"))))
		case path == "/large.meta4":
			w.Header().Set("Content-Type", "application/metalink4+xml")
			fmt.Fprintf(w, `<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="large.iso">`+
				`<url>http://%s/large.iso</url></file></metalink>`, r.Host)
		case path == "/letter.eml":
			w.Header().Set("Content-Type", "message/rfc822")
			io.WriteString(w, "Subject: pears\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; "+
				"boundary=b\r\n\r\n--b\r\n\r\na pear\r\n--b\r\nContent-Type: text/plain\r\n\r\nan apple\r\n--b--\r\n")
		case strings.HasSuffix(path, ".html"):
			io.WriteString(w, `<img src="/files/b.png">`)
		case path == "/robots.txt":
			http.NotFound(w, r)
		default:
			w.Header().Set("Etag", `"1"`)
			http.ServeContent(w, r, path, time.Unix(1e9, 0), strings.NewReader(content(path)))
		}
	})
}

// TestExamples runs the examples of the man page, one after the other in one directory.
func TestExamples(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(exampleSite())
	t.Cleanup(site.Close)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/urls.txt", []byte(site.URL+"/1.txt\n"+site.URL+"/2.txt\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(rootExamples, "\n")
	if len(examples) < 15 {
		t.Errorf("%d examples", len(examples))
	}
	for _, line := range examples {
		command, _, _ := strings.Cut(strings.ReplaceAll(line, "https://www.example", site.URL), " #")
		if status, errs := runShellLine(t, dir, strings.TrimSpace(command)); status != exitOK {
			t.Errorf("%s: status %d: %s", line, status, errs)
		}
	}
	for name, want := range map[string]string{"large.iso": "the content of /large.iso", "downloads/2.txt": "the content of /2.txt", "3.txt": "the content of /3.txt"} {
		if got, err := os.ReadFile(dir + "/" + name); string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
