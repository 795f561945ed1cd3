package flags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch/uri"
)

// A Foreign lists flags of wget, curl or aria2 that have another name here or no equivalent. A flag
// is listed once per meaning.
type Foreign struct {
	Of    string // name of the tool
	Names string // separated by blanks; a trailing "*" matches any suffix
	Here  string // equivalent, if it is not the flag of the row; "" for none
	Note  string // reason or difference; may be ""
}

func (f *Foreign) known(name string) bool {
	return slices.ContainsFunc(strings.Fields(f.Names), func(known string) bool {
		if family, ok := strings.CutSuffix(known, "*"); ok {
			return strings.HasPrefix(name, family)
		}
		return name == known
	})
}

func (f *Foreign) advice() string {
	switch {
	case f.Here != "" && f.Note != "":
		return fmt.Sprintf("a flag of %s; use %s: %s", f.Of, f.Here, f.Note)
	case f.Here != "":
		return fmt.Sprintf("a flag of %s; use %s", f.Of, f.Here)
	case f.Note != "":
		return fmt.Sprintf("a flag of %s; %s", f.Of, f.Note)
	}
	return fmt.Sprintf("a flag of %s; urlget has no equivalent", f.Of)
}

// Foreign returns the flags of other tools with their equivalents.
func (t Table) Foreign() []Foreign {
	var list []Foreign
	for row := range t.All() {
		for _, f := range row.Foreign {
			f.Here = cmp.Or(f.Here, row.usage())
			list = append(list, f)
		}
	}
	return append(list, foreignFlags...)
}

// usage returns the flag with the name of its value, such as "-O FILE".
func (f *Flag) usage() string {
	typed := "--" + f.Name
	if f.Short != "" {
		typed = "-" + f.Short
	}
	if _, rest, ok := strings.Cut(f.Help, "`"); ok {
		value, _, _ := strings.Cut(rest, "`")
		typed += " " + value
	}
	return typed
}

// advice returns the equivalents of a flag of other tools, or "" if it is none.
func (t Table) advice(name string) string {
	var found []Foreign
	for _, f := range t.Foreign() {
		if !f.known(name) {
			continue
		}
		if n := len(found) - 1; n >= 0 && found[n].Here == f.Here && found[n].Note == f.Note {
			found[n].Of += " and " + f.Of
			continue
		}
		found = append(found, f)
	}
	advice := make([]string, len(found))
	for i, f := range found {
		advice[i] = f.advice()
	}
	return strings.Join(advice, "; ")
}

// Unknown returns the error for an unknown flag: the equivalent if it is a flag of another tool, or
// else the flag of set with the most similar name. It returns nil if there is no such flag.
func (t Table) Unknown(name string, set *pflag.FlagSet) error {
	if advice := t.advice(name); advice != "" {
		return failure.Hinted("unknown flag "+name, advice)
	}
	if f := t.Find(strings.TrimPrefix(name, "--")); f.Elsewhere != "" {
		return failure.Hinted("unknown flag "+name, f.Elsewhere)
	}
	if advice := t.advice(strings.TrimPrefix(name, "-")); advice != "" { // lynx --dump
		return failure.Hinted("unknown flag "+name, advice)
	}
	if near := Nearest(strings.TrimLeft(name, "-"), set); near != "" && strings.HasPrefix(name, "--") {
		return failure.Hinted("unknown flag "+name, "did you mean --"+near+"?")
	}
	return nil
}

// Nearest returns the name of the flag most similar to name, or "" if none is similar. Flags are
// mistyped in the same way as schemes.
func Nearest(name string, set *pflag.FlagSet) string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return uri.NearestScheme(name, names)
}

// NoURL returns the error for a command line without a URL. A flag may have taken it as its value.
func (t Table) NoURL(cmd *cobra.Command) error {
	wrong := failure.Hinted("no URL", "see "+cmd.CommandPath()+" --help")
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if isURL(value) && f.Name != "referer" && f.Name != "proxy" {
			wrong = failure.Hinted("no URL: --"+f.Name+" took "+redacted(value)+" as its value",
				cmp.Or(t.Find(f.Name).Other, wrong.Hint))
		}
	})
	return wrong
}

const notNeededK = "aria2's -k is not needed: --segments sets how files are split"

// lftpCommands are the first words of a value of lftp's -c or -e.
var lftpCommands = []string{"get", "mget", "pget", "mirror", "open", "cd", "ls", "cls"}

// Misread returns a hint for an argument that is not a URL but may be the value of a flag that takes
// a value only in another tool. It returns "" if no such flag is set.
func (o *Options) Misread(text string) string {
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if rest != "" && slices.Contains(lftpCommands, verb) {
		return "for lftp's -c and -e, use urlget URL, urlget ls URL, or urlget -m URL"
	}
	if o.Given("fail") && !strings.ContainsAny(text, ".:/") {
		return "yt-dlp's -f and lftp's -f have no equivalent; curl's -f takes no value"
	}
	if o.set != nil && o.set.NArg() < 2 {
		return "" // the only argument is the URL itself
	}
	digits := text != "" && strings.Trim(text, "0123456789") == ""
	_, notRanges := ParseRanges(text)
	for _, f := range []struct {
		on   bool
		hint string
	}{
		{o.Tree.Recursive && notRanges == nil, "curl's -r is --range " + text},
		{o.Tree.Mirror && digits, "curl's -m is --max-time " + text + "; aria2's -m is -t " + text},
		{o.Tree.Requisites && digits,
			"lftp's -p is part of the URL: the port follows the host, as in ftp://HOST:" + text + "/"},
		{o.Tree.Requisites, "HTTPie's -p is -S for the reply, and --trace for both directions"},
		{o.Tree.AdjustExtension, "curl's -E is --certificate " + text},
		{o.Tree.Convert, notNeededK},
		{o.Report.JSON && strings.HasPrefix(text, "{"),
			"curl's --json is -d TEXT -H 'Content-Type: application/json'"},
		{o.Output.Continue && (text == "true" || text == "false"), "aria2's -c takes no value here"},
		{o.Output.Continue && text != "-", "curl's -c is --cookies " + text},
		{o.Report.Trace, "curl's --trace FILE is --trace, which writes to standard error"},
		{o.Log.Background, "curl's -b is --load-cookies FILE, or --header 'Cookie: NAME=VALUE'"},
	} {
		if f.on {
			return f.hint
		}
	}
	return ""
}

// Mistake returns the usage error for an error of package pflag.
func (t Table) Mistake(cmd *cobra.Command, err error) error {
	help := "see " + cmd.CommandPath() + " --help"
	switch wrong := err.(type) {
	case *pflag.NotExistError:
		name := "--" + wrong.GetSpecifiedName()
		if wrong.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		if strings.Trim(name, "-0123456789") == "" && cmd.Flags().Changed("convert-links") {
			return failure.Hinted("-k takes no value here", notNeededK)
		}
		if err := t.Unknown(name, cmd.Flags()); err != nil {
			return err
		}
	case *pflag.ValueRequiredError:
		help = cmp.Or(t.Find(wrong.GetFlag().Name).Other, help)
	case *pflag.InvalidValueError:
		return failure.Hinted(wrongValue(wrong), cmp.Or(t.Find(wrong.GetFlag().Name).Other, help))
	}
	return failure.Hinted(err.Error(), help)
}

func wrongValue(e *pflag.InvalidValueError) string {
	want := e.Unwrap().Error()
	switch {
	case errors.Is(e, strconv.ErrRange):
		want = "the number is too large"
	case errors.Is(e, strconv.ErrSyntax):
		want = "must be a number"
		if e.GetFlag().Value.Type() == "bool" {
			want = "takes no value but true or false"
		}
	}
	return fmt.Sprintf("--%s: %s: %q", e.GetFlag().Name, want, e.GetValue())
}
