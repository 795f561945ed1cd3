package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func flagsOfGet(t *testing.T) *pflag.FlagSet {
	t.Helper()
	return new(app).command().Flags()
}

func TestForeignFlagsAreNotOurs(t *testing.T) {
	t.Parallel()
	flags := flagsOfGet(t)
	known := func(name string) bool {
		if long, ok := strings.CutPrefix(name, "--"); ok {
			return flags.Lookup(long) != nil
		}
		return len(name) == 2 && flags.ShorthandLookup(name[1:]) != nil
	}
	seen := make(map[string]bool)
	for _, f := range foreigners {
		for _, name := range strings.Fields(f.names) {
			if strings.HasSuffix(name, "*") {
				continue // some of a family may be ours, which come first
			}
			if known(name) {
				t.Errorf("%s of %s is a flag here", name, f.of)
			}
			if seen[f.of+name] {
				t.Errorf("%s of %s stands there twice", name, f.of)
			}
			seen[f.of+name] = true
		}
		for _, word := range strings.Fields(f.here) {
			if strings.HasPrefix(word, "-") && !known(word) {
				t.Errorf("the advice for %s, %s, is no flag here", f.names, word)
			}
		}
	}
}

func TestUnknownFlags(t *testing.T) {
	t.Parallel()
	tests := []struct{ arg, want string }{
		{"--remote-time", "it is one of curl's; files have the time of the server without it"},
		{"--output", "it is one of curl's; here it is -O FILE"},
		{"--output-documnet", "did you mean --output-document?"},
		{"--no-clobebr", "did you mean --no-clobber?"},
		{"--retry-connrefused", "it is one of curl's and wget's; what may pass is tried again without it"},
		{"-k1M", "aria2's -k is not needed: --segments decides how files are split"},
		{"--xyzzy", ""},
		{"-W", ""},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			cmd := new(app).command()
			err := cmd.FlagErrorFunc()(cmd, cmd.ParseFlags([]string{tt.arg, "x"}))
			wrong, ok := err.(*usageError)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if want := tt.want; want == "" && !strings.Contains(wrong.hint, "--help lists the flags") || want != "" && wrong.hint != want {
				t.Errorf("hint %q, want %q", wrong.hint, want)
			}
		})
	}
}

// TestForeignFlagsAreKnown holds the table against the lists of long flags that wget 1.21, curl
// 7.88 and aria2 1.36 print: each is a flag here too, or the error says what it is here.
func TestForeignFlagsAreKnown(t *testing.T) {
	t.Parallel()
	flags := flagsOfGet(t)
	for _, tool := range []string{"wget", "curl", "aria2"} {
		text, err := os.ReadFile("testdata/foreign/" + tool)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(text))
		if len(names) < 100 {
			t.Errorf("%s has only %d flags", tool, len(names))
		}
		for _, name := range names {
			if flags.Lookup(name[2:]) != nil || name == "--help" || name == "--version" {
				continue
			}
			wrong, ok := unknownFlag(name, flags).(*usageError)
			if !ok || strings.HasPrefix(wrong.hint, "did you mean") {
				t.Errorf("%s of %s is not known: %v", name, tool, wrong)
			}
		}
	}
}
