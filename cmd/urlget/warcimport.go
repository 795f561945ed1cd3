package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

func (a *app) warcImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import --warc FILE FROM...",
		Short: "Import archives, mailboxes (mbox, Maildir) and mirrors",
		Args:  needFile,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.importInto(cmd, args) },
	}
	a.define(cmd, flags.Merge)
	return cmd
}

func (a *app) warcMergeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "merge --warc FILE FROM...",
		Short: "Merge archives into one and drop duplicate records",
		Args:  needFile,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.importInto(cmd, args, archive.WARC) },
	}
	a.define(cmd, flags.Merge)
	return cmd
}

// importInto imports the arguments into an archive. Only the given kinds are allowed; nil means any.
func (n *network) importInto(cmd *cobra.Command, args []string, kinds ...archive.Kind) error {
	n.opts.Use(cmd.Flags())
	if n.opts.Archive.WARC == "" {
		return failure.Hinted("no archive to write to", "use --warc FILE to name one")
	}
	for _, name := range args {
		kind, err := archive.KindOf(name)
		if err == nil && kinds != nil && !slices.Contains(kinds, kind) {
			err = fmt.Errorf("the file is a %s", kind)
		}
		if err != nil {
			return failure.File(fmt.Errorf("%s: %w", name, err))
		}
	}
	if err := n.opts.Check(n.table); err != nil {
		return err
	}
	ctx, err := n.openArchives(cmd.Context(), nil, false)
	if err != nil {
		return err
	}
	v := &n.archives
	m := archive.New(v.writer, v.seen, func(err error) { n.say("%s", fetch.Printable(err.Error())) })
	if n.opts.AppendsArchive() {
		for _, name := range v.writer.Files() {
			if err := eachWARC(name, func(_ string, file io.ReaderAt) error { return m.AddKnown(ctx, file) }); err != nil {
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
	n.say("%s, including %s; %s skipped", quantity(r.Records, "record"), quantity(r.Revisits, "revisit"), quantity(r.Known, "duplicate"))
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
