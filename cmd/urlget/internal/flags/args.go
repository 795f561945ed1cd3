package flags

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

// Split rewrites wget's two-letter flags, such as -nc, for pflag, which supports only single
// letters: "-qnc" becomes "-q --no-clobber". Values of flags are not changed. It also returns the letters
// of all short flags. It rejects short flags that were intended for another tool.
func (t Table) Split(args []string, set *pflag.FlagSet) (out []string, letters string, err error) {
	out = make([]string, 0, len(args)+1)
	completing := strings.HasPrefix(first(args), cobra.ShellCompRequestCmd)
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...), letters, nil
		}
		if meant := withHyphens(arg, set); meant != arg {
			return nil, "", failure.Hinted(arg+" starts with a dash that is not a hyphen",
				"did you mean "+meant+" ?")
		}
		takesNext := false
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			f := set.Lookup(name) // nil for --name=value
			takesNext = f != nil && f.NoOptDefVal == ""
			out = append(out, arg)
		} else if len(arg) > 1 && arg[0] == '-' {
			if err := t.checkWord(arg, set); err != nil && !completing {
				return nil, "", err
			}
			c, err := t.splitCluster(arg, set)
			if !completing && silent(arg, first(args[i+1:])) {
				c, err = cluster{args: []string{"-q", "--show-error"}}, nil
				if len(arg) == 2 || strings.Trim(arg[1:], noCurl) != "" {
					err = failure.Hinted("curl's "+arg+" has another meaning here", CatLine(args))
				}
			}
			if err != nil {
				return nil, "", err
			}
			takesNext = c.last != nil && c.last.NoOptDefVal == "" && c.value == ""
			if c.value == "" {
				c.value = first(args[i+1:])
			}
			if err := checkShort(&c); err != nil && !completing {
				return nil, "", err
			}
			out = append(out, c.args...)
			letters += c.letters
		} else {
			out = append(out, arg)
		}
		if takesNext && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out, letters, nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// A cluster is an argument with one or several short flags.
type cluster struct {
	args    []string    // without two-letter flags, and these in their long form
	letters string      // those of the flags
	last    *pflag.Flag // the last flag; nil if it has two letters
	value   string      // its value, or the argument after the cluster
}

func (t Table) splitCluster(arg string, set *pflag.FlagSet) (cluster, error) {
	c := cluster{args: []string{arg}}
	replace := func(j int, long string) cluster {
		if j == 1 {
			return cluster{args: []string{long}}
		}
		return cluster{args: []string{long, arg[:j]}}
	}
	for j := 1; j < len(arg); j++ {
		if arg[j] == 'n' {
			long := t.pair(arg[j:min(j+2, len(arg))])
			if rest := arg[min(j+2, len(arg)):]; long != "" && rest != "" { // as in -nvc
				after, err := t.splitCluster("-"+rest, set)
				after.args = append(replace(j, long).args, after.args...)
				after.letters = arg[1:j] + after.letters
				return after, err
			}
			if long == "" {
				if err := t.Unknown("-"+arg[j:], set); err != nil {
					return c, err
				}
				return c, failure.Usagef("unknown flag -%s", arg[j:])
			}
			pair := replace(j, long)
			pair.letters = arg[1:j]
			return pair, nil
		}
		c.last, c.letters = set.ShorthandLookup(arg[j:j+1]), arg[1:j+1]
		rest := arg[j+1:]
		switch {
		case c.last == nil && arg[j] != 'h': // -h is not defined yet
			return c, nil
		case c.last == nil || rest == "":
		case c.last.NoOptDefVal != "" && strings.Trim(arg[j:j+1], "46") != "" &&
			strings.Trim(rest, "0123456789") == "": // as in curl's -m5
			return c, failure.Hinted("-"+arg[j:j+1]+" takes no value here", t.Find(c.last.Name).Other)
		case c.last.NoOptDefVal == "":
			if c.last.Name == "output-document" && strings.Trim(rest, "CJLRSfiks#") == "" {
				return c, failure.Hinted("-O"+rest+" looks like curl flags",
					curlO+"; use -O ./"+rest+" to save as "+rest)
			}
			c.value = rest
			return c, nil
		}
	}
	return c, nil
}

// checkWord rejects a long flag with one dash, as lynx and programs in Go have them: "-dump" would be
// "-d ump".
func (t Table) checkWord(arg string, set *pflag.FlagSet) error {
	word, _, _ := strings.Cut(arg, "=")
	if len(word) < 4 {
		return nil
	}
	advice := t.advice(word)
	if advice == "" && (set.Lookup(word[1:]) != nil || word == "-help") {
		advice = "did you mean -" + word + "?"
	}
	if advice = cmp.Or(advice, t.advice("-"+word)); advice != "" {
		return failure.Hinted("unknown flag "+word, advice)
	}
	return nil
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
