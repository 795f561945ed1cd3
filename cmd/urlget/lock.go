package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

func (a *app) lockCommand() *cobra.Command {
	return a.withFlags(flags.Lock, &cobra.Command{
		Use:   "lock [flags] LIST|URL...",
		Short: "Print a lock file: the exact content of URLs",
		Example: `  urlget lock urls.txt > urls.lock   # retrieve a list of URLs and record their content
  urlget get --locked urls.lock      # retrieve exactly that
  urlget lock --check urls.lock      # report URLs with other content
  urlget lock --update urls.lock     # rewrite the lines that changed`,
		RunE: a.runLock,
	})
}

func (a *app) runLock(cmd *cobra.Command, args []string) (err error) {
	o := &a.opts.Lock
	a.locking = true
	act := action{op: fetch.OpGet, prepare: a.prepareLock}
	writer := &download.LockWriter{W: a.std.out}
	switch {
	case len(args) == 0 && a.opts.List.File == "" && !o.Check && !o.Update: // runURLs prints the usage
	case o.Check || o.Update:
		if len(args) != 1 || a.opts.List.File != "" {
			return failure.Hinted("--check and --update require one lock file",
				"for example: urlget lock --check urls.lock")
		}
		if a.locks, err = a.readLocks(args[0]); err != nil {
			return err
		}
		args = nil
	default:
		if args, err = a.listArgument(args); err != nil {
			return err
		}
	}
	switch {
	case o.Check:
		act.do = a.checkLock
	case o.Update:
		act.do = a.updateLock
	default:
		act.do = func(ctx context.Context, t *task) outcome { return a.writeLock(ctx, t, writer) }
	}
	if err := a.runURLs(cmd, args, act); err != nil {
		return err
	}
	switch {
	case o.Update && cmd.Context().Err() == nil:
		return a.locks.rewrite()
	case !o.Update && !o.Check:
		return failure.File(writer.Write(nil)) // there may be no lines
	}
	return nil
}

// listArgument takes a local file out of the arguments, as the list of -i.
func (a *app) listArgument(args []string) ([]string, error) {
	var urls []string
	for _, arg := range args {
		switch {
		case arg != "-" && strings.Contains(arg, ":") && !exists(arg):
			urls = append(urls, arg)
		case a.opts.List.File != "":
			return nil, failure.Hinted("there are two lists: "+a.opts.List.File+" and "+arg,
				"use cat to join them, and - to read standard input")
		default:
			a.opts.List.File = arg
		}
	}
	return urls, nil
}

// prepareLock prepares reading content that is not saved.
func (a *app) prepareLock(*job.Job) error {
	a.steps = true
	if o := &a.opts.Lock; a.events != nil && !o.Check && !o.Update {
		return failure.Usagef("--json and the lock file, which is JSON Lines, both use standard output")
	}
	return nil
}

// writeLock retrieves the content of a URL, or of the files that a Metalink document describes, and
// prints a line for each.
func (a *app) writeLock(ctx context.Context, t *task, w *download.LockWriter) outcome {
	found, e := a.lockFiles(ctx, t)
	e.report = func() {
		for _, l := range found {
			if err := w.Write(l); err != nil {
				a.fail(t.URL.Redacted(), failure.File(err))
				continue
			}
			a.tally.add(&job.Result{Outcome: locked, Received: l.Size})
		}
	}
	return e
}

func (a *app) lockFiles(ctx context.Context, t *task) (found []*download.Manifest, e outcome) {
	var files []download.Manifest
	if a.opts.Many.Metalink {
		var err error
		if files, err = a.describedBy(ctx, t.Job); err != nil {
			return nil, failed(err)
		}
	}
	if len(files) == 0 {
		l, res := a.retrieveLock(ctx, t, nil)
		if l != nil {
			found = append(found, l)
		}
		return found, outcome{res: res, err: res.Err}
	}
	for _, m := range files {
		l, res := a.lockSources(ctx, t, &m)
		if l != nil {
			found = append(found, l)
		}
		if e.err == nil {
			e.res, e.err = res, res.Err
		}
	}
	return found, e
}

// lockSources retrieves a file from the first source that has it. The others become mirrors.
func (a *app) lockSources(ctx context.Context, t *task, m *download.Manifest) (
	l *download.Manifest, res *job.Result) {
	none := &fetch.Error{Op: "get", URL: t.URL.Redacted(), Code: fetch.ErrNotRetrievable,
		Err: fmt.Errorf("%s has no source", m.Name)}
	res = &job.Result{URL: none.URL, Outcome: job.Failed, Class: none.Code, Err: none}
	for _, u := range m.URLs {
		j := *t.Job
		j.URL, j.Checksum, j.Output = u, cmp.Or(j.Checksum, m.Checksum), cmp.Or(j.Output, m.Name)
		if u != m.From {
			j.From = m.From
		}
		l, res = a.retrieveLock(ctx, &task{Job: &j, number: t.number, pos: t.pos}, nil)
		if l != nil {
			l.URLs = l.URLs[:1]
			a.addMirrors(l, m.URLs)
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	return l, res
}

// addMirrors adds URLs except those that cannot be retrieved.
func (a *app) addMirrors(l *download.Manifest, urls []uri.URI) {
	for _, u := range urls {
		if a.retrievable(u.Scheme()) {
			l.AddMirror(u)
		}
	}
}

// retrieveLock retrieves the content of a URL without saving it, and returns its line, or nil after a
// failure. If old is not nil, content of another size ends the transfer.
func (a *app) retrieveLock(ctx context.Context, t *task, old *download.Manifest) (
	*download.Manifest, *job.Result) {
	j := *t.Job
	j.Output = "-"
	shown := a.con.Begin(a.barName(t.Job, nil))
	defer shown.End()
	ctx = tty.Following(ctx, shown)
	hooks := a.hooks(ctx, &task{Job: &j, number: t.number, pos: t.pos}, shown)
	hooks.Writer = io.Discard
	if old != nil {
		hooks.Writer = &limitedContent{size: old.Size, left: old.Size}
	}
	var first *fetch.Response
	observe := hooks.Response
	hooks.Response = func(resp *fetch.Response) error {
		if first == nil {
			first = resp
		}
		if resp.Kind != fetch.KindObject {
			return notLockable("a listing or session")
		}
		if old != nil && resp.Range.IsZero() && resp.Size >= 0 && resp.Size != old.Size {
			return drift("the resource has %d bytes, the lock file has %d", resp.Size, old.Size)
		}
		return observe(resp)
	}
	hooks.Match = func(*job.Job) error { return notLockable("a pattern") }
	r := a.runner()
	r.SHA256 = true
	res := r.Run(ctx, &j, hooks)
	if res.Err != nil || res.Outcome != job.Saved {
		return nil, res
	}
	return a.newLock(t, res, first), res
}

func notLockable(what string) error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: errors.New(what + " has no fixed content"), Hint: "use -i with the URLs of files"}
}

func drift(format string, args ...any) error {
	return &fetch.Error{Code: fetch.ErrChecksum,
		Err: fmt.Errorf(format, args...), Hint: "use urlget lock --update to accept the new content"}
}

// newLock returns the line for a retrieved URL. Its name is the one that get would save.
func (a *app) newLock(t *task, res *job.Result, resp *fetch.Response) *download.Manifest {
	l := &download.Manifest{Size: res.Size, Checksum: sha256Prefix + res.SHA256, Time: time.Now(),
		URLs: []uri.URI{t.URL.WithoutPassword().WithoutFragment()}}
	l.ModTime = resp.ModTime
	if tag := resp.ETag; resp.Header.Get("Etag") != "" && fetch.Printable(tag) == tag {
		l.ETag = tag
	}
	if kind := resp.ContentType; fetch.Printable(kind) == kind {
		l.ContentType = kind
	}
	l.Name = strings.TrimPrefix(t.Output, "./")
	if l.Name == "" || strings.HasSuffix(l.Name, "/") {
		l.Name += download.Name(t.URL, &resp.Meta)
	}
	a.addMirrors(l, metalink.Mirrors(resp.URL, resp.Header))
	return l
}

const sha256Prefix = "sha256:"

func sha256Of(l *download.Manifest) string { return strings.TrimPrefix(l.Checksum, sha256Prefix) }

func (a *app) checkLock(ctx context.Context, t *task) outcome {
	a.emit(render.Start{URL: t.URL.Redacted()})
	l, res := a.retrieveLock(ctx, t, t.lock)
	if l == nil {
		return outcome{res: res, err: res.Err}
	}
	if l.Size != t.lock.Size || l.Checksum != t.lock.Checksum {
		err := drift("the resource has the SHA-256 %s, the lock file has %s", sha256Of(l), sha256Of(t.lock))
		res.Outcome, res.Class, res.Err = job.Failed, fetch.ErrChecksum, err
		return outcome{res: res, err: err}
	}
	return outcome{res: res, report: func() { a.reportLock(t, res, "") }}
}

// updateLock retrieves a URL and changes its line if the content, or something else in the line,
// differs.
func (a *app) updateLock(ctx context.Context, t *task) outcome {
	a.emit(render.Start{URL: t.URL.Redacted()})
	if tag := t.lock.ETag; tag != "" && !strings.HasPrefix(tag, "W/") {
		t.IfChanged = fetch.Validator{ETag: tag}
	}
	l, res := a.retrieveLock(ctx, t, nil)
	switch {
	case res.Outcome == job.Unchanged:
		return outcome{res: res, report: func() { a.reportLock(t, res, "") }}
	case l == nil:
		return outcome{res: res, err: res.Err}
	}
	l.Name = t.lock.Name
	added := l.URLs[1:]
	l.URLs = append(l.URLs[:1:1], t.lock.URLs[1:]...)
	a.addMirrors(l, added)
	return outcome{res: res, report: func() {
		changed, err := a.locks.replace(t.lock, l)
		if err != nil {
			a.fail(t.URL.Redacted(), failure.File(err))
			return
		}
		a.reportLock(t, res, changed)
	}}
}

// reportLock reports a checked line, or one of which the named part changed.
func (a *app) reportLock(t *task, res *job.Result, changed string) {
	name := t.lock.Name
	ev := res.Event(name)
	if ev.Name = string(job.Unchanged); changed != "" {
		res.Outcome, ev.Name = locked, string(locked)
		a.say("%s %s: the %s changed", a.con.Paint.Good("updated"), fetch.Printable(name), changed)
	} else {
		res.Outcome = job.Unchanged
		ev.Rate, ev.Bytes = 0, nil
		if a.opts.Report.Verbose {
			a.say("%s is unchanged: %s", fetch.Printable(name), t.URL.Redacted())
		}
	}
	a.tally.add(res)
	a.emit(render.End(ev))
}

// A limitedContent discards content, and fails once it is longer than that of a line.
type limitedContent struct {
	size, left int64
}

func (w *limitedContent) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, drift("the resource has more than the %d bytes of the lock file", w.size)
	}
	return len(p), nil
}

func (a *app) openLocked(args []string) (err error) {
	if len(args) > 0 {
		return failure.Hinted("--locked retrieves the URLs of the lock file, and no others",
			"use urlget lock "+fetch.Printable(args[0])+" to add it to the file")
	}
	a.locks, err = a.readLocks(a.opts.Lock.File)
	return err
}

// getLocked saves exactly the content of a line: from its URL, its mirrors, or else the archives of
// --replay.
func (a *app) getLocked(ctx context.Context, t *task) outcome {
	var res *job.Result
	if !a.opts.Archive.ReplayOnly {
		res = a.saveSources(ctx, t, t.lock, true)
	}
	missing := res == nil || res.Err != nil && ctx.Err() == nil && res.Class != fetch.ErrFile
	if a.archives.replay != nil && missing {
		if res != nil {
			a.say("%s: %s; looking in the archives", t.URL.Redacted(), render.ErrorText(plainError(res.Err)))
		}
		archived := a.saveSources(withArchives(ctx, sha256Of(t.lock)), t, t.lock, true)
		if res == nil || archived.Class != fetch.ErrNotFound { // else the server's error says more
			res = archived
		}
	}
	if res.Err != nil {
		return outcome{res: res, err: res.Err, kept: a.kept(t.Job, res)}
	}
	return outcome{res: res, report: func() { a.report(t.Job, res) }}
}
