package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// A conflict is a combination of flags that makes no sense.
type conflict struct {
	found bool
	text  string
	hint  string
}

// first returns the error for the first conflict that is found.
func first(list []conflict) error {
	for _, c := range list {
		if c.found {
			return failure.Hinted(c.text, c.hint)
		}
	}
	return nil
}

// count returns how many of the flags are on.
func count(list ...bool) (n int) {
	for _, on := range list {
		if on {
			n++
		}
	}
	return n
}

// CheckWords finds values that were meant for another flag.
func (o *Options) CheckWords() error {
	if err := o.checkFiles(); err != nil {
		return err
	}
	if d := o.Output.Document; isURL(d) || strings.HasPrefix(d, "-") && d != "-" {
		return failure.Hinted("-O "+d+" names no file", "curl's -O is the default here; ./"+d+" is a file")
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
			return failure.Hinted("-H "+shown+" is no field: want 'Name: value'", "wget's -H is --span-hosts")
		}
	}
	for _, text := range o.Send.Data {
		if info, err := os.Stat(text); err == nil && info.IsDir() && filepath.IsAbs(text) {
			return failure.Hinted("-d sends text, and "+fetch.Printable(text)+" is a directory", "aria2's -d is -P DIR")
		}
	}
	return nil
}

func isURL(text string) bool {
	u, err := uri.ParseLoose(text)
	return err == nil && u.IsAbs() && u.HasAuthority()
}

// checkFiles finds flags that name an empty file or directory. They do not count as absent: the user
// meant some file.
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
		err = failure.Hinted(name+" is given, but its "+what+" is empty", "perhaps a variable of the shell is not set")
	})
	return err
}

// CheckOutput finds conflicts among the flags of commands that retrieve.
func (o *Options) CheckOutput() error {
	out, stdout := &o.Output, o.Output.Document == "-"
	continuesArchive := o.Archive.WARC != "" && stdout // as in trees
	chosen := count(out.Continue && !o.Tree.On() && !continuesArchive, out.Newer, out.NoClobber)
	err := first([]conflict{
		{chosen > 1, "-c, -N and -nc exclude each other", ""},
		{stdout && chosen > 0, "-c, -N and -nc are about files, but -O - is standard output", ""},
		{stdout && o.Report.JSON, "--json and -O - both want standard output", ""},
		{out.Dir != "" && (stdout || filepath.IsAbs(out.Document)), "-P DIR -O NAME is DIR/NAME, but " + out.Document + " is in no directory", ""},
		{out.Document != "" && !stdout && o.List.File != "", "-O names one file, but -i is for many", "-P DIR saves all of them in a directory"},
		{o.Request.Range != "" && (out.Continue || out.Newer), "--range asks for a part, -c and -N are about the whole", ""},
		{o.Network.Tries < 0, fmt.Sprintf("-t: %d tries are not possible", o.Network.Tries), ""},
	})
	if err == nil {
		err = o.checkTree()
	}
	if err == nil {
		err = o.checkMail()
	}
	return err
}

// checkTree finds conflicts among the flags for trees.
func (o *Options) checkTree() error {
	for _, c := range o.Tree.Commands {
		switch key, value, _ := strings.Cut(strings.ReplaceAll(c, " ", ""), "="); {
		case key != "robots" || value != "off" && value != "on":
			return failure.Hinted("-e "+c+": the one command is robots=off", "curl's -e is --header 'Referer: URL'")
		case value == "off":
			o.Tree.NoRobots = true
		}
	}
	if !o.Tree.On() {
		for f := range o.Table().All() {
			if f.Tree == Only && o.Given(f.Name) {
				return failure.Hinted("--"+f.Name+" is for trees: it needs -r, -m or -p", f.TreeHint)
			}
		}
		return nil
	}
	t, send := &o.Tree, &o.Send
	err := first([]conflict{
		{o.Output.Document != "", "-O names one file, and a tree has many", "-P DIR saves them below a directory"},
		{o.Output.Continue && o.Archive.WARC == "", // else it is the archive that is continued
			"-c is for single files: a tree that was interrupted goes on by itself, and -N leaves what is unchanged", ""},
		{o.Request.Range != "" || o.Output.Checksum != "" || o.Output.SHA256 || o.Mail.Parts || o.Mail.Extracts(),
			"--range, --checksum, --sha256 and the flags for messages are for single files", ""},
		{send.Method != "", "--method: what trees lead to is only retrieved", "wget's -X is --exclude-directories"},
		{send.Data != nil || send.PostFile != "" || send.Answers != nil,
			"--data, --post-file and --form are for single URLs: what trees lead to is only retrieved", ""},
		{o.Output.ErrorContent, "--content-on-error is for single files", ""},
		{t.Delete && !t.Mirror && !o.Output.Newer, "--delete needs -m or -N: without them nothing is remembered of what was there", ""},
		{len(t.Domains) > 0 && !t.Span, "-D says which hosts --span-hosts goes to: it needs that flag", "without it no other host is asked"},
		{t.Originals && !t.Convert, "-K keeps what -k converts: it needs -k", ""},
	})
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		list []string
	}{{"-A", t.Accept}, {"-R", t.Reject}} {
		if err := crawl.CheckNames(f.list); err != nil {
			return failure.Usagef("%s: %v", f.name, err)
		}
	}
	_, err = o.Scope()
	return err
}

// checkMail finds conflicts among the flags for messages.
func (o *Options) checkMail() error {
	m, out := &o.Mail, &o.Output
	chosen := count(m.Compose, m.Parts, m.Part > 0, m.Text)
	return first([]conflict{
		{chosen > 1, "--compose, --parts, --part and --text exclude each other", ""},
		{chosen > 0 && (out.Continue || out.Newer || out.NoClobber || o.Request.Range != ""),
			"-c, -N, -nc and --range are about what a URL names, not about what is made of a message", ""},
		{(m.Compose || m.Parts) && (out.Document != "" && out.Document != "-" || out.Dir != "" || out.Checksum != ""),
			"--compose and --parts print on standard output; -O, -P and --checksum are for files", ""},
		{m.Compose && o.Report.JSON, "--compose and --json both want standard output", ""},
	})
}

// CheckContinue finds that there is no archive to continue, for commands that save no files.
func (o *Options) CheckContinue() error {
	return first([]conflict{{o.Output.Continue && o.Archive.WARC == "", "-c goes on with an archive, and none is written", "--warc FILE"}})
}

// CheckHead finds flags that --head would leave without effect, as stat has none of them.
func (o *Options) CheckHead() error {
	for f := range o.Table().All() {
		if f.Content && o.Given(f.Name) && !(f.Name == "continue" && o.Archive.WARC != "") {
			return failure.Usagef("--head brings no content, and --%s is about it", f.Name)
		}
	}
	return nil
}

// CheckMany finds conflicts among the flags for several transfers.
func (o *Options) CheckMany() error {
	m, d := &o.Many, &o.Driver
	err := first([]conflict{
		{m.KeepGoing && m.FailFast, "--keep-going and --fail-fast exclude each other", ""},
		{m.Eight && o.Given("jobs"), "-Z means -j 8; one of them is enough", ""},
		{d.Web.HTTP1 && d.Web.HTTP2, "--http1 and --http2 exclude each other", ""},
		{d.HTTP3 && (d.Web.HTTP1 || d.Web.HTTP2), "--http3 excludes --http1 and --http2", ""},
		{m.Metalink && (o.Output.Document == "-" || o.Tree.On() || o.Request.Range != "" || o.Send.Method != ""),
			"--metalink is for whole files that are saved: not with -O -, trees, --range or --method", ""},
		{m.RandomWait && m.Wait == 0, "--random-wait without --wait", ""},
	})
	if err != nil {
		return err
	}
	if m.Eight {
		m.Jobs = 8
	}
	d.Conns = int(max(m.Jobs, Number(m.Segments), 0))
	return nil
}

// CheckList finds conflicts among the flags for the list of URLs.
func (o *Options) CheckList() error {
	l := &o.List
	if l.File == "" && (l.HTML || l.Base != "") {
		return failure.Hinted("--force-html and --base are about a list: they need -i", "wget's -F is --force-html here: -F NAME=VALUE answers a form")
	}
	if l.Base == "" {
		return nil
	}
	var err error
	if l.Begin, err = uri.ParseLoose(l.Base); err != nil || !l.Begin.IsAbs() {
		return failure.Usagef("--base: %s is no absolute URL", fetch.Printable(l.Begin.Redacted()))
	}
	return nil
}

// CheckArchive finds conflicts among the flags for archives.
func (o *Options) CheckArchive() error {
	r := &o.Archive
	return first([]conflict{
		{r.WARC == "" && (r.MaxSize > 0 || r.Index || r.Dedup != "" || r.Plain), "flags about an archive, and none is written", "--warc FILE"},
		{strings.HasSuffix(r.WARC, string(filepath.Separator)), "--warc " + r.WARC + " names no file", "--warc " + r.WARC + "NAME is one in it"},
		{r.Replay == nil && (r.ReplayOnly || !r.ReplayAt.IsZero()), "flags about replay, and there is no archive", "--replay FILE"},
	})
}

// CheckCookies finds conflicts among the flags for cookies.
func (o *Options) CheckCookies() error {
	c := &o.Cookies
	return first([]conflict{
		{c.Both != "" && (c.Load != "" || c.Save != ""), "--cookies is --load-cookies and --save-cookies in one", ""},
		{c.Session && c.Both == "" && c.Save == "", "--keep-session-cookies goes with --cookies or --save-cookies", ""},
	})
}

// CheckProxy finds conflicts among the flags for proxies.
func (o *Options) CheckProxy() error {
	p := &o.Proxy
	return first([]conflict{
		{p.SOCKS5 != "" && p.URL != "", "--proxy and --socks5 exclude each other", ""},
		{p.SOCKS5 != "" && (strings.Contains(p.SOCKS5, "/") || p.None == "*" || p.Tunnel), "--socks5: want HOST:PORT, and neither --no-proxy nor --proxy-tunnel", ""},
		{p.None == "*" && p.URL != "", "--proxy and --no-proxy exclude each other", ""},
	})
}

// CheckReport finds conflicts among the flags for messages.
func (o *Options) CheckReport() error {
	return first([]conflict{{o.Report.Quiet && o.Report.Verbose, "-q and -v exclude each other", ""}})
}

// CheckLogin finds conflicts among the flags for logins, and completes them.
func (o *Options) CheckLogin() error {
	l := &o.Login
	user, password, both := strings.Cut(l.User, ":")
	both = both && password != ""
	l.User = user
	ways := count(both, o.Given("password"), l.PasswordFile != "", l.Ask)
	err := first([]conflict{
		{ways > 1, "--user USER:PASSWORD, --password, --password-file and --ask-password exclude each other", ""},
		{l.NoNetrc && (l.Netrc || l.NetrcFile != ""), "--no-netrc excludes --netrc and --netrc-file", ""},
	})
	switch {
	case err != nil:
		return err
	case both:
		l.Password = password
	case l.PasswordFile != "":
		if l.Password, err = FirstLine(l.PasswordFile); err != nil {
			return failure.File(err)
		}
	}
	l.HasPassword = ways > 0 && !l.Ask
	return nil
}

// CheckSend finds conflicts among the flags for content to send.
func (o *Options) CheckSend() error {
	s := &o.Send
	return first([]conflict{
		{count(s.Data != nil, s.PostFile != "", s.Answers != nil) > 1, "--data, --post-file and --form exclude each other", ""},
		{strings.ContainsAny(s.Method, "/,*"), "--method: want one word", "wget's -X is --exclude-directories"},
	})
}
