package flags

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestOverridden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed, file, flag string // flags on the command line and in the file, and the flag of the file to check
		want              bool
	}{
		{"", "level", "level", true},
		{"recursive", "level", "level", false},
		{"", "mirror level", "level", false},
		{"recursive", "range", "range", true},
		{"recursive", "continue", "continue", true},
		{"recursive warc", "continue", "continue", false},
		{"timestamping", "continue", "continue", true},
		{"continue", "timestamping", "timestamping", true},
		{"", "continue timestamping", "timestamping", false}, // they go together
		{"no-clobber", "continue", "continue", true},
		{"data", "continue", "continue", true},
		{"continue", "data", "data", false},
		{"", "warc-cdx", "warc-cdx", true},
		{"warc-file", "warc-cdx", "warc-cdx", false},
		{"http1", "http2", "http2", true},
		{"http2", "http1", "http1", true},
		{"verbose", "quiet", "quiet", true},
		{"quiet", "verbose", "verbose", true},
	} {
		o := New()
		set := pflag.NewFlagSet("urlget", pflag.ContinueOnError)
		table := o.Table()
		table.Define(set, Root)
		o.Use(set)
		typed := func(name string) bool { return slices.Contains(strings.Fields(tt.typed), name) }
		has := func(name string) bool { return typed(name) || slices.Contains(strings.Fields(tt.file), name) }
		if got := o.Overridden(table, tt.flag, typed, has); got != tt.want {
			t.Errorf("%q in a file that has %q gives way to %q: %t", tt.flag, tt.file, tt.typed, got)
		}
	}
}

// TestRelations checks that all names in Needs, Excludes and Yields are flags.
func TestRelations(t *testing.T) {
	t.Parallel()
	table := New().Table()
	for f := range table.All() {
		for _, name := range strings.Fields(f.Needs + " " + f.Excludes + " " + f.Yields) {
			if table.Find(name).Name == "" || name == f.Name {
				t.Errorf("--%s names --%s", f.Name, name)
			}
		}
	}
}
