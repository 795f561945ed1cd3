// Package manpages writes the man pages of a command and its subcommands.
package manpages

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// Options configure the pages.
type Options struct {
	Version string
	// Groups returns the flags of a command for the section OPTIONS.
	Groups func(*cobra.Command) []Group
	// Sections returns the sections between OPTIONS and SEE ALSO, in roff. Each begins with a line
	// break.
	Sections func(*cobra.Command) string
	// Skip reports whether to skip a command and its subcommands.
	Skip func(*cobra.Command) bool
}

// A Group is a group of flags with a title, which may be empty.
type Group struct {
	Title string
	Flags *pflag.FlagSet
}

// Write writes a page for cmd and each of its subcommands to the directory dir.
func Write(dir string, cmd *cobra.Command, opts Options) error {
	if opts.Skip != nil && opts.Skip(cmd) {
		return nil
	}
	for _, c := range cmd.Commands() {
		if err := Write(dir, c, opts); err != nil {
			return err
		}
	}
	cmd.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "urlget " + opts.Version, Manual: "User Commands"}
	var page bytes.Buffer
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return err
	}
	text := withOptions(page.String(), opts.Groups(cmd))
	sections := opts.Sections(cmd)
	if i := strings.Index(text, "\n.SH SEE ALSO"); i >= 0 {
		text = text[:i] + sections + text[i+1:]
	} else {
		text += sections
	}
	text = strings.Replace(text, "\n.SH EXAMPLE\n", "\n.SH EXAMPLES\n", 1)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666)
}

// withOptions replaces the options of a page by groups, as in --help.
func withOptions(text string, groups []Group) string {
	i := strings.Index(text, "\n.SH OPTIONS\n")
	if i < 0 {
		return text
	}
	rest := ""
	if j := strings.Index(text[i+1:], "\n.SH "); j >= 0 {
		rest = text[i+1+j:]
		for strings.HasPrefix(rest, "\n.SH OPTIONS INHERITED") {
			rest = rest[1:]
			rest = rest[max(strings.Index(rest, "\n.SH "), 0):]
		}
	}
	var b strings.Builder
	b.WriteString(text[:i] + "\n.SH OPTIONS\n")
	for _, g := range groups {
		if g.Title != "" {
			fmt.Fprintf(&b, ".SS %s\n", g.Title)
		}
		g.Flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				writeOption(&b, f)
			}
		})
	}
	return b.String() + rest
}

func writeOption(b *strings.Builder, f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	name := `\fB\-\-` + roff(f.Name) + `\fP`
	if f.Shorthand != "" {
		name = `\fB\-` + f.Shorthand + `\fP, ` + name
	}
	if value != "" && f.Value.Type() != "bool" {
		name += ` \fI` + roff(value) + `\fP`
	}
	fmt.Fprintf(b, ".TP\n%s\n%s.\n", name, roff(strings.TrimSuffix(usage, ".")))
}

// roff escapes text for roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, "'") || strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
