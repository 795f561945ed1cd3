package main

import (
	"runtime/debug"
	"testing"
)

func TestDescribeBuild(t *testing.T) {
	t.Parallel()
	checkout := &debug.BuildInfo{
		GoVersion: "go1.99",
		Main:      debug.Module{Version: "v1.2.1-0.20260102030405-0123456789ab+dirty"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0"},
			{Path: "example.org/b", Version: "v2.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v3.0.0"}},
		},
		Settings: []debug.BuildSetting{
			{Key: "GOOS", Value: "plan9"}, {Key: "GOARCH", Value: "mips"},
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	const first = "urlget v1.2.1-0.20260102030405-0123456789ab+dirty\n" +
		"commit 0123456789abcdef of 2026-01-02T03:04:05Z, modified\n"
	tests := []struct {
		name    string
		info    *debug.BuildInfo
		verbose bool
		want    string
	}{
		{"checkout", checkout, false, first},
		{"checkout, verbose", checkout, true, first + "go1.99 plan9/mips\n" +
			"example.org/a v1.0.0\nexample.org/b v2.0.0 => example.org/c v3.0.0\n"},
		{"installed by version", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.0"}}, false, "urlget v1.2.0\n"},
		{"nothing known", &debug.BuildInfo{}, true, "urlget v0.1.0\n"},
		{"built by hand", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, false, "urlget v0.1.0\n"},
	}
	for _, tt := range tests {
		if got := describeBuild(tt.info, tt.verbose); got != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
	}
}
