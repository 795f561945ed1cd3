package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// An action is the operation of a command on each URL.
type action struct {
	op      fetch.Op
	offline bool                                 // sends nothing
	prepare func(*job.Job) error                 // opens the output and completes the job template; may be nil
	do      func(context.Context, *task) outcome // handles one URL
}

// errReported is returned for an error that has been reported.
var errReported = errors.New("reported")

// runURLs runs an action on each URL of the command line and of the list. It checks flags and URLs
// before it sends anything or creates a file.
func (a *app) runURLs(cmd *cobra.Command, args []string, act action) error {
	ctx := cmd.Context()
	if err := a.configure(cmd); err != nil {
		return err
	}
	args, err := a.glob(args)
	if err != nil {
		return err
	}
	if err := a.checkFlags(cmd, args); err != nil {
		return err
	}
	if a.outputs != nil {
		a.opts.Output.Document = "" // each URL has its own
	}
	if detached, err := a.openLog(args); err != nil || detached {
		return err
	}
	if a.opts.Trust.Insecure && !act.offline && !a.opts.Report.Quiet {
		a.con.Warn("certificates are not verified (--insecure)")
	}
	a.dropHopByHop()
	if err := a.opts.Complete(); err != nil {
		return err
	}
	if a.opts.Login.Ask && !act.offline && !a.prompt.Possible() {
		return failure.Usagef("--ask-password: no terminal to prompt for the password")
	}
	if !act.offline {
		a.openDisplay(ctx)
	}
	if err := a.connect(&act, len(args)); err != nil {
		return err
	}
	template, err := a.template(act.op)
	if err != nil {
		return err
	}
	if !act.offline {
		a.openEvents()
	}
	if !a.checkURLs(args) {
		return nil
	}
	if ctx, err = a.openArchives(ctx, args, act.offline); err != nil {
		return err
	}
	a.files = &download.Downloader{Client: a.client, Tool: "urlget " + programVersion(), Sync: a.opts.Output.Sync}
	if act.prepare != nil {
		if err := act.prepare(template); err != nil {
			return err
		}
		if wrong := (*job.FieldError)(nil); errors.As(template.Validate(), &wrong) {
			return failure.Usagef("-O: %s", wrong.Reason) // everything else is valid
		}
	}
	return a.work(ctx, args, &act, template)
}

// checkFlags rejects invalid flags, and flags that conflict with each other or with the arguments.
func (a *app) checkFlags(cmd *cobra.Command, args []string) error {
	if err := a.opts.CheckMisplaced(); err != nil {
		return err
	}
	if len(args) == 0 && a.opts.List.File == "" && a.locks == nil {
		return a.table.NoURL(cmd)
	}
	if d := a.opts.Output.Document; a.outputs == nil && d != "" && d != "-" && len(args) > 1 {
		return failure.Hinted("-O names one file, but there are several URLs", "use -P DIR to save them in a directory")
	}
	if err := a.checkItems(args); err != nil {
		return err
	}
	if err := a.checkPipe(); err != nil {
		return err
	}
	return a.opts.Check(a.table)
}

// connect creates the client for a number of arguments.
func (a *app) connect(act *action, args int) (err error) {
	mail, tree := &a.opts.Mail, a.opts.Tree.On()
	a.sequential = act.op != fetch.OpGet || act.offline || a.opts.Many.Jobs == 1 || mail.Compose || mail.Parts || tree
	a.opts.Driver.Web.Single = args == 1 && a.opts.List.File == "" && !tree
	if a.jar, err = openCookies(a.opts, a.con.Warn); err == nil {
		a.client, err = a.newClient()
	}
	return err
}

// template returns the job template.
func (a *app) template(op fetch.Op) (*job.Job, error) {
	j, err := newJob(a.opts, op)
	if err == nil {
		err = a.describeBody(j)
	}
	if err != nil {
		return nil, err
	}
	if a.opts.Output.Checksum != "" {
		a.checksums(j)
	}
	if wrong := (*job.FieldError)(nil); errors.As(j.Validate(), &wrong) {
		return nil, failure.Usagef("--%s: %s", wrong.Field, wrong.Reason)
	}
	return j, nil
}

// checkURLs reports whether all arguments are URLs, and prints an error for each other one. In that
// case nothing is retrieved, because the user may have meant something else.
func (a *app) checkURLs(args []string) bool {
	all := true
	for _, arg := range args {
		if subject, _, err := a.parse(arg); err != nil {
			a.fail(subject, err)
			all = false
		}
	}
	return all
}

// work runs the action on each URL, or retrieves the tree that starts at the URLs.
func (a *app) work(ctx context.Context, args []string, act *action, template *job.Job) error {
	a.hosts = a.schedule()
	begun := time.Now()
	b := &batch{app: a, do: a.inTime(act.do), template: template}
	list, err := a.openList(ctx, act.offline)
	if err != nil {
		return err
	}
	if act.op == fetch.OpGet && !act.offline && a.opts.Tree.On() && !a.opts.Mail.Compose {
		seeds, err := b.seeds(ctx, args, list)
		if err != nil {
			return err
		}
		return a.mirror(ctx, seeds)
	}
	if act.op == fetch.OpGet && a.opts.Many.Jobs == 1 && !a.opts.Driver.Web.Single {
		a.processors.set()
		defer a.processors.lift()
	}
	err = b.run(ctx, args, list)
	if report := &a.opts.Report; act.op == fetch.OpGet && a.opts.Output.Document != "-" && !report.Quiet && !report.JSON && !act.offline {
		io.WriteString(a.con.Prose(), a.tally.summary(time.Since(begun), a.con.Paint, 2))
		if ctx.Err() != nil && (list != nil || len(args) > 1 || a.keeps.Load()) {
			a.say("%s", a.resumeAllHint())
		}
	}
	return err
}

// resumeAllHint returns the hint on resuming several URLs after an interruption.
func (a *app) resumeAllHint() string {
	if a.opts.Output.Continue || a.opts.Output.Newer || a.opts.Output.NoClobber || a.opts.Lock.File != "" {
		return "run the same command again to resume"
	}
	return "run the same command with -c to resume"
}

// inTime limits do to --max-time per URL.
func (a *app) inTime(do func(context.Context, *task) outcome) func(context.Context, *task) outcome {
	limit := time.Duration(a.opts.Network.MaxTime)
	if limit <= 0 {
		return do
	}
	return func(ctx context.Context, t *task) outcome {
		ctx, cancel := context.WithTimeoutCause(ctx, limit,
			&fetch.Error{Code: fetch.ErrNetwork, Err: fmt.Errorf("not finished within %v (--max-time)", limit)})
		defer cancel()
		return do(ctx, t)
	}
}

// parse parses a URL as the user wrote it and returns its name in messages.
func (a *app) parse(text string) (subject string, u uri.URI, err error) {
	u, err = uri.ParseLoose(text)
	if wrong := (*uri.Error)(nil); errors.As(err, &wrong) {
		return wrong.Input, u, &fetch.Error{Code: fetch.ErrURL, Err: errors.New(wrong.Reason), Hint: a.opts.Misread(strings.TrimSpace(text))}
	}
	if err == nil {
		err = a.checkScheme(u, strings.TrimSpace(text))
	}
	subject = u.Redacted()
	if err != nil && !u.IsAbs() && !u.HasAuthority() {
		subject = strings.TrimSpace(text) // as written: it is not a URL
		if len(subject) > maxQuoted {
			subject = strings.ToValidUTF8(subject[:maxQuoted], "") + "…"
		}
	}
	return subject, u, err
}

// maxQuoted limits how much of an invalid URL an error message quotes, in bytes.
const maxQuoted = 200

// checkScheme rejects a URL without a scheme, or with a probably mistyped one. It does not guess; the
// hint suggests a URL for text, which u was parsed from.
func (a *app) checkScheme(u uri.URI, text string) error {
	if u.IsAbs() && !a.isHostPort(u) {
		return a.checkSpelling(u)
	}
	wrong := &failure.Usage{Text: "the URL has no scheme"}
	switch _, err := os.Lstat(text); {
	case text == "":
		wrong.Text = "the URL is empty"
	case err == nil:
		if file, err := fileURL(text); err == nil {
			wrong.Hint = "did you mean " + file.String() + " ?"
		}
	case a.opts.Misread(text) != "":
		wrong.Hint = a.opts.Misread(text)
	case strings.ContainsAny(text, ".:/") && !strings.HasPrefix(text, "."):
		scheme := flags.Guessed
		if u.IsAbs() && !strings.HasPrefix(u.Path(), "443") { // a host and its port
			scheme = flags.GuessedWithPort
		}
		wrong.Hint = "did you mean " + scheme + "://" + strings.TrimLeft(text, "/") + " ?"
	}
	return wrong
}

// checkSpelling rejects an unknown scheme that resembles a known one.
func (a *app) checkSpelling(u uri.URI) error {
	name := u.Scheme()
	if _, known := a.client.Scheme(name); known || a.opts.Proxy.Gateways != nil {
		return nil
	}
	var all []string
	for _, s := range a.client.Schemes() {
		all = append(all, s.Name)
	}
	nearest := uri.NearestScheme(name, all)
	if nearest == "" {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrScheme, Err: fmt.Errorf("%q is not registered", name),
		Hint: "did you mean " + nearest + u.Redacted()[len(name):] + " ?"}
}

// isHostPort reports whether u, such as localhost:8080/x, is a host and port instead of a scheme.
func (a *app) isHostPort(u uri.URI) bool {
	port, _, _ := strings.Cut(u.Path(), "/")
	if port == "" || strings.Trim(port, "0123456789") != "" || u.HasAuthority() || a.opts.Proxy.Gateways != nil {
		return false
	}
	_, known := a.client.Scheme(u.Scheme())
	return !known
}
