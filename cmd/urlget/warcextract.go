package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/uri"
)

func runExtract(p *program, cmd *cobra.Command, args []string) error {
	p.opts.Use(cmd.Flags())
	urls, ids, err := recordsNamed(args[1:])
	if err != nil {
		return err
	}
	all := urls == nil && ids == nil
	if ids != nil {
		if ids, err = printRecords(p.rep, args[0], ids); err != nil || urls == nil && len(ids) == 0 {
			return err
		}
	}
	p.opts.Archive.Replay, p.opts.Archive.ReplayOnly = args[:1], true
	ctx, err := p.net.openArchives(cmd.Context(), nil)
	if err != nil {
		return err
	}
	client, err := p.net.newClient()
	if err != nil {
		return err
	}
	defer client.Close()
	for _, id := range ids {
		u, err := uri.ParseLoose(id)
		if err == nil && len(p.net.archives.replay.Captures(u, 1)) > 0 {
			urls = append(urls, u) // such as urn:view:https://h/, a screenshot
			continue
		}
		p.rep.fail("", &fetch.Error{Code: fetch.ErrNotFound,
			Err: fmt.Errorf("%s has no record %s", args[0], id)})
	}
	if all {
		urls, err = archivedURLs(p.rep, p.net.archives.replay)
	}
	if err != nil || urls == nil && !all {
		return err
	}
	return extractURLs(ctx, p.rep, client, urls, all)
}

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

func archivedURLs(rep *reporter, from *replay.Archive) (urls []uri.URI, err error) {
	list, more, err := from.URLs(func(string) bool { return true }, maxCounted)
	if err != nil {
		return nil, failure.File(err)
	}
	if more {
		rep.say("the archive has more than %d URLs; only the first ones are saved", maxCounted)
	}
	for _, text := range list {
		if u, err := uri.Parse(text); err == nil {
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// extractURLs saves URLs of the archive. If all URLs are saved, only damage, content that is incomplete or
// wrong, and local errors are failures.
func extractURLs(ctx context.Context, rep *reporter, client *fetch.Client, urls []uri.URI, all bool) error {
	root, err := openRoot(cmp.Or(rep.opts.Output.Dir, "."))
	if err != nil {
		return failure.File(err)
	}
	defer root.Close()
	d := &download.Downloader{Client: client, Root: root}
	saved, lost := 0, []fetch.Code{fetch.ErrFile, fetch.ErrTruncated, fetch.ErrChecksum}
	var damage *warc.DamageError
	for _, u := range urls {
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
		done, err := archive.Extract(ctx, d, u)
		switch {
		case done:
			saved++
		case err != nil && (!all || isCut(err) || slices.Contains(lost, fetch.CodeOf(err)) ||
			errors.As(err, &damage)):
			rep.fail(u.Redacted(), err)
		}
	}
	rep.say("saved %s from %s", quantity(saved, "file"), quantity(len(urls), "URL"))
	return failure.File(d.Flush())
}

// isCut reports whether content began and then failed, for any reason.
func isCut(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	return ok && e.Op == "read"
}

// printRecords prints the blocks of records, and returns the identifiers that no record has.
func printRecords(rep *reporter, name string, ids []string) (missing []string, err error) {
	missing = slices.Clone(ids)
	err = readArchive(name, func(_ string, r *warc.Reader) error {
		for rec, err := range r.Records() {
			switch _, isDamage := errors.AsType[*warc.DamageError](err); {
			case len(missing) == 0:
				return nil
			case isDamage:
				continue
			case err != nil:
				return failure.File(err)
			case !slices.Contains(missing, rec.ID()):
				continue
			}
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == rec.ID() })
			if _, err := io.Copy(rep.textOut(), rec.Checked()); err != nil {
				return failure.File(err)
			}
		}
		return nil
	})
	return missing, err
}
