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
func (a *app) typedAsCurl() bool {
	return a.typedFlag("location") || a.typedFlag("fail") || a.typedFlag("show-error")
}

// checkPipe rejects a curl command line whose output goes to a pipe or file: curl prints the content,
// this command saves it. On a terminal, a message names the saved file.
func (a *app) checkPipe() error {
	o := a.opts
	if !a.saves || !a.typedAsCurl() || o.Output.Document != "" || a.outputs != nil || o.Output.Dir != "" || o.Report.JSON || o.Mail.Parts || o.Mail.Compose {
		return nil
	}
	if info, err := a.std.out.Stat(); err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0) {
		return failure.Hinted("standard output is redirected, but the content is saved to a file: only curl prints it", flags.CatLine(a.words))
	}
	if o.Report.Quiet && a.typedFlag("show-error") {
		o.Report.Quiet, o.Log.Brief = false, true
	}
	return nil
}

// checkItems rejects a command line of HTTPie, which has a request method before the URL or request
// items after it.
func (a *app) checkItems(args []string) error {
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
	return failure.Hinted(fetch.Printable(found)+" is not a URL, but HTTPie's request syntax", flags.InsteadOfItem(found))
}

// dropHopByHop removes header fields that belong to the connection. They are common in command lines
// copied from browsers, and the client sets its own. Fields that would change what is retrieved are
// left to the drivers, which refuse them.
func (a *app) dropHopByHop() {
	a.opts.Request.Header = slices.DeleteFunc(a.opts.Request.Header, func(field string) bool {
		name, value, _ := strings.Cut(field, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.ToLower(value)
		switch name {
		case "keep-alive", "proxy-connection", "te":
		case "connection":
			if strings.Contains(value, "upgrade") {
				return false
			}
		case "accept-encoding":
			if !a.opts.Driver.Web.Compressed {
				return false
			}
		default:
			return false
		}
		a.say("the header field %s is not sent: the client sets it", fetch.Printable(name))
		return true
	})
}
