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

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// printListing prints the entries of a listing or, if it has none, its text.
func (a *app) printListing(j *job.Job, resp *fetch.Response) error {
	a.stdout.Lock()
	defer a.stdout.Unlock()
	defer a.con.pause()()
	if resp.Entries != nil {
		n := 0
		err := a.printEntries(j.URL, func(yield func(fetch.Entry, error) bool) {
			for e, err := range resp.Entries {
				n++
				if !yield(e, err) {
					return
				}
			}
		})
		if err == nil && n == 0 {
			a.say("%s: %s", j.URL.Redacted(), emptyWords(resp.URL))
		}
		return err
	}
	return a.printBody(resp)
}

// printAnswer prints content that is for people.
func (a *app) printAnswer(resp *fetch.Response) error {
	a.stdout.Lock()
	defer a.stdout.Unlock()
	defer a.con.pause()()
	return a.printBody(resp)
}

func (a *app) printBody(resp *fetch.Response) error {
	if term.IsTerminal(int(a.std.out.Fd())) {
		_, err := io.Copy(&textOnly{w: a.std.out}, resp.Body)
		return fileError(err)
	}
	_, err := io.Copy(a.std.out, resp.Body)
	return fileError(err)
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
func (a *app) printEntries(u uri.URI, entries iter.Seq2[fetch.Entry, error]) error {
	var out io.Writer = a.std.out
	flush := func() error { return nil }
	if !term.IsTerminal(int(a.std.out.Fd())) {
		buffered := bufio.NewWriterSize(a.std.out, 32<<10)
		out, flush = buffered, buffered.Flush
	}
	var err error
	if a.set.json {
		err = render.EntriesJSON(out, u.Redacted(), entries)
	} else {
		err = render.Text(out, entries, &render.TextOptions{Targets: a.set.verbose, Human: a.set.human, Long: a.set.long, Sort: true})
	}
	if flushErr := flush(); err == nil {
		err = flushErr
	}
	return fileError(err)
}

// listTree prints a listing and those below it, each under its URL. A listing that fails is told,
// and the others printed.
func (a *app) listTree(ctx context.Context, j *job.Job) error {
	begun, count := time.Now(), int64(0)
	next, stop := iter.Pull2(a.client.Walk(ctx, j.URL.String(), nil))
	defer stop()
	m, err, ok := next()
	for first := true; ok; first = false {
		if err != nil {
			if first || ctx.Err() != nil {
				return err // of what the user named, or of everything
			}
			a.fail(m.URL.Redacted(), err)
			m, err, ok = next()
			continue
		}
		from := m.From
		if !a.set.json {
			title := fetch.Printable(from.Redacted()) + ":\n"
			if !first {
				title = "\n" + title
			}
			if _, err := io.WriteString(a.std.out, title); err != nil {
				return fileError(err)
			}
		}
		printErr := a.printEntries(from, func(yield func(fetch.Entry, error) bool) {
			for more := true; more && ok && err == nil && m.From == from; m, err, ok = next() {
				count++
				more = yield(m.Entry, nil)
			}
		})
		if printErr != nil {
			return printErr
		}
	}
	a.write(render.Listed(j.URL.Redacted(), count, time.Since(begun)))
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
