package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/render"
)

func runList(p *program, cmd *cobra.Command, args []string) error {
	ctx, b, err := p.open(cmd, args, settings{op: fetch.OpList})
	if err != nil {
		return err
	}
	if !p.opts.Listing.Recursive && p.opts.Archive.Replay == nil && areArchives(b.source.args) {
		return p.listRemote(ctx, b.source.args)
	}
	if p.opts.Listing.Recursive {
		return b.run(ctx, func(ctx context.Context, t *task) outcome {
			err := listTree(ctx, b.jobs.client, p.rep, t.Job)
			hintNoListing(err)
			return failed(err)
		})
	}
	ignore := func(*job.Job, *fetch.Response) error { return nil } // the hook for listings prints it
	return b.run(ctx, b.jobs.printing(ignore))
}

// printing returns the verb that prints listings, and passes responses to do.
func (x *jobs) printing(do responseFunc) verb {
	return func(ctx context.Context, t *task) outcome {
		res := x.retrieve(ctx, t, do)
		if res.Outcome == job.Listed {
			x.rep.write(render.End(res.Event("")))
		}
		hintNoListing(res.Err)
		return failed(res.Err)
	}
}

func hintNoListing(err error) {
	var e *fetch.Error
	if errors.As(err, &e) && e.Code == fetch.ErrNotRetrievable && e.Hint == "" {
		e.Hint = "urlget cat prints the content, and urlget stat the metadata"
	}
}

// printListing prints the entries of a listing or, if it has none, its text.
func (r *reporter) printListing(j *job.Job, resp *fetch.Response) error {
	if resp.Entries == nil {
		return r.printText(resp)
	}
	r.stdout.Lock()
	defer r.stdout.Unlock()
	defer r.con.Pause()()
	n := 0
	err := r.printEntries(j.URL, func(yield func(fetch.Entry, error) bool) {
		for e, err := range resp.Entries {
			n++
			if !yield(e, err) {
				return
			}
		}
	})
	if err == nil && n == 0 {
		r.say("%s: %s", j.URL.Redacted(), emptyMessage(resp.URL))
	}
	return err
}

func (r *reporter) printText(resp *fetch.Response) error {
	r.stdout.Lock()
	defer r.stdout.Unlock()
	defer r.con.Pause()()
	_, err := io.Copy(r.textOut(), resp.Body)
	return failure.File(err)
}

// textOut returns standard output. A terminal accepts only text.
func (r *reporter) textOut() io.Writer {
	if term.IsTerminal(int(r.std.out.Fd())) {
		return &textOnly{w: r.std.out}
	}
	return r.std.out
}

func emptyMessage(u uri.URI) string {
	_, isSearch := u.Query()
	if isSearch || strings.Contains(u.String(), "%09") {
		return "no results found"
	}
	return "the listing is empty"
}

// printEntries prints the entries of the listing at u, to a terminal as they arrive.
func (r *reporter) printEntries(u uri.URI, entries iter.Seq2[fetch.Entry, error]) error {
	var out io.Writer = r.std.out
	flush := func() error { return nil }
	width, _, err := term.GetSize(int(r.std.out.Fd()))
	if err != nil { // no terminal
		width = 0
		buffered := bufio.NewWriterSize(r.std.out, 32<<10)
		out, flush = buffered, buffered.Flush
	}
	if err = nil; r.opts.Report.JSON {
		err = render.EntriesJSON(out, u.Redacted(), entries)
	} else {
		err = render.Text(out, entries,
			&render.TextOptions{Targets: r.opts.Report.Verbose, Human: r.opts.Listing.Human,
				Long: r.opts.Listing.Long, Sort: true, Width: width})
	}
	return failure.File(cmp.Or(err, flush()))
}

// listTree prints a listing and the listings below it, each under its URL. It reports failures and
// continues.
func listTree(ctx context.Context, client *fetch.Client, rep *reporter, j *job.Job) error {
	begun, count := time.Now(), int64(0)
	next, stop := iter.Pull2(client.Walk(ctx, j.URL.String(),
		&fetch.WalkOptions{List: (&links.Lister{Client: client}).List}))
	defer stop()
	m, err, ok := next()
	for first := true; ok; first = false {
		if err != nil {
			if first || ctx.Err() != nil {
				return err // the first listing, or a write error
			}
			rep.fail(m.URL.Redacted(), err)
			m, err, ok = next()
			continue
		}
		from := m.From
		if !rep.opts.Report.JSON {
			title := fetch.Printable(from.Redacted()) + ":\n"
			if !first {
				title = "\n" + title
			}
			if _, err := io.WriteString(rep.std.out, title); err != nil {
				return failure.File(err)
			}
		}
		printErr := rep.printEntries(from, func(yield func(fetch.Entry, error) bool) {
			for more := true; more && ok && err == nil && m.From == from; m, err, ok = next() {
				count++
				more = yield(m.Entry, nil)
			}
		})
		if printErr != nil {
			return printErr
		}
	}
	listed := &job.Result{Outcome: job.Listed, URL: j.URL.Redacted(), Entries: count,
		Elapsed: time.Since(begun)}
	rep.write(render.End(listed.Event("")))
	return nil
}

// textOnly passes lines of text to a terminal and refuses anything else.
type textOnly struct{ w *os.File }

func (t *textOnly) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		binary := r == utf8.RuneError && n == 1 && utf8.FullRune(p[i:]) ||
			unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
		if binary {
			return 0, &fetch.Error{Code: fetch.ErrFile,
				Err:  errors.New("binary data is not written to a terminal"),
				Hint: "use -O FILE to save it, or -O - to print it anyway"}
		}
		i += n
	}
	return t.w.Write(p)
}
