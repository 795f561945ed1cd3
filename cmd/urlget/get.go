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
	"strconv"
	"sync"
	"time"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/retry"
)

// A getter retrieves URLs, one at a time or many.
type getter struct {
	*network
	sender sender
	client *fetch.Client
	files  *download.Downloader
	batch  *batch
	sums   *sumFile    // of --checksum; nil if it names none
	out    destination // of the content
	writer io.Writer   // of the content; nil for files
	device *os.File    // the writer, if it must be closed

	terminal sync.Mutex // held while prompting or while a session is attached
}

// get retrieves one URL: a document becomes a file, a listing is printed, a session attached.
func (g *getter) get(ctx context.Context, t *task) outcome {
	j := t.Job
	if g.opts.Mail.Compose {
		return failed(g.compose(j.URL))
	}
	if g.opts.Tree.Force && j.Output == "" {
		j.Output = g.opts.Tree.Layout().Path(j.URL, g.client.Traits(j.URL))
	}
	if g.events != nil {
		g.emit(render.Start(j.URL.Redacted(), time.Now()))
	}
	if g.opts.Many.Metalink {
		if e, ok := g.metalink(ctx, t); ok {
			return e
		}
	}
	res := g.runJob(ctx, t)
	if res.Err == errReported {
		return outcome{}
	}
	if res.Class == fetch.ErrInteractive && !g.opts.Mail.Extracts() && !g.opts.Mail.Parts {
		if scheme, _ := g.client.Scheme(j.URL.Scheme()); scheme.Can(fetch.OpDial) {
			g.terminal.Lock()
			defer g.terminal.Unlock()
			return failed(g.session(ctx, j))
		}
	}
	if res.Outcome != job.Failed {
		return outcome{res: res, report: func() { g.report(j, res) }}
	}
	e := (*fetch.Error)(nil)
	switch errors.As(res.Err, &e); {
	case e == nil:
	case g.opts.Output.ErrorContent && len(e.Body) > 0:
		return outcome{res: res, err: res.Err, report: g.errorContent(ctx, j, e)}
	case e.Reason.File != "":
		e.Reason.File = filepath.Join(g.out.dir, e.Reason.File)
	case e.Hint == "":
		e.Hint = cmp.Or(g.kept(j, res), g.gone(e))
	}
	return outcome{res: res, err: res.Err}
}

// prints reports whether the answer to j is printed: if it is one for people, and nothing says that
// it is to become a file.
func (g *getter) prints(j *job.Job) bool {
	s := g.opts
	return flags.IsAnswer(j.URL.Scheme()) && j.Output == "" && s.Output.Dir == "" && g.events == nil && !s.Output.Continue && !s.Output.Newer && !s.Output.NoClobber
}

// errorContent saves what a server sent with its refusal where content would have gone. It returns
// what tells so.
func (g *getter) errorContent(ctx context.Context, j *job.Job, e *fetch.Error) func() {
	page := driver.DriverFunc(func(_ context.Context, req *fetch.Request) (*driver.Response, error) {
		meta := fetch.Meta{Size: int64(len(e.Body)), ContentType: e.Header.Get("Content-Type")}
		return &driver.Response{Meta: meta, URL: req.URL, Body: io.NopCloser(bytes.NewReader(e.Body))}, nil
	})
	client := fetch.New(nil, driver.Use(j.URL.Scheme(), page))
	defer client.Close()
	files := &download.Downloader{Client: client, Root: g.files.Root, Tool: g.files.Tool, Sync: g.files.Sync}
	again := &job.Job{URL: j.URL, Output: j.Output, Exists: j.Exists}
	if again.Exists == download.Resume || again.Exists == download.Newer {
		again.Exists = download.NewName
	}
	res := (&job.Runner{Downloader: files, Retry: retry.Policy{Tries: 1}}).Run(ctx, again, &job.Hooks{Writer: g.writer})
	what := "the page of the error"
	if e.Partial {
		what = "the beginning of the page of the error"
	}
	return func() {
		switch {
		case res.Err != nil:
			g.con.Warn(what + " was not saved: " + render.Message(res.Err))
		case j.Output != "-":
			g.say("%s is in %s", what, fetch.Printable(filepath.Join(g.out.dir, filepath.FromSlash(res.Path))))
		}
	}
}

// kept says what is left of a transfer that failed, and how to go on; "" if nothing is.
func (g *getter) kept(j *job.Job, res *job.Result) string {
	if j.Output == "-" || g.files.Root == nil { // nothing is saved
		return ""
	}
	path := filepath.FromSlash(j.Output)
	if path == "" {
		path = download.Name(j.URL, &fetch.Meta{ContentType: res.ContentType})
	}
	name := filepath.Join(g.out.dir, path+".part")
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && res.Class == fetch.ErrFile {
		return name + " is a symbolic link, which is not written through; remove it and try again"
	}
	bytes, written := g.files.Kept(filepath.ToSlash(path))
	if bytes == 0 || written.Before(res.Started.Truncate(time.Second)) {
		return ""
	}
	again := "-c"
	if g.opts.Output.Continue {
		again = "the same command"
	}
	return fmt.Sprintf("%s are kept in %s; %s goes on from there", tty.SizeWord(float64(bytes)), name, again)
}

// gone says that the directory of a file that could not be saved is not there any more; "" if it is.
func (g *getter) gone(err error) string {
	if !errors.Is(err, fs.ErrNotExist) || fetch.CodeOf(err) != fetch.ErrFile || g.out.stream != "" {
		return ""
	}
	dir, err := filepath.Abs(g.out.dir)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "the directory was removed; -P DIR saves in another one"
}

// look lists or describes one URL.
func (g *getter) look(ctx context.Context, t *task) outcome { return failed(g.lookAt(ctx, t)) }

func (g *getter) lookAt(ctx context.Context, t *task) error {
	if t.Op == fetch.OpList && g.opts.Listing.Recursive {
		return g.listTree(ctx, t.Job)
	}
	res := g.runJob(ctx, t)
	if res.Outcome == job.Listed {
		g.write(res.Event(""))
	}
	return res.Err
}

// runJob does one job, with the help of the user if there is a form.
func (g *getter) runJob(ctx context.Context, t *task) *job.Result {
	for {
		shown := g.con.Begin(g.barName(t.Job, nil))
		res := g.runner().Run(tty.Following(ctx, shown), t.Job, g.hooks(ctx, t, shown))
		shown.End()
		if !g.fillIn(ctx, t.Job, res.Err) {
			return res
		}
	}
}

func (g *getter) runner() *job.Runner {
	r := &job.Runner{Downloader: g.files, Retry: retry.Policy{Tries: g.opts.Network.Tries, MaxRetryAfter: time.Duration(g.opts.Network.RetryWait)}, SHA256: g.opts.Output.SHA256}
	// To the library, 0 is the default; to the user, it is no bound on tries, as wget has it, and no
	// time at all.
	if r.Retry.Tries == 0 {
		r.Retry.Tries = -1
	}
	r.Retry.MaxRetryAfter = max(r.Retry.MaxRetryAfter, 1)
	return r
}

// hooks returns the callbacks that report a job's progress and handle output that is not saved to a
// file.
func (g *getter) hooks(ctx context.Context, t *task, shown *tty.Transfer) *job.Hooks {
	j, url := t.Job, t.URL.Redacted()
	return &job.Hooks{
		Writer: g.writer,
		Response: func(resp *fetch.Response) error {
			if shown != nil {
				shown.Rename(g.barName(j, &resp.Meta))
			}
			return g.response(j, resp)
		},
		Listing:  func(resp *fetch.Response) error { return g.printListing(j, resp) },
		Match:    func(m *job.Job) error { return g.match(ctx, t, m) },
		Progress: g.progress(j, shown),
		Retry: func(failed int, wait time.Duration, err error) {
			g.hosts.Failed(hostOf(j.URL), err)
			g.reportRetry(shown, j.URL, failed, wait, err)
		},
		Reuse: func(proof string) {
			if g.opts.Report.Verbose {
				g.say("%s: going on with what is there: %s", url, proof)
			}
		},
		Restart: func(reason string) { g.say("%s: starting from the beginning: %s", url, reason) },
	}
}

// response looks at a response before its content is read.
func (g *getter) response(j *job.Job, resp *fetch.Response) error {
	switch {
	case j.Op == fetch.OpStat:
		return g.printMeta(j, resp)
	case j.Op == fetch.OpList:
		return nil
	case g.opts.Mail.Parts:
		return cmp.Or(g.printParts(j, resp), job.ErrTaken)
	case g.prints(j) && resp.Kind == fetch.KindObject:
		return cmp.Or(g.printAnswer(resp), job.ErrTaken)
	}
	if err := extract(g.opts, j.URL, resp); err != nil {
		return err
	}
	if g.events != nil {
		g.emit(render.Response(j.URL.Redacted(), &resp.Meta))
	}
	if len(j.Ranges) > 0 && resp.Reply.Code != http.StatusPartialContent {
		g.say("%s: the server does not give these ranges: this is all of it", j.URL.Redacted())
	}
	return nil
}

// match has what a pattern stands for retrieved. What fails is told, and the rest retrieved.
func (g *getter) match(ctx context.Context, t *task, j *job.Job) error {
	if j.Op == fetch.OpList {
		g.say("%s is a directory: skipped", j.URL.Redacted())
		return nil
	}
	return g.batch.match(ctx, t, j)
}

// printMeta prints what is known of a resource.
func (r *reporter) printMeta(j *job.Job, resp *fetch.Response) error {
	defer r.con.Pause()()
	if r.opts.Report.JSON {
		return failure.File(render.MetaJSON(r.std.out, j.URL.Redacted(), resp.URL.Redacted(), &resp.Meta))
	}
	return failure.File(render.MetaText(r.std.out, resp.URL.Redacted(), &resp.Meta, r.opts.Report.Verbose || r.opts.Report.Fields))
}

// report tells how a job ended well.
func (g *getter) report(j *job.Job, res *job.Result) {
	g.tally.add(res)
	if res.Outcome == job.Saved && g.opts.Output.SHA256 && g.events == nil && (g.opts.Report.Quiet || g.out.stream == "-") {
		fmt.Fprintf(g.con.Prose(), "%s: %s%s\n", res.URL, sizeText(res.Size), g.digestText(res))
	}
	if g.out.stream == "-" {
		return // the content itself tells
	}
	path := cmp.Or(g.out.stream, filepath.Join(g.out.dir, filepath.FromSlash(res.Path)))
	switch res.Outcome {
	case job.Saved, job.NoContent, job.Listed, job.Skipped, job.Unchanged:
		if g.events != nil {
			g.emit(res.Event(path))
		}
	}
	if !g.says() {
		return
	}
	name := fetch.Printable(path)
	switch {
	case res.Outcome == job.Saved:
		g.say("%s %s (%s in %.2f s%s)%s", g.con.Paint.Good("saved"), name, sizeText(res.Size), res.Elapsed.Seconds(), rateText(res), g.digestText(res))
	case res.Outcome == job.NoContent:
		g.say("%s has no content: nothing is saved", res.URL)
	case res.Outcome == job.Skipped || res.Outcome == job.Unchanged:
		if j.Exists == download.Newer {
			g.say("%s is as new as %s", name, res.URL)
		} else {
			g.say("%s is there already", name)
		}
	}
}

// rateText returns how fast what came came, if it was enough to tell.
func rateText(res *job.Result) string {
	if res.Received < 1024 || res.Elapsed <= 0 {
		return ""
	}
	return ", " + tty.SizeWord(float64(res.Received)/res.Elapsed.Seconds()) + "/s"
}

// digestText returns the digest of what was saved, if the user asked for it.
func (r *reporter) digestText(res *job.Result) string {
	if !r.opts.Output.SHA256 {
		return ""
	}
	return ", sha256:" + res.SHA256
}

func sizeText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// say prints one line for people about the transfer, if they want to know.
func (r *reporter) say(format string, args ...any) {
	if r.says() {
		fmt.Fprintf(r.con.Prose(), format+"\n", args...)
	}
}

// says reports whether there are messages for people, but for errors.
func (r *reporter) says() bool { return !r.opts.Report.Quiet && r.events == nil }

// A destination is where content goes: into a stream, or into a file whose name may be "" for the
// suggested one.
type destination struct{ stream, dir, name string }

// resolveOutput returns where -O and -P say that content goes.
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
		return destination{}, failure.Hinted("-O "+path+" is a directory", "-P "+path+" saves in it")
	case err == nil && !info.Mode().IsRegular():
		return destination{stream: path}, nil
	}
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return destination{}, failure.Usagef("-O %s names no file", o.Output.Document)
	}
	return destination{dir: cmp.Or(dir, "."), name: name}, nil
}

// prepareGet opens what -O and -P name, and says so in j: a directory, which is made if need be, or
// something that is no file and cannot be replaced by one, such as a device.
func (g *getter) prepareGet(j *job.Job) error {
	g.openEvents()
	g.steps = !g.opts.Mail.Parts
	if g.opts.Mail.Compose || g.opts.Mail.Parts {
		g.writer = g.std.out
		return nil
	}
	var err error
	if g.out, err = resolveOutput(g.opts); err != nil {
		return err
	}
	switch {
	case g.out.stream == "-":
		j.Output, g.writer = "-", stream(g.std.out)
	case g.out.stream != "":
		if g.device, err = os.OpenFile(g.out.stream, os.O_WRONLY, 0); err == nil {
			j.Output, g.writer = "-", stream(g.device)
		}
	default:
		if g.out.name != "" {
			j.Output = "./" + g.out.name
		}
		g.files.Root, err = openRoot(g.out.dir)
	}
	return failure.File(err)
}

// stream returns what content is written to that goes to w. Into few devices besides the null device
// the kernel can move bytes itself (splice(2)), and it finds out only when they are on the way.
func stream(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || isNull(info) {
		return w
	}
	return struct{ io.Writer }{f}
}

// prepareLook is for what saves nothing.
func (g *getter) prepareLook(*job.Job) error {
	g.openEvents()
	return nil
}

// closeOutput makes durable what was saved, and saves the cookies.
func (g *getter) closeOutput() error {
	err := saveCookies(&g.opts.Cookies, g.jar)
	if g.files != nil {
		err = errors.Join(err, g.files.Flush())
	}
	if g.files != nil && g.files.Root != nil {
		err = errors.Join(err, g.files.Root.Close())
	}
	if g.device != nil {
		err = errors.Join(err, failure.File(g.device.Close()))
	}
	return err
}

// openRoot opens the directory that files go to, and makes it if need be.
func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	return root, err
}
