package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetch/warc"
)

// warcCommand returns the command for what is done to archives.
func (a *app) warcCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "warc",
		Short: "Look after archives (WARC files)",
		Args:  func(_ *cobra.Command, args []string) error { return noArguments(args) },
		RunE: func(*cobra.Command, []string) error {
			return &usageError{"what is to be done with an archive?", "urlget warc verify FILE"}
		},
	}
	verify := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check structure and digests of archives",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("no FILE")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			for _, name := range args {
				if err := a.verify(name); err != nil {
					a.fail("", err)
				}
			}
			return nil
		},
	}
	cmd.AddCommand(verify)
	return cmd
}

// verify prints what is wrong with an archive, and how much there is in it.
func (a *app) verify(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fileError(err)
	}
	defer f.Close()
	shown, problems := fetch.Printable(name), 0
	out := &writer{w: a.std.out}
	s, err := warc.Verify(f, func(p warc.Problem) {
		problems++
		fmt.Fprintf(out, "%s: byte %d: %s\n", shown, p.Offset, fetch.Printable(p.Text))
	})
	if err != nil {
		return fileError(fmt.Errorf("%s: %w", name, err))
	}
	fmt.Fprintf(out, "%s: %d records, %s of content, %d problems\n", shown, s.Records, sizeText(s.Content), problems)
	if s.Elsewhere > 0 {
		fmt.Fprintf(out, "%s: %d revisits of records that are not in it\n", shown, s.Elsewhere)
	}
	switch {
	case out.err != nil:
		return fileError(out.err)
	case s.Records == 0:
		return fileError(fmt.Errorf("%s holds no record", name))
	case problems > 0:
		return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("%d problems in %s", problems, name)}
	}
	return nil
}

// orArchives returns the body of a command that lists archives, if the arguments are those, and else
// does what it did.
func (a *app) orArchives(each func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || !isArchive(args[0]) {
			return each(cmd, args)
		}
		for _, name := range args {
			if err := a.listArchive(name); err != nil {
				a.fail("", err)
			}
		}
		return nil
	}
}

// isArchive reports whether an argument is a file that is called as archives are.
func isArchive(name string) bool {
	if strings.Contains(name, "://") {
		return false
	}
	base := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	info, err := os.Stat(name)
	return strings.HasSuffix(base, ".warc") && err == nil && info.Mode().IsRegular()
}

// listArchive lists the records of an archive. Damaged places are among them.
func (a *app) listArchive(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return fileError(err)
	}
	defer f.Close()
	r, err := warc.NewReader(f)
	if err != nil {
		return fileError(fmt.Errorf("%s: %w", name, err))
	}
	defer r.Close()
	path, err := filepath.Abs(name)
	if err != nil {
		return fileError(err)
	}
	u, err := uri.File{Path: filepath.ToSlash(path)}.URI()
	if err != nil {
		return fileError(err)
	}
	return a.printEntries(u, recordsOf(r))
}

// recordsOf yields the records as members.
func recordsOf(r *warc.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for {
			rec, err := r.Next()
			var damage *warc.DamageError
			var e fetch.Entry
			switch {
			case err == io.EOF:
				return
			case errors.As(err, &damage):
				e = fetch.Entry{Name: damage.Error(), Kind: fetch.EntryError, Size: -1}
			case err != nil:
				yield(e, err)
				return
			default:
				e = fetch.Entry{Name: rec.Type() + " " + rec.TargetURI(), Rel: rec.Type(), ContentType: rec.ContentType(),
					Size: rec.Length, ModTime: rec.Date()}
				if u, err := uri.Parse(rec.TargetURI()); err == nil && u.IsAbs() {
					e.URL = u
				}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
