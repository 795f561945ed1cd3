package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// printListing prints the entries of a listing or, if it has none, its text.
func (r *reporter) printListing(j *job.Job, resp *fetch.Response) error {
	r.stdout.Lock()
	defer r.stdout.Unlock()
	defer r.con.Pause()()
	if resp.Entries != nil {
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
			r.say("%s: %s", j.URL.Redacted(), emptyWords(resp.URL))
		}
		return err
	}
	return r.printBody(resp)
}

// printAnswer prints content that is for people.
func (r *reporter) printAnswer(resp *fetch.Response) error {
	r.stdout.Lock()
	defer r.stdout.Unlock()
	defer r.con.Pause()()
	return r.printBody(resp)
}

func (r *reporter) printBody(resp *fetch.Response) error {
	if term.IsTerminal(int(r.std.out.Fd())) {
		_, err := io.Copy(&textOnly{w: r.std.out}, resp.Body)
		return failure.File(err)
	}
	_, err := io.Copy(r.std.out, resp.Body)
	return failure.File(err)
}

// emptyWords says that a listing has no entries, which says nothing by itself.
func emptyWords(u uri.URI) string {
	_, asked := u.Query()
	if asked || strings.Contains(u.String(), "%09") {
		return "nothing was found"
	}
	return "the listing is empty"
}

// printEntries prints the entries of the listing at u: to a terminal as they come.
func (r *reporter) printEntries(u uri.URI, entries iter.Seq2[fetch.Entry, error]) error {
	var out io.Writer = r.std.out
	flush := func() error { return nil }
	if !term.IsTerminal(int(r.std.out.Fd())) {
		buffered := bufio.NewWriterSize(r.std.out, 32<<10)
		out, flush = buffered, buffered.Flush
	}
	var err error
	if r.opts.Report.JSON {
		err = render.EntriesJSON(out, u.Redacted(), entries)
	} else {
		err = render.Text(out, entries, &render.TextOptions{Targets: r.opts.Report.Verbose, Human: r.opts.Listing.Human, Long: r.opts.Listing.Long, Sort: true})
	}
	if flushErr := flush(); err == nil {
		err = flushErr
	}
	return failure.File(err)
}

// listTree prints a listing and those below it, each under its URL. A listing that fails is told,
// and the others printed.
func (g *getter) listTree(ctx context.Context, j *job.Job) error {
	begun, count := time.Now(), int64(0)
	next, stop := iter.Pull2(g.client.Walk(ctx, j.URL.String(), nil))
	defer stop()
	m, err, ok := next()
	for first := true; ok; first = false {
		if err != nil {
			if first || ctx.Err() != nil {
				return err // of what the user named, or of everything
			}
			g.fail(m.URL.Redacted(), err)
			m, err, ok = next()
			continue
		}
		from := m.From
		if !g.opts.Report.JSON {
			title := fetch.Printable(from.Redacted()) + ":\n"
			if !first {
				title = "\n" + title
			}
			if _, err := io.WriteString(g.std.out, title); err != nil {
				return failure.File(err)
			}
		}
		printErr := g.printEntries(from, func(yield func(fetch.Entry, error) bool) {
			for more := true; more && ok && err == nil && m.From == from; m, err, ok = next() {
				count++
				more = yield(m.Entry, nil)
			}
		})
		if printErr != nil {
			return printErr
		}
	}
	g.write((&job.Result{Outcome: job.Listed, URL: j.URL.Redacted(), Entries: count, Elapsed: time.Since(begun)}).Event(""))
	return nil
}

// textOnly passes lines of text to a terminal and refuses anything else.
type textOnly struct{ w *os.File }

func (t *textOnly) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		r, n := utf8.DecodeRune(p[i:])
		binary := r == utf8.RuneError && n == 1 && utf8.FullRune(p[i:]) || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
		if binary {
			return 0, &fetch.Error{Code: fetch.ErrFile, Err: errors.New("binary data is not written to a terminal"),
				Hint: "-O FILE saves it, -O - prints it all the same"}
		}
		i += n
	}
	return t.w.Write(p)
}
