package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch/uri"
)

// helpWidth is how many columns the help takes at most.
const helpWidth = 80

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
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command, or with \"all\" every flag",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(commandNames(root), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "all" {
				a.help(root, args)
				return nil
			}
			cmd, _, err := root.Find(args)
			if err != nil || cmd == root {
				names := commandNames(root)
				wrong := failure.Hinted(`there is no command "`+args[0]+`"`, "the commands are "+strings.Join(names, ", "))
				if near := uri.NearestScheme(args[0], names); near != "" {
					wrong.Hint = "did you mean urlget help " + near + " ?"
				}
				return wrong
			}
			a.help(cmd, nil)
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
				return failure.Hinted("completion: want one of "+shells, "urlget completion SHELL --help tells how to use it")
			}
		}
	}
}

// help prints the short help, or that of all flags: of commands, and after "--help all".
func (a *app) help(cmd *cobra.Command, args []string) {
	if !cmd.HasParent() && !slices.Contains(args, "all") {
		io.WriteString(cmd.OutOrStdout(), shortHelp)
		return
	}
	io.WriteString(cmd.OutOrStdout(), longHelp(cmd, a.table))
}

func longHelp(cmd *cobra.Command, table flags.Table) string {
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
	for _, g := range table.Groups(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}
