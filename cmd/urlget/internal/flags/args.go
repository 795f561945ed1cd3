package flags

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

// Split rewrites wget's two-letter flags, such as -nc, for pflag, which supports only single
// letters: "-qnc" becomes "-q --no-clobber". Values of flags are not changed.
func (t Table) Split(args []string, set *pflag.FlagSet) ([]string, error) {
	out := make([]string, 0, len(args)+1)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...), nil
		}
		if meant := withHyphens(arg, set); meant != arg {
			return nil, failure.Hinted(arg+" starts with a dash that is not a hyphen", "did you mean "+meant+" ?")
		}
		takesNext := false
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			f := set.Lookup(name) // nil for --name=value
			takesNext = f != nil && f.NoOptDefVal == ""
		} else if len(arg) > 1 && arg[0] == '-' {
			var extra string
			var err error
			if arg, extra, takesNext, err = t.splitCluster(arg, set); err != nil {
				return nil, err
			}
			if extra != "" {
				out = append(out, extra)
			}
		}
		if arg != "-" || args[i] == "-" {
			out = append(out, arg)
		}
		if takesNext && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out, nil
}

// splitCluster examines the letters of one argument. It returns the argument without a two-letter
// flag, the long form of that flag, and whether the next argument is a value.
func (t Table) splitCluster(arg string, set *pflag.FlagSet) (rest, long string, takesNext bool, err error) {
	if letters := arg[1:]; len(letters) > 1 && strings.Contains(letters, "s") && strings.Trim(letters, "fsSLJO") == "" {
		if strings.Contains(letters, "O") {
			return "-qO", "", true, nil // -O requires a name here
		}
		return "-q", "", false, nil // curl -fsSL: the rest is the default here
	}
	for j := 1; j < len(arg); j++ {
		if arg[j] == 'n' {
			long := t.pair(arg[j:])
			if long == "" {
				if err := t.Unknown("-"+arg[j:], set); err != nil {
					return "", "", false, err
				}
				return "", "", false, failure.Usagef("unknown flag -%s", arg[j:])
			}
			return arg[:j], long, false, nil
		}
		f := set.ShorthandLookup(arg[j : j+1])
		if digits := arg[j+1:]; f != nil && f.Name == "force-directories" && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return arg[:j], "--segments=" + digits, false, nil // as in aria2
		}
		if f != nil && f.NoOptDefVal == "" {
			if value := arg[j+1:]; f.Name == "output-document" && value != "" && strings.Trim(value, "JLRSfs") == "" {
				return "", "", false, failure.Hinted("-O"+value+" looks like curl flags",
					"curl's -O is the default here; use -O ./"+value+" to save as "+value)
			}
			return arg, "", j == len(arg)-1, nil
		}
	}
	return arg, "", false, nil
}

// dashes are the characters that word processors and web pages substitute for hyphens.
const dashes = "\u2010\u2011\u2012\u2013\u2014\u2212"

// withHyphens returns an argument that starts with such a dash as the intended flag.
func withHyphens(arg string, set *pflag.FlagSet) string {
	rest := strings.TrimLeft(arg, "-"+dashes)
	if rest == "" || !strings.ContainsAny(arg[:len(arg)-len(rest)], dashes) {
		return arg
	}
	name, _, _ := strings.Cut(rest, "=")
	if set.Lookup(name) != nil && len(name) > 1 {
		return "--" + rest
	}
	return "-" + rest
}

// pair returns the long form of a two-letter wget flag, or "".
func (t Table) pair(letters string) string {
	for f := range t.All() {
		if f.Pair == letters {
			return "--" + f.Name
		}
	}
	return ""
}
