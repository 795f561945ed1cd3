package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch/uri"
)

// helpWidth is how many columns the help takes at most.
const helpWidth = 80

// A flagGroup is a part of the help. What is in no group is in the last one: flags that belong to
// one protocol.
type flagGroup struct{ title, flags string }

var flagGroups = []flagGroup{
	{"Output", "output-document directory-prefix continue timestamping no-clobber output-file append-output background " +
		"sync quiet no-verbose verbose server-response trace json checksum sha256 content-on-error progress color long human-readable"},
	{"Many", "input-file force-html base jobs parallel per-host segments metalink wait random-wait quota limit-rate limit-rate-per-host keep-going fail-fast"},
	{"Recursive", "recursive level no-parent mirror delete accept reject accept-regex reject-regex accept-type domains " +
		"exclude-domains exclude-directories span-hosts page-requisites convert-links backup-converted adjust-extension execute no-robots sitemaps " +
		"spider crawl-state force-directories no-directories no-host-directories cut-dirs"},
	{"Archive", "warc warc-max-size warc-cdx warc-dedup no-warc-compression replay"},
	{"Request", "header user-agent referer data post-data post-file method form form-file cookies load-cookies save-cookies " +
		"keep-session-cookies range view compressed text-line-ends head"},
	{"Network", "tries timeout connect-timeout read-timeout max-time retry-max-wait max-redirect allow-redirect proxy no-proxy " +
		"proxy-tunnel socks5 inet4-only inet6-only bind-address resolve http1 http2 http3 gateway"},
	{"Trust", "insecure no-check-certificate ca-certificate certificate private-key pinned known-hosts tofu"},
	{"Login", "user password password-file ask-password netrc netrc-file no-netrc identity allow-plaintext-login"},
	{"Limits", "max-size allow-port allow-private"},
	{"Pages", "listen open bookmarks"},
	{"Program", "config no-config help version"},
	{"One protocol", ""},
}

const shortHelp = `Urlget retrieves what URLs name, whatever their scheme.

  urlget URL...            a document becomes a file, a listing is printed
  urlget cat URL...        print the content
  urlget ls [-lhR] URL     list a directory, menu, newsgroup, index or page
  urlget stat URL...       metadata without the content
  urlget explain URL...    what would be done, without a byte sent
  urlget -r|-m|-p URL...   what it leads to as well, as a tree of files
  urlget serve             any URL in the browser, and archives
  urlget warc              look after archives; --warc FILE makes one
  urlget schemes           the schemes that it knows

  -O FILE, -P DIR          save as FILE ("-" is standard output), or in DIR
  -c, -N, -nc              continue a file; only what is newer; keep what exists
  -i FILE                  read URLs from FILE
  -q, -v, -S               say nothing; say more; print the servers' replies
  --json                   events as JSON Lines
  --header 'Name: value'   send a field; -U AGENT names you
  -d DATA, -F NAME=VALUE   send a form; -X METHOD, --post-file FILE
  -u USER:PASSWORD         log in; without it netrc counts
  -t N, -T SECONDS         try N times; wait so long for the network
  --checksum ALGO:HEX      what the file must have
  --proxy URL, --limit-rate SIZE   go through a proxy; SIZE a second, as in 2M

  urlget --help all        every flag, in groups; COMMAND --help has its own
`

// helpCommand returns the command that prints the help of root and of its other commands.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command, or with \"all\" every flag",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(commandNames(root), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "all" {
				help(root, args)
				return nil
			}
			cmd, _, err := root.Find(args)
			if err != nil || cmd == root {
				names := commandNames(root)
				wrong := &usageError{`there is no command "` + args[0] + `"`, "the commands are " + strings.Join(names, ", ")}
				if near := uri.NearestScheme(args[0], names); near != "" {
					wrong.hint = "did you mean urlget help " + near + " ?"
				}
				return wrong
			}
			help(cmd, nil)
			return nil
		},
	}
}

// commandNames returns the names of the commands below root.
func commandNames(root *cobra.Command) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	slices.Sort(names)
	return names
}

// wantShell makes it a mistake to ask for completions without naming a shell.
func wantShell(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			shells := strings.Join(commandNames(cmd), ", ")
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(*cobra.Command, []string) error {
				return &usageError{"completion: want one of " + shells, "urlget completion SHELL --help tells how to use it"}
			}
		}
	}
}

// help prints the short help, or that of all flags: of commands, and after "--help all".
func help(cmd *cobra.Command, args []string) {
	if !cmd.HasParent() && !slices.Contains(args, "all") {
		io.WriteString(cmd.OutOrStdout(), shortHelp)
		return
	}
	io.WriteString(cmd.OutOrStdout(), longHelp(cmd))
}

func longHelp(cmd *cobra.Command) string {
	var b strings.Builder
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", text, cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if !cmd.HasParent() {
		b.WriteString("\nCommands:\n")
		for _, c := range cmd.Commands() {
			if !c.Hidden {
				fmt.Fprintf(&b, "  %-11s %s\n", c.Name(), c.Short)
			}
		}
	}
	for _, g := range groupsOf(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.flags.FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}

// A groupedFlags is a group with its flags.
type groupedFlags struct {
	title string
	flags *pflag.FlagSet
}

// groupsOf returns the groups that flags has something of.
func groupsOf(flags *pflag.FlagSet) []groupedFlags {
	var groups []groupedFlags
	in := make(map[string]int)
	for i, g := range flagGroups {
		set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		set.SortFlags = false
		groups = append(groups, groupedFlags{g.title, set})
		for _, name := range strings.Fields(g.flags) {
			in[name] = i
			if f := flags.Lookup(name); f != nil {
				set.AddFlag(f)
			}
		}
	}
	last := groups[len(groups)-1].flags
	flags.VisitAll(func(f *pflag.Flag) {
		if _, ok := in[f.Name]; !ok {
			last.AddFlag(f)
		}
	})
	return slices.DeleteFunc(groups, func(g groupedFlags) bool { return !g.flags.HasAvailableFlags() })
}

// An optioned value is that of a flag that takes one of some words.
type optioned interface{ options() []string }

func (c *choice[T]) options() []string { return c.words }

// valuesOf are words that flags take besides others.
var valuesOf = map[string][]string{
	"checksum": {"sha256:", "sha512:", "sha1:", "md5:"},
	"execute":  {"robots=off"},
	"level":    {endless},
	"method":   {"GET", "POST", "PUT", "PATCH", "DELETE"},
	"segments": {"auto"},
}

// completeValues lets the shell offer the words that flags take. The schemes are those of
// --allow-redirect.
func completeValues(cmd *cobra.Command, schemes func() []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := valuesOf[f.Name]; words != nil {
			if err := cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
				panic(err)
			}
		}
		if f.Name == "allow-redirect" {
			offer := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return schemes(), cobra.ShellCompDirectiveNoFileComp
			}
			if err := cmd.RegisterFlagCompletionFunc(f.Name, offer); err != nil {
				panic(err)
			}
		}
		if v, ok := f.Value.(optioned); ok {
			words := cobra.FixedCompletions(v.options(), cobra.ShellCompDirectiveNoFileComp)
			if err := cmd.RegisterFlagCompletionFunc(f.Name, words); err != nil {
				panic(err) // there are two
			}
		}
	})
}
