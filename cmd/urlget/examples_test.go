package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// TestExamples runs the examples of the man page, one after the other in one directory.
func TestExamples(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/files/":
			io.WriteString(w, `<title>Index of /files/</title><a href="a.txt">a.txt</a> <a href="b.png">b.png</a>`)
		case path == "/form":
			io.WriteString(w, r.FormValue("name"))
		case strings.HasSuffix(path, ".html"):
			io.WriteString(w, `<img src="/files/b.png">`)
		case path == "/robots.txt":
			http.NotFound(w, r)
		default:
			w.Header().Set("Etag", `"1"`)
			http.ServeContent(w, r, path, time.Unix(1e9, 0), strings.NewReader("the content of "+path))
		}
	}))
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
