package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/internal/render"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/retry"
)

// getCommand returns the get command, which is the default command by name.
func (a *app) getCommand() *cobra.Command {
	return a.withFlags(flags.Get, &cobra.Command{
		Use:   "get [flags] URL...",
		Short: "Retrieve URLs (the default command)",
		RunE:  a.runGet,
	})
}

// catCommand returns the command that prints content.
func (a *app) catCommand() *cobra.Command {
	return a.withFlags(flags.Cat, &cobra.Command{
		Use:   "cat [flags] URL...",
		Short: "Print the content on standard output",
		RunE: a.orArchives(nil, func(cmd *cobra.Command, args []string) error {
			a.opts.Output.Document, a.opts.Report.Quiet = "-", true
			return a.runGet(cmd, args)
		}),
	})
}

func (a *app) runGet(cmd *cobra.Command, args []string) error {
	a.saves = cmd.Name() != "cat"
	if a.opts.Lock.File != "" {
		if err := a.openLocked(args); err != nil {
			return err
		}
	}
	return a.runURLs(cmd, args, action{op: fetch.OpGet, prepare: a.prepareGet, do: a.get})
}

// get retrieves one URL: it saves a document, prints a listing or attaches a session.
func (a *app) get(ctx context.Context, t *task) outcome {
	j := t.Job
	if a.opts.Mail.Compose {
		return failed(a.compose(j.URL))
	}
	if a.opts.Tree.Force && j.Output == "" {
		j.Output = a.opts.Tree.Layout().Path(j.URL, a.client.Traits(j.URL))
	}
	if a.events != nil {
		a.emit(render.Start{URL: j.URL.Redacted()})
	}
	if t.lock != nil {
		return a.getLocked(ctx, t)
	}
	if a.opts.Many.Metalink {
		if e, ok := a.metalink(ctx, t); ok {
			return e
		}
	}
	res := a.runJob(ctx, t)
	if res.Err == errReported {
		return outcome{}
	}
	if res.Class == fetch.ErrInteractive && !a.opts.Mail.Extracts() && !a.opts.Mail.Parts {
		if scheme, _ := a.client.Scheme(j.URL.Scheme()); scheme.Can(fetch.OpDial) {
			a.terminal.Lock()
			defer a.terminal.Unlock()
			return failed(a.attachSession(ctx, j))
		}
	}
	if res.Outcome != job.Failed {
		return outcome{res: res, report: func() { a.report(j, res) }}
	}
	e := (*fetch.Error)(nil)
	switch errors.As(res.Err, &e); {
	case e == nil:
	case a.opts.Output.ErrorContent && len(e.Body) > 0:
		return outcome{res: res, err: res.Err, report: a.errorContent(ctx, j, e)}
	case e.Reason.File != "":
		e.Reason.File = filepath.Join(a.out.dir, e.Reason.File)
	case e.Hint == "":
		e.Hint = cmp.Or(a.resumeHint(j, res), a.removedDirHint(e))
	}
	return outcome{res: res, err: res.Err, kept: a.kept(j, res)}
}

// printsContent reports whether the response to j is printed: for query protocols such as whois,
// unless a flag requires a file.
func (a *app) printsContent(j *job.Job) bool {
	s := a.opts
	return flags.IsQuery(j.URL.Scheme()) && j.Output == "" && s.Output.Dir == "" && a.events == nil && !s.Output.Continue && !s.Output.Newer && !s.Output.NoClobber
}

// errorContent saves the body of an error response in place of the content. It returns a function
// that reports this.
func (a *app) errorContent(ctx context.Context, j *job.Job, e *fetch.Error) func() {
	page := fetch.DriverFunc(func(_ context.Context, req *fetch.Request) (*fetch.Response, error) {
		meta := fetch.Meta{Size: int64(len(e.Body)), ContentType: e.Header.Get("Content-Type")}
		return &fetch.Response{Meta: meta, URL: req.URL, Body: io.NopCloser(bytes.NewReader(e.Body))}, nil
	})
	client := fetch.New(nil, fetch.Use(j.URL.Scheme(), page))
	defer client.Close()
	files := &download.Downloader{Client: client, Root: a.files.Root, Tool: a.files.Tool, Sync: a.files.Sync}
	again := &job.Job{URL: j.URL, Output: j.Output, Exists: j.Exists}
	if again.Exists == download.Resume || again.Exists == download.Newer {
		again.Exists = download.NewName
	}
	res := (&job.Runner{Downloader: files, Retry: retry.Policy{Tries: 1}}).Run(ctx, again, &job.Hooks{Writer: a.writer})
	what := "the error page"
	if e.Partial {
		what = "the beginning of the error page"
	}
	return func() {
		switch {
		case res.Err != nil:
			a.con.Warn(what + " was not saved: " + render.ErrorText(res.Err))
		case j.Output != "-":
			a.say("%s was written to %s", what, fetch.Printable(filepath.Join(a.out.dir, filepath.FromSlash(res.Path))))
		}
	}
}

// resumeHint returns the hint on resuming a failed transfer, or "" if there is no partial file.
func (a *app) resumeHint(j *job.Job, res *job.Result) string {
	path := a.unfinished(j, res)
	if path == "" {
		return ""
	}
	name := filepath.Join(a.out.dir, download.PartialName(path))
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && res.Class == fetch.ErrFile {
		return name + " is a symbolic link and is not followed; remove it and try again"
	}
	kept := a.kept(j, res)
	switch {
	case isContradiction(res.Err) && a.opts.Output.Continue:
		return name + " is kept; without -c, the transfer begins anew"
	case kept == "":
		return ""
	case a.opts.Output.Continue:
		return kept + "; use the same command to resume"
	}
	return kept + "; use -c to resume"
}

// isContradiction reports whether err is about a response that contradicts a partial file.
func isContradiction(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Reason.Kind == fetch.ReasonContradiction
}

// kept says how much of a failed transfer a partial file keeps, or returns "" if there is none.
func (a *app) kept(j *job.Job, res *job.Result) string {
	path := a.unfinished(j, res)
	if path == "" {
		return ""
	}
	bytes, written := a.files.Partial(filepath.ToSlash(path))
	if bytes == 0 || written.Before(res.Started.Truncate(time.Second)) {
		return ""
	}
	return fmt.Sprintf("%s are kept in %s", tty.SizeWord(float64(bytes)), filepath.Join(a.out.dir, download.PartialName(path)))
}

// unfinished returns the path of the file that a failed transfer would have written, or "" if it does
// not write one.
func (a *app) unfinished(j *job.Job, res *job.Result) string {
	if j.Output == "-" || a.files.Root == nil {
		return ""
	}
	path := cmp.Or(res.Unfinished, j.Output)
	if path == "" {
		path = download.Name(j.URL, &fetch.Meta{ContentType: res.ContentType})
	}
	return filepath.FromSlash(path)
}

// removedDirHint returns the hint that the output directory was removed, or "" if it exists.
func (a *app) removedDirHint(err error) string {
	if !errors.Is(err, fs.ErrNotExist) || fetch.CodeOf(err) != fetch.ErrFile || a.out.stream != "" {
		return ""
	}
	dir, err := filepath.Abs(a.out.dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "the directory was removed; use -P DIR to save elsewhere"
}

// runJob runs one job. If the server sends a form, it prompts the user and tries again.
func (a *app) runJob(ctx context.Context, t *task) *job.Result {
	for {
		shown := a.con.Begin(a.barName(t.Job, nil))
		res := a.runner().Run(tty.Following(ctx, shown), t.Job, a.hooks(ctx, t, shown))
		shown.End()
		if !a.fillIn(ctx, t.Job, res.Err) {
			return res
		}
	}
}

func (a *app) runner() *job.Runner {
	r := &job.Runner{Downloader: a.files, Retry: retry.Policy{Tries: a.opts.Network.Tries, MaxRetryAfter: time.Duration(a.opts.Network.RetryWait)}, SHA256: a.opts.Output.SHA256}
	// 0 is the default in the library. For the user, 0 tries are unlimited, as in wget, and a wait of
	// 0 is no wait.
	if r.Retry.Tries == 0 {
		r.Retry.Tries = -1
	}
	r.Retry.MaxRetryAfter = max(r.Retry.MaxRetryAfter, 1)
	return r
}

// hooks returns the callbacks that report a job's progress and handle output that is not saved to a
// file.
func (a *app) hooks(ctx context.Context, t *task, shown *tty.Transfer) *job.Hooks {
	j, url := t.Job, t.URL.Redacted()
	return &job.Hooks{
		Writer: a.writer,
		Response: func(resp *fetch.Response) error {
			if shown != nil {
				shown.Rename(a.barName(j, &resp.Meta))
			}
			a.processors.liftFor(&resp.Meta)
			return a.response(j, resp)
		},
		Listing:  func(resp *fetch.Response) error { return a.printListing(j, resp) },
		Match:    func(m *job.Job) error { return a.match(ctx, t, m) },
		Progress: a.progress(j, shown),
		Retry: func(failed int, wait time.Duration, err error) {
			a.hosts.Failed(hostOf(j.URL), err)
			a.reportRetry(shown, j.URL, failed, wait, err)
		},
		Reuse: func(proof string) {
			if a.opts.Report.Verbose {
				a.say("%s: resuming: %s", url, proof)
			}
		},
		Restart: func(reason string) { a.say("%s: starting from the beginning: %s", url, reason) },
	}
}

// response checks a response before its body is read.
func (a *app) response(j *job.Job, resp *fetch.Response) error {
	switch {
	case j.Op == fetch.OpStat:
		return a.printMeta(j, resp)
	case j.Op == fetch.OpList:
		return nil
	case a.opts.Mail.Parts:
		return cmp.Or(a.printParts(j, resp), job.ErrTaken)
	case a.printsContent(j) && resp.Kind == fetch.KindObject:
		return cmp.Or(a.printText(resp), job.ErrTaken)
	}
	if err := extract(a.opts, j.URL, resp); err != nil {
		return err
	}
	if a.events != nil {
		a.emit(render.Response{URL: j.URL.Redacted(), Meta: &resp.Meta})
	}
	if len(j.Ranges) > 0 && resp.Reply.Code != http.StatusPartialContent {
		a.say("%s: the server does not support this range: the complete content is retrieved", j.URL.Redacted())
	}
	return nil
}

// match retrieves the URLs that match a pattern. It reports failures and continues.
func (a *app) match(ctx context.Context, t *task, j *job.Job) error {
	if j.Op == fetch.OpList {
		a.say("%s is a directory: skipped", j.URL.Redacted())
		return nil
	}
	return a.batch.match(ctx, t, j)
}

// report reports the success of a job.
func (a *app) report(j *job.Job, res *job.Result) {
	a.tally.add(res)
	if res.Outcome == job.Saved && a.opts.Output.SHA256 && a.events == nil && (a.opts.Report.Quiet || a.out.stream == "-") {
		fmt.Fprintf(a.con.Prose(), "%s: %s%s\n", res.URL, sizeText(res.Size), a.digestText(res))
	}
	if a.out.stream == "-" {
		return // the content was printed
	}
	path := cmp.Or(a.out.stream, filepath.Join(a.out.dir, filepath.FromSlash(res.Path)))
	switch res.Outcome {
	case job.Saved, job.NoContent, job.Listed, job.Skipped, job.Unchanged:
		if a.events != nil {
			a.emit(render.End(res.Event(path)))
		}
	}
	if !a.showsMessages() {
		return
	}
	name, from := fetch.Printable(path), ""
	if a.logged {
		from = " from " + res.URL
	}
	switch {
	case res.Outcome == job.Saved:
		a.say("%s %s (%s in %.2f s%s)%s%s", a.con.Paint.Good("saved"), name, sizeText(res.Size), res.Elapsed.Seconds(), rateText(res), a.digestText(res), from)
		if a.opts.Report.Verbose {
			a.sayProof(name, res)
		}
	case res.Outcome == job.NoContent:
		a.say("%s has no content; no file is saved", res.URL)
	case res.Outcome == job.Skipped || res.Outcome == job.Unchanged:
		if j.Exists == download.Newer {
			a.say("%s is up to date with %s", name, res.URL)
		} else {
			a.say("%s already exists%s", name, from)
		}
	}
}

// sayProof prints what proves that a saved file is complete.
func (a *app) sayProof(name string, res *job.Result) {
	a.say("%s: %s", name, proofText(res.Proof))
	if res.FramedByClose {
		a.say("%s: the server marked the end only by closing the connection; a part of it would look the same", name)
	}
}

// proofText says which digest the content of a saved file was verified with.
func proofText(proof *fetch.Digest) string {
	if proof == nil {
		return "not verified: no digest is known"
	}
	return fmt.Sprintf("verified: %s (%s)", proof, proof.By)
}

// rateText returns the transfer rate, or "" if too little was received.
func rateText(res *job.Result) string {
	if res.Received < 1024 || res.Elapsed <= 0 {
		return ""
	}
	return ", " + tty.SizeWord(float64(res.Received)/res.Elapsed.Seconds()) + "/s"
}

// digestText returns the digest of the saved file with --sha256, or "".
func (r *reporter) digestText(res *job.Result) string {
	if !r.opts.Output.SHA256 {
		return ""
	}
	return ", sha256:" + res.SHA256
}

func sizeText(n int64) string { return quantity(n, "byte") }

// quantity formats a number with a noun, whose plural ends in "s".
func quantity[T int | int64 | uint64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// say prints one line of text unless messages are disabled.
func (r *reporter) say(format string, args ...any) {
	if r.showsMessages() {
		fmt.Fprintf(r.con.Prose(), format+"\n", args...)
	}
}

// showsMessages reports whether messages other than errors are printed.
func (r *reporter) showsMessages() bool { return !r.opts.Report.Quiet && r.events == nil }

// A destination is a stream, or a file whose name may be "" for the suggested name.
type destination struct{ stream, dir, name string }

// resolveOutput returns the destination given by -O and -P.
func resolveOutput(o *flags.Options) (destination, error) {
	switch {
	case o.Output.Document == "":
		return destination{dir: cmp.Or(o.Output.Dir, ".")}, nil
	case o.Output.Document == "-":
		return destination{stream: "-"}, nil
	}
	path := o.Output.Document
	if o.Output.Dir != "" {
		path = o.Output.Dir + string(filepath.Separator) + path
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return destination{}, failure.Hinted("-O "+path+" is a directory", "use -P "+path+" to save in it")
	case err == nil && !info.Mode().IsRegular():
		return destination{stream: path}, nil
	}
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return destination{}, failure.Usagef("-O %s is not a file name", o.Output.Document)
	}
	return destination{dir: cmp.Or(dir, "."), name: name}, nil
}

// prepareGet opens the destination of -O and -P and sets it in j: a directory, which is created if
// necessary, or a file that cannot be replaced, such as a device.
func (a *app) prepareGet(j *job.Job) error {
	a.steps = !a.opts.Mail.Parts
	if a.opts.Mail.Compose || a.opts.Mail.Parts {
		a.writer = a.std.out
		return nil
	}
	var err error
	if a.out, err = resolveOutput(a.opts); err != nil {
		return err
	}
	switch {
	case a.out.stream == "-":
		j.Output, a.writer = "-", stream(a.std.out)
	case a.out.stream != "":
		if a.device, err = os.OpenFile(a.out.stream, os.O_WRONLY, 0); err == nil {
			j.Output, a.writer = "-", stream(a.device)
		}
	default:
		if a.out.name != "" {
			j.Output = "./" + a.out.name
		}
		if a.out.name != "" && a.opts.Output.Dir == "" {
			a.files.Root, err = os.OpenRoot(a.out.dir) // only -P creates a directory
		} else {
			a.files.Root, err = openRoot(a.out.dir)
		}
	}
	return failure.File(err)
}

// stream returns the writer for content that goes to w. The kernel can splice(2) into few devices
// besides the null device, and reports that only after data is in the pipe.
func stream(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || session.IsNull(info) {
		return w
	}
	return struct{ io.Writer }{f}
}

// closeOutput syncs saved files to disk and saves the cookies.
func (a *app) closeOutput() error {
	err := saveCookies(&a.opts.Cookies, a.jar)
	if a.files != nil {
		err = errors.Join(err, a.files.Flush())
	}
	if a.files != nil && a.files.Root != nil {
		err = errors.Join(err, a.files.Root.Close())
	}
	if a.device != nil {
		err = errors.Join(err, failure.File(a.device.Close()))
	}
	return err
}

// openRoot opens the output directory and creates it if necessary.
func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	return root, err
}
