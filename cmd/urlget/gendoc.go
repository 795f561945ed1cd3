//go:build gendoc

package main

import (
	_ "embed"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/tools/manpages"
)

// With the build tag gendoc, the command writes its man pages to a directory:
// go run -tags gendoc ./cmd/urlget DIR. The regular command does not link the generator.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(exitUsage)
	}
	p := newProgram(nil, stdio{}, nil)
	err := manpages.Write(os.Args[1], p.command(), manpages.Options{
		Version: programVersion(),
		Groups:  func(cmd *cobra.Command) []manpages.Group { return groups(p.table, cmd) },
		Sections: func(cmd *cobra.Command) string {
			if cmd.HasParent() {
				return "\n.SH EXIT STATUS\nSee \\fBurlget(1)\\fP, also for ENVIRONMENT and FILES.\n"
			}
			return manSections
		},
		// urlget-queue writes those
		Skip: func(cmd *cobra.Command) bool {
			return cmd.HasParent() && isQueueCommand([]string{cmd.Name()})
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFile)
	}
}

func groups(table flags.Table, cmd *cobra.Command) []manpages.Group {
	var all []manpages.Group
	for _, g := range table.Groups(cmd.Flags()) {
		all = append(all, manpages.Group{Title: g.Title, Flags: g.Flags})
	}
	return all
}

// manSections are the sections that are not part of --help.
//
//go:embed sections.roff
var manSections string
