package flags

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// CheckMisplaced rejects values that were intended for another flag.
func (o *Options) CheckMisplaced() error {
	if err := o.checkFiles(); err != nil {
		return err
	}
	if d := o.Output.Document; isURL(d) || strings.HasPrefix(d, "-") && d != "-" {
		return failure.Hinted("-O "+d+" is not a file name",
			"curl's -O is the default here; use ./"+d+" for a file")
	}
	for _, field := range o.Request.Header {
		shown := ""
		if strings.HasPrefix(field, "-") {
			shown = fetch.Printable(field)
		} else if isURL(field) {
			shown = redacted(field)
		}
		if shown != "" {
			return failure.Hinted("-H "+shown+" is not a header field 'Name: value'",
				"wget's -H is --span-hosts")
		}
	}
	return nil
}

// checkShort rejects a value of a short flag that has another meaning in another tool, where the
// command would otherwise succeed and do something else. others are the other arguments.
func (t Table) checkShort(c *cluster, others []string, set *pflag.FlagSet) error {
	if c.last == nil {
		return nil
	}
	value := c.value
	dashed := strings.HasPrefix(value, "-")
	flagged := func(text, use string) error { return failure.Hinted("-"+c.last.Shorthand+" "+text, use) }
	switch c.last.Name {
	case "force-directories":
		if isProxy(value) && slices.ContainsFunc(others, isURL) {
			return flagged("is followed by "+redacted(value)+", which looks like a proxy",
				"curl's -x is --proxy "+redacted(value)+"; wget's is --force-directories")
		}
	case "data":
		if !isData(value) {
			return flagged(redacted(value)+" is not data such as NAME=VALUE",
				"to send it: --data "+Quote(redacted(value))+"; "+t.otherData(value, set))
		}
	case "form":
		if dashed {
			return flagged(value+" is not a form field 'Name=value'", wgetF)
		}
	case "backup-converted":
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			return flagged("takes no value: it is wget's --backup-converted",
				"curl's -K reads flags from a file: type them here")
		}
	case "user":
		if user, _, found := strings.Cut(value, ","); found && !strings.Contains(value, ":") {
			return flagged("takes USER or USER:PASSWORD",
				"lftp's -u "+user+",PASSWORD is -u "+user+":PASSWORD")
		}
	case "user-agent":
		if strings.Contains(value, ":") && !strings.ContainsAny(value, " /") {
			return flagged("is the user agent, but its value looks like a login",
				"curl's -U USER:PASSWORD is part of the proxy URL: --proxy http://USER:PASSWORD@HOST:PORT")
		}
	case "directory-prefix":
		if dashed {
			return flagged(value+" is not a directory",
				"curl's -P - is --ftp-active; for a directory of that name, use -P ./"+value)
		}
	}
	return nil
}

// isProxy reports whether text is HOST:PORT or a URL without a path.
func isProxy(text string) bool {
	if u, err := uri.ParseLoose(text); err == nil && u.IsAbs() && u.HasAuthority() {
		return strings.Trim(u.Path(), "/") == ""
	}
	_, port, found := strings.Cut(text[strings.LastIndexByte(text, '@')+1:], ":")
	return found && port != "" && strings.Trim(port, "0123456789/") == ""
}

// isData reports whether a value of -d looks like data, and not like the directory that -d names in
// aria2 or the rest of a word such as -dump.
func isData(text string) bool {
	if info, err := os.Stat(text); err == nil && info.IsDir() {
		return false
	}
	if isURL(text) {
		return false
	}
	name, _, pair := strings.Cut(text, "=")
	return pair && !strings.ContainsAny(name, `/\`) || strings.ContainsAny(text, `&{["`) ||
		strings.HasPrefix(text, "@")
}

func (t Table) otherData(value string, set *pflag.FlagSet) string {
	if isURL(value) {
		return "wget's -d is --trace; HTTPie's -d is the default here"
	}
	hint, name := "aria2's -d is -P "+Quote(value), "--d"+value
	switch wrong, foreign := t.Unknown(name, set).(*failure.Usage); {
	case set.Lookup(name[2:]) != nil:
		hint += "; did you mean " + name + "?"
	case name == "--dump":
		hint += "; lynx's -dump is urlget cat"
	case foreign:
		hint += "; " + name + ": " + wrong.Hint
	}
	return hint
}

func redacted(text string) string {
	if u, err := uri.ParseLoose(text); err == nil && u.IsAbs() {
		text = u.Redacted()
	} else if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = "..." + text[i:]
	}
	return fetch.Printable(text)
}

func isURL(text string) bool {
	u, err := uri.ParseLoose(text)
	return err == nil && u.IsAbs() && u.HasAuthority()
}

// checkFiles rejects flags with an empty file or directory name, because the user intended some file.
func (o *Options) checkFiles() (err error) {
	o.set.Visit(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if (what != "FILE" && what != "DIR") || f.Value.String() != "" || err != nil {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		err = failure.Hinted(name+" has an empty "+what, "check whether a shell variable is unset")
	})
	return err
}
