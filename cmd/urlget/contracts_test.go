package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
)

// newContractSite starts a proxy with the site from which the files in testdata/contracts were
// retrieved. It appends a line for each request to the file log.
func newContractSite(log string) *httptest.Server {
	var mu sync.Mutex
	files := map[string][2]string{
		"/":        {"text/html", `<title>Home</title><a href="/a.html">a</a> <a href="/d/x.txt">x</a> <img src="/i.png"> <a href="/moved">m</a> <a href="/q?b=1&amp;a=2">q</a>`},
		"/a.html":  {"text/html", `<a href="/">home</a> <a href="/d/">d</a>`},
		"/d/":      {"text/html", `<a href="x.txt">x</a>`},
		"/d/x.txt": {"text/plain", "x\n"},
		"/i.png":   {"image/png", "\x89PNG\r\n\x1a\n"},
		"/q":       {"text/html", "query b=1&a=2"},
		"/big":     {"application/octet-stream", numberedLines(100000)},
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, r.Method, r.URL.Path, r.Header.Get("Range"))
			f.Close()
		}
		mu.Unlock()
		file, ok := files[r.URL.Path]
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/a.html", http.StatusMovedPermanently)
		case !ok:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", file[0])
			w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, len(file[1])))
			http.ServeContent(w, r, "", modified, strings.NewReader(file[1]))
		}
	}))
}

// numberedLines returns numbered lines with a total of size bytes.
func numberedLines(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()[:size]
}
