package flags

import (
	"errors"
	"io/fs"
	"net/textproto"
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
	if err := o.checkEmpty(); err != nil {
		return err
	}
	switch d := o.Output.Document; {
	case isURL(d):
		return failure.Hinted("-O "+redacted(d)+" is not a file name", curlO)
	case strings.HasPrefix(d, "-") && d != "-":
		return failure.Hinted("-O "+d+" is not a file name", curlO+"; use ./"+d+" for a file")
	}
	for _, field := range o.Request.Header {
		name := strings.TrimSpace(field)
		if strings.HasSuffix(name, ":") || strings.HasSuffix(name, ";") && !strings.Contains(name, ":") {
			return failure.Hinted("-H "+fetch.Printable(name)+" has no value", noValue)
		}
		name, _, _ = strings.Cut(name, ":")
		if use := insteadOf[textproto.CanonicalMIMEHeaderKey(name)]; use != "" {
			return failure.Hinted("-H "+fetch.Printable(name)+" is set by a flag", use)
		}
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

// insteadOf has the flags for conditions and ranges, whose responses urlget must understand.
var insteadOf = map[string]string{
	"Range":             "to retrieve a part of the content: --range A-B; to resume a file: -c",
	"If-Range":          "to resume a file if it has not changed: -c",
	"If-None-Match":     "to retrieve a file if it has changed: -N",
	"If-Modified-Since": "to retrieve a file if it has changed: -N",
}

const noValue = "curl's -H 'Name:' removes a field and -H 'Name;' sends it empty, which urlget does not"

// checkShort rejects a value of a short flag that has another meaning in another tool, where the
// command would otherwise succeed and do something else.
func checkShort(c *cluster) error {
	if c.last == nil {
		return nil
	}
	value := c.value
	dashed := strings.HasPrefix(value, "-")
	flagged := func(text, use string) error { return failure.Hinted("-"+c.last.Shorthand+" "+text, use) }
	switch c.last.Name {
	case "data":
		if !isData(value) {
			return flagged(redacted(value)+" is not data such as NAME=VALUE",
				"to send it: --data "+Quote(redacted(value))+"; "+otherData(value))
		}
	case "form":
		if dashed {
			return flagged(value+" is not a form field 'Name=value'", wgetF)
		}
	case "user":
		if user, _, found := strings.Cut(value, ","); found && !strings.Contains(value, ":") {
			return flagged("takes USER or USER:PASSWORD",
				"lftp's -u "+user+",PASSWORD is --user "+user+":PASSWORD")
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

func otherData(value string) string {
	if isURL(value) || strings.HasPrefix(value, "-") {
		return "wget's -d is --trace; HTTPie's -d is the default here"
	}
	return "aria2's -d is -P " + Quote(value)
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

// neverEmpty are flags that an empty value would turn off: content would not be verified, or requests would
// take another way.
var neverEmpty = []string{"bind-address", "checksum", "proxy", "range", "socks5"}

// checkEmpty rejects flags with an empty value if the user intended some file, or one of neverEmpty.
func (o *Options) checkEmpty() (err error) {
	o.set.Visit(func(f *pflag.Flag) {
		what, _ := pflag.UnquoteUsage(f)
		if slices.Contains(neverEmpty, f.Name) {
			what = "value"
		} else if what != "FILE" && what != "DIR" {
			return
		}
		if f.Value.String() != "" || err != nil {
			return
		}
		err = failure.Hinted(named(f)+" has an empty "+what, "check whether a shell variable is unset")
	})
	return err
}

func named(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// WithFlag adds a hint to the error of a local file: the flag that names the file.
func (o *Options) WithFlag(t Table, err error) error {
	var file *fs.PathError
	var own *fetch.Error
	if o.set == nil || !errors.As(err, &file) || !errors.As(err, &own) || own.Hint != "" {
		return err
	}
	o.set.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			switch {
			case value == file.Path:
				own.Hint = hints(named(f)+" names it", t.Find(f.Name).Other)
			case strings.HasSuffix(value, "@"+file.Path):
				own.Hint = named(f) + " names it"
			}
		}
	})
	return err
}
