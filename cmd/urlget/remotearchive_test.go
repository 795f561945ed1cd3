package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/warccheck"
)

// Archives on a server are read in place, or retrieved as a whole if the server has no ranges.
func TestArchivesOnServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	block := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npear"
	record := fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"+
		"WARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Target-URI: http://h.example/a\r\nContent-Type: application/http;msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	local := filepath.Join(dir, "a.warc")
	if err := os.WriteFile(local, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := urlget("warc", "pack", filepath.Join(dir, "a.wacz"), local).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mode, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		file, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case err != nil:
			http.NotFound(w, r)
		case mode == "ranges":
			w.Header().Set("ETag", `"e"`)
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(file))
		case mode == "stream":
			w.(http.Flusher).Flush()
			fallthrough
		default:
			w.Write(file)
		}
	}))
	defer site.Close()
	for _, mode := range []string{"ranges", "none", "stream"} {
		for _, name := range []string{"a.warc", "a.wacz"} {
			u, base := site.URL+"/"+mode+"/"+name, filepath.Join(dir, mode+"-"+strings.TrimPrefix(name, "a.")+"-copy")
			got, err := urlget("cat", "--warc", base, "--replay-only", "--replay", u, "http://h.example/a").Output()
			if string(got) != "pear" || err != nil {
				t.Errorf("%s: %q, %v", u, got, err)
			}
			recorded, err := os.ReadFile(base + ".warc.gz")
			if err != nil {
				t.Fatal(err)
			}
			if list, err := warccheck.Read(recorded); err != nil || len(list) != 3 {
				t.Errorf("%s: %d records, %v", u, len(list), err)
			}
			if got, err := urlget("ls", u).Output(); !strings.Contains(string(got), "response 200 http://h.example/a") || err != nil {
				t.Errorf("ls %s: %q, %v", u, got, err)
			}
		}
	}
	for _, args := range [][]string{{"ls"}, {"cat", "http://h.example/a", "--replay"}} {
		out, err := urlget(append(args, site.URL+"/ranges/b.warc.gz")...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "404") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
	}
}
