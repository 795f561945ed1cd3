package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

// command returns the root command with its subcommands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "urlget [flags] URL...",
		Short: "Retrieve URLs of any scheme",
		Long: `urlget retrieves URLs of any scheme: http, ftp, sftp, gopher, news and more.
Files are saved in the current directory, listings are printed, and sessions
are attached to the terminal. Run "urlget schemes" for the list of schemes.`,
		Example:           rootExamples,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		ValidArgsFunction: a.completeURL,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if err == pflag.ErrHelp {
			return err
		}
		return a.table.Mistake(cmd, err)
	})
	a.define(root, flags.Root)
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if a.opts.Version {
			if len(args) > 0 || a.opts.List.File != "" {
				return failure.Hinted("-V prints the version of urlget, and retrieves nothing", "aria2's -V is --checksum ALGO:HEX")
			}
			return a.printVersion()
		}
		if err := a.checkFirstWord(root, args); err != nil {
			return err
		}
		if a.opts.Head {
			a.opts.Report.Fields = true
			return a.runStat(cmd, args)
		}
		return a.runGet(cmd, args)
	}
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { a.help(cmd, args) })
	root.SetHelpCommand(a.helpCommand(root))
	root.AddCommand(a.getCommand(), a.catCommand(), a.listCommand(), a.statCommand(), a.explainCommand())
	root.AddCommand(a.lockCommand(), a.mcpCommand(), a.schemesCommand(), a.serveCommand(), a.versionCommand(), a.warcCommand())
	root.AddCommand(queueCommands()...)
	return root
}

// rootExamples are the examples in the man page. A test runs each of them on a local server, as if it
// were www.example.
const rootExamples = `  urlget https://www.example/large.iso                 # save a file
  urlget -c https://www.example/large.iso              # resume it
  urlget -s auto https://www.example/large.iso         # in parallel ranges
  urlget -O - https://www.example/list.txt             # print the content
  urlget cat https://www.example/list.txt | sort       # the same, in a pipe
  urlget -P downloads -i urls.txt -j 8                 # a list, 8 at once
  urlget --glob-ranges 'https://www.example/[1-3].txt' # a range of URLs
  urlget ls -l https://www.example/files/              # list a directory
  urlget stat https://www.example/large.iso            # metadata
  urlget explain https://www.example/large.iso         # the plan; sends nothing
  urlget -m -np https://www.example/files/             # mirror a tree
  urlget -r -l 2 -A .txt https://www.example/files/    # only some files
  urlget -p -k https://www.example/page.html           # a page to read offline
  urlget --warc site -r https://www.example/files/     # record an archive
  urlget --replay site.warc.gz -O - https://www.example/files/a.txt
  urlget -d name=value -O - https://www.example/form   # send a form
  urlget --json https://www.example/list.txt           # events for programs`

// withFlags adds flags and URL completion to cmd.
func (a *app) withFlags(set flags.Commands, cmd *cobra.Command) *cobra.Command {
	a.define(cmd, set)
	cmd.ValidArgsFunction = a.completeURL
	return cmd
}

// define adds the flags of a command and their completions, if the command line names the command.
// Defining the flags of all commands would take a third of the time of retrieving a small file.
func (a *app) define(cmd *cobra.Command, command flags.Commands) {
	if a.words != nil && command != flags.Root && !slices.Contains(a.words, cmd.Name()) {
		return
	}
	a.table.Define(cmd.Flags(), command)
	offer := func(name string, complete cobra.CompletionFunc) {
		if cmd.Flags().Lookup(name) == nil {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(err) // registered twice
		}
	}
	for name, words := range a.table.Completions() {
		offer(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	for _, name := range a.table.Dirs() {
		offer(name, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	}
	offer("allow-redirect", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.schemeNames(), cobra.ShellCompDirectiveNoFileComp
	})
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.Usagef("unexpected argument %q", args[0])
	}
	return nil
}

// completeURL completes the scheme of a URL.
func (n *network) completeURL(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	client, err := n.newClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	schemes := schemeCompletions(client.Schemes(), begun)
	if len(schemes) == 0 { // it may be a command, which a blank follows
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return schemes, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
