package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/render"
)

// list prints the members of what one URL names.
func (a *app) list(ctx context.Context, j *job) error {
	req, err := a.set.request(j.url, fetch.OpList)
	if err != nil {
		return err
	}
	resp, err := a.open(ctx, req)
	if errors.Is(err, errors.ErrUnsupported) {
		return a.listLinks(ctx, req, err)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.Entries == nil {
		return &fetch.Error{Op: "list", Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s, not a listing", resp.Kind)}
	}
	return a.printListing(resp)
}

// listLinks prints what a document leads to, where there are no listings. If
// it is of a type that has no links, the error is noListing.
func (a *app) listLinks(ctx context.Context, req *fetch.Request, noListing error) error {
	req.Op = fetch.OpGet
	resp, err := a.client.Do(ctx, req)
	if fetch.CodeOf(err) == fetch.ErrInteractive || fetch.CodeOf(err) == fetch.ErrNotRetrievable {
		return noListing
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	entries, ok := links.Entries(resp)
	if !ok {
		return noListing
	}
	resp.Entries = entries
	return a.printListing(resp)
}

// printListing prints the entries of a listing or, if it has none, its text.
func (a *app) printListing(resp *fetch.Response) error {
	var out io.Writer = a.std.out
	terminal := term.IsTerminal(int(a.std.out.Fd()))
	flush := func() error { return nil }
	if !terminal {
		buffered := bufio.NewWriterSize(a.std.out, 32<<10)
		out, flush = buffered, buffered.Flush
	}
	var err error
	switch {
	case resp.Entries != nil && a.set.json:
		err = render.EntriesJSON(out, resp.Entries)
	case resp.Entries != nil:
		err = render.Text(out, resp.Entries, &render.TextOptions{Targets: a.set.verbose})
	case terminal:
		_, err = io.Copy(&textOnly{w: a.std.out}, resp.Body)
	default:
		_, err = io.Copy(out, resp.Body)
	}
	if flushErr := flush(); err == nil {
		err = flushErr
	}
	return fileError(err)
}

// textOnly passes lines of text on to a terminal and refuses anything else.
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
