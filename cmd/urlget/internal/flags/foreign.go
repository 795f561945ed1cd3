package flags

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A Foreign is flags of wget, curl or aria2 that have another name here, or none. A flag is listed
// once for each of its meanings.
type Foreign struct {
	Of    string // the tool that has them
	Names string // as it writes them, separated by blanks; a "*" at the end stands for any rest
	Here  string // the equivalent, if it is not just the flag in whose row this stands; "" for none
	Note  string // why, or the difference; "" if that is obvious
}

// known reports whether a flag is one of f.
func (f *Foreign) known(name string) bool {
	return slices.ContainsFunc(strings.Fields(f.Names), func(known string) bool {
		if family, ok := strings.CutSuffix(known, "*"); ok {
			return strings.HasPrefix(name, family)
		}
		return name == known
	})
}

// advice says what to use instead of the flag.
func (f *Foreign) advice() string {
	switch {
	case f.Here != "" && f.Note != "":
		return fmt.Sprintf("it is one of %s's; here it is %s: %s", f.Of, f.Here, f.Note)
	case f.Here != "":
		return fmt.Sprintf("it is one of %s's; here it is %s", f.Of, f.Here)
	case f.Note != "":
		return fmt.Sprintf("it is one of %s's; %s", f.Of, f.Note)
	}
	return fmt.Sprintf("it is one of %s's; there is none like it here", f.Of)
}

// Foreign returns the flags of other tools, each with its equivalent here.
func (t Table) Foreign() []Foreign {
	var list []Foreign
	for row := range t.All() {
		for _, f := range row.Foreign {
			f.Here = cmp.Or(f.Here, row.usage())
			list = append(list, f)
		}
	}
	return append(list, elsewhere...)
}

// usage returns the flag as it is typed, with the name of its value.
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

// Unknown returns the error for an unknown flag: the equivalent if it is a flag of another tool, or
// else the flag of set with the most similar name. It returns nil if there is no such flag.
func (t Table) Unknown(name string, set *pflag.FlagSet) error {
	var found []Foreign
	for _, f := range t.Foreign() {
		if !f.known(name) {
			continue
		}
		if n := len(found) - 1; n >= 0 && found[n].Here == f.Here && found[n].Note == f.Note {
			found[n].Of += "'s and " + f.Of
			continue
		}
		found = append(found, f)
	}
	if len(found) > 0 {
		advice := make([]string, len(found))
		for i, f := range found {
			advice[i] = f.advice()
		}
		return failure.Hinted("unknown flag "+name, strings.Join(advice, "; "))
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

// NoURL is the error for a command line without a URL. Perhaps a flag took it.
func (t Table) NoURL(cmd *cobra.Command) error {
	wrong := failure.Hinted("no URL", cmd.CommandPath()+" --help")
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if u, err := uri.ParseLoose(strings.Trim(f.Value.String(), "[]")); err == nil && u.IsAbs() && u.HasAuthority() && f.Name != "referer" && f.Name != "proxy" {
			wrong = failure.Hinted("no URL: --"+f.Name+" took "+fetch.Printable(u.Redacted())+" as its value", cmp.Or(t.Find(f.Name).TookURL, wrong.Hint))
		}
	})
	return wrong
}

const notNeededK = "aria2's -k is not needed: --segments decides how files are split"

// Misread says what an argument that is not a URL would be as the value of a flag that has none here,
// but has one in another tool; "" if there is no such flag.
func (o *Options) Misread(text string) string {
	if o.set != nil && o.set.NArg() < 2 {
		return "" // the URL is missing then, or it is this one
	}
	digits := text != "" && strings.Trim(text, "0123456789") == ""
	ranges, err := ParseRanges(text)
	for _, f := range []struct {
		on   bool
		hint string
	}{
		{o.Tree.Recursive && err == nil && len(ranges) > 0, "curl's -r is --range " + text},
		{o.Tree.Mirror && digits, "curl's -m is --max-time " + text},
		{o.Tree.Force && digits, "aria2's -x is --segments " + text},
		{o.Tree.Force, "curl's -x is --proxy " + text},
		{o.Tree.Convert, notNeededK},
		{o.Report.JSON && strings.HasPrefix(text, "{"), "curl's --json is -d TEXT -H 'Content-Type: application/json'"},
		{o.Output.Continue && text != "-", "curl's -c is --cookies " + text},
		{o.Log.Background, "curl's -b is --load-cookies FILE, or --header 'Cookie: NAME=VALUE'"},
	} {
		if f.on {
			return f.hint
		}
	}
	return ""
}

// Mistake returns the error for a command line that package pflag did not understand.
func (t Table) Mistake(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help lists the flags"
	switch wrong := err.(type) {
	case *pflag.NotExistError:
		name := "--" + wrong.GetSpecifiedName()
		if wrong.GetSpecifiedShortnames() != "" {
			name = name[1:]
		}
		if strings.Trim(name, "-0123456789") == "" && cmd.Flags().Changed("convert-links") {
			return failure.Hinted("-k has no value here", notNeededK)
		}
		if err := t.Unknown(name, cmd.Flags()); err != nil {
			return err
		}
	case *pflag.InvalidValueError:
		return failure.Hinted(wrongValue(wrong), cmp.Or(t.Find(wrong.GetFlag().Name).OtherValue, help))
	}
	return failure.Hinted(err.Error(), help)
}
