package flags

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// Overridden reports whether a flag of the configuration file is ignored because it conflicts with the
// command line. typed reports whether a flag is on the command line, and has whether it is there or
// in the file. The table is that of o.
func (o *Options) Overridden(table Table, name string, typed, has func(name string) bool) bool {
	f := table.Find(name)
	tree := false
	for other := range table.All() {
		tree = tree || other.Tree == Makes && has(other.Name)
	}
	if name == "continue" && o.continuesArchive(tree, has) {
		return false
	}
	switch {
	case f.Tree == Only && !tree,
		f.Tree == Never && tree,
		f.Needs != "" && !slices.ContainsFunc(strings.Fields(f.Needs), has),
		slices.ContainsFunc(strings.Fields(f.Excludes+" "+f.Yields), typed):
		return true
	}
	for other := range table.All() {
		if typed(other.Name) && slices.Contains(strings.Fields(other.Excludes), name) {
			return true
		}
	}
	to := o.Output.Document
	return f.File && (to == "-" || name == "directory-prefix" && filepath.IsAbs(to))
}

var (
	always    = func(string) bool { return true }
	withColon = func(value string) bool { return strings.Contains(value, ":") }
	withAt    = func(value string) bool { return strings.Contains(value, "@") }
)

func secretField(field string) bool {
	name, _, _ := strings.Cut(field, ":")
	return fetch.IsSecretField(strings.TrimSpace(name))
}
