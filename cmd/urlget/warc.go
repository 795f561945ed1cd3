package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

// warcCommand returns the command for what is done to archives.
func (a *app) warcCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "warc",
		Short: "Look after archives (WARC files)",
		Long: `Look after archives (WARC files).

  urlget warc verify FILE...               check structure and digests
  urlget warc index FILE...                write the index beside it (CDXJ)
  urlget warc merge --warc FILE FROM...    make one archive of several
  urlget warc import --warc FILE FROM...   and of mailboxes and mirrors
  urlget warc extract FILE [URL|ID]...     save what is in it as files
  urlget warc pack ALL.wacz FILE...        pack archives with an index (WACZ)`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return failure.Hinted("what is to be done with an archive?", "urlget warc verify FILE")
		},
	}
	cmd.AddCommand(a.readingCommands()...)
	cmd.AddCommand(a.writingCommands()...)
	return cmd
}

// needFile is for commands that need an argument.
func needFile(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failure.Usagef("no FILE")
	}
	return nil
}

// readingCommands returns the commands that look at each archive.
func (a *app) readingCommands() []*cobra.Command {
	each := func(do func(string) error) func(*cobra.Command, []string) error {
		return func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if err := do(name); err != nil {
					a.fail("", err)
				}
			}
			return nil
		}
	}
	return []*cobra.Command{{
		Use:   "verify FILE...",
		Short: "Check structure and digests of archives",
		Args:  needFile,
		RunE:  each(a.verify),
	}, {
		Use:   "index FILE...",
		Short: "Write the index of an archive beside it (CDXJ)",
		Args:  needFile,
		RunE:  each(a.index),
	}}
}

// writingCommands returns the commands that make something of archives.
func (a *app) writingCommands() []*cobra.Command {
	into := &cobra.Command{
		Use:   "import --warc FILE FROM...",
		Short: "Put archives, mailboxes (mbox, Maildir) and mirrors into an archive",
		Args:  needFile,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.importInto(cmd, args) },
	}
	merge := &cobra.Command{
		Use:   "merge --warc FILE FROM...",
		Short: "Make one archive of several, without what they have twice",
		Args:  needFile,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.importInto(cmd, args, archive.WARC) },
	}
	for _, c := range []*cobra.Command{into, merge} {
		a.define(c, flags.Merge)
	}
	extract := &cobra.Command{
		Use:   "extract FILE [URL|ID]...",
		Short: "Save what is in an archive as files, or print records by identifier",
		Args:  needFile,
		RunE:  a.extract,
	}
	a.define(extract, flags.Extract)
	pack := &cobra.Command{
		Use:   "pack ALL.wacz FILE...",
		Short: "Pack archives with an index and a list of pages (WACZ)",
		Args:  needFile,
		RunE:  func(_ *cobra.Command, args []string) error { return a.pack(args) },
	}
	return []*cobra.Command{into, merge, extract, pack}
}

// index writes the index of an archive beside it.
func (a *app) index(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return failure.File(err)
	}
	defer f.Close()
	base := name
	for _, suffix := range []string{".gz", ".zst", ".warc"} {
		base = strings.TrimSuffix(base, suffix)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".cdxj-*")
	if err != nil {
		return failure.File(err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	out := bufio.NewWriter(tmp)
	if err := warc.WriteIndex(out, f, filepath.Base(name)); err != nil {
		return failure.File(fmt.Errorf("%s: %w", name, err))
	}
	if err := errors.Join(out.Flush(), tmp.Chmod(0o644), tmp.Close()); err != nil {
		return failure.File(err)
	}
	return failure.File(os.Rename(tmp.Name(), base+".cdxj"))
}

// verify prints what is wrong with an archive, and how much there is in it.
func (r *reporter) verify(name string) error {
	out := &writer{w: r.std.out}
	if isPacked(name) {
		if err := verifyPacked(out, name); err != nil {
			return err
		}
	}
	return eachWARC(name, func(name string, file io.ReaderAt) error { return verifyWARC(out, name, file) })
}

// verifyPacked compares what is in a WACZ file with what that says of it.
func verifyPacked(out io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return failure.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return failure.File(err)
	}
	packed, err := wacz.NewReader(f, info.Size())
	problems := 0
	if err == nil {
		err = packed.Verify(func(text string) {
			problems++
			fmt.Fprintf(out, "%s: %s\n", fetch.Printable(name), fetch.Printable(text))
		})
	}
	switch {
	case err != nil:
		return failure.File(fmt.Errorf("%s: %w", name, err))
	case problems > 0:
		return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("%d problems in %s", problems, name)}
	}
	return nil
}

func verifyWARC(out *writer, name string, file io.ReaderAt) error {
	shown, problems := fetch.Printable(name), 0
	s, err := warc.Verify(file, func(p warc.Problem) {
		problems++
		fmt.Fprintf(out, "%s: byte %d: %s\n", shown, p.Offset, fetch.Printable(p.Text))
	})
	if err != nil {
		return failure.File(fmt.Errorf("%s: %w", name, err))
	}
	fmt.Fprintf(out, "%s: %d records, %s of content, %d problems\n", shown, s.Records, sizeText(s.Content), problems)
	if s.Elsewhere > 0 {
		fmt.Fprintf(out, "%s: %d revisits of records that are not in it\n", shown, s.Elsewhere)
	}
	switch {
	case out.err != nil:
		return failure.File(out.err)
	case s.Records == 0:
		return failure.File(fmt.Errorf("%s holds no record", name))
	case problems > 0:
		return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("%d problems in %s", problems, name)}
	}
	return nil
}
