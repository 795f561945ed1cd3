package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

// command returns the command and its subcommands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "urlget [flags] URL...",
		Short: "Retrieve what URLs name, whatever their scheme",
		Long: `Urlget retrieves what URLs name, whatever their scheme. A document becomes a
file in the current directory, a listing is printed, a session is attached to
the terminal. "urlget schemes" lists the schemes.`,
		Example: `  urlget gopher://gopher.example/1/
  urlget -O - 'ftp://ftp.example/pub/README;type=a'
  urlget ls -v gopher://gopher.example/
  urlget -c https://www.example/large.iso
  urlget explain ftp://ftp.example/%2Fetc/motd`,
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
			return a.printVersion()
		}
		if err := a.checkFirstWord(root, args); err != nil {
			return err
		}
		if !a.opts.Head {
			return a.retrieve(cmd, args)
		}
		a.opts.Use(cmd.Flags())
		if err := a.opts.CheckHead(); err != nil {
			return err
		}
		a.opts.Report.Fields = true
		return a.stat(cmd, args)
	}
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) { a.help(cmd, args) })
	root.SetHelpCommand(a.helpCommand(root))
	root.AddCommand(a.urlCommands()...)
	root.AddCommand(a.schemesCommand(), a.serveCommand(), a.versionCommand(), a.warcCommand())
	root.AddCommand(companionCommands()...)
	return root
}

// urlCommands returns the commands whose arguments are URLs.
func (a *app) urlCommands() []*cobra.Command {
	get := &cobra.Command{
		Use:   "get [flags] URL...",
		Short: "Retrieve, as without a command",
		RunE:  a.retrieve,
	}
	cat := &cobra.Command{
		Use:   "cat [flags] URL...",
		Short: "Print the content on standard output, and nothing else",
		RunE: a.orArchives(nil, func(cmd *cobra.Command, args []string) error {
			a.opts.Output.Document, a.opts.Report.Quiet = "-", true
			return a.retrieve(cmd, args)
		}),
	}
	ls := &cobra.Command{
		Use:   "ls [flags] URL...",
		Short: "List the members of a directory, menu, newsgroup or index",
		RunE:  a.orArchives(a.listArchive, a.each(action{op: fetch.OpList, check: a.opts.CheckContinue, prepare: a.prepareLook, do: a.look})),
	}
	stat := &cobra.Command{
		Use:   "stat [flags] URL...",
		Short: "Print the metadata without the content",
		RunE:  a.orArchives(a.describeArchive, a.stat),
	}
	explain := &cobra.Command{
		Use:   "explain [flags] URL...",
		Short: "Tell what would be done, without sending anything",
		RunE:  a.each(action{offline: true, check: a.opts.CheckOutput, do: a.explain}),
	}
	list := []*cobra.Command{get, cat, ls, stat, explain}
	for i, set := range []flags.Commands{flags.Get, flags.Cat, flags.List, flags.Stat, flags.Explain} {
		a.define(list[i], set)
		list[i].ValidArgsFunction = a.completeURL
	}
	return list
}

// retrieve is the body of get.
func (a *app) retrieve(cmd *cobra.Command, args []string) error {
	return a.each(action{op: fetch.OpGet, check: a.opts.CheckOutput, prepare: a.prepareGet, do: a.get})(cmd, args)
}

// stat is the body of stat.
func (a *app) stat(cmd *cobra.Command, args []string) error {
	return a.each(action{op: fetch.OpStat, check: a.opts.CheckContinue, prepare: a.prepareLook, do: a.look})(cmd, args)
}

func (a *app) schemesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "schemes",
		Short:             "List the schemes",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.schemes() },
	}
	a.table.Define(cmd.Flags(), flags.Schemes)
	return cmd
}

// define adds the flags of a command, and what the shell offers as their values, if the command line
// names the command: the flags of all commands would take a third of the time that a small file does.
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
			panic(err) // there are two
		}
	}
	for name, words := range a.table.Completions() {
		offer(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	offer("allow-redirect", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return a.schemeNames(), cobra.ShellCompDirectiveNoFileComp
	})
}

// schemeNames returns the names of the schemes that there are drivers for.
func (n *network) schemeNames() []string {
	client, err := n.newClient()
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range client.Schemes() {
		if s.Can(fetch.OpGet) {
			names = append(names, s.Name)
		}
	}
	return names
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return failure.Usagef("%q is one argument too many", args[0])
	}
	return nil
}

// completeURL completes the scheme of a URL.
func (n *network) completeURL(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	client, err := n.newClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return schemeCompletions(client.Schemes(), begun), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
