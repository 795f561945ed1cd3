package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/config"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

func (p *program) command() *cobra.Command {
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
		ValidArgsFunction: p.completeURL,
		RunE:              p.runs(runRoot),
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if err == pflag.ErrHelp {
			return err
		}
		return p.table.Mistake(cmd, err)
	})
	p.define(flags.Root, root)
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { printHelp(cmd, args, p.table) })
	root.SetHelpCommand(helpCommand(root, p.table))
	for _, c := range []commandRow{
		{"get [flags] URL...", "Retrieve URLs and save them (the default command)", flags.Get, runGet},
		{"cat [flags] URL...", "Print the content on standard output", flags.Cat, orArchives(nil, runCat)},
		{"ls [flags] URL...", "List a directory, menu, newsgroup, page or archive", flags.List,
			orArchives(listArchive, runList)},
		{"stat [flags] URL...", "Print the metadata without the content", flags.Stat,
			orArchives(describeArchive, runStat)},
		{"explain [flags] URL...", "Show what would be done, without sending anything", flags.Explain,
			runExplain},
	} {
		root.AddCommand(p.withFlags(c.set, &cobra.Command{Use: c.use, Short: c.short, RunE: p.runs(c.run)}))
	}
	for _, command := range []func(*program) *cobra.Command{lockCommand, mcpCommand, schemesCommand,
		serveCommand, versionCommand, warcCommand} {
		root.AddCommand(command(p))
	}
	root.AddCommand(queueCommands()...)
	return root
}

type commandRow struct {
	use, short string
	set        flags.Commands
	run        runFunc
}

// A runFunc is the body of a command.
type runFunc func(p *program, cmd *cobra.Command, args []string) error

func (p *program) runs(run runFunc) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return run(p, cmd, args) }
}

// runRoot runs the command without a name: get, or what -V and -I stand for.
func runRoot(p *program, cmd *cobra.Command, args []string) error {
	if p.opts.Version {
		if len(args) > 0 || p.opts.List.File != "" {
			return failure.Hinted("-V prints the version of urlget, and retrieves nothing",
				"aria2's -V is --checksum ALGO:HEX")
		}
		return printVersion(p)
	}
	p.opts.Use(cmd.Flags())
	if err := p.opts.CheckMisplaced(); err != nil {
		return err // before a flag whose value it took
	}
	if err := checkFirstWord(p.opts, commandNames(cmd), args); err != nil {
		return err
	}
	if p.opts.Head {
		p.opts.Report.Fields = true
		return runStat(p, cmd, args)
	}
	return runGet(p, cmd, args)
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

func (p *program) withFlags(set flags.Commands, cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = p.completeURL
	return p.define(set, cmd)
}

// define adds the flags of a command and their completions, if the command line names the command.
// Defining the flags of all commands would take a third of the time of retrieving a small file.
func (p *program) define(set flags.Commands, cmd *cobra.Command) *cobra.Command {
	if p.words != nil && set != flags.Root && !slices.Contains(p.words, cmd.Name()) {
		return cmd
	}
	p.table.Define(cmd.Flags(), set)
	for f := range p.table.All() {
		if p.words != nil && !isCompletion(p.words) {
			break
		}
		var complete cobra.CompletionFunc
		switch words, dirs := f.Completion(); {
		case f.Name == "allow-redirect":
			complete = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return schemeNames(p.net), cobra.ShellCompDirectiveNoFileComp
			}
		case words != nil:
			complete = cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
		case dirs:
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		}
		if complete == nil || cmd.Flags().Lookup(f.Name) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // registered twice
		}
	}
	return cmd
}

func isCompletion(args []string) bool {
	return len(args) > 0 && slices.Contains(
		[]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0])
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.Usagef("unexpected argument %q", args[0])
	}
	return nil
}

func (p *program) completeURL(_ *cobra.Command, _ []string, begun string) (
	[]string, cobra.ShellCompDirective) {
	client, err := p.net.newClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	schemes := schemeCompletions(client.Schemes(), begun)
	if len(schemes) == 0 { // it may be a command, which a blank follows
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return schemes, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// configure sets flags from the configuration file unless the command line sets them.
func (p *program) configure(cmd *cobra.Command) error {
	p.opts.Use(cmd.Flags())
	file, err := config.Read(&p.opts.Config, p.table)
	if err != nil {
		return err
	}
	p.net.config, p.net.archives.private = file, file.HasSecrets(p.table)
	return file.Apply(cmd, p.opts, p.table)
}
