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

// helpWidth is the maximum width of the help in columns.
const helpWidth = 80

const shortHelp = `urlget retrieves URLs of any scheme.

  urlget URL...            save a file, print a listing, or open a session
  urlget cat URL...        print the content
  urlget ls [-lhR] URL     list a directory, menu, newsgroup, page or archive
  urlget stat URL...       print metadata without the content
  urlget explain URL...    show the plan without sending anything
  urlget -r|-m|-p URL...   retrieve a tree, a mirror, or a page with its images
  urlget serve             browse any URL or archive in a web browser
  urlget warc              manage web archives; --warc FILE records one
  urlget schemes           list the supported schemes

  -O FILE, -P DIR          save to FILE ("-" is standard output) or in DIR
  -c, -N, -nc              resume; only if newer; skip existing files
  -i FILE                  read URLs from FILE
  -q, -v, -S               quiet; verbose; print server replies
  --json                   print events as JSON Lines
  --header 'Name: value'   send a header field; -U AGENT sets the user agent
  -d DATA, -F NAME=VALUE   send data or a form; -X METHOD, --post-file FILE
  -u USER:PASSWORD         log in; the default is the netrc file
  -t N, -T SECONDS         set the number of tries and the timeout
  --checksum ALGO:HEX      verify the file
  --proxy URL              use a proxy; --limit-rate SIZE limits the rate

  urlget --help all        list every flag; urlget COMMAND --help
`

func helpCommand(root *cobra.Command, table flags.Table) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print help for a command, or every flag with \"all\"",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(commandNames(root), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "all" {
				printHelp(root, args, table)
				return nil
			}
			if _, err := findQueueProgram(""); err == nil && isQueueCommand(args) {
				return runQueueProgram(append(slices.Clone(args), "--help"))
			}
			cmd, _, err := root.Find(args)
			if err != nil || cmd == root {
				names := commandNames(root)
				wrong := failure.Hinted(`unknown command "`+args[0]+`"`,
					"the commands are: "+strings.Join(names, ", "))
				if near := uri.NearestScheme(args[0], names); near != "" {
					wrong.Hint = "did you mean urlget help " + near + " ?"
				}
				return wrong
			}
			printHelp(cmd, nil, table)
			return nil
		},
	}
}

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

// setCompletion adapts cobra's completion command: it fails without the name of a shell. Other command lines
// get only its name, for lists of commands, because cobra formats the help of each shell.
func (p *program) setCompletion(root *cobra.Command) {
	cmd := &cobra.Command{Run: func(*cobra.Command, []string) {}}
	if slices.Contains(p.words, "completion") {
		root.InitDefaultCompletionCmd()
		cmd, _, _ = root.Find([]string{"completion"})
		bash, _, _ := cmd.Find([]string{"bash"})
		bash.RunE = func(cmd *cobra.Command, _ []string) error { return printBashCompletion(cmd.Root()) }
		shells := strings.Join(commandNames(cmd), ", ")
		cmd.Long = "Print the completion script for a shell: " + shells +
			".\nurlget completion SHELL --help explains how to load it."
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(*cobra.Command, []string) error {
			return failure.Hinted("completion requires a shell: "+shells,
				"see urlget completion SHELL --help")
		}
	} else {
		root.AddCommand(cmd)
	}
	cmd.Use, cmd.Short = "completion SHELL", "Print the completion script for a shell"
}

// printBashCompletion prints the script for bash. Without the package bash-completion, whose functions
// it calls, it offers nothing, instead of an error of bash at each TAB.
func printBashCompletion(root *cobra.Command) error {
	var b strings.Builder
	if err := root.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	const start = "__start_urlget()\n{\n"
	_, err := io.WriteString(root.OutOrStdout(), strings.Replace(b.String(), start,
		start+"    declare -F _get_comp_words_by_ref >/dev/null || return\n", 1))
	return err
}

// printHelp prints the help of cmd: the short help of the root command, or the list of all flags for
// subcommands and for "--help all".
func printHelp(cmd *cobra.Command, args []string, table flags.Table) {
	if !cmd.HasParent() && !slices.Contains(args, "all") {
		io.WriteString(cmd.OutOrStdout(), shortHelp)
		return
	}
	io.WriteString(cmd.OutOrStdout(), longHelp(cmd, table))
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
	if f := cmd.Flags().Lookup("help"); f != nil {
		f.Usage = "print this help"
	}
	for _, g := range table.Groups(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n%s", g.Title, g.Flags.FlagUsagesWrapped(helpWidth))
	}
	return b.String()
}
