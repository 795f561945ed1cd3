package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// importing returns the command that imports files of some kinds into an archive, or of any without kinds.
func importing(kinds ...archive.Kind) runFunc {
	return func(p *program, cmd *cobra.Command, args []string) error {
		return importInto(p, cmd, args, kinds)
	}
}

func importInto(p *program, cmd *cobra.Command, args []string, kinds []archive.Kind) error {
	p.opts.Use(cmd.Flags())
	if p.opts.Archive.WARC == "" {
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
	if err := p.opts.Check(p.table); err != nil {
		return err
	}
	ctx, err := p.net.openArchives(cmd.Context(), nil)
	if err != nil {
		return err
	}
	v := &p.net.archives
	var damage *warc.DamageError
	m := archive.New(v.writer, v.seen, func(err error) {
		errors.As(err, &damage)
		p.rep.say("%s", fetch.Printable(err.Error()))
	})
	if p.opts.AppendsArchive() {
		for _, name := range v.writer.Files() {
			if err := eachWARC(name,
				func(_ string, file io.ReaderAt) error { return m.AddKnown(ctx, file) }); err != nil {
				return failure.File(err)
			}
		}
	}
	for _, name := range args {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 == 0 {
			v.writer.Restrict() // the copy is as private as the original
		}
		if err := importOne(ctx, m, name); err != nil {
			return failure.File(err)
		}
	}
	r := m.Report()
	p.rep.say("%s, including %s; %s skipped", quantity(r.Records, "record"),
		quantity(r.Revisits, "revisit"), quantity(r.Known, "duplicate"))
	if damage != nil {
		return fetch.ErrProtocol.Errorf("damaged parts were omitted")
	}
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
	case kind == archive.HAR, kind == archive.MHTML:
		return importFile(ctx, m, kind, name)
	}
	return eachWARC(name, func(name string, file io.ReaderAt) error { return m.WARC(ctx, file, name) })
}

func importFile(ctx context.Context, m *archive.Importer, kind archive.Kind, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if kind == archive.HAR {
		return m.HAR(ctx, f, name)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return m.MHTML(ctx, f, name, info.ModTime())
}
