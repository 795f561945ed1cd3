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
		return failure.Hinted("-O "+d+" is not a file name", "curl's -O is the default here; use ./"+d+" for a file")
	}
	for _, field := range o.Request.Header {
		shown := ""
		if strings.HasPrefix(field, "-") {
			shown = fetch.Printable(field)
		} else if isURL(field) {
			u, _ := uri.ParseLoose(field)
			shown = fetch.Printable(u.Redacted())
		}
		if shown != "" {
			return failure.Hinted("-H "+shown+" is not a header field 'Name: value'", "wget's -H is --span-hosts")
		}
	}
	return nil
}

// checkShort rejects a value of a short flag that has another meaning in another tool, where the
// command would otherwise succeed and do something else. others are the other arguments.
func checkShort(c *cluster, others []string) error {
	if c.last == nil {
		return nil
	}
	value := c.value
	flagged := func(text, use string) error { return failure.Hinted("-"+c.last.Shorthand+" "+text, use) }
	several := slices.ContainsFunc(others, func(arg string) bool { return isURL(arg) })
	switch c.last.Name {
	case "force-directories":
		if several && isProxy(value) {
			return flagged("is followed by "+redacted(value)+", which looks like a proxy", "curl's -x is --proxy "+redacted(value)+"; wget's is --force-directories")
		}
	case "data":
		switch {
		case several && isURL(value):
			return flagged("would send "+redacted(value)+" as text", "wget's -d is --trace; to send the URL: --data "+redacted(value))
		case isDir(value):
			return flagged("sends text, but "+fetch.Printable(value)+" is a directory", "aria2's -d is -P "+Quote(value)+"; to send the text: --data "+Quote(value))
		}
	case "append-output":
		switch {
		case slices.Contains([]string{"none", "prealloc", "trunc", "falloc"}, value):
			return flagged(value+" names a log file", "aria2's -a has no equivalent here: leave it out")
		case strings.Contains(value, ":") && !isURL(value):
			return flagged("names a log file, but its value looks like a login", "HTTPie's -a is -u USER:PASSWORD")
		case strings.HasPrefix(value, "-"):
			return flagged(value+" names a log file", "curl's -a uploads, which urlget does not do")
		}
	case "form":
		if strings.HasPrefix(value, "-") {
			return flagged(value+" is not a form field 'Name=value'", wgetF)
		}
	case "backup-converted":
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			return flagged("takes no value: it is wget's --backup-converted", "curl's -K reads flags from a file: "+CurlLine(append([]string{"-K", value}, others...)))
		}
	case "user":
		if user, _, found := strings.Cut(value, ","); found && !strings.Contains(value, ":") {
			return flagged("takes USER or USER:PASSWORD", "lftp's -u "+user+",PASSWORD is -u "+user+":PASSWORD")
		}
	case "user-agent":
		if strings.Contains(value, ":") && !strings.ContainsAny(value, " /") {
			return flagged("is the user agent, but its value looks like a login", "curl's -U USER:PASSWORD is part of the proxy URL: --proxy http://USER:PASSWORD@HOST:PORT")
		}
	case "directory-prefix":
		if strings.HasPrefix(value, "-") {
			return flagged(value+" is not a directory", "curl's -P - is --ftp-active; for a directory of that name, use -P ./"+value)
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

// isDir reports whether text is an existing directory, or a path that could not be data.
func isDir(text string) bool {
	if info, err := os.Stat(text); err == nil {
		return info.IsDir()
	}
	return strings.Contains(text, "/") && !strings.ContainsAny(text, "={}[]<>@&\"' \t\r\n") && !isURL(text)
}

// redacted returns a URL or other text without a password, for a message.
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
