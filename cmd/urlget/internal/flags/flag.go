// Package flags holds the flags of the command: one table that says everything about each of them,
// and the values that they have in one run.
package flags

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Commands is a set of commands.
type Commands uint16

// The commands that have flags. Root is the command without a name, which does what Get does. Merge
// stands for import too.
const (
	Root Commands = 1 << iota
	Get
	Cat
	List
	Stat
	Explain
	Serve
	Merge
	Extract
	Schemes
	Version
)

// TreeUse says how a flag relates to recursive retrieval.
type TreeUse uint8

// The relations of flags to recursive retrieval.
const (
	Any   TreeUse = iota
	Makes         // retrieves a tree
	Only          // needs a flag that Makes
	Never         // is ignored for trees if it comes from the configuration file
)

// A Flag is a row of the table.
type Flag struct {
	Name  string
	Short string // the letter, or ""
	Pair  string // wget's short form of two letters, or ""
	In    Commands
	Value any    // a pointer to a bool, string, []string or uint16, or a pflag.Value
	Help  string // with the name of the value in backquotes

	AlsoIn   Commands // where the flag has another meaning
	AlsoHelp string   // and the help for that

	Hidden bool
	Bare   string   // the value of the flag without one
	Words  []string // that the shell offers as values
	Home   bool     // the default is below the home directory, which the help does not show

	Tree     TreeUse
	TreeHint string // for people who meant another flag than this one, which is for trees
	Needs    string // names, one of which this flag needs
	Excludes string // names before which this flag gives way, if it comes from the configuration file
	File     bool   // is about files: gives way to standard output, if it comes from the configuration file
	Content  bool   // is about content, of which --head brings none

	PerURL      bool // may stand in a section of the configuration file
	CommandLine bool // may not stand in the configuration file
	Secret      func(value string) bool

	Foreign    []Foreign
	OtherValue string // hint for a wrong value: the meaning that the letter has in another tool
	TookURL    string // hint if the flag took the URL as its value, for the same reason
}

// A Group is a part of the help.
type Group struct {
	Title string
	Flags []Flag
}

// A Table is all flags. The last group is also that of flags that are not in the table.
type Table []Group

// All returns the rows of the table.
func (t Table) All() iter.Seq[*Flag] {
	return func(yield func(*Flag) bool) {
		for _, g := range t {
			for i := range g.Flags {
				if !yield(&g.Flags[i]) {
					return
				}
			}
		}
	}
}

// Find returns the row of a flag; an empty one if there is none. A flag that only ls has comes after
// one of the same name that others have.
func (t Table) Find(name string) *Flag {
	found := &Flag{}
	for f := range t.All() {
		if f.Name == name && (found.Name == "" || f.In != List) {
			found = f
		}
	}
	return found
}

// Define adds the flags of a command to its set.
func (t Table) Define(set *pflag.FlagSet, command Commands) {
	set.SortFlags = false
	for f := range t.All() {
		switch {
		case f.In&command != 0:
			f.define(set, f.Help)
		case f.AlsoIn&command != 0:
			f.define(set, f.AlsoHelp)
		}
	}
}

func (f *Flag) define(set *pflag.FlagSet, help string) {
	switch v := f.Value.(type) {
	case *bool:
		set.BoolVarP(v, f.Name, f.Short, *v, help)
	case *string:
		set.StringVarP(v, f.Name, f.Short, *v, help)
	case *[]string:
		set.StringSliceVarP(v, f.Name, f.Short, *v, help)
	case *uint16:
		set.Uint16VarP(v, f.Name, f.Short, *v, help)
	case pflag.Value:
		set.VarP(v, f.Name, f.Short, help)
	default:
		panic(fmt.Sprintf("--%s: no flag has a value of type %T", f.Name, f.Value))
	}
	defined := set.Lookup(f.Name)
	defined.Hidden = f.Hidden
	if f.Bare != "" {
		defined.NoOptDefVal = f.Bare
	}
	if f.Home {
		if home, err := os.UserHomeDir(); err == nil {
			defined.DefValue = strings.Replace(defined.DefValue, home, "~", 1)
		}
	}
}

// A GroupSet is a group as a command has it.
type GroupSet struct {
	Title string
	Flags *pflag.FlagSet
}

// Groups returns the groups that set has some flag of.
func (t Table) Groups(set *pflag.FlagSet) []GroupSet {
	var groups []GroupSet
	seen := make(map[string]bool)
	for _, g := range t {
		part := pflag.NewFlagSet(g.Title, pflag.ContinueOnError)
		part.SortFlags = false
		groups = append(groups, GroupSet{g.Title, part})
		for _, row := range g.Flags {
			if f := set.Lookup(row.Name); f != nil && !seen[row.Name] {
				part.AddFlag(f)
				seen[row.Name] = true
			}
		}
	}
	last := groups[len(groups)-1].Flags
	set.VisitAll(func(f *pflag.Flag) {
		if !seen[f.Name] {
			last.AddFlag(f)
		}
	})
	return slices.DeleteFunc(groups, func(g GroupSet) bool { return !g.Flags.HasAvailableFlags() })
}

// Completions returns the words that the shell offers as values of each flag.
func (t Table) Completions() map[string][]string {
	words := make(map[string][]string)
	for f := range t.All() {
		if f.Words != nil {
			words[f.Name] = f.Words
		}
		if v, ok := f.Value.(interface{ options() []string }); ok {
			words[f.Name] = v.options()
		}
	}
	return words
}
