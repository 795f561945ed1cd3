package flags

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

// rootFlags returns the table, and the flags of the command without a subcommand.
func rootFlags() (Table, *pflag.FlagSet) {
	table := New().Table()
	set := pflag.NewFlagSet("urlget", pflag.ContinueOnError)
	table.Define(set, Root)
	return table, set
}

func TestForeignFlagsAreNotDefined(t *testing.T) {
	t.Parallel()
	table, set := rootFlags()
	known := func(name string) bool {
		if long, ok := strings.CutPrefix(name, "--"); ok {
			return set.Lookup(long) != nil
		}
		return len(name) == 2 && set.ShorthandLookup(name[1:]) != nil
	}
	seen := make(map[string]bool)
	for _, f := range table.Foreign() {
		for _, name := range strings.Fields(f.Names) {
			if strings.HasSuffix(name, "*") {
				continue // some flags of a family may exist here; they take precedence
			}
			if known(name) {
				t.Errorf("%s of %s is a flag here", name, f.Of)
			}
			if seen[f.Of+name] {
				t.Errorf("%s of %s stands there twice", name, f.Of)
			}
			seen[f.Of+name] = true
		}
		for _, word := range strings.Fields(f.Here) {
			if strings.HasPrefix(word, "-") && !known(word) {
				t.Errorf("the advice for %s, %s, is no flag here", f.Names, word)
			}
		}
	}
}

func TestUnknownFlags(t *testing.T) {
	t.Parallel()
	tests := []struct{ arg, want string }{
		{"--remote-time", "a flag of curl; files get the server's time by default"},
		{"--output", "a flag of curl; use -O FILE"},
		{"--output-documnet", "did you mean --output-document?"},
		{"--no-clobebr", "did you mean --no-clobber?"},
		{"--retry-connrefused", "a flag of curl and wget; a refused connection is not tried again"},
		{"-k1M", "aria2's -k is not needed: --segments sets how files are split"},
		{"--xyzzy", ""},
		{"-W", ""},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			table := New().Table()
			cmd := &cobra.Command{Use: "urlget"}
			table.Define(cmd.Flags(), Root)
			err := table.Mistake(cmd, cmd.ParseFlags([]string{tt.arg, "x"}))
			wrong, ok := err.(*failure.Usage)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if want := tt.want; want == "" && !strings.Contains(wrong.Hint, "see urlget --help") || want != "" && wrong.Hint != want {
				t.Errorf("hint %q, want %q", wrong.Hint, want)
			}
		})
	}
}

// TestFlagsOfBrowsersAreKnown checks the flags that text browsers print as their help. One dash and a word
// would else be letters of this command.
func TestFlagsOfBrowsersAreKnown(t *testing.T) {
	t.Parallel()
	table, set := rootFlags()
	for _, tool := range []string{"lynx", "links", "elinks", "w3m"} {
		text, err := os.ReadFile("../../testdata/foreign/" + tool)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(string(text)) {
			if _, _, err := table.Split([]string{name, "u"}, set); err == nil || !strings.Contains(err.Error(), "unknown flag "+name) {
				t.Errorf("%s of %s is not known: %v", name, tool, err)
			}
		}
	}
}

// TestForeignFlagsAreKnown checks the long flags of wget 1.21, curl 7.88 and aria2 1.36. Each is also
// a flag here, or its error names the equivalent.
func TestForeignFlagsAreKnown(t *testing.T) {
	t.Parallel()
	table, set := rootFlags()
	for _, tool := range []string{"wget", "curl", "aria2"} {
		text, err := os.ReadFile("../../testdata/foreign/" + tool)
		if err != nil {
			t.Fatal(err)
		}
		names := strings.Fields(string(text))
		if len(names) < 100 {
			t.Errorf("%s has only %d flags", tool, len(names))
		}
		for _, name := range names {
			if set.Lookup(name[2:]) != nil || name == "--help" || name == "--version" {
				continue
			}
			wrong, ok := table.Unknown(name, set).(*failure.Usage)
			if !ok || strings.HasPrefix(wrong.Hint, "did you mean") {
				t.Errorf("%s of %s is not known: %v", name, tool, wrong)
			}
		}
	}
}
