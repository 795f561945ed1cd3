package main

import (
	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

func warcCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "warc",
		Short: "Manage archives (WARC files)",
		Long: `Manage archives (WARC files).

  urlget warc verify FILE...               check structure and digests
  urlget warc index FILE...                write an index (CDXJ)
  urlget warc merge --warc FILE FROM...    merge archives
  urlget warc import --warc FILE FROM...   import archives, mail and mirrors
  urlget warc extract FILE [URL|ID]...     save contents as files
  urlget warc pack ALL.wacz FILE...        pack archives and an index (WACZ)`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return failure.Hinted("a subcommand is required", "see urlget warc --help")
		},
	}
	for _, c := range []commandRow{
		{"verify FILE...", "Check the structure and digests of archives", 0, eachFile(verifyArchive)},
		{"index FILE...", "Write an index next to an archive (CDXJ)", 0, eachFile(writeIndex)},
		{"import --warc FILE FROM...",
			"Import archives, pages (HAR, MHTML), mailboxes (mbox, Maildir) and mirrors",
			flags.Merge, importing()},
		{"merge --warc FILE FROM...", "Merge archives into one and drop duplicate records", flags.Merge,
			importing(archive.WARC)},
		{"extract FILE [URL|ID]...", "Save the contents of an archive as files, or print records by ID",
			flags.Extract, runExtract},
		{"pack ALL.wacz FILE...", "Pack archives with an index and a list of pages (WACZ)", 0, runPack},
	} {
		cmd.AddCommand(p.define(c.set,
			&cobra.Command{Use: c.use, Short: c.short, Args: needFile, RunE: p.runs(c.run)}))
	}
	return cmd
}

func needFile(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failure.Usagef("a file is required")
	}
	return nil
}

func eachFile(do func(p *program, name string) error) runFunc {
	return func(p *program, _ *cobra.Command, args []string) error {
		for _, name := range args {
			if err := do(p, name); err != nil {
				p.rep.fail("", err)
			}
		}
		return nil
	}
}
