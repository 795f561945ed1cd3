package main

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

const flagsPage = "../../docs/flags.md"

// flagCommands are the commands with flags of the table.
var flagCommands = []struct {
	in   flags.Commands
	name string
}{
	{flags.Get, "get"}, {flags.Cat, "cat"}, {flags.List, "ls"}, {flags.Stat, "stat"}, {flags.Explain, "explain"},
	{flags.Lock, "lock"}, {flags.Serve, "serve"}, {flags.MCP, "mcp"}, {flags.Merge, "warc merge"},
	{flags.Merge, "warc import"}, {flags.Extract, "warc extract"}, {flags.Schemes, "schemes"},
	{flags.Version, "version"},
}

// namesakes are flags of other tools with the name of a flag here and another meaning.
var namesakes = map[string]string{
	"aria2 checksum": "`--checksum=sha-256=HEX`, here `sha256:HEX`",
	"aria2 no-proxy": "`--no-proxy=LIST`",
	"curl json":      "its `--json TEXT` sends TEXT; here: `-d TEXT -H 'Content-Type: application/json'`",
	"curl metalink":  "",
	"curl netrc":     "`--netrc-optional` is the default here",
	"curl socks5":    "`--socks5-hostname`; its `--socks5` resolves host names itself",
	"curl trace":     "`--trace FILE`",
}

// TestFlagsPage compares docs/flags.md with the table of flags and the examples of testdata/flags.
// URLGET_WRITE=1 writes the page.
func TestFlagsPage(t *testing.T) {
	t.Parallel()
	examples := flagExamples(t)
	page := flagsDocument(t, examples)
	if os.Getenv("URLGET_WRITE") != "" {
		if err := os.WriteFile(flagsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(flagsPage); err != nil || string(text) != page {
		t.Errorf("docs/flags.md differs from the flags (%v); to write it: URLGET_WRITE=1 go test ./cmd/urlget", err)
	}
}

// TestFlagExamples runs the examples of docs/flags.md, each in a directory of its own: those with other
// servers than the test has with explain, or with --help if explain does not have the flag.
func TestFlagExamples(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(exampleSite())
	t.Cleanup(site.Close)
	tls := newTLSSite(false)
	t.Cleanup(tls.Close)
	files := certificates(tls)
	for name, text := range map[string]string{
		"urls.txt": site.URL + "/1.txt\n" + site.URL + "/2.txt\n", "page.html": "<a href=a.txt>a</a>",
		"data.json": "{}", "pear.png": "pear", "settings": "tries 3\n", "login": "joe:secret\n", "hosts": "",
		"password": "secret\n", "logins": "machine h login joe password secret\n", ".netrc": "",
		"cookies.txt": "# Netscape HTTP Cookie File\n", "mail": "", ".ssh/id_work": "",
	} {
		files[name] = []byte(text)
	}
	setup := t.TempDir()
	writeFiles(t, setup, files)
	for _, line := range []string{
		"urlget -q --warc list --warc-cdx " + site.URL + "/list.txt", "urlget lock urls.txt > urls.lock",
	} {
		if status, errs := runShellLine(t, setup, line); status != exitOK {
			t.Fatalf("%s: status %d: %s", line, status, errs)
		}
	}
	for name, line := range flagExamples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyNamed(t, dir, setup, line)
			line := strings.ReplaceAll(line, "https://www.example", site.URL)
			line = strings.ReplaceAll(line, " ~/", " "+dir+"/") // a worker has no shell
			unexplained := []string{"background", "timegate", "within", "recursive (ls)"}
			switch {
			case strings.HasPrefix(line, "urlget serve"), slices.Contains(unexplained, name):
				line += " --help"
			case name != "compose" && strings.Contains(line, ".example"), name == "driver":
				line = explained(line)
			}
			if status, errs := runShellLine(t, dir, line); status != exitOK {
				t.Errorf("%s: status %d: %s", line, status, errs)
			}
		})
	}
}

// copyNamed copies what the line names, with any extension, from setup to dir.
func copyNamed(t *testing.T, dir, setup, line string) {
	t.Helper()
	entries, err := os.ReadDir(setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if stem, _, _ := strings.Cut(strings.TrimPrefix(e.Name(), "."), "."); !strings.Contains(line, stem) {
			continue
		}
		err := fs.WalkDir(os.DirFS(setup), e.Name(), func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			content, err := os.ReadFile(filepath.Join(setup, name))
			writeFiles(t, dir, map[string][]byte{name: content})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// explained returns the line with explain as its command.
func explained(line string) string {
	words := strings.Fields(line)
	if slices.Contains([]string{"cat", "ls", "explain"}, words[1]) {
		words = slices.Delete(words, 1, 2)
	}
	return "urlget explain " + strings.Join(words[1:], " ")
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func flagExamples(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/flags")
	if err != nil {
		t.Fatal(err)
	}
	examples := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		if name, command, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && name[0] != '#' {
			examples[name] = command
		}
	}
	return examples
}

const flagsHead = `# Flags

Each flag of "urlget", with an example. "urlget --help all" prints a shorter list, and
"urlget COMMAND --help" that of one command. The commands of queues have their own flags:
"urlget submit --help", "urlget work --help".

- Durations are "5", "1.5", "30s" or "2m". Sizes are "500", "1K", "1M" or "1GiB". Counts without a limit
  are "inf".
- "get" is the command without a name.
- Flags stand before or after the URLs. "--" ends the flags.
- The [configuration file](configuration.md) sets most flags.
- [coming-from.md](coming-from.md) translates whole command lines of other tools.

`

func flagsDocument(t *testing.T, examples map[string]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(flagsHead, `"`, "`"))
	table := flags.New().Table()
	tools := []foreignTool{newForeignTool(t, "wget"), newForeignTool(t, "curl"), newForeignTool(t, "aria2")}
	defaults := flagDefaults(table)
	var always []string
	for _, g := range table {
		fmt.Fprintf(&b, "## %s\n\n", g.Title)
		for _, f := range g.Flags {
			if f.Help == "" {
				always = append(always, typed(&f))
				continue
			}
			title := f.Name
			if table.Find(f.Name).In != f.In {
				title += " (ls)"
			}
			if examples[title] == "" {
				t.Errorf("testdata/flags has no example of --%s", title)
			}
			fmt.Fprintf(&b, "### --%s\n\n%s\n\n    %s\n\n", title, flagText(&f), examples[title])
			delete(examples, title)
			for _, fact := range flagFacts(&f, defaults[f.Name], tools) {
				fmt.Fprintf(&b, "- %s\n", fact)
			}
			b.WriteByte('\n')
		}
	}
	if len(examples) > 0 {
		t.Errorf("testdata/flags has examples of other flags: %v", examples)
	}
	b.WriteString("## Accepted without effect\n\nurlget always does what these flags of other tools ask for:\n" +
		strings.Join(always, ",\n") + ".\n")
	return b.String()
}

// flagDefaults returns the default values of all flags that have one.
func flagDefaults(table flags.Table) map[string]string {
	defaults := make(map[string]string)
	for _, c := range flagCommands {
		set := pflag.NewFlagSet(c.name, pflag.ContinueOnError)
		table.Define(set, c.in)
		set.VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) {
				defaults[f.Name] = f.DefValue
			}
		})
	}
	return defaults
}

// typed returns the flag as it is typed, with its letters and the name of its value.
func typed(f *flags.Flag) string {
	_, value, _ := strings.Cut(f.Help, "`")
	value, _, _ = strings.Cut(value, "`")
	forms := make([]string, 0, 3)
	if f.Short != "" {
		forms = append(forms, "-"+f.Short)
	}
	if f.Pair != "" {
		forms = append(forms, "-"+f.Pair)
	}
	forms = append(forms, "--"+f.Name)
	for i, form := range forms {
		switch {
		case value != "" && f.Bare != "":
			form += "[=" + value + "]"
		case value != "":
			form += " " + value
		}
		forms[i] = "`" + form + "`"
	}
	return strings.Join(forms, ", ")
}

func flagText(f *flags.Flag) string {
	text := typed(f) + ": " + markdown(strings.TrimSuffix(f.Help, " (also -"+f.Pair+")"))
	if f.AlsoHelp != "" {
		text += ". With " + commandsOf(f.AlsoIn) + ": " + markdown(f.AlsoHelp)
	}
	return text + "."
}

// markdown returns a text of the help as Markdown, which would read the asterisk of a pattern.
func markdown(help string) string {
	return strings.ReplaceAll(strings.ReplaceAll(help, "`", ""), "*", `\*`)
}

func commandsOf(in flags.Commands) string {
	var names []string
	for _, c := range flagCommands {
		if c.in&in != 0 {
			names = append(names, "`"+c.name+"`")
		}
	}
	if len(names) == 0 {
		return "no command"
	}
	return strings.Join(names, ", ")
}

func flagFacts(f *flags.Flag, value string, tools []foreignTool) []string {
	facts := []string{"commands: " + commandsOf(f.In)}
	if value != "" && !strings.Contains(f.Help, "default") {
		facts = append(facts, "default: `"+value+"`")
	}
	if f.Tree == flags.Only {
		facts = append(facts, "only with `-r`, `-m`, `-p` or `--spider`")
	}
	if f.Needs != "" {
		facts = append(facts, "only with "+flagList(f.Needs, " or "))
	}
	if f.Excludes != "" {
		facts = append(facts, "not with "+flagList(f.Excludes, ", "))
	}
	switch {
	case f.CommandLine:
		facts = append(facts, "not in the configuration file")
	case f.PerURL:
		facts = append(facts, "in the configuration file also for one host or scheme")
	}
	for _, tool := range tools {
		if name := tool.nameOf(f); name != "" {
			facts = append(facts, tool.name+": "+name)
		}
	}
	if f.Other != "" {
		facts = append(facts, "in other tools: "+markdown(f.Other))
	}
	return facts
}

func flagList(names, separator string) string {
	list := strings.Fields(names)
	for i, name := range list {
		list[i] = "`--" + name + "`"
	}
	return strings.Join(list, separator)
}

// A foreignTool is a tool with flags that have an equivalent here.
type foreignTool struct {
	name  string
	flags []string
}

func newForeignTool(t *testing.T, name string) foreignTool {
	t.Helper()
	text, err := os.ReadFile("testdata/foreign/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return foreignTool{name, strings.Fields(string(text))}
}

// nameOf returns the tool's names of a flag, or "".
func (tool foreignTool) nameOf(f *flags.Flag) string {
	var names []string
	if note, ok := namesakes[tool.name+" "+f.Name]; ok {
		names = append(names, note)
	} else if slices.Contains(tool.flags, "--"+f.Name) {
		names = append(names, "`--"+f.Name+"`")
	}
	for _, row := range f.Foreign {
		if row.Of != tool.name {
			continue
		}
		text := "`" + strings.Join(strings.Fields(row.Names), "`, `") + "`"
		if row.Here != "" {
			text += ", here `" + row.Here + "`"
		}
		if row.Note != "" {
			text += " (" + markdown(row.Note) + ")"
		}
		names = append(names, text)
	}
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), "; ")
}
