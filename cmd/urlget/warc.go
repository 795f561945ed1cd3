package main

import (
	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
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
	cmd.AddCommand(warcVerifyCommand(p), warcIndexCommand(p), warcImportCommand(p),
		warcMergeCommand(p), warcExtractCommand(p), warcPackCommand())
	return cmd
}

func needFile(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return failure.Usagef("a file is required")
	}
	return nil
}

func eachFile(rep *reporter, do func(name string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		for _, name := range args {
			if err := do(name); err != nil {
				rep.fail("", err)
			}
		}
		return nil
	}
}
