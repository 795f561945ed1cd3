package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// countedName is the name under which the test binary is a command that prints its allocations, except
	// those for the state of a crawl, which is written each half second, so that a busy machine counts the
	// same.
	countedName = "urlget-counted"
	// eachWrite is what a write of the state allocates, measured with 16 other busy processes.
	eachWrite = 120
)

func runCounted() int {
	began := time.Now()
	status := interruptible(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	writes := uint64(time.Since(began) / (500 * time.Millisecond))
	fmt.Println(m.Mallocs - min(m.Mallocs, writes*eachWrite))
	return status
}

// Each number is what one more unit of the work may allocate, with a tenth for the garbage collector,
// which empties pools. Lower it after the work has become cheaper.
func TestWorkAllocatesLittle(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
		if err != nil {
			text := strings.Repeat(r.URL.Path+"\n", 300) // not the same as another file
			w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			io.WriteString(w, text)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		last, _ := strconv.Atoi(r.URL.RawQuery)
		for n := number*4 + 1; n <= number*4+4 && n <= last; n++ { // each page has one link in a page before it
			fmt.Fprintf(w, "<p>Page <a href=/p/%d?%d>%d</a>, <a href=/p/0?%d>first</a>\n", n, last, n, last)
		}
	}))
	t.Cleanup(site.Close)
	list := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s/file-%05d\n", site.URL, i)
		}
		return b.String()
	}
	for _, tt := range []struct {
		unit  string
		args  func(n int) []string
		limit int
	}{
		{"a file of a list", func(int) []string { return []string{"-i", "-"} }, 49},
		{"a recorded file", func(int) []string { return []string{"-i", "-", "--warc", "x"} }, 82},
		{"a page of a tree", func(n int) []string {
			return []string{"-r", "-l", "inf", "-nH", fmt.Sprintf("%s/p/0?%d", site.URL, n-1)}
		}, 88},
	} {
		t.Run(tt.unit, func(t *testing.T) {
			t.Parallel()
			count := func(n int) int {
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(self, append([]string{"-q", "-j", "1", "--no-config", "--no-netrc"}, tt.args(n)...)...)
				cmd.Args[0] = countedName
				cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1") // the same numbers on a busy machine
				cmd.Dir = t.TempDir()
				cmd.Stdin = strings.NewReader(list(n))
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				mallocs, err := strconv.Atoi(strings.TrimSpace(string(out)))
				if err != nil {
					t.Fatal(err)
				}
				return mallocs
			}
			const few, many = 40, 140
			each := (count(many) - count(few)) / (many - few)
			t.Logf("%d allocations", each)
			if each > tt.limit*11/10 {
				t.Errorf("%d allocations for %s, more than %d", each, tt.unit, tt.limit)
			}
		})
	}
}
