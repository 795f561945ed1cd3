//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestFewOpenFilesMeanFewTransfers(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
	t.Cleanup(site.Close)
	var list strings.Builder
	for i := range 150 {
		fmt.Fprintf(&list, "%s/%d\n", site.URL, i)
	}
	for _, tt := range []struct{ flags, warning string }{
		{"-j 200", "urlget: 13 transfers at once instead of 200, because the system allows 100 open files; use ulimit -n to change that"},
		{"", ""},
		{"-s 2 -j 200", "urlget: 8 transfers at once"},
	} {
		cmd := exec.Command("sh", "-c", "ulimit -n 100; exec urlget --no-config "+tt.flags+" -i -")
		cmd.Dir = t.TempDir()
		cmd.Stdin = strings.NewReader(list.String())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.warning) {
			t.Errorf("%s: %v: %.300s", tt.flags, err, out)
		}
		if saved, err := os.ReadDir(cmd.Dir); err != nil || len(saved) != 150 {
			t.Errorf("%s: %d files, %v", tt.flags, len(saved), err)
		}
	}
}

func TestMaxTransfers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ files, segments, want int }{{0, 1, 0}, {10, 1, 1}, {100, 1, 13}, {100, 4, 5}, {1024, 0, 167}, {1 << 20, 1, 174759}} {
		if got := maxTransfers(tt.files, tt.segments); got != tt.want {
			t.Errorf("%d files, %d segments: %d transfers, want %d", tt.files, tt.segments, got, tt.want)
		}
	}
}
