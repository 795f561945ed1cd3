//go:build gendoc

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/tools/manpages"
)

// version is set by the linker.
var version = "(devel)"

// With the build tag gendoc, the program writes the man pages of its commands to a directory, as
// urlget does.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(job.ExitStatus(fetch.ErrRequest))
	}
	for _, cmd := range (&app{}).command().Commands() {
		err := manpages.Write(os.Args[1], cmd, manpages.Options{
			Version: version,
			Groups: func(cmd *cobra.Command) []manpages.Group {
				var groups []manpages.Group
				titles, sets := groupFlags(cmd)
				for i, set := range sets {
					groups = append(groups, manpages.Group{Title: titles[i], Flags: set})
				}
				return groups
			},
			Sections: func(cmd *cobra.Command) string {
				environment := ""
				if cmd.Name() == "work" {
					environment = "\n.SH ENVIRONMENT\n.TP\n\\fBOTEL_EXPORTER_OTLP_ENDPOINT\\fP\n" +
						"The URL of an OpenTelemetry collector that receives spans of jobs. Other\n" +
						"OpenTelemetry variables for spans are supported too.\n"
				}
				return environment + "\n.SH EXIT STATUS\nThe same as \\fBurlget(1)\\fP.\n"
			},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(job.ExitStatus(fetch.ErrFile))
		}
	}
}
