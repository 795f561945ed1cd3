package main

import (
	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// statCommand returns the stat command.
func (a *app) statCommand() *cobra.Command {
	return a.withFlags(flags.Stat, &cobra.Command{
		Use:   "stat [flags] URL...",
		Short: "Print the metadata without the content",
		RunE:  a.orArchives(a.describeArchive, a.runStat),
	})
}

func (a *app) runStat(cmd *cobra.Command, args []string) error {
	return a.runURLs(cmd, args, action{op: fetch.OpStat, do: a.runPrintJob})
}

// printMeta prints the metadata of a resource.
func (r *reporter) printMeta(j *job.Job, resp *fetch.Response) error {
	defer r.con.Pause()()
	if r.opts.Report.JSON {
		return failure.File(render.MetaJSON(r.std.out, j.URL.Redacted(), resp.URL.Redacted(), &resp.Meta))
	}
	return failure.File(render.MetaText(r.std.out, resp.URL.Redacted(), &resp.Meta, r.opts.Report.Verbose || r.opts.Report.Fields))
}
