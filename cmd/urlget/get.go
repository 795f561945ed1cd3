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
	"time"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// get retrieves one URL: a document becomes a file, a listing is printed, a session attached.
func (a *app) get(ctx context.Context, j *job.Job) ended {
	if a.set.compose {
		return failed(a.compose(j.URL))
	}
	if a.set.tree.on() {
		as := ctx.Value(patternKey{}).(*pattern)
		a.seeds = append(a.seeds, seed{j.URL, as.number, as.place})
		return ended{}
	}
	if a.set.tree.force && j.Output == "" {
		j.Output = a.set.tree.layout().Path(j.URL)
	}
	if a.events != nil {
		a.emit(render.Start(j.URL.Redacted(), time.Now()))
	}
	if a.set.many.metalink {
		if e, ok := a.metalink(ctx, j); ok {
			return e
		}
	}
	res := a.run(ctx, j)
	if res.Err == errTold {
		return ended{}
	}
	if res.Class == fetch.ErrInteractive && !a.set.extracts() && !a.set.parts {
		if scheme, _ := a.client.Scheme(j.URL.Scheme()); scheme.Can(fetch.OpDial) {
			a.terminal.Lock()
			defer a.terminal.Unlock()
			return failed(a.session(ctx, j))
		}
	}
	if res.Outcome != job.Failed {
		return ended{res: res, tell: func() { a.report(j, res) }}
	}
	e := (*fetch.Error)(nil)
	switch errors.As(res.Err, &e); {
	case e == nil:
	case a.set.errorContent && len(e.Body) > 0:
		return ended{res: res, err: res.Err, tell: a.errorContent(ctx, j, e)}
	case e.Reason.File != "":
		e.Reason.File = filepath.Join(a.out.dir, e.Reason.File)
	case e.Hint == "":
		e.Hint = cmp.Or(a.kept(j, res), a.gone(e))
	}
	return ended{res: res, err: res.Err}
}

// prints reports whether the answer to j is printed: if it is one for people, and nothing says that
// it is to become a file.
func (a *app) prints(j *job.Job) bool {
	s := &a.set
	return isAnswer(j.URL.Scheme()) && j.Output == "" && s.dir == "" && a.events == nil && !s.resume && !s.newer && !s.keep
}

// errorContent saves what a server sent with its refusal where content would have gone. It returns
// what tells so.
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
	res := (&job.Runner{Downloader: files, Tries: 1}).Run(ctx, again, &job.Hooks{Writer: a.writer})
	what := "the page of the error"
	if e.Partial {
		what = "the beginning of the page of the error"
	}
	return func() {
		switch {
		case res.Err != nil:
			a.con.warn(what + " was not saved: " + render.Message(res.Err))
		case j.Output != "-":
			a.say("%s is in %s", what, fetch.Printable(filepath.Join(a.out.dir, filepath.FromSlash(res.Path))))
		}
	}
}

// kept says what is left of a transfer that failed, and how to go on; "" if nothing is.
func (a *app) kept(j *job.Job, res *job.Result) string {
	if j.Output == "-" || a.files.Root == nil { // nothing is saved
		return ""
	}
	path := filepath.FromSlash(j.Output)
	if path == "" {
		path = download.Name(j.URL, &fetch.Meta{ContentType: res.ContentType})
	}
	name := filepath.Join(a.out.dir, path+".part")
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && res.Class == fetch.ErrFile {
		return name + " is a symbolic link, which is not written through; remove it and try again"
	}
	bytes, written := a.files.Kept(filepath.ToSlash(path))
	if bytes == 0 || written.Before(res.Started.Truncate(time.Second)) {
		return ""
	}
	again := "-c"
	if a.set.resume {
		again = "the same command"
	}
	return fmt.Sprintf("%s are kept in %s; %s goes on from there", sizeWord(float64(bytes)), name, again)
}

// gone says that the directory of a file that could not be saved is not there any more; "" if it is.
func (a *app) gone(err error) string {
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
	return "the directory was removed; -P DIR saves in another one"
}

// look lists or describes one URL.
func (a *app) look(ctx context.Context, j *job.Job) ended { return failed(a.lookAt(ctx, j)) }

func (a *app) lookAt(ctx context.Context, j *job.Job) error {
	if j.Op == fetch.OpList && a.set.recursive {
		return a.listTree(ctx, j)
	}
	res := a.run(ctx, j)
	if res.Outcome == job.Listed {
		a.write(res.Event(""))
	}
	return res.Err
}

// run does one job, with the help of the user if there is a form.
func (a *app) run(ctx context.Context, j *job.Job) *job.Result {
	for {
		t := a.con.begin(a.barName(j, nil))
		res := a.runner().Run(following(ctx, t), j, a.hooks(ctx, j, t))
		t.end()
		if !a.fillIn(ctx, j, res.Err) {
			return res
		}
	}
}

func (a *app) runner() *job.Runner {
	r := &job.Runner{Downloader: a.files, Tries: a.set.tries, MaxRetryWait: time.Duration(a.set.retryWait), SHA256: a.set.sha256}
	// To the library, 0 is the default; to the user, it is no bound on tries, as wget has it, and no
	// time at all.
	if r.Tries == 0 {
		r.Tries = -1
	}
	r.MaxRetryWait = max(r.MaxRetryWait, 1)
	return r
}

// hooks returns what the user is shown of a job, and what is done with what is not saved.
func (a *app) hooks(ctx context.Context, j *job.Job, t *transfer) *job.Hooks {
	url := j.URL.Redacted()
	return &job.Hooks{
		Writer: a.writer,
		Response: func(resp *fetch.Response) error {
			if t != nil {
				t.rename(a.barName(j, &resp.Meta))
			}
			return a.response(j, resp)
		},
		Listing:  func(resp *fetch.Response) error { return a.printListing(j, resp) },
		Match:    func(m *job.Job) error { return a.match(ctx, m) },
		Progress: a.progress(j, t),
		Retry: func(failed int, wait time.Duration, err error) {
			t.retry(wait, render.Message(inWords(err)))
			a.emit(render.Retry(url, failed+1, wait, err))
			a.hosts.Failed(hostOf(j.URL), err)
			a.say("%s: %s; trying again in %s", url, render.Message(inWords(err)), waitTime(wait))
		},
		Reuse: func(proof string) {
			if a.set.verbose {
				a.say("%s: going on with what is there: %s", url, proof)
			}
		},
		Restart: func(reason string) { a.say("%s: starting from the beginning: %s", url, reason) },
	}
}

// response looks at a response before its content is read.
func (a *app) response(j *job.Job, resp *fetch.Response) error {
	switch {
	case j.Op == fetch.OpStat:
		return a.printMeta(j, resp)
	case j.Op == fetch.OpList:
		return nil
	case a.set.parts:
		return cmp.Or(a.printParts(j, resp), job.ErrTaken)
	case a.prints(j) && resp.Kind == fetch.KindObject:
		return cmp.Or(a.printAnswer(resp), job.ErrTaken)
	}
	if err := a.set.extract(j.URL, resp); err != nil {
		return err
	}
	if a.events != nil {
		a.emit(render.Response(j.URL.Redacted(), &resp.Meta))
	}
	if len(j.Ranges) > 0 && resp.Reply.Code != http.StatusPartialContent {
		a.say("%s: the server does not give these ranges: this is all of it", j.URL.Redacted())
	}
	return nil
}

// errTold ends the job of a pattern if the user was told for one of its matches that the run is
// over.
var errTold = errors.New("told already")

// match has what a pattern stands for retrieved. What fails is told, and the rest retrieved.
func (a *app) match(ctx context.Context, j *job.Job) error {
	if j.Op == fetch.OpList {
		a.say("%s is a directory: skipped", j.URL.Redacted())
		return nil
	}
	return a.batch.match(ctx, j)
}

// printMeta prints what is known of a resource.
func (a *app) printMeta(j *job.Job, resp *fetch.Response) error {
	defer a.con.pause()()
	if a.set.json {
		return fileError(render.MetaJSON(a.std.out, j.URL.Redacted(), resp.URL.Redacted(), &resp.Meta))
	}
	return fileError(render.MetaText(a.std.out, resp.URL.Redacted(), &resp.Meta, a.set.verbose || a.set.fields))
}

// report tells how a job ended well.
func (a *app) report(j *job.Job, res *job.Result) {
	a.tally.add(res)
	if res.Outcome == job.Saved && a.set.sha256 && a.events == nil && (a.set.quiet || a.out.stream == "-") {
		fmt.Fprintf(a.con.prose(), "%s: %s%s\n", res.URL, sizeText(res.Size), a.digestText(res))
	}
	if a.out.stream == "-" {
		return // the content itself tells
	}
	path := cmp.Or(a.out.stream, filepath.Join(a.out.dir, filepath.FromSlash(res.Path)))
	switch res.Outcome {
	case job.Saved, job.NoContent, job.Listed, job.Skipped, job.Unchanged:
		if a.events != nil {
			a.emit(res.Event(path))
		}
	}
	if !a.says() {
		return
	}
	name := fetch.Printable(path)
	switch {
	case res.Outcome == job.Saved:
		a.say("%s %s (%s in %.2f s%s)%s", a.con.paint.good("saved"), name, sizeText(res.Size), res.Elapsed.Seconds(), rateText(res), a.digestText(res))
	case res.Outcome == job.NoContent:
		a.say("%s has no content: nothing is saved", res.URL)
	case res.Outcome == job.Skipped || res.Outcome == job.Unchanged:
		if j.Exists == download.Newer {
			a.say("%s is as new as %s", name, res.URL)
		} else {
			a.say("%s is there already", name)
		}
	}
}

// rateText returns how fast what came came, if it was enough to tell.
func rateText(res *job.Result) string {
	if res.Received < 1024 || res.Elapsed <= 0 {
		return ""
	}
	return ", " + sizeWord(float64(res.Received)/res.Elapsed.Seconds()) + "/s"
}

// digestText returns the digest of what was saved, if the user asked for it.
func (a *app) digestText(res *job.Result) string {
	if !a.set.sha256 {
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
func (a *app) say(format string, args ...any) {
	if a.says() {
		fmt.Fprintf(a.con.prose(), format+"\n", args...)
	}
}

// says reports whether there are messages for people, but for errors.
func (a *app) says() bool { return !a.set.quiet && a.events == nil }

// exists says what to do with a file that is there already.
func (s *settings) exists() download.Exists {
	switch {
	case s.keep:
		return download.Skip
	case s.resume:
		return download.Resume
	case s.newer:
		return download.Newer
	case s.output != "":
		return download.Overwrite
	}
	return download.NewName
}

// checkOutput finds flags that contradict each other.
func (a *app) checkOutput() error {
	s := &a.set
	chosen := 0
	goesOn := s.archive.warc != "" && s.output == "-" // -c is for the archive, as in trees
	for _, flag := range []bool{s.resume && !s.tree.on() && !goesOn, s.newer, s.keep} {
		if flag {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usage("-c, -N and -nc exclude each other")
	case s.output == "-" && chosen > 0:
		return usage("-c, -N and -nc are about files, but -O - is standard output")
	case s.output == "-" && s.json:
		return usage("--json and -O - both want standard output")
	case s.dir != "" && (s.output == "-" || filepath.IsAbs(s.output)):
		return usage("-P DIR -O NAME is DIR/NAME, but %s is in no directory", s.output)
	case s.output != "" && s.output != "-" && s.list.file != "":
		return &usageError{"-O names one file, but -i is for many", "-P DIR saves all of them in a directory"}
	case s.rng != "" && (s.resume || s.newer):
		return usage("--range asks for a part, -c and -N are about the whole")
	case s.tries < 0:
		return usage("-t: %d tries are not possible", s.tries)
	}
	if err := s.tree.check(s); err != nil {
		return err
	}
	return s.checkMessageFlags()
}

// A destination is where content goes: into a stream, or into a file whose name may be "" for the
// suggested one.
type destination struct{ stream, dir, name string }

// destination looks at -O and -P.
func (s *settings) destination() (destination, error) {
	switch {
	case s.output == "":
		return destination{dir: cmp.Or(s.dir, ".")}, nil
	case s.output == "-":
		return destination{stream: "-"}, nil
	}
	path := s.output
	if s.dir != "" {
		path = s.dir + string(filepath.Separator) + path
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return destination{}, &usageError{"-O " + path + " is a directory", "-P " + path + " saves in it"}
	case err == nil && !info.Mode().IsRegular():
		return destination{stream: path}, nil
	}
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return destination{}, usage("-O %s names no file", s.output)
	}
	return destination{dir: cmp.Or(dir, "."), name: name}, nil
}

// prepareGet opens what -O and -P name, and says so in j: a directory, which is made if need be, or
// something that is no file and cannot be replaced by one, such as a device.
func (a *app) prepareGet(j *job.Job) error {
	a.openEvents()
	a.steps = !a.set.parts
	if a.set.compose || a.set.parts {
		a.writer = a.std.out
		return nil
	}
	var err error
	if a.out, err = a.set.destination(); err != nil {
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
		a.files.Root, err = openRoot(a.out.dir)
	}
	return fileError(err)
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
func (a *app) prepareLook(*job.Job) error {
	a.openEvents()
	return nil
}

// closeOutput makes durable what was saved, and saves the cookies.
func (a *app) closeOutput() error {
	err := a.set.cookies.close()
	if a.files != nil {
		err = errors.Join(err, a.files.Flush())
	}
	if a.files != nil && a.files.Root != nil {
		err = errors.Join(err, a.files.Root.Close())
	}
	if a.device != nil {
		err = errors.Join(err, fileError(a.device.Close()))
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

// addExistingFlags defines the flags about files that are there.
func addExistingFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVarP(&s.resume, "continue", "c", false, "continue a file that is incomplete")
	f.BoolVarP(&s.newer, "timestamping", "N", false, "retrieve only what is newer than the file")
	f.BoolVar(&s.keep, "no-clobber", false, "skip what exists as a file (also -nc)")
	f.Var(&choice[download.Sync]{&s.sync, []string{download.SyncBatch: "batch", download.SyncEach: "each", download.SyncNone: "none"}},
		"sync", "make files survive a power failure: `WHEN` is batch, which is in the end and now and then, each or none")
}

// addRetrievalFlags defines the flags that only retrieving files has.
func addRetrievalFlags(f *pflag.FlagSet, s *settings) {
	addExistingFlags(f, s)
	f.StringVar(&s.rng, "range", "", "retrieve only the bytes `A-B`, counted from 0; A- from A on, -N the last N")
	f.StringVar(&s.checksum, "checksum", "", "check the file, as in `ALGO:HEX`, or by a file or URL of checksums")
	f.BoolVar(&s.sha256, "sha256", false, "tell the SHA-256 of what is saved, also with --json")
	f.BoolVar(&s.errorContent, "content-on-error", false, "save the page that comes with an error too; it stays an error")
	f.BoolVar(&s.parts, "parts", false, "list the parts of a message")
	f.Var(&s.part, "part", "retrieve part `N` of a message, decoded")
	f.BoolVar(&s.text, "text", false, "retrieve the readable text of a message")
	f.BoolVar(&s.compose, "compose", false, "print the message that a mail address proposes; send nothing")
}
