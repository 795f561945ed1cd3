//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestMissedAims(t *testing.T) {
	t.Parallel()
	ours := []usage{{3 * time.Second, 2 * time.Second, 11 << 10}, {time.Second, time.Second, 13 << 10}, {2 * time.Second, time.Second, 13 << 10}}
	theirs := []usage{{2 * time.Second, 2 * time.Second, 1 << 10}}
	for got, want := range map[string]string{
		ourLine(row{work: "work", peak: 12}, ours):                                "| work | urlget | 2.000 s | 1.000 s | 13.0 MiB |  | peak 12, missed |",
		peerLine(peer{args: []string{"curl"}, wall: 0.5, cpu: 0.9}, theirs, ours): "|  | curl | 2.000 s | 2.000 s | 1.0 MiB | 1.00, 0.50 | clock 0.5, missed; cores 0.9 |",
		peerLine(against(0, "wget"), theirs, ours):                                "|  | wget | 2.000 s | 2.000 s | 1.0 MiB | 1.00, 0.50 |  |",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestFailedPrograms(t *testing.T) {
	t.Parallel()
	made := &table{rounds: 1}
	r := row{work: "work", dir: t.TempDir(), ours: []string{"touch", "out"}, peers: []peer{
		against(0.5, "urlget-no-such-program"), against(0.6, "false"), against(0, "true")}}
	if err := made.add(t.Context(), r, options{rows: regexp.MustCompile("")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| urlget-no-such-program | | | | not on the machine | clock 0.5, not measured |",
		"| false | | | | failed | clock 0.6, not measured |",
		"| true | | | | failed |  |", // creates no file
	} {
		if got := made.String(); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	r := row{work: "work", dir: t.TempDir(), files: 2}
	for _, tt := range []struct {
		script string
		before func([]string) []string
		ok     bool
	}{
		{"touch a b", nil, true},
		{"touch a; mkdir .state; touch .state/b", nil, false},
		{"test -e a && touch b; touch a", itself, true}, // runs twice in one directory
		{"touch a", func([]string) []string { return []string{"touch", "b"} }, true},
		{"touch a", func([]string) []string { return nil }, false},
		{"touch a b", func([]string) []string { return []string{"false"} }, false},
	} {
		r.before = tt.before
		if _, err := run(t.Context(), r, []string{"sh", "-c", tt.script}); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.script, err)
		}
	}
}

func TestRowWithoutServer(t *testing.T) {
	t.Parallel()
	made := &table{}
	if err := made.add(t.Context(), row{work: "work", needs: "nginx"}, options{rows: regexp.MustCompile("k$")}); err != nil {
		t.Fatal(err)
	}
	if got := made.String(); !strings.Contains(got, "| work | | | | | not measured: no nginx here | |") {
		t.Error(got)
	}
}

func TestReplace(t *testing.T) {
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
