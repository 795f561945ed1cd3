package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

// typedAsCurl reports whether the command line has a flag that only users of curl type.
func (p *program) typedAsCurl() bool {
	return p.net.typedFlag("location") || p.net.typedFlag("fail") || p.net.typedFlag("show-error")
}

// checkPipe rejects a curl command line whose output goes to a pipe or file: curl prints the content,
// this command saves it. On a terminal, a message names the saved file.
func (p *program) checkPipe() error {
	o := p.opts
	if !p.typedAsCurl() || o.Output.Document != "" || o.Output.Dir != "" || o.Report.JSON || o.Mail.Parts ||
		o.Mail.Compose {
		return nil
	}
	if info, err := p.rep.std.out.Stat(); err == nil &&
		(info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0) {
		return failure.Hinted("standard output is redirected, but the content is saved to a file: only "+
			"curl prints it", flags.CatLine(p.words))
	}
	if o.Report.Quiet && p.net.typedFlag("show-error") {
		o.Report.Quiet, o.Log.Brief = false, true
	}
	return nil
}

// checkItems rejects a command line of HTTPie, which has a request method before the URL or request
// items after it.
func checkItems(args []string) error {
	found := ""
	for i, arg := range args {
		if flags.IsMethod(arg) && i == 0 || i > 0 && isAbs(args[i-1]) && flags.IsItem(arg) && !exists(arg) {
			found = arg
			break
		}
	}
	if found == "" || !slices.ContainsFunc(args, isAbs) {
		return nil
	}
	return failure.Hinted(fetch.Printable(found)+" is not a URL, but HTTPie's request syntax",
		flags.InsteadOfItem(found))
}

// dropHopByHop removes header fields that belong to the connection. They are common in command lines
// copied from browsers, and the client sets its own. Fields that would change what is retrieved are
// left to the drivers, which refuse them.
func dropHopByHop(o *flags.Options, rep *reporter) {
	o.Request.Header = slices.DeleteFunc(o.Request.Header, func(field string) bool {
		name, value, _ := strings.Cut(field, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(value)
		switch name {
		case "keep-alive", "proxy-connection", "te":
		case "connection":
			if strings.Contains(value, "upgrade") {
				return false
			}
		case "accept-encoding":
			if !o.Driver.Web.Compressed {
				return false
			}
		default:
			return false
		}
		rep.say("the header field %s is not sent: the client sets it", fetch.Printable(name))
		return true
	})
}
