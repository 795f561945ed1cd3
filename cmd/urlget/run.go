package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/urlget/urlget/crawl/schedule"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/render"
	"github.com/urlget/urlget/fetch/uri"
)

// stdio is where the command reads and writes.
type stdio struct{ in, out, err *os.File }

// An app is one run of the command.
type app struct {
	std    stdio
	set    settings
	con    *console            // standard error
	events *render.EventWriter // nil if there are none
	steps  bool                // report every step, not only failures
	prompt prompt
	typed  typed
	input  input
	words  []string       // the command line; nil: flags of all commands are defined
	more   []fetch.Loader // schemes in addition to the built-in ones
	client *fetch.Client
	about  uri.URI // the URL of explain or of a session, which are not jobs
	exit   exit
	hosts  *schedule.Scheduler
	batch  *batch
	// inOrder says that there is one transfer at a time.
	inOrder bool
	tally   tally

	seeds   []seed   // of a mirror
	config  *config  // the configuration file; nil before it was read
	sums    *sumFile // of --checksum; nil if it names none
	logFile *os.File // of -o and -a

	files  *download.Downloader
	out    destination // for what is retrieved
	writer io.Writer   // of the content; nil for files
	device *os.File    // the writer, if it must be closed

	terminal sync.Mutex // held by who asks or attaches the user
	stdout   sync.Mutex // held by who prints a listing
	archives archives
}

// grace is how long the command may take to end after a signal.
const grace = time.Second

// oneTouch is the time within which a second signal counts as the same: a bouncing key, or a
// terminal and a supervisor that both pass it on.
const oneTouch = 300 * time.Millisecond

// interruptible runs the command until it ends or a signal asks it to end. Work in progress is then
// abandoned in an orderly way; a second signal ends the command at once. Contexts cannot interrupt
// a write to a pipe that nobody reads, or the opening of a named pipe without a reader: goroutines
// stuck there are left behind.
func interruptible(args []string, std stdio, more ...fetch.Loader) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // as under nohup
			signal.Notify(signals, sig)
		}
	}
	again := make(chan struct{})
	go func() {
		<-signals
		first := time.Now()
		cancel(fetch.ErrInterrupted)
		for range signals {
			if time.Since(first) > oneTouch {
				close(again)
				return
			}
		}
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
	case <-again:
	case <-time.After(grace):
	}
	return exitInterrupted
}

// run runs the command with its arguments and returns its exit status. The loaders add schemes to
// the built-in ones.
func run(ctx context.Context, args []string, std stdio, more ...fetch.Loader) int {
	con := &console{w: std.err}
	if term.IsTerminal(int(std.err.Fd())) {
		con.screen = std.err
	}
	a := &app{std: std, words: args, more: more, con: con, prompt: prompt{std.err, con.alone}, input: input{from: std.in}}
	root := a.command()
	var err error
	if isCompanions(args) {
		err = runCompanion(args)
	} else if args, err = splitShort(args, root.Flags()); err == nil {
		wantShell(root)
		root.SetArgs(args)
		root.SetIn(std.in)
		help := &writer{w: std.out}
		root.SetOut(help)
		root.SetErr(std.err)
		if err = root.ExecuteContext(ctx); err == nil {
			err = fileError(help.err)
		}
	}
	if errors.As(err, new(*fs.PathError)) { // of a command that knows nothing of classes
		err = fileError(err)
	}
	if err != nil {
		a.fail("", a.config.blame(err))
	}
	if err := a.closeOutput(); err != nil {
		a.fail("", err)
	}
	if a.client != nil {
		a.client.Close()
	}
	if err := a.archives.close(); err != nil {
		a.fail("", err)
	}
	return a.exit.status()
}

// A writer remembers the first error, for callers that do not check.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// fail reports err and, if it is the first, makes it determine the exit status.
func (a *app) fail(subject string, err error) { a.failed(-1, "", subject, err) }

// failed is fail for what was given as the one with that number, which counts as the first if those
// before it end well, whenever they end. place is where in a list it was given, or "".
func (a *app) failed(number int, place, subject string, err error) {
	status := exitStatus(err)
	if status == exitOK {
		return
	}
	err = inWords(err)
	a.exit.failed(number, status)
	if a.events != nil && (subject != "" || place != "") { // a line of a list may have no URL
		ev := render.Failed(subject, err, status)
		ev.Hint = hintOf(err)
		a.write(ev)
	}
	name := cmp.Or(subject, place)
	switch {
	case name == "":
	case fetch.CodeOf(err) == fetch.ErrInterrupted:
		a.tally.brokenOff()
	default:
		a.tally.fail(name)
	}
	printError(a.con.prose(), a.con.paint, place, subject, err)
	if wanted := (*fetch.FormError)(nil); errors.As(err, &wanted) {
		render.Form(a.con, &wanted.Form)
	}
}

// withContent are flags that --head would leave without effect, as stat has none of them.
var withContent = []string{"output-document", "directory-prefix", "continue", "timestamping", "no-clobber", "checksum", "sha256", "range",
	"content-on-error", "recursive", "mirror", "page-requisites", "spider", "metalink"}

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
		RunE:              a.each(action{op: fetch.OpGet, check: a.checkOutput, prepare: a.prepareGet, do: a.get}),
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		if none := (*pflag.NotExistError)(nil); errors.As(err, &none) {
			name := "--" + none.GetSpecifiedName()
			if none.GetSpecifiedShortnames() != "" {
				name = name[1:]
			}
			if strings.Trim(name, "-0123456789") == "" && cmd.Flags().Changed("convert-links") {
				return &usageError{"-k has no value here", notNeededK}
			}
			if err := unknownFlag(name, cmd.Flags()); err != nil {
				return err
			}
		}
		if value := (*pflag.InvalidValueError)(nil); errors.As(err, &value) {
			return &usageError{flagWords(value), cmp.Or(otherValues[value.GetFlag().Name], cmd.CommandPath()+" --help lists the flags")}
		}
		return &usageError{err.Error(), cmd.CommandPath() + " --help lists the flags"}
	})
	a.define(root, addFlags, addOutputFlags, addRetrievalFlags, addAcceptedFlags, addManyFlags, addTreeFlags, addNetworkFlags, addPolicyFlags, addArchiveFlags)
	wanted := root.Flags().BoolP("version", "V", false, "print the version")
	head := root.Flags().BoolP("head", "I", false, "print the metadata and the reply's fields, without the content")
	retrieveEach := root.RunE
	retrieve := func(cmd *cobra.Command, args []string) error {
		if err := retrieveEach(cmd, args); err != nil {
			return err
		}
		return a.mirror(cmd.Context())
	}
	describe := a.each(action{op: fetch.OpStat, check: a.checkGoOn, prepare: a.prepareLook, do: a.look})
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *wanted {
			return a.printVersion()
		}
		if err := a.set.checkFirstWord(root, args); err != nil {
			return err
		}
		if *head {
			for _, name := range withContent {
				if root.Flags().Changed(name) && !(name == "continue" && a.set.archive.warc != "") {
					return usage("--head brings no content, and --%s is about it", name)
				}
			}
			a.set.fields = true
			return describe(cmd, args)
		}
		return retrieve(cmd, args)
	}
	get := &cobra.Command{
		Use:   "get [flags] URL...",
		Short: "Retrieve, as without a command",
		RunE:  retrieve,
	}
	cat := &cobra.Command{
		Use:   "cat [flags] URL...",
		Short: "Print the content on standard output, and nothing else",
		RunE: a.orArchives(nil, func(cmd *cobra.Command, args []string) error {
			a.set.output, a.set.quiet = "-", true
			return retrieve(cmd, args)
		}),
	}
	ls := &cobra.Command{
		Use:   "ls [flags] URL...",
		Short: "List the members of a directory, menu, newsgroup or index",
		RunE:  a.orArchives(a.listArchive, a.each(action{op: fetch.OpList, check: a.checkGoOn, prepare: a.prepareLook, do: a.look})),
	}
	stat := &cobra.Command{
		Use:   "stat [flags] URL...",
		Short: "Print the metadata without the content",
		RunE:  a.orArchives(a.describeArchive, describe),
	}
	explain := &cobra.Command{
		Use:   "explain [flags] URL...",
		Short: "Tell what would be done, without sending anything",
		RunE:  a.each(action{offline: true, check: a.checkOutput, do: a.explain}),
	}
	a.defineNamed(get, addFlags, addOutputFlags, addRetrievalFlags, addAcceptedFlags, addManyFlags, addTreeFlags, addNetworkFlags, addPolicyFlags, addArchiveFlags)
	a.defineNamed(cat, addFlags, addRetrievalFlags, addAcceptedFlags, addNetworkFlags, addPolicyFlags, addArchiveFlags)
	a.defineNamed(ls, addListFlags, addFlags, addNetworkFlags, addPolicyFlags, addArchiveFlags, addGoOnFlag)
	a.defineNamed(stat, addFlags, addNetworkFlags, addPolicyFlags, addArchiveFlags, addGoOnFlag)
	a.defineNamed(explain, addFlags, addOutputFlags, addExistingFlags, addManyFlags, addTreeFlags, addNetworkFlags, addPolicyFlags)
	for _, cmd := range []*cobra.Command{get, cat, ls, stat, explain} {
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
	root.SetHelpFunc(help)
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(get, cat, ls, stat, explain, schemes, a.serveCommand(), a.versionCommand(), a.warcCommand())
	root.AddCommand(companionCommands()...)
	return root
}

// defineNamed adds groups of flags to a subcommand if the command line names it: the flags of all
// subcommands would take a third of the time that a small file does.
func (a *app) defineNamed(cmd *cobra.Command, groups ...func(*pflag.FlagSet, *settings)) {
	if a.words == nil || slices.Contains(a.words, cmd.Name()) {
		a.define(cmd, groups...)
	}
}

// define adds groups of flags to a command, in order.
func (a *app) define(cmd *cobra.Command, groups ...func(*pflag.FlagSet, *settings)) {
	f := cmd.Flags()
	f.SortFlags = false
	for _, add := range groups {
		add(f, &a.set)
	}
	completeValues(cmd, a.schemeNames)
}

// schemeNames returns the names of the schemes that there are drivers for.
func (a *app) schemeNames() []string {
	client, err := a.newClient()
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

func noArguments(args []string) error {
	if len(args) > 0 {
		return usage("%q is one argument too many", args[0])
	}
	return nil
}

// completeURL completes the scheme of a URL.
func (a *app) completeURL(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	client, err := a.newClient()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return schemeCompletions(client.Schemes(), begun), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
