package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func (a *app) warcExtractCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extract FILE [URL|ID]...",
		Short: "Save the contents of an archive as files, or print records by ID",
		Args:  needFile,
		RunE:  a.extract,
	}
	a.define(cmd, flags.Extract)
	return cmd
}

// extract saves the contents of an archive, or the named URLs and records.
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

// recordsNamed separates URLs from record IDs.
func recordsNamed(args []string) (urls []uri.URI, ids []string, err error) {
	for _, text := range args {
		u, err := uri.ParseLoose(text)
		switch {
		case err != nil || !u.IsAbs():
			return nil, nil, failure.Usagef("%s is not a URL or a record ID", text)
		case warc.IsRecordID(u.Scheme()):
			ids = append(ids, text)
		default:
			urls = append(urls, u)
		}
	}
	return urls, ids, nil
}

// archivedURLs returns the URLs in the archive.
func (a *app) archivedURLs() (urls []uri.URI, err error) {
	list, more, err := a.archives.replay.URLs(func(string) bool { return true }, maxCounted)
	if err != nil {
		return nil, failure.File(err)
	}
	if more {
		a.say("the archive has more than %d URLs; only the first ones are saved", maxCounted)
	}
	for _, text := range list {
		if u, err := uri.Parse(text); err == nil {
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// extractURLs saves URLs of the archive. If all URLs are saved, only damage and local errors are
// failures.
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
	a.say("saved %s from %s", quantity(saved, "file"), quantity(len(urls), "URL"))
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
			if _, err := io.Copy(rep.textOut(), rec.Checked()); err != nil {
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
