package flags

import (
	"os"
	"path/filepath"
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
	for _, text := range o.Send.Data {
		if info, err := os.Stat(text); err == nil && info.IsDir() && filepath.IsAbs(text) {
			return failure.Hinted("-d sends text, but "+fetch.Printable(text)+" is a directory", "aria2's -d is -P DIR")
		}
	}
	return nil
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
