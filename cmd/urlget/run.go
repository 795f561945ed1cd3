package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// stdio is where the command reads and writes.
type stdio struct{ in, out, err *os.File }

// An app is one run of the command.
type app struct {
	std    stdio
	set    settings
	con    *console            // standard error
	events *render.EventWriter // nil if none are wanted
	prompt prompt
	typed  typed
	rate   fetch.Middleware // nil for no limit
	input  input
	more   []fetch.Loader // schemes beside the built-in ones
	client *fetch.Client
	job    *job // in work
	status int  // of the first failure
}

// grace is how long the command may take to end once a signal has asked it to.
const grace = time.Second

// interruptible runs the command until it ends or a signal asks it to. What is
// in work is then given up in good order; a second signal ends it at once. No
// context ends a write to a pipe that nobody reads, or the wait for a reader
// of a named one: what is stuck in such is left behind.
func interruptible(args []string, std stdio, more ...fetch.Loader) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // as under nohup
			signal.Notify(signals, sig)
		}
	}
	go func() {
		<-signals
		signal.Stop(signals)
		cancel(fetch.ErrInterrupted)
	}()
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, std, more...) }()
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	select {
	case status := <-ended:
		return status
	case <-time.After(grace):
		return exitInterrupted
	}
}

// run runs the command with its arguments and returns its exit status. The
// loaders add schemes to the built-in ones.
func run(ctx context.Context, args []string, std stdio, more ...fetch.Loader) int {
	a := &app{std: std, more: more, con: &console{w: std.err}, prompt: prompt{std.err}, input: input{from: std.in}}
	root := a.command()
	args, err := splitShort(args, root.Flags())
	if err == nil {
		root.SetArgs(args)
		root.SetIn(std.in)
		root.SetOut(std.out)
		root.SetErr(std.err)
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		a.fail("", err)
	}
	if a.client != nil {
		a.client.Close()
	}
	return a.status
}

// fail reports err, and makes it the exit status if it is the first.
func (a *app) fail(subject string, err error) {
	status := exitStatus(err)
	if status == exitOK {
		return
	}
	if a.status == exitOK {
		a.status = status
	}
	if a.events != nil && subject != "" {
		a.emit(render.Failed(subject, err, status))
	}
	printError(a.con, subject, err)
}

// command returns the command with its subcommands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "urlget [flags] URL...",
		Short: "Retrieve what URLs name, whatever their scheme",
		Long: `Urlget retrieves what URLs name, whatever their scheme. A document becomes a file
in the current directory, a listing is printed, a session is attached to the
terminal. "urlget schemes" lists the schemes.`,
		Example: `  urlget gopher://gopher.example/1/
  urlget -O - 'ftp://ftp.example/pub/README;type=a'
  urlget ls -v gopher://gopher.example/
  urlget -c https://www.example/large.iso
  urlget explain ftp://ftp.example/%2Fetc/motd`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		ValidArgsFunction: a.completeURL,
		RunE:              a.each(a.get, func() error { return a.checkOutput() }),
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return &usageError{err.Error(), cmd.CommandPath() + " --help lists the flags"}
	})
	a.define(root, addFlags, addOutputFlags, addRetrievalFlags, addNetworkFlags, addPolicyFlags)
	version := root.Flags().BoolP("version", "V", false, "print the version")
	retrieve := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			_, err := a.std.out.WriteString("urlget " + programVersion() + "\n")
			return fileError(err)
		}
		return retrieve(cmd, args)
	}
	ls := &cobra.Command{
		Use:   "ls [flags] URL...",
		Short: "List the members of a directory, menu, newsgroup or index",
		RunE:  a.each(a.list, nil),
	}
	stat := &cobra.Command{
		Use:   "stat [flags] URL...",
		Short: "Print the metadata without the content",
		RunE:  a.each(a.stat, nil),
	}
	explain := &cobra.Command{
		Use:   "explain [flags] URL...",
		Short: "Tell what would be done, without sending anything",
		RunE:  a.each(a.explain, nil),
	}
	a.define(ls, addFlags, addNetworkFlags, addPolicyFlags)
	a.define(stat, addFlags, addNetworkFlags, addPolicyFlags)
	a.define(explain, addFlags, addOutputFlags, addNetworkFlags, addPolicyFlags)
	for _, cmd := range []*cobra.Command{ls, stat, explain} {
		cmd.ValidArgsFunction = a.completeURL
	}
	schemes := &cobra.Command{
		Use:               "schemes",
		Short:             "List the schemes",
		Args:              func(_ *cobra.Command, args []string) error { return noArguments(args) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return a.schemes() },
	}
	schemes.Flags().BoolVar(&a.set.json, "json", false, "print JSON Lines")
	root.AddCommand(ls, stat, explain, schemes)
	return root
}

// define gives a command groups of flags, in their order.
func (a *app) define(cmd *cobra.Command, groups ...func(*pflag.FlagSet, *settings)) {
	f := cmd.Flags()
	f.SortFlags = false
	for _, add := range groups {
		add(f, &a.set)
	}
}

func noArguments(args []string) error {
	if len(args) > 0 {
		return usage("%q is one argument too many", args[0])
	}
	return nil
}

// completeURL offers the schemes for the beginning of a URL.
func (a *app) completeURL(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	client, err := a.newClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return schemeCompletions(client.Schemes(), begun), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// programVersion returns the version that the program was built as.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown version)"
	}
	return info.Main.Version
}
