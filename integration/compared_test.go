//go:build integration

package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/faultproxy"
	"github.com/urlget/urlget/fetchtest/loopback"
	testservers "github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
)

const (
	comparedDocument = "../docs/compared.md"
	hangs            = 30 * time.Second // limit of a run
	comparedFile     = "file.bin"
)

// A tool is a program in the comparison.
type tool struct {
	name    string // of the program
	schemes string // that it supports, of those in the comparison
	// args returns its arguments. Timeouts have the unit seconds.
	args func(url, ca, timeout string) []string
	// resume returns the arguments that make one try and continue an earlier file.
	resume func(url, ca string) []string
}

// comparedTools are the columns of docs/compared.md. All make three tries, or as many as their flags
// allow, and wait at most two seconds for a silent server.
var comparedTools = []tool{
	{"urlget", "http https ftp gopher", func(url, ca, timeout string) []string {
		return []string{"-t", "3", "-T", timeout, "--max-size", "10M", "--ca-certificate", ca, url}
	}, func(url, ca string) []string {
		return []string{"-c", "-t", "1", "-T", "2", "--ca-certificate", ca, url}
	}},
	{"curl", "http https ftp gopher", func(url, ca, timeout string) []string {
		return []string{"-fsSLO", "--retry", "2", "--retry-all-errors", "--connect-timeout", timeout, "--speed-time", timeout,
			"--speed-limit", "1", "--max-filesize", "10M", "--cacert", ca, url}
	}, func(url, ca string) []string {
		return []string{"-fsSLO", "-C", "-", "--connect-timeout", "2", "--cacert", ca, url}
	}},
	{"wget", "http https ftp", func(url, ca, timeout string) []string {
		return []string{"-nv", "-t", "3", "-T", timeout, "--waitretry=1", "--ca-certificate=" + ca, url}
	}, func(url, ca string) []string {
		return []string{"-nv", "-c", "-t", "1", "-T", "2", "--ca-certificate=" + ca, url}
	}},
	{"wget2", "http https", func(url, ca, timeout string) []string {
		return []string{"-nv", "-t", "3", "-T", timeout, "--waitretry=1", "--ca-certificate=" + ca, url}
	}, func(url, ca string) []string {
		return []string{"-nv", "-c", "-t", "1", "-T", "2", "--ca-certificate=" + ca, url}
	}},
	{"lftp", "http https ftp", func(url, ca, timeout string) []string {
		return []string{"-c", "set net:max-retries 3; set net:timeout " + timeout + "; set net:reconnect-interval-base 1; set ssl:ca-file " + ca +
			"; get " + url}
	}, func(url, ca string) []string {
		return []string{"-c", "set net:max-retries 1; set net:timeout 2; set ssl:ca-file " + ca + "; get -c " + url}
	}},
	{"aria2c", "http https ftp", func(url, ca, timeout string) []string {
		return []string{"--no-conf", "--max-tries=3", "--timeout=" + timeout, "--connect-timeout=" + timeout, "--retry-wait=1",
			"--ca-certificate=" + ca, url}
	}, func(url, ca string) []string {
		return []string{"--no-conf", "-c", "--max-tries=1", "--timeout=2", "--ca-certificate=" + ca, url}
	}},
}

// Outcomes of a run.
const (
	outcomeWhole   = "whole"
	outcomeError   = "error"
	outcomePartial = "error, part left" // with a part under the final name
	outcomeWrong   = "**wrong**"
	outcomeHung    = "hung"
	outcomeNone    = "–" // the program does not support the scheme
)

// comparedOutcomes are the outcomes, the best one first.
var comparedOutcomes = []string{outcomeWhole, outcomeError, outcomePartial, outcomeHung, outcomeWrong, outcomeNone}

const (
	comparedRuns = 3 // of each program in each row
	orElse       = "; or "
)

// A scenario is a row of the comparison.
type scenario struct {
	name   string
	scheme string
	whole  []byte // the right content; nil if there is none
	lie    string // name of the behavior of the hostile web server
	twice  bool   // the program runs twice, makes one try each time, and continues the file
	// start starts the servers for one run and returns the URL.
	start func(t testing.TB) string
}

// A comparison runs programs.
type comparison struct {
	ca    string
	paths map[string]string // of the programs, by name
	free  chan struct{}     // has room for the runs at the same time
}

// A trialTB is a test whose cleanups run at the end of a single run.
type trialTB struct {
	*testing.T
	cleanups []func()
}

func (t *trialTB) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// end runs the cleanups, the last one first.
func (t *trialTB) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// Fatal and Fatalf end the goroutine of the run.
func (t *trialTB) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *trialTB) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }

// run runs a program in an empty directory and returns the outcome.
func (c *comparison) run(test *testing.T, tl tool, s scenario, timeout string) string {
	if !strings.Contains(" "+tl.schemes+" ", " "+s.scheme+" ") {
		return outcomeNone
	}
	c.free <- struct{}{}
	defer func() { <-c.free }()
	t := &trialTB{T: test}
	defer t.end()
	dir, home, url := t.TempDir(), t.TempDir(), s.start(t)
	if s.twice {
		c.execute(t, dir, home, tl, tl.resume(url, c.ca))
	}
	args := tl.args(url, c.ca, timeout)
	if s.twice {
		args = tl.resume(url, c.ca)
	}
	out, failed, hung := c.execute(t, dir, home, tl, args)
	got, readErr := os.ReadFile(filepath.Join(dir, comparedFile))
	outcome := outcomeError
	switch right := s.whole != nil && bytes.Equal(got, s.whole); {
	case hung:
		outcome = outcomeHung
	case !failed && right:
		outcome = outcomeWhole
	case !failed:
		outcome = outcomeWrong
	case readErr == nil && !right:
		outcome = outcomePartial
	}
	if outcome != outcomeWhole {
		t.Logf("%s: %s: %s: %s, %d bytes: %s", s.scheme, s.name, tl.name, outcome, len(got), lastLines(out))
	}
	return outcome
}

// execute runs a program with a limit of time.
func (c *comparison) execute(t *trialTB, dir, home string, tl tool, args []string) (out []byte, failed, hung bool) {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.paths[tl.name], args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		t.Fatalf("%s: %v", tl.name, err)
	}
	return out, err != nil, ctx.Err() != nil
}

// repeat runs a program comparedRuns times and returns the different outcomes, the best one first.
func (c *comparison) repeat(test *testing.T, tl tool, s scenario) string {
	seen := make(map[string]bool)
	for range comparedRuns {
		seen[c.run(test, tl, s, "2")] = true
	}
	var all []string
	for _, outcome := range comparedOutcomes {
		if seen[outcome] {
			all = append(all, outcome)
		}
	}
	return strings.Join(all, orElse)
}

// lastLines returns the end of the output of a program.
func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}

// originalContent is the file of the servers that do not misbehave.
var originalContent = append(loopback.HostileContent(1), loopback.HostileContent(2)...)

// origin starts a server for the file and returns its address and the path of the file.
func origin(t testing.TB, scheme string) (addr, path string) {
	tree := fstest.MapFS{comparedFile: {Data: originalContent, ModTime: time.Unix(1e9, 0)}}
	switch scheme {
	case "ftp":
		return ftpd.Start(t, ftpd.Options{Tree: tree}).Addr, "/" + comparedFile
	case "gopher":
		return gopherd.Start(t, gopherd.Options{Tree: tree}).Addr, "/9/" + comparedFile
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, comparedFile, time.Unix(1e9, 0), bytes.NewReader(originalContent))
	}))
	if scheme == "https" {
		s.TLS, _ = testservers.Certificate()
		s.TLS = s.TLS.Clone()
		s.EnableHTTP2 = true
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), "/" + comparedFile
}

// faultScenarios returns a scenario for each fault, on at most limit connections (0: all).
func faultScenarios(scheme string, limit int) (all []scenario) {
	for _, kind := range faultproxy.Kinds() {
		s := scenario{name: kind.String(), scheme: scheme, whole: originalContent}
		s.start = func(t testing.TB) string {
			p := &faultproxy.Proxy{Limit: limit, Pick: func() faultproxy.Fault {
				return faultproxy.Fault{Kind: kind, After: int64(len(originalContent) / 2), Delay: 2 * time.Millisecond}
			}}
			t.Cleanup(func() { p.Close() })
			addr, path := origin(t, scheme)
			forward := p.Forward
			if scheme == "ftp" {
				forward = p.ForwardFTP
			}
			front, err := forward("127.0.0.1:0", addr)
			if err != nil {
				t.Fatal(err)
			}
			return scheme + "://" + front + path
		}
		all = append(all, s)
	}
	return all
}

// hostileScenarios returns the rows of the hostile web servers.
func hostileScenarios() (all []scenario) {
	for _, l := range loopback.Lies() {
		all = append(all, scenario{name: l.Does, lie: l.Name, scheme: "http", whole: l.Whole, start: func(t testing.TB) string {
			h := testservers.Bind(t, func(cfg *tls.Config) (*loopback.HostileServer, error) { return loopback.Hostile("", cfg) }, nil)
			return h.URL + "/" + l.Name + "/" + comparedFile
		}})
	}
	return all
}

// A swapFS has another file after the first transfer.
type swapFS struct {
	before, after fstest.MapFS
	swapped       func() bool
}

func (f swapFS) Open(name string) (fs.File, error) {
	if f.swapped() {
		return f.after.Open(name)
	}
	return f.before.Open(name)
}

// hostileFTP returns the rows of the hostile FTP servers.
func hostileFTP() []scenario {
	file := loopback.HostileContent(1)
	tree := fstest.MapFS{comparedFile: {Data: file, ModTime: time.Unix(1e9, 0)}}
	start := func(opts ftpd.Options, f testservers.Failure) func(testing.TB) string {
		return func(t testing.TB) string {
			opts := opts
			if opts.Tree == nil {
				opts.Tree = tree
			}
			s := ftpd.Start(t, opts)
			s.Arm(f)
			return s.URL + "/" + comparedFile
		}
	}
	all := testservers.Failure{Fault: testservers.Short, Times: -1}
	return []scenario{
		{name: "sends half of the file and confirms it (226)", start: start(ftpd.Options{}, all)},
		{name: "sends half of the file, confirms it (226), and does not know SIZE", start: start(ftpd.Options{Unknown: []string{"SIZE", "MLST", "MLSD"}}, all)},
		{name: "sends half of the file and reports a failure (426)",
			start: start(ftpd.Options{}, testservers.Failure{Fault: testservers.Abort, Times: -1})},
		{name: "sends half of the file and no reply", start: start(ftpd.Options{}, testservers.Failure{Fault: testservers.HalfClose, Times: -1})},
		{name: "states half of the size", whole: file, start: start(ftpd.Options{Sizes: map[string]int64{comparedFile: int64(len(file) / 2)}}, testservers.Failure{})},
		{name: "breaks off, then has another file", whole: loopback.HostileContent(2), start: func(t testing.TB) string {
			var started atomic.Pointer[ftpd.Server]
			changed := fstest.MapFS{comparedFile: {Data: loopback.HostileContent(2), ModTime: time.Unix(1e9+1, 0)}}
			f := swapFS{before: tree, after: changed, swapped: func() bool { s := started.Load(); return s != nil && s.Struck() > 0 }}
			s := ftpd.Start(t, ftpd.Options{Tree: f})
			started.Store(s)
			s.Arm(testservers.Failure{Fault: testservers.Cut})
			return s.URL + "/" + comparedFile
		}},
		{name: "names another host for the data connection (PASV)", whole: file,
			start: start(ftpd.Options{Unknown: []string{"EPSV"}, Elsewhere: "192,0,2,1"}, testservers.Failure{})},
		{name: "sends a byte of its greeting every second", whole: file,
			start: start(ftpd.Options{}, testservers.Failure{Fault: testservers.Drip, On: testservers.Greeting, Every: time.Second, After: -1, Times: -1})},
		{name: "never ends its greeting",
			start: start(ftpd.Options{}, testservers.Failure{Fault: testservers.Endless, On: testservers.Greeting, Every: time.Millisecond, Times: -1})},
	}
}

// A comparedTable is a table of docs/compared.md.
type comparedTable struct {
	title string
	head  string // of the first column
	rows  []scenario
}

func comparedTables() (tables []comparedTable) {
	for _, scheme := range []string{"http", "https", "ftp", "gopher"} {
		tables = append(tables, comparedTable{scheme + ", a fault once", "fault", faultScenarios(scheme, 1)},
			comparedTable{scheme + ", a fault on every connection", "fault", faultScenarios(scheme, 0)})
	}
	ftp := hostileFTP()
	for i := range ftp {
		ftp[i].scheme = "ftp"
	}
	var resumed []scenario
	for _, s := range hostileScenarios() {
		if s.twice = strings.HasPrefix(s.name, "breaks off"); s.twice {
			resumed = append(resumed, s)
		}
	}
	return append(tables,
		comparedTable{"Continued by a second command", "the server", resumed},
		comparedTable{"Hostile web servers", "the server", hostileScenarios()},
		comparedTable{"Hostile FTP servers", "the server", ftp})
}

// TestCompared runs urlget against faults and hostile servers and compares the outcomes with its
// column in docs/compared.md. With URLGET_COMPARED=write it runs all programs and writes the file.
func TestCompared(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(comparedDocument)
	write := os.Getenv("URLGET_COMPARED") == "write"
	if err != nil && !write {
		t.Fatal(err)
	}
	if !write && !strings.HasPrefix(string(text), comparedText) {
		t.Errorf("the text of %s differs from comparedText", comparedDocument)
	}
	known := comparedCells(string(text))
	v, err := loopback.New(loopback.Options{Schemes: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	work := t.TempDir()
	c := &comparison{ca: filepath.Join(work, "ca.pem"), paths: map[string]string{"urlget": filepath.Join(work, "urlget")},
		free: make(chan struct{}, 16)}
	if err := os.WriteFile(c.ca, v.PEM, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", c.paths["urlget"], "../cmd/urlget").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tools := comparedTools[:1]
	if write {
		tools = comparedTools
		c.free = make(chan struct{}, 12) // the programs must not slow each other down
		for _, tl := range tools[1:] {
			if c.paths[tl.name], err = exec.LookPath(tl.name); err != nil {
				t.Fatal(err)
			}
		}
	}
	tables := comparedTables()
	outcomes := make([][][]string, len(tables)) // by table, row and tool
	var wg sync.WaitGroup
	for i, table := range tables {
		outcomes[i] = make([][]string, len(table.rows))
		for j, s := range table.rows {
			outcomes[i][j] = make([]string, len(tools))
			for k, tl := range tools {
				wg.Go(func() { // not a subtest, because these mostly wait
					if write {
						outcomes[i][j][k] = c.repeat(t, tl, s)
						return
					}
					got := c.run(t, tl, s, "2")
					if got != known[table.title+"|"+s.name+"|"+tl.name] {
						got = c.run(t, tl, s, "5") // the machine may be busy
					}
					outcomes[i][j][k] = got
				})
			}
		}
	}
	wg.Wait()
	if write {
		if t.Failed() {
			t.Fatal("the tables are incomplete and were not written")
		}
		if err := os.WriteFile(comparedDocument, []byte(comparedPage(c, tables, outcomes)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, table := range tables {
		for j, s := range table.rows {
			if got, want := outcomes[i][j][0], known[table.title+"|"+s.name+"|urlget"]; got != want {
				t.Errorf("%s: %s: %q, but %s has %q; write it again with URLGET_COMPARED=write", table.title, s.name, got, comparedDocument, want)
			}
		}
	}
}

// comparedCells returns the cells of the tables in docs/compared.md. A key consists of the title of
// the table, the row and the program.
func comparedCells(text string) map[string]string {
	cells := make(map[string]string)
	title, head := "", []string(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "## "); ok {
			title, head = after, nil
			continue
		}
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		row := strings.Split(strings.Trim(line, "| "), " | ")
		if head == nil {
			head = row
			continue
		}
		for i := 1; i < len(row) && i < len(head); i++ {
			cells[title+"|"+row[0]+"|"+head[i]] = row[i]
		}
	}
	return cells
}

// versionNumber matches a version.
var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

func comparedPage(c *comparison, tables []comparedTable, outcomes [][][]string) string {
	var b strings.Builder
	b.WriteString(comparedText)
	fmt.Fprintf(&b, "\nMeasured on %s, on %s with %d processors.\n\n", time.Now().UTC().Format("2 January 2006"), machineName(), runtime.NumCPU())
	b.WriteString("| program | version | arguments |\n|---|---|---|\n")
	for _, tl := range comparedTools {
		version := "this revision"
		if tl.name != "urlget" {
			out, _ := exec.Command(c.paths[tl.name], "--version").Output()
			version = versionNumber.FindString(string(out))
		}
		args := tl.args("URL", "FILE", "2")
		for i, a := range args {
			if strings.Contains(a, " ") {
				args[i] = "'" + a + "'"
			}
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", tl.name, version, strings.Join(args, " "))
	}
	b.WriteString("\n## Summary\n\nNumber of cells by outcome. A cell with several counts as the worst one.\n\n| outcome |")
	for _, tl := range comparedTools {
		fmt.Fprintf(&b, " %s |", tl.name)
	}
	b.WriteString("\n" + strings.Repeat("|---", len(comparedTools)+1) + "|\n")
	for _, outcome := range comparedOutcomes {
		fmt.Fprintf(&b, "| %s |", outcome)
		for k := range comparedTools {
			n := 0
			for i := range outcomes {
				for j := range outcomes[i] {
					if strings.HasSuffix(orElse+outcomes[i][j][k], orElse+outcome) {
						n++
					}
				}
			}
			fmt.Fprintf(&b, " %d |", n)
		}
		b.WriteString("\n")
	}
	for i, table := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n| %s |", table.title, table.head)
		for _, tl := range comparedTools {
			fmt.Fprintf(&b, " %s |", tl.name)
		}
		b.WriteString("\n" + strings.Repeat("|---", len(comparedTools)+1) + "|\n")
		for j, s := range table.rows {
			fmt.Fprintf(&b, "| %s | %s |\n", s.name, strings.Join(outcomes[i][j], " | "))
		}
	}
	return b.String()
}

// machineName returns the system and the processor.
func machineName() string {
	system := runtime.GOOS
	if text, err := os.ReadFile("/etc/os-release"); err == nil {
		if m := regexp.MustCompile(`(?m)^PRETTY_NAME="(.*)"`).FindSubmatch(text); m != nil {
			system = string(m[1])
		}
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := regexp.MustCompile(`(?m)^model name\s*: (.*)`).FindSubmatch(text); m != nil {
			system += ", " + string(m[1]) + ","
		}
	}
	return system
}

var comparedText = strings.ReplaceAll(`# Compared with other programs

The tables show what urlget and the unmodified programs of Debian do when the network fails
or the server lies. A test writes this file:

    apt-get install curl wget wget2 lftp aria2
    URLGET_COMPARED=write go test -tags integration -run Compared ./integration

Without the variable, the test runs only urlget and fails if an outcome differs from its
column. The servers are the small ones of the project, on the same machine, behind the proxy
of 'fetchtest/faultproxy'. 'go run ./fetchtest/cmd/lab' starts them for you.

Each cell is three downloads of a file of 512 KiB (of 256 KiB from the hostile servers), each
into an empty directory. If their outcomes differ, the cell has all of them. The fault happens
after half of the file.

- *whole*: exit status 0, and the file is the right one.
- *error*: the exit status is not 0, and no file has the final name.
- *error, part left*: the exit status is not 0, but a part of the file has the final name.
- **wrong**: the exit status is 0, but the file is not the right one, or there is none.
- *hung*: the program had not ended after 30 seconds.
- –: the program does not support the scheme.

Where the file cannot be retrieved, *error* is the right outcome. Some lines are *wrong* for
all programs, because the protocol has nothing to detect the fault with: altered bytes
without TLS, and the end of a body that only the end of the connection marks.
[reliability.md](reliability.md) describes the faults, and shows more protocols.

urlget is not the best program of a row here:

- An FTP server states half of the size: urlget refuses the file as a protocol violation. wget
  and lftp retrieve it.
- An FTP server sends a byte of its greeting every second: urlget and curl give up at their
  timeout. wget, lftp and aria2 wait.
- An FTP server sends half of the rest in each try and no reply: urlget tries for longer than
  30 seconds. The others give up earlier.

Read the tables with these notes:

- Only curl and urlget have a size limit here (10M). That of curl works only if the server
  states the length, as its manual says.
- urlget counts tries without progress. If each try brings new bytes, '-t 3' makes more than
  three. It is *hung* where each try brings half of the rest: that took 51 seconds.
- wget2 prints a warning for some of the runs that are *wrong*, such as "Just got 261945 of
  524288 bytes".
- aria2 notes in a second file, 'file.bin.aria2', that a file is a part.
- lftp follows the redirect to a local file, and saves that file.
- In the table *Continued by a second command*, each program runs twice and makes one try each
  time: 'urlget -c', 'curl -C -', 'wget -c', 'wget2 -c', 'get -c' of lftp, 'aria2c -c'.
`, "'", "`")
