package main

import (
	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

func runStat(p *program, cmd *cobra.Command, args []string) error {
	ctx, b, err := p.open(cmd, args, settings{op: fetch.OpStat})
	if err != nil {
		return err
	}
	return b.run(ctx, b.jobs.printing(p.rep.printMeta))
}

func (r *reporter) printMeta(j *job.Job, resp *fetch.Response) error {
	defer r.con.Pause()()
	if r.opts.Report.JSON {
		return failure.File(render.MetaJSON(r.std.out, j.URL.Redacted(), resp.URL.Redacted(), &resp.Meta))
	}
	return failure.File(render.MetaText(r.std.out, resp.URL.Redacted(), &resp.Meta, r.opts.Report.Verbose ||
		r.opts.Report.Fields))
}
