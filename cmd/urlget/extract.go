package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

// importInto puts what there is into an archive, if it is of one of the kinds; nil means any.
func (n *network) importInto(cmd *cobra.Command, args []string, kinds ...archive.Kind) error {
	n.opts.Use(cmd.Flags())
	if n.opts.Archive.WARC == "" {
		return failure.Hinted("no archive to write to", "--warc FILE")
	}
	for _, name := range args {
		kind, err := archive.KindOf(name)
		if err == nil && kinds != nil && !slices.Contains(kinds, kind) {
			err = fmt.Errorf("it is a %s", kind)
		}
		if err != nil {
			return failure.File(fmt.Errorf("%s: %w", name, err))
		}
	}
	ctx, err := n.openArchives(cmd.Context(), nil, false)
	if err != nil {
		return err
	}
	v := &n.archives
	m := archive.New(v.writer, v.seen, func(err error) { n.say("%s", fetch.Printable(err.Error())) })
	if n.opts.Output.Continue {
		for _, name := range v.writer.Files() {
			if err := eachWARC(name, func(_ string, file io.ReaderAt) error { return m.Known(ctx, file) }); err != nil {
				return failure.File(err)
			}
		}
	}
	for _, name := range args {
		if err := importOne(ctx, m, name); err != nil {
			return failure.File(err)
		}
	}
	r := m.Report()
	n.say("%d records, %d of them revisits; %d left out, as they were there already", r.Records, r.Revisits, r.Known)
	return nil
}

func importOne(ctx context.Context, m *archive.Importer, name string) error {
	kind, err := archive.KindOf(name)
	switch {
	case err != nil:
		return err
	case kind == archive.Mailbox:
		return m.Mailbox(ctx, name)
	case kind == archive.Mirror:
		return m.Mirror(ctx, name)
	}
	return eachWARC(name, func(name string, file io.ReaderAt) error { return m.WARC(ctx, file, name) })
}

// pack makes a WACZ file of archives.
func (a *app) pack(args []string) error {
	if len(args) < 2 || !isPacked(args[0]) {
		return failure.Hinted("the first FILE is the one that is made, and ends in .wacz", "urlget warc pack ALL.wacz ONE.warc.gz TWO.warc.gz")
	}
	out, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return failure.File(err)
	}
	if err := packInto(out, args[1:]); err != nil {
		out.Close()
		os.Remove(args[0])
		return failure.File(err)
	}
	return failure.File(out.Close())
}

func packInto(out io.Writer, names []string) error {
	var list []wacz.Source
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		list = append(list, wacz.Source{Name: filepath.Base(name), ReaderAt: f, Size: info.Size()})
	}
	return wacz.Write(out, list, wacz.Options{Software: "urlget/" + programVersion()})
}

// extract saves what is in an archive, or some of it.
func (a *app) extract(cmd *cobra.Command, args []string) error {
	a.opts.Use(cmd.Flags())
	urls, ids, err := recordsNamed(args[1:])
	if err != nil {
		return err
	}
	if ids != nil {
		if err := a.printRecords(args[0], ids); err != nil || urls == nil {
			return err
		}
	}
	a.opts.Archive.Replay, a.opts.Archive.ReplayOnly = args[:1], true
	ctx, err := a.openArchives(cmd.Context(), nil, false)
	if err != nil {
		return err
	}
	if a.client, err = a.newClient(); err != nil {
		return err
	}
	all := urls == nil
	if all {
		if urls, err = a.archivedURLs(); err != nil {
			return err
		}
	}
	return a.extractURLs(ctx, urls, all)
}

// recordsNamed tells URLs from identifiers of records.
func recordsNamed(args []string) (urls []uri.URI, ids []string, err error) {
	for _, text := range args {
		u, err := uri.ParseLoose(text)
		switch {
		case err != nil || !u.IsAbs():
			return nil, nil, failure.Usagef("%s is neither a URL nor the identifier of a record", text)
		case archive.IsRecordID(u):
			ids = append(ids, text)
		default:
			urls = append(urls, u)
		}
	}
	return urls, ids, nil
}

// archivedURLs returns the URLs that the archive has.
func (a *app) archivedURLs() (urls []uri.URI, err error) {
	list, more, err := a.archives.replay.URLs(func(string) bool { return true }, maxCounted)
	if err != nil {
		return nil, failure.File(err)
	}
	if more {
		a.say("the archive has more than %d URLs; the first are saved", maxCounted)
	}
	for _, text := range list {
		if u, err := uri.Parse(text); err == nil {
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// extractURLs saves URLs of the archive. If they are all of it, only damage and errors of the local
// system are failures.
func (a *app) extractURLs(ctx context.Context, urls []uri.URI, all bool) error {
	root, err := openRoot(cmp.Or(a.opts.Output.Dir, "."))
	if err != nil {
		return failure.File(err)
	}
	defer root.Close()
	d := &download.Downloader{Client: a.client, Root: root}
	saved := 0
	var damage *warc.DamageError
	for _, u := range urls {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		done, err := archive.Extract(ctx, d, u)
		switch {
		case done:
			saved++
		case err != nil && (!all || fetch.CodeOf(err) == fetch.ErrFile || errors.As(err, &damage)):
			a.fail(u.Redacted(), err)
		}
	}
	a.say("%d files saved, of %d URLs", saved, len(urls))
	return failure.File(d.Flush())
}

// printRecords prints the blocks of records.
func (rep *reporter) printRecords(name string, ids []string) error {
	left := make(map[string]bool)
	for _, id := range ids {
		left[id] = true
	}
	err := readArchive(name, func(_ string, r *warc.Reader) error {
		for len(left) > 0 {
			rec, err := r.Next()
			var damage *warc.DamageError
			switch {
			case err == io.EOF:
				return nil
			case errors.As(err, &damage):
				continue
			case err != nil:
				return failure.File(err)
			case !left[rec.ID()]:
				continue
			}
			delete(left, rec.ID())
			var out io.Writer = rep.std.out
			if term.IsTerminal(int(rep.std.out.Fd())) {
				out = &textOnly{w: rep.std.out}
			}
			if _, err := io.Copy(out, rec.Checked()); err != nil {
				return failure.File(err)
			}
		}
		return nil
	})
	for _, id := range ids {
		if left[id] && err == nil {
			rep.fail("", &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("%s has no record %s", name, id)})
		}
	}
	return err
}
