package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// settings say how a command uses its URLs.
type settings struct {
	op      fetch.Op
	offline bool      // sends nothing
	saves   bool      // saves files
	locking bool      // records the content in a lock file
	locks   *lockFile // more URLs; nil if there are none
}

// open prepares the batch for the URLs of the command line and of the list. It checks flags and URLs
// before it sends anything or creates a file. The returned context ends when the archive that records
// the run fails.
func (p *program) open(cmd *cobra.Command, args []string, how settings) (context.Context, *batch, error) {
	ctx := cmd.Context()
	src, err := p.understand(cmd, args, how)
	if err != nil {
		return ctx, nil, err
	}
	if !how.offline {
		p.rep.openDisplay(ctx)
		if err := p.net.logins.loadTLS(ctx); err != nil {
			return ctx, nil, err
		}
	}
	client, err := p.connect(how, len(src.args))
	if err != nil {
		return ctx, nil, err
	}
	template, err := newTemplate(p, client, how)
	if err != nil {
		return ctx, nil, err
	}
	if !how.offline {
		p.rep.openEvents()
	}
	if !checkURLs(p.rep, template, src.args) {
		return ctx, nil, errEnded
	}
	if !how.offline {
		if ctx, err = p.net.openArchives(ctx, src.args); err != nil {
			return ctx, nil, err
		}
	}
	b := &batch{opts: p.opts, rep: p.rep, jobs: newJobs(p, client), source: src, template: template}
	return ctx, b, nil
}

// understand checks the flags and arguments, and continues in the background with -b.
func (p *program) understand(cmd *cobra.Command, args []string, how settings) (src source, err error) {
	o := p.opts
	if err := p.configure(cmd); err != nil {
		return src, err
	}
	src.locks, src.offline = how.locks, how.offline
	if src.args, src.outputs, err = glob(o, args); err != nil {
		return src, err
	}
	if err := p.checkFlags(cmd, &src, how); err != nil {
		return src, err
	}
	if src.outputs != nil {
		o.Output.Document = "" // each URL has its own
	}
	if detached, err := p.rep.openLog(src.args); err != nil {
		return src, err
	} else if detached {
		return src, errEnded
	}
	if o.Trust.Insecure && !how.offline && !o.Report.Quiet {
		p.rep.con.Warn("certificates are not verified (--insecure)")
	}
	dropHopByHop(o, p.rep)
	if err := o.Complete(); err != nil {
		return src, err
	}
	if o.Login.Ask && !how.offline && !p.net.dialog.Possible() {
		return src, failure.Usagef("--ask-password: no terminal to prompt for the password")
	}
	return src, nil
}

func (p *program) checkFlags(cmd *cobra.Command, src *source, how settings) error {
	if err := p.opts.CheckMisplaced(); err != nil {
		return err
	}
	if len(src.args) == 0 && p.opts.List.File == "" && src.locks == nil {
		return p.table.NoURL(cmd)
	}
	if d := p.opts.Output.Document; src.outputs == nil && d != "" && d != "-" && len(src.args) > 1 {
		return failure.Hinted("-O names one file, but there are several URLs",
			"use -P DIR to save them in a directory")
	}
	if err := checkItems(src.args); err != nil {
		return err
	}
	if err := p.opts.Check(p.table); err != nil || !how.saves || src.outputs != nil {
		return err
	}
	return p.checkPrints(src.args)
}

func (p *program) connect(how settings, args int) (client *fetch.Client, err error) {
	o, n := p.opts, p.net
	tree := o.Tree.On()
	prints := how.op != fetch.OpGet || how.offline || o.Mail.Compose || o.Mail.Parts
	n.sequential = prints || tree || o.Many.Jobs == 1
	o.Driver.Web.Single = args == 1 && o.List.File == "" && !tree
	if n.jar, err = openCookies(o, p.rep.con.Warn); err != nil {
		return nil, err
	}
	n.atEnd(func() error { return saveCookies(&o.Cookies, n.jar) })
	if err = n.openHSTS(); err != nil {
		return nil, err
	}
	if client, err = n.newClient(); err != nil {
		return nil, err
	}
	n.atEnd(func() error {
		client.Close()
		return nil
	})
	return client, nil
}

// checkURLs reports whether all arguments are URLs, and prints an error for each other one. In that
// case nothing is retrieved, because the user may have meant something else.
func checkURLs(rep *reporter, t *template, args []string) bool {
	all := true
	for _, arg := range args {
		if subject, _, err := t.parse(arg); err != nil {
			rep.fail(subject, err)
			all = false
		}
	}
	return all
}

// runSaving runs a batch that retrieves content, and summarizes it.
func (b *batch) runSaving(ctx context.Context, v verb) error {
	if b.opts.Many.Jobs == 1 && !b.opts.Driver.Web.Single {
		b.jobs.processors.set()
		defer b.jobs.processors.lift()
	}
	begun := time.Now()
	err := b.run(ctx, v)
	if report := &b.opts.Report; b.opts.Output.Document == "-" || report.Quiet || report.JSON {
		return err
	}
	io.WriteString(b.rep.con.Prose(), b.rep.tally.summary(time.Since(begun), b.rep.con.Paint, 2))
	if b.rep.tally.savesAll() {
		b.rep.sayNothingPrinted()
	}
	if ctx.Err() != nil && (b.source.list != nil || len(b.source.args) > 1 || b.rep.tally.kept.Load()) {
		b.rep.say("%s", b.resumeHint())
	}
	return err
}

func (b *batch) resumeHint() string {
	o := &b.opts.Output
	if o.Continue || o.Newer || o.NoClobber || b.opts.Lock.File != "" {
		return "run the same command again to resume"
	}
	return "run the same command with -c to resume"
}
