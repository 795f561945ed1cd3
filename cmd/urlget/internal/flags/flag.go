// Package flags defines the flags of the command in one table, and holds their values for one run.
package flags

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Commands is a set of commands.
type Commands uint16

// Commands with flags. Root is the command without a name, which is the same as Get. Merge includes
// import.
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
	Lock
	MCP
)

// A TreeUse describes how a flag relates to recursive retrieval.
type TreeUse uint8

// Relations of flags to recursive retrieval.
const (
	Any   TreeUse = iota
	Makes         // enables recursive retrieval
	Only          // requires a flag with Makes
	Never         // cannot be combined with a flag with Makes
)

// A Flag is a row of the table.
type Flag struct {
	Name  string
	Short string // the letter, or ""
	Pair  string // wget's short form of two letters, or ""
	In    Commands
	Value any    // a pflag.Value or a pointer, see Flag.define
	Help  string // with the name of the value in backquotes

	AlsoIn   Commands // commands where the flag has another meaning
	AlsoHelp string   // help for AlsoIn

	Hidden bool
	Bare   string   // the value of the flag without one
	Words  []string // values for shell completion
	Home   bool     // the default is below the home directory, which the help does not show

	Tree     TreeUse
	TreeHint string // hint if Tree does not match
	Needs    string // names of flags, one of which is required
	Excludes string // names of flags that cannot be combined with this one
	Why      string // hint for Needs and Excludes
	Yields   string // names of flags that override this one if it is from the configuration file
	File     bool   // about files: ignored for standard output if it is from the configuration file
	Content  bool   // about content, cannot be combined with --head

	PerURL      bool // allowed in sections of the configuration file
	CommandLine bool // not allowed in the configuration file
	Secret      func(value string) bool

	Foreign   []Foreign
	Elsewhere string // hint if the command does not have the flag
	Other     string // hint if the flag is misused: its meaning in other tools
}

// A Group is a titled section of the help.
type Group struct {
	Title string
	Flags []Flag
}

// A Table holds all flags. Other flags of a command belong to the group generalGroup.
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

// Find returns the row of a flag, or an empty row if there is none. If a flag of ls has the same name
// as a flag of other commands, Find returns the latter.
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
		set.VarP(separated(v), f.Name, f.Short, help)
	case *uint16:
		set.Uint16VarP(v, f.Name, f.Short, *v, help)
	case *int:
		set.VarP(number(v), f.Name, f.Short, help)
	case *int64:
		set.VarP(size(v), f.Name, f.Short, help)
	case *time.Duration:
		set.VarP(seconds(v), f.Name, f.Short, help)
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

// A GroupSet holds the flags of one command in a group.
type GroupSet struct {
	Title string
	Flags *pflag.FlagSet
}

// Groups returns the groups that contain flags of set.
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
	general := slices.IndexFunc(groups, func(g GroupSet) bool { return g.Title == generalGroup })
	set.VisitAll(func(f *pflag.Flag) {
		if !seen[f.Name] {
			groups[general].Flags.AddFlag(f)
		}
	})
	return slices.DeleteFunc(groups, func(g GroupSet) bool { return !g.Flags.HasAvailableFlags() })
}

// Completion returns the words that a shell offers for a value of f, and whether it offers directories.
func (f *Flag) Completion() (words []string, dirs bool) {
	if v, ok := f.Value.(interface{ options() []string }); ok {
		return v.options(), false
	}
	return f.Words, strings.Contains(f.Help, "`DIR`")
}
