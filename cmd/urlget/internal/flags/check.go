package flags

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/crawl"
)

// Check rejects flags that cannot be combined, by their rows in the table of o and by their values.
func (o *Options) Check(table Table) error {
	if err := o.checkEmpty(); err != nil {
		return err
	}
	for f := range table.All() {
		if err := o.checkRow(table, f); err != nil {
			return err
		}
	}
	return o.checkValues()
}

func (o *Options) checkRow(table Table, f *Flag) error {
	if !o.on(f.Name) {
		return nil
	}
	tree := o.Tree.On()
	if f.Name == "continue" && (tree && !o.Head || o.continuesArchive(tree, o.on)) {
		return nil
	}
	switch {
	case f.Content && o.Head && f.Tree == Makes:
		return failure.Hinted("--"+f.Name+" requires content, but --head retrieves none",
			"wget's -I LIST is --accept-regex")
	case f.Content && o.Head:
		return failure.Usagef("--%s requires content, but --head retrieves none", f.Name)
	case f.Tree == Only && !tree && !o.Head:
		return failure.Hinted("--"+f.Name+" is for recursive retrieval: it requires -r, -m or -p", f.Other)
	case f.Tree == Never && tree:
		return o.notInTree(table, f)
	case f.Needs != "" && !slices.ContainsFunc(strings.Fields(f.Needs), o.on):
		return failure.Hinted(f.dashed()+" requires "+table.alternatives(f.Needs), hints(f.Why, f.Other))
	}
	for _, name := range strings.Fields(f.Excludes) {
		if o.on(name) {
			return failure.Hinted(f.dashed()+" and "+table.Find(name).dashed()+" cannot be combined", f.Why)
		}
	}
	return nil
}

// notInTree returns the error for a flag that a recursive retrieval does not allow, with what either flag
// means in other tools.
func (o *Options) notInTree(table Table, f *Flag) error {
	for maker := range table.All() {
		if maker.Tree == Makes && o.on(maker.Name) {
			return failure.Hinted(f.dashed()+" is not allowed with "+maker.dashed(),
				hints(cmp.Or(f.TreeHint, f.Other), maker.Other))
		}
	}
	return nil
}

func hints(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(hint string) bool { return hint == "" }), "; ")
}

// on reports whether a flag is set and not false or empty.
func (o *Options) on(name string) bool {
	f := o.set.Lookup(name)
	if f == nil {
		return false
	}
	switch f.Value.Type() {
	case "bool":
		return f.Value.String() == "true"
	case "string", "seconds", "size":
		return f.Value.String() != ""
	}
	return f.Changed
}

// continuesArchive reports whether --continue applies only to the written archive. A tree resumes
// automatically, and standard output and metadata are not files. tree reports a recursive retrieval,
// and has whether a flag is set.
func (o *Options) continuesArchive(tree bool, has func(name string) bool) bool {
	saves := o.set.Lookup("timestamping") != nil && !o.Head && !tree && o.Output.Document != "-"
	return !saves && (has("warc") || has("warc-file"))
}

// AppendsArchive reports whether records are appended to an existing archive.
func (o *Options) AppendsArchive() bool { return o.Archive.Append || o.Output.Continue }

func (f *Flag) dashed() string {
	switch {
	case f.Short != "":
		return "-" + f.Short
	case f.Pair != "":
		return "-" + f.Pair
	}
	return "--" + f.Name
}

func (t Table) alternatives(names string) string {
	var list []string
	for _, name := range strings.Fields(names) {
		if f := t.Find(name); !f.Hidden {
			list = append(list, f.dashed())
		}
	}
	return strings.Join(list, " or ")
}

func (o *Options) checkValues() error {
	out, p, r, stdout := &o.Output, &o.Proxy, &o.Archive, o.Output.Document == "-"
	archive := o.continuesArchive(o.Tree.On(), o.on)
	named := out.Document != "" && !stdout
	// The password may be given as "".
	given, asked := o.Given("password"), o.on("password-file") || o.Login.Ask
	_, userPassword, _ := strings.Cut(o.Login.User, ":")
	for _, c := range []struct {
		found      bool
		text, hint string
	}{
		{o.set.Lookup("timestamping") == nil && out.Continue && !archive,
			"-c requires an archive to append to", "use --warc FILE to name one"},
		{stdout && (out.Continue && !archive || out.Newer || out.NoClobber),
			"-c, -N and -nc require a file, but -O - is standard output", ""},
		{stdout && o.Report.JSON, "--json and -O - both use standard output", ""},
		{stdout && o.Many.Metalink, "--metalink saves files, but -O - is standard output", ""},
		{out.Dir != "" && (stdout || filepath.IsAbs(out.Document)),
			"-P DIR requires a relative file name, not -O " + out.Document, ""},
		{named && o.List.File != "",
			"-O names one file, but -i reads several URLs", "use -P DIR to save them in a directory"},
		{named && (o.Mail.Compose || o.Mail.Parts),
			"--compose and --parts print to standard output and cannot be combined with -O FILE", ""},
		{strings.HasSuffix(r.WARC, string(filepath.Separator)),
			"--warc " + r.WARC + " is not a file name", "use --warc " + r.WARC + "NAME"},
		{r.Replay == nil && r.ReplayOnly,
			"--replay-only requires an archive", "use --replay FILE to name one"},
		{r.Replay == nil && r.Near,
			"--replay-near requires an archive", "use --replay FILE to name one"},
		{r.Replay == nil && r.TimeGates == nil && !r.At.IsZero(),
			"--at requires an archive", "use --replay FILE to name one, or --timegate URL"},
		{r.ReplayOnly && o.on("timegate"),
			"--replay-only sends nothing, and cannot be combined with --timegate", ""},
		{strings.ContainsAny(o.Send.Method, "/,*"), "--method: must be one word", wgetX},
		{strings.Contains(p.SOCKS5, "/"), "--socks5: must be HOST:PORT", ""},
		{p.None == "*" && (p.URL != "" || p.SOCKS5 != ""),
			"--no-proxy cannot be combined with --proxy or --socks5", ""},
		{userPassword != "" && (given || asked),
			"--user USER:PASSWORD cannot be combined with --password, --password-file or --ask-password", ""},
		{given && asked, "--password cannot be combined with --password-file or --ask-password", ""},
	} {
		if c.found {
			return failure.Hinted(c.text, c.hint)
		}
	}
	if err := crawl.CheckNames(o.Tree.Accept); err != nil {
		return failure.Usagef("-A: %v", err)
	}
	if err := crawl.CheckNames(o.Tree.Reject); err != nil {
		return failure.Usagef("-R: %v", err)
	}
	_, err := o.Scope()
	return err
}
