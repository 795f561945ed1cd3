//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMissedAimsSaySo(t *testing.T) {
	t.Parallel()
	r := row{work: "work", wall: 0.5, cpu: 0.9, peak: 12}
	ours := []usage{{3 * time.Second, 2 * time.Second, 11 << 10}, {time.Second, time.Second, 13 << 10}, {2 * time.Second, time.Second, 13 << 10}}
	theirs := []usage{{2 * time.Second, 2 * time.Second, 1 << 10}}
	for _, tt := range []struct {
		name       string
		own, judge bool
		used       []usage
		want       string
	}{
		{"urlget", true, false, ours, "| work | urlget | 2.000 s | 1.000 s | 13.0 MiB |  | peak 12, missed |"},
		{"curl", false, true, theirs, "|  | curl | 2.000 s | 2.000 s | 1.0 MiB | 1.00, 0.50 | clock 0.5, missed; cores 0.9 |"},
		{"wget", false, false, theirs, "|  | wget | 2.000 s | 2.000 s | 1.0 MiB | 1.00, 0.50 |  |"},
	} {
		if got := line(r, tt.name, tt.own, tt.used, ours, tt.judge); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

func TestRowWithoutServerSaysSo(t *testing.T) {
	t.Parallel()
	made := &table{}
	if err := made.add(t.Context(), row{work: "work", needs: "nginx"}, options{}); err != nil {
		t.Fatal(err)
	}
	if got := made.String(); !strings.Contains(got, "| work | | | | | not measured: no nginx here | |") {
		t.Error(got)
	}
}

func TestTableIsReplaced(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "doc")
	for text, want := range map[string]string{
		"a\n" + startMark + "old\n" + endMark + "b\n": "a\n" + startMark + "new\n" + endMark + "b\n",
		"a\n" + startMark: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replace(file, "new\n"); (err == nil) != (want != "") {
			t.Errorf("%q: %v", text, err)
		}
		if got, _ := os.ReadFile(file); want != "" && string(got) != want {
			t.Errorf("%q", got)
		}
	}
}
