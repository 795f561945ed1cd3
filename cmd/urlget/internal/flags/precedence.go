package flags

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch/driver"
)

// GivesWay reports whether a flag of the configuration file is left out, because it makes no sense
// with the command line: the file is for everything that the user does. typed reports whether a flag
// is on the command line, and has whether it is there or in the file.
func (o *Options) GivesWay(name string, typed, has func(name string) bool) bool {
	table := o.Table()
	f := table.Find(name)
	tree := false
	for other := range table.All() {
		tree = tree || other.Tree == Makes && has(other.Name)
	}
	switch {
	case f.Tree == Only && !tree,
		f.Tree == Never && tree && !(name == "continue" && has("warc")),
		f.Needs != "" && !slices.ContainsFunc(strings.Fields(f.Needs), has),
		slices.ContainsFunc(strings.Fields(f.Excludes), typed):
		return true
	}
	return f.File && (o.Output.Document == "-" || name == "directory-prefix" && filepath.IsAbs(o.Output.Document))
}

// The kinds of values that are secrets.
var (
	always    = func(string) bool { return true }
	withColon = func(value string) bool { return strings.Contains(value, ":") }
	withAt    = func(value string) bool { return strings.Contains(value, "@") }
)

// secretField reports whether a header field is likely to hold a secret.
func secretField(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return driver.IsSecretField(strings.TrimSpace(name))
}
