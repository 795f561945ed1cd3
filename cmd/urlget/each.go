package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// An action is what a command does to each URL.
type action struct {
	op      fetch.Op
	offline bool                                 // nothing is sent
	check   func() error                         // looks at the flags first
	prepare func(*job.Job) error                 // completes what the flags say of each URL; or nil
	do      func(context.Context, *task) outcome // to one URL
}

// errReported ends a run of which the user knows the reason.
var errReported = errors.New("reported")

// each returns the body of a command that does something to each URL.
func (a *app) each(act action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		r := &run{app: a, action: act, cmd: cmd, args: args, ctx: cmd.Context()}
		for _, step := range []func() error{
			r.configure, r.checkArguments, r.openLog, r.checkLogin, r.checkAction, r.openDisplay, r.checkMany, r.connect,
			r.describe, r.understand, r.openArchives, r.prepareOutput, r.work,
		} {
			if err := step(); err == errReported {
				return nil
			} else if err != nil {
				return err
			}
		}
		return nil
	}
}

// A run is one run of a command whose arguments are URLs. Its steps are in the order of each, so
// that mistakes are found before anything is sent, and before a file is made.
type run struct {
	*app
	action
	cmd      *cobra.Command
	args     []string
	ctx      context.Context
	template *job.Job // what the flags say of each URL
}

func (r *run) configure() error { return r.app.configure(r.cmd) }

func (r *run) checkArguments() error {
	if err := r.opts.CheckWords(); err != nil {
		return err
	}
	if len(r.args) == 0 && r.opts.List.File == "" {
		return r.table.NoURL(r.cmd)
	}
	return nil
}

func (r *run) openLog() error {
	if detached, err := r.app.openLog(r.args); err != nil {
		return err
	} else if detached {
		return errReported
	}
	if r.opts.Trust.Insecure && !r.offline && !r.opts.Report.Quiet {
		r.con.Warn("certificates are not checked (--insecure)")
	}
	return r.opts.CheckReport()
}

func (r *run) checkLogin() error {
	if err := r.opts.CheckLogin(); err != nil {
		return err
	}
	if r.opts.Login.Ask && !r.offline && !r.prompt.Possible() {
		return failure.Usagef("--ask-password: there is no terminal to ask for the password at")
	}
	return nil
}

func (r *run) checkAction() error {
	if err := r.check(); err != nil {
		return err
	}
	if d := r.opts.Output.Document; d != "" && d != "-" && len(r.args) > 1 {
		return failure.Hinted("-O names one file, but there are several URLs", "-P DIR saves all of them in a directory")
	}
	return nil
}

func (r *run) openDisplay() error {
	if !r.offline {
		r.app.openDisplay(r.ctx)
	}
	return nil
}

func (r *run) checkMany() error {
	if err := r.opts.CheckMany(); err != nil {
		return err
	}
	return r.opts.CheckList()
}

// connect makes the client.
func (r *run) connect() (err error) {
	mail, tree := &r.opts.Mail, r.opts.Tree.On()
	r.inOrder = r.op != fetch.OpGet || r.offline || r.opts.Many.Jobs == 1 || mail.Compose || mail.Parts || tree
	r.opts.Driver.Web.Single = len(r.args) == 1 && r.opts.List.File == "" && !tree
	if r.jar, err = openCookies(r.opts); err == nil {
		r.client, err = r.newClient()
	}
	return err
}

// describe makes the template of all jobs.
func (r *run) describe() error {
	j, err := newJob(r.opts, r.op)
	if err == nil {
		err = r.sender.send(j)
	}
	if err != nil {
		return err
	}
	if r.opts.Output.Checksum != "" {
		r.checksums(j)
	}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return failure.Usagef("--%s: %s", wrong.Field, wrong.Reason)
	}
	r.template = j
	return nil
}

// understand checks that all arguments are URLs. If one is not, nothing is retrieved: the user may
// have meant something quite different.
func (r *run) understand() error {
	if r.prepare != nil {
		r.openEvents()
	}
	var failed error
	for _, arg := range r.args {
		if subject, _, err := r.parse(arg); err != nil {
			r.fail(subject, err)
			failed = errReported
		}
	}
	return failed
}

func (r *run) openArchives() (err error) {
	r.ctx, err = r.app.openArchives(r.ctx, r.args, r.offline)
	return err
}

func (r *run) prepareOutput() error {
	r.files = &download.Downloader{Client: r.client, Tool: "urlget " + programVersion(), Sync: r.opts.Output.Sync}
	if r.prepare == nil {
		return nil
	}
	err := r.prepare(r.template)
	if wrong := (*job.FieldError)(nil); err == nil && errors.As(r.template.Validate(), &wrong) {
		err = failure.Usagef("-O: %s", wrong.Reason) // the rest was valid before
	}
	return err
}

// work does the action to each URL, or retrieves the tree that begins at the URLs.
func (r *run) work() error {
	r.hosts = r.schedule()
	begun := time.Now()
	b := &batch{app: r.getter, do: r.inTime(r.do), template: r.template}
	list, err := r.openList(r.ctx, r.offline)
	if err != nil {
		return err
	}
	if r.op == fetch.OpGet && !r.offline && r.opts.Tree.On() && !r.opts.Mail.Compose {
		seeds, err := b.seeds(r.ctx, r.args, list)
		if err != nil {
			return err
		}
		return r.mirror(r.ctx, seeds)
	}
	err = b.run(r.ctx, r.args, list)
	if report := &r.opts.Report; r.op == fetch.OpGet && r.opts.Output.Document != "-" && !report.Quiet && !report.JSON && !r.offline {
		io.WriteString(r.con.Prose(), r.tally.summary(time.Since(begun), r.con.Paint, 2))
		if r.ctx.Err() != nil && (list != nil || len(r.args) > 1) {
			r.say("%s", r.goOn())
		}
	}
	return err
}

// goOn says how to go on with several URLs after an interruption.
func (g *getter) goOn() string {
	if g.opts.Output.Continue || g.opts.Output.Newer || g.opts.Output.NoClobber {
		return "the same command goes on from here"
	}
	return "the same command with -c goes on from here"
}

// inTime ends what do does with one URL after --max-time.
func (g *getter) inTime(do func(context.Context, *task) outcome) func(context.Context, *task) outcome {
	limit := time.Duration(g.opts.Network.MaxTime)
	if limit <= 0 {
		return do
	}
	return func(ctx context.Context, t *task) outcome {
		ctx, cancel := context.WithTimeoutCause(ctx, limit,
			&fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("not done within %v (--max-time)", limit)})
		defer cancel()
		return do(ctx, t)
	}
}

// parse reads a URL as the user wrote it, and returns how messages name it.
func (g *getter) parse(text string) (subject string, u uri.URI, err error) {
	u, err = uri.ParseLoose(text)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		return wrong.Input, u, &fetch.Error{Code: fetch.ErrURL, Err: errors.New(wrong.Reason), Hint: g.opts.Misread(strings.TrimSpace(text))}
	}
	if err == nil {
		err = g.checkScheme(u, strings.TrimSpace(text))
	}
	subject = u.Redacted()
	if err != nil && !u.IsAbs() && !u.HasAuthority() {
		subject = strings.TrimSpace(text) // as it was written: it may be anything
		if len(subject) > maxShown {
			subject = strings.ToValidUTF8(subject[:maxShown], "") + "…"
		}
	}
	return subject, u, err
}

// maxShown is how much is repeated of what is no URL, in bytes.
const maxShown = 200

// checkScheme refuses what has no scheme, or one that is probably mistyped. It is not guessed, but
// a hint says what text, from which u was read, may have meant.
func (g *getter) checkScheme(u uri.URI, text string) error {
	if u.IsAbs() && !g.isHostPort(u) {
		return g.checkSpelling(u)
	}
	wrong := &failure.Usage{Text: "the URL has no scheme"}
	switch _, err := os.Lstat(text); {
	case text == "":
		wrong.Text = "the URL is empty"
	case err == nil:
		if path, err := filepath.Abs(text); err == nil {
			if file, err := (uri.File{Path: filepath.ToSlash(path)}).URI(); err == nil {
				wrong.Hint = "did you mean " + file.String() + " ?"
			}
		}
	case g.opts.Misread(text) != "":
		wrong.Hint = g.opts.Misread(text)
	case strings.ContainsAny(text, ".:/") && !strings.HasPrefix(text, "."):
		scheme := flags.Guessed
		if u.IsAbs() && !strings.HasPrefix(u.Path(), "443") { // a host and its port
			scheme = flags.GuessedWithPort
		}
		wrong.Hint = "did you mean " + scheme + "://" + strings.TrimLeft(text, "/") + " ?"
	}
	return wrong
}

// checkSpelling refuses a scheme that is not known but resembles one that is.
func (g *getter) checkSpelling(u uri.URI) error {
	name := u.Scheme()
	if _, known := g.client.Scheme(name); known || g.opts.Proxy.Gateways != nil {
		return nil
	}
	var all []string
	for _, s := range g.client.Schemes() {
		all = append(all, s.Name)
	}
	nearest := uri.NearestScheme(name, all)
	if nearest == "" {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Hint: "did you mean " + nearest + u.Redacted()[len(name):] + " ?"}
}

// isHostPort reports whether u, such as localhost:8080/x, is meant as a host and a port.
func (g *getter) isHostPort(u uri.URI) bool {
	port, _, _ := strings.Cut(u.Path(), "/")
	if port == "" || strings.Trim(port, "0123456789") != "" || u.HasAuthority() || g.opts.Proxy.Gateways != nil {
		return false
	}
	_, known := g.client.Scheme(u.Scheme())
	return !known
}
