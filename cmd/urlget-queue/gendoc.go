//go:build gendoc

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/manpages"
)

// version is set by the linker.
var version = "(devel)"

// With the build tag gendoc, the program writes the man pages of its commands to a directory, as
// urlget does with its own.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendoc DIR")
		os.Exit(job.ExitUsage)
	}
	for _, cmd := range (&app{}).command().Commands() {
		err := manpages.Write(os.Args[1], cmd, manpages.Options{
			Version: version,
			Groups:  func(cmd *cobra.Command) []manpages.Group { return []manpages.Group{{Flags: cmd.Flags()}} },
			Sections: func(cmd *cobra.Command) string {
				environment := ""
				if cmd.Name() == "work" {
					environment = "\n.SH ENVIRONMENT\n.TP\n\\fBOTEL_EXPORTER_OTLP_ENDPOINT\\fP\n" +
						"The URL of a collector of OpenTelemetry, to which spans of jobs are sent. Other\n" +
						"variables of OpenTelemetry for spans count as well.\n"
				}
				return environment + "\n.SH EXIT STATUS\nAs that of \\fBurlget(1)\\fP.\n"
			},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(job.ExitFile)
		}
	}
}
