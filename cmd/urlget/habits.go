package main

import (
	"os"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// checkPrints rejects a command line that prints the content in curl, while this command saves it: with
// -s in its meaning in curl, and with -L or -f if standard output is a pipe or a file.
func (p *program) checkPrints(args []string) error {
	o, typed := p.opts, p.net.typedFlag
	switch {
	case o.Output.Document != "" || o.Output.Dir != "" || o.Report.JSON || o.Mail.Parts || o.Mail.Compose ||
		slices.ContainsFunc(args, isPrinted):
		return nil
	case typed("show-error"):
		return failure.Hinted("curl prints the content, urlget saves it", flags.CatLine(p.words))
	case (typed("location") || typed("fail")) && redirected(p.rep.std.out):
		return failure.Hinted("standard output is redirected, but the content is saved to a file: only "+
			"curl prints it", flags.CatLine(p.words))
	}
	return nil
}

func isPrinted(arg string) bool {
	u, err := uri.ParseLoose(arg)
	return err == nil && (flags.IsQuery(u.Scheme()) || flags.IsSession(u.Scheme()))
}

// checkHelp rejects -h with a URL, except of ls, where it is a flag for sizes.
func checkHelp(letters string, args []string) error {
	if strings.Contains(letters, "h") && slices.ContainsFunc(args, isAbs) && !slices.Contains(args, "ls") {
		return failure.Hinted("-h prints the help of urlget, and retrieves nothing", "HTTPie's -h is -I")
	}
	return nil
}

// redirected reports whether f is a pipe or a file.
func redirected(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// sayNothingPrinted says that files were saved and standard output, a pipe or a file, got nothing. It
// got the messages if it is also standard error.
func (r *reporter) sayNothingPrinted() {
	o := r.opts
	if o.Output.Document != "" || o.Output.Dir != "" || o.Report.JSON || r.logged || !redirected(r.std.out) {
		return
	}
	out, err := r.std.out.Stat()
	same, errOfErr := r.std.err.Stat()
	if err == nil && errOfErr == nil && os.SameFile(out, same) {
		return
	}
	r.say("standard output gets nothing; urlget cat URL prints the content")
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
