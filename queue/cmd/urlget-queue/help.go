package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpWidth = 80 // columns

// flagGroups lists the flags by group, with the titles in the help of urlget. The last group has all
// others.
var flagGroups = []struct{ title, flags string }{
	{"Output", "quiet json log-json by-host interval follow after url host class worker since listen"},
	{"Queue", "nats embedded name crawl creds nkey nats-ca nats-cert nats-key replicas max-jobs ack-wait"},
	{"Many", "resubmit input-file receipt if-older priority jobs per-host wait tries until-empty grace"},
	{"Recursive", "accept accept-regex accept-type domains exclude-domains level max-pages no-parent " +
		"no-robots page-requisites reject reject-regex robots-agent sitemaps span-hosts"},
	{"Archive", "artefacts s3-endpoint s3-region s3-credentials warc unused delete older-than dry-run " +
		"verify"},
	{"Request", "header user-agent load-cookies"},
	{"Network", "read-timeout max-time speed-limit speed-time proxy no-proxy"},
	{"Trust", "insecure no-check-certificate ca-certificate known-hosts tofu"},
	{"Limits", "allow-private allow-port max-size min-free"},
	{"General", ""},
}

func groupFlags(cmd *cobra.Command) (titles []string, sets []*pflag.FlagSet) {
	last := len(flagGroups) - 1
	all := make([]*pflag.FlagSet, len(flagGroups))
	for i := range all {
		all[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		all[i].SortFlags = false
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		group := 0
		for group < last && !slices.Contains(strings.Fields(flagGroups[group].flags), f.Name) {
			group++
		}
		all[group].AddFlag(f)
	})
	for i, set := range all {
		if set.HasAvailableFlags() {
			titles, sets = append(titles, flagGroups[i].title), append(sets, set)
		}
	}
	return titles, sets
}

func printHelp(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			fmt.Fprintf(&b, "  %-11s %s\n", sub.Name(), sub.Short)
		}
	}
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Usage = "print this help"
	}
	titles, sets := groupFlags(cmd)
	for i, set := range sets {
		fmt.Fprintf(&b, "\n%s:\n%s", titles[i], set.FlagUsagesWrapped(helpWidth))
	}
	io.WriteString(cmd.OutOrStdout(), b.String())
}
