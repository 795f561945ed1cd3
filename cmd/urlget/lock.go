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
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

func lockCommand(p *program) *cobra.Command {
	return p.withFlags(flags.Lock, &cobra.Command{
		Use:   "lock [flags] LIST|URL...",
		Short: "Print a lock file: the exact content of URLs",
		Example: `  urlget lock urls.txt > urls.lock   # record the content of a list of URLs
  urlget get --locked urls.lock      # retrieve exactly that
  urlget lock --check urls.lock      # report URLs with other content
  urlget lock --update urls.lock     # rewrite the lines that changed`,
		RunE: p.runs(runLock),
	})
}

func runLock(p *program, cmd *cobra.Command, args []string) (err error) {
	o := &p.opts.Lock
	how := settings{op: fetch.OpGet, locking: true}
	switch {
	case len(args) == 0 && p.opts.List.File == "" && !o.Check && !o.Update: // open prints the usage
	case o.Check || o.Update:
		if len(args) != 1 || p.opts.List.File != "" {
			return failure.Hinted("--check and --update require one lock file",
				"for example: urlget lock --check urls.lock")
		}
		if how.locks, err = readLocks(o, p.rep.std.in, args[0]); err != nil {
			return err
		}
		args = nil
	default:
		if args, err = listArgument(&p.opts.List, args); err != nil {
			return err
		}
	}
	ctx, b, err := p.open(cmd, args, how)
	if err != nil {
		return err
	}
	p.rep.steps = true
	if p.rep.events != nil && !o.Check && !o.Update {
		return failure.Usagef("--json and the lock file, which is JSON Lines, both use standard output")
	}
	l := &locker{p.opts, p.rep, b.jobs, how.locks, &download.LockWriter{W: p.rep.std.out}}
	switch {
	case o.Check:
		return b.runSaving(ctx, l.check)
	case o.Update:
		if err := b.runSaving(ctx, l.update); err != nil || cmd.Context().Err() != nil {
			return err
		}
		return how.locks.rewrite()
	}
	if err := b.runSaving(ctx, l.write); err != nil {
		return err
	}
	return failure.File(l.out.Write(nil)) // there may be no lines
}

// A locker prints, checks or updates the lines of a lock file.
type locker struct {
	opts  *flags.Options
	rep   *reporter
	jobs  *jobs
	locks *lockFile // to check or to update
	out   *download.LockWriter
}

// listArgument takes a local file out of the arguments, as the list of -i.
func listArgument(o *flags.URLList, args []string) ([]string, error) {
	var urls []string
	for _, arg := range args {
		switch {
		case arg != "-" && strings.Contains(arg, ":") && !exists(arg):
			urls = append(urls, arg)
		case o.File != "":
			return nil, failure.Hinted("there are two lists: "+o.File+" and "+arg,
				"use cat to join them, and - to read standard input")
		default:
			o.File = arg
		}
	}
	return urls, nil
}

// write retrieves the content of a URL, or of the files that a Metalink document describes, and
// prints a line for each.
func (k *locker) write(ctx context.Context, t *task) outcome {
	found, e := k.lockFiles(ctx, t)
	e.report = func() {
		for _, line := range found {
			if err := k.out.Write(line); err != nil {
				k.rep.fail(t.URL.Redacted(), failure.File(err))
				continue
			}
			k.rep.tally.count(locked, line.Size)
		}
	}
	return e
}

func (k *locker) lockFiles(ctx context.Context, t *task) (found []*download.Manifest, e outcome) {
	var files []download.Manifest
	if k.opts.Many.Metalink {
		var err error
		if files, err = k.jobs.describedBy(ctx, t.Job); err != nil {
			return nil, failed(err)
		}
	}
	if len(files) == 0 {
		l, res := k.retrieveLock(ctx, t, nil)
		if l != nil {
			found = append(found, l)
		}
		return found, outcome{res: res, err: res.Err}
	}
	for _, m := range files {
		l, res := k.lockSources(ctx, t, &m)
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
func (k *locker) lockSources(ctx context.Context, t *task, m *download.Manifest) (
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
		l, res = k.retrieveLock(ctx, &task{Job: &j, number: t.number, pos: t.pos}, nil)
		if l != nil {
			l.URLs = l.URLs[:1]
			k.addMirrors(l, m.URLs)
			break
		}
		if ctx.Err() != nil {
			break
		}
	}
	return l, res
}

// addMirrors adds URLs except those that cannot be retrieved.
func (k *locker) addMirrors(l *download.Manifest, urls []uri.URI) {
	for _, u := range urls {
		if k.jobs.retrievable(u.Scheme()) {
			l.AddMirror(u)
		}
	}
}

// retrieveLock retrieves the content of a URL without saving it, and returns its line, or nil after a
// failure. If old is not nil, content of another size ends the transfer.
func (k *locker) retrieveLock(ctx context.Context, t *task, old *download.Manifest) (
	*download.Manifest, *job.Result) {
	j := *t.Job
	j.Output = "-"
	hooks := k.jobs.begin(ctx, &task{Job: &j, number: t.number, pos: t.pos}, k.jobs.barName(t.Job, nil),
		k.jobs.observe)
	defer hooks.shown.End()
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
	runner := *k.jobs.runner
	runner.SHA256 = true
	res := runner.Run(hooks.ctx, &j, &hooks.Hooks)
	if res.Err != nil || res.Outcome != job.Saved {
		return nil, res
	}
	return k.newLock(t, res, first), res
}

func notLockable(what string) error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable,
		Err: errors.New(what + " has no fixed content"), Hint: "use -i with the URLs of files"}
}

func drift(format string, args ...any) error {
	return &fetch.Error{Code: fetch.ErrChecksum,
		Err: fmt.Errorf(format, args...), Hint: "use urlget lock --update to accept the new content"}
}

// newLock returns the line for a retrieved URL. Its name is the one that get would save, without a dot or
// a dash at its beginning.
func (k *locker) newLock(t *task, res *job.Result, resp *fetch.Response) *download.Manifest {
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
		l.Name += fetch.SafeName(download.Name(t.URL, &resp.Meta))
	}
	k.addMirrors(l, metalink.Mirrors(resp.URL, resp.Header))
	return l
}

const sha256Prefix = "sha256:"

func sha256Of(l *download.Manifest) string { return strings.TrimPrefix(l.Checksum, sha256Prefix) }

func (k *locker) check(ctx context.Context, t *task) outcome {
	k.rep.emit(render.Start{URL: t.URL.Redacted()})
	l, res := k.retrieveLock(ctx, t, t.lock)
	if l == nil {
		return outcome{res: res, err: res.Err}
	}
	if l.Size != t.lock.Size || l.Checksum != t.lock.Checksum {
		err := drift("the resource has the SHA-256 %s, the lock file has %s", sha256Of(l), sha256Of(t.lock))
		res.Outcome, res.Class, res.Err = job.Failed, fetch.ErrChecksum, err
		return outcome{res: res, err: err}
	}
	return outcome{res: res, report: func() { k.reportLock(t, res, "") }}
}

// update retrieves a URL and changes its line if the content, or something else in the line,
// differs.
func (k *locker) update(ctx context.Context, t *task) outcome {
	k.rep.emit(render.Start{URL: t.URL.Redacted()})
	if tag := t.lock.ETag; tag != "" && !strings.HasPrefix(tag, "W/") {
		t.IfChanged = fetch.Validator{ETag: tag}
	}
	l, res := k.retrieveLock(ctx, t, nil)
	switch {
	case res.Outcome == job.Unchanged:
		return outcome{res: res, report: func() { k.reportLock(t, res, "") }}
	case l == nil:
		return outcome{res: res, err: res.Err}
	}
	l.Name = t.lock.Name
	added := l.URLs[1:]
	l.URLs = append(l.URLs[:1:1], t.lock.URLs[1:]...)
	k.addMirrors(l, added)
	return outcome{res: res, report: func() {
		changed, err := k.locks.replace(t.lock, l)
		if err != nil {
			k.rep.fail(t.URL.Redacted(), failure.File(err))
			return
		}
		k.reportLock(t, res, changed)
	}}
}

// reportLock reports a checked line, or one of which the named part changed.
func (k *locker) reportLock(t *task, res *job.Result, changed string) {
	name := t.lock.Name
	ev := res.Event(name)
	if ev.Name = string(job.Unchanged); changed != "" {
		res.Outcome, ev.Name = locked, string(locked)
		k.rep.say("%s %s: the %s changed", k.rep.con.Paint.Good("updated"), fetch.Printable(name), changed)
	} else {
		res.Outcome = job.Unchanged
		ev.Rate, ev.Bytes = 0, nil
		if k.opts.Report.Verbose {
			k.rep.say("%s is unchanged: %s", fetch.Printable(name), t.URL.Redacted())
		}
	}
	k.rep.tally.count(res.Outcome, res.Received)
	k.rep.emit(render.End(ev))
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

func openLocked(o *flags.Options, stdin io.Reader, args []string) (*lockFile, error) {
	if len(args) > 0 {
		return nil, failure.Hinted("--locked retrieves the URLs of the lock file, and no others",
			"use urlget lock "+fetch.Printable(args[0])+" to add it to the file")
	}
	return readLocks(&o.Lock, stdin, o.Lock.File)
}

// getLocked saves exactly the content of a line: from its URL, its mirrors, or else the archives of
// --replay.
func (g *getter) getLocked(ctx context.Context, t *task) outcome {
	var res *job.Result
	if !g.opts.Archive.ReplayOnly {
		res = g.jobs.saveSources(ctx, t, t.lock, true)
	}
	missing := res == nil || res.Err != nil && ctx.Err() == nil && res.Class != fetch.ErrFile
	if g.jobs.net.archives.replay != nil && missing {
		if res != nil {
			g.rep.say("%s: %s; looking in the archives", t.URL.Redacted(), render.ErrorText(res.Err))
		}
		ctx := context.WithValue(ctx, archivesKey{}, sha256Of(t.lock))
		archived := g.jobs.saveSources(ctx, t, t.lock, true)
		if res == nil || archived.Class != fetch.ErrNotFound { // else the server's error says more
			res = archived
		}
	}
	if res.Err != nil {
		return outcome{res: res, err: res.Err, kept: g.jobs.kept(t.Job, res)}
	}
	return outcome{res: res, report: func() { g.report(t.Job, res) }}
}
