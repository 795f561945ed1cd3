//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/loopback"
	testservers "github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/protocols"
)

const (
	readme         = "../README.md"
	whyBegins      = "<!-- why -->\n"
	whyEnds        = "<!-- end of why -->\n"
	notInTheManual = "no" // a feature that the manuals of curl and wget do not have
)

// A whyRow is a row of the table in the section "Why not curl or wget?" of the README.
type whyRow struct {
	title string
	// run returns the cell of a program, from real runs.
	run func(w *why, t *testing.T, program string) string
	// others is the cell of curl and wget if run is only for urlget.
	others map[string]string
}

var whyRows = []whyRow{
	{title: "schemes it retrieves", run: (*why).schemes},
	{title: "continues (`-c`, `-C -`) a file that has changed on the server", run: (*why).changed},
	{title: "the connection ends after half of the file", run: (*why).half},
	{title: "copies a tree over", run: (*why).trees},
	{title: "records WARC archives over", run: (*why).archives},
	{title: "shows any of it as pages in the browser", run: (*why).page,
		others: map[string]string{"curl": notInTheManual, "wget": notInTheManual}},
	{title: "a queue for many URLs and machines", run: (*why).queue,
		others: map[string]string{"curl": notInTheManual, "wget": notInTheManual}},
	{title: "a library", run: (*why).library,
		others: map[string]string{"curl": "C: libcurl", "wget": notInTheManual}},
}

// why runs the programs of the table.
type why struct {
	*comparison
	servers *loopback.Servers
	dir     string // of the programs
}

// at returns the URL of a path on the server for a scheme.
func (w *why) at(s loopback.Server, path string) string {
	login := ""
	if s.Scheme == "imaps" || s.Scheme == "pops" {
		login = "alice:secret@"
	}
	return s.Scheme + "://" + login + s.Addr + path
}

// command runs a program in a new directory and returns the directory and the error.
func (w *why) command(t *testing.T, program string, args ...string) (dir string, out []byte, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.paths[program], args...)
	dir = t.TempDir()
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + w.dir + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	out, err = cmd.CombinedOutput()
	return dir, out, err
}

// schemes counts the schemes that a program retrieves: by its own list, or, for wget, by trying all
// schemes of the others.
func (w *why) schemes(t *testing.T, program string) string {
	curls := func() []string {
		_, out, _ := w.command(t, "curl", "--version")
		_, line, _ := strings.Cut(string(out), "Protocols: ")
		line, _, _ = strings.Cut(line, "\n")
		return strings.Fields(line)
	}
	ours := func() (names []string) {
		_, out, err := w.command(t, "urlget", "schemes")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(out), "\n")[1:] {
			if line != "" && !strings.Contains(line, "names only") {
				names = append(names, strings.Fields(line)[0])
			}
		}
		return names
	}
	switch program {
	case "urlget":
		return fmt.Sprint(len(ours()))
	case "curl":
		return fmt.Sprint(len(curls()))
	}
	n := 0
	all := append(ours(), curls()...)
	slices.Sort(all)
	for _, scheme := range slices.Compact(all) {
		_, out, _ := w.command(t, program, "-t", "1", "-T", "1", scheme+"://127.0.0.1:1/")
		if !strings.Contains(string(out), "Unsupported scheme") && !strings.Contains(string(out), "Scheme missing") &&
			!strings.Contains(string(out), "unable to resolve") {
			n++
		}
	}
	return fmt.Sprint(n)
}

// scenario returns the outcome of a program with a hostile web server.
func (w *why) scenario(t *testing.T, program, lie string, twice bool) string {
	i := slices.IndexFunc(comparedTools, func(tl tool) bool { return tl.name == program })
	for _, s := range hostileScenarios() {
		if s.lie == lie {
			s.twice = twice
			return w.run(t, comparedTools[i], s, "2")
		}
	}
	t.Fatalf("no server %s", lie)
	return ""
}

func (w *why) changed(t *testing.T, program string) string {
	switch outcome := w.scenario(t, program, "changed", true); outcome {
	case outcomeWhole:
		return "retrieves the new file"
	case outcomeWrong:
		return "joins both files, exit status 0"
	default:
		return outcome
	}
}

func (w *why) half(t *testing.T, program string) string {
	switch outcome := w.scenario(t, program, "length", false); outcome {
	case outcomeError:
		return "an error, and no file of that name"
	case outcomePartial:
		return "an error, and half of the file under its name"
	default:
		return outcome
	}
}

// rootPaths are the paths of the trees of the servers.
var rootPaths = map[string]string{"nntp": "/example.fruit", "imaps": "/INBOX"}

func (w *why) trees(t *testing.T, program string) string {
	if program == "curl" {
		return notInTheManual
	}
	var copied []string
	for _, s := range w.servers.All {
		path, ok := rootPaths[s.Scheme]
		if !ok {
			path = "/"
		}
		args := []string{"-m", "--ca-certificate", w.ca, w.at(s, path)}
		if program == "wget" {
			args = []string{"-r", "-t", "2", "-T", "5", "--ftps-implicit", "--ca-certificate=" + w.ca, w.at(s, path)}
		}
		dir, _, err := w.command(t, program, args...)
		if err == nil && hasText(t, dir, "pear is a fruit") {
			copied = append(copied, s.Scheme)
		}
	}
	slices.Sort(copied)
	return strings.Join(copied, ", ")
}

// hasText reports whether a file below dir contains text.
func hasText(t *testing.T, dir, text string) (found bool) {
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return found
}

func (w *why) archives(t *testing.T, program string) string {
	if program == "curl" {
		return notInTheManual
	}
	var archived []string
	tried := 0
	for _, s := range w.servers.All {
		if s.Scheme == "telnet" {
			continue // a session, not a document
		}
		tried++
		args := []string{"--warc", "a", "--ca-certificate", w.ca, w.at(s, s.Path)}
		if program == "wget" {
			args = []string{"-t", "2", "-T", "5", "--ftps-implicit", "--warc-file=a", "--ca-certificate=" + w.ca, w.at(s, s.Path)}
		}
		dir, out, err := w.command(t, program, args...)
		if err == nil && hasRecord(t, filepath.Join(dir, "a.warc.gz"), s.Scheme) {
			archived = append(archived, s.Scheme)
		} else if program == "urlget" {
			t.Logf("%s: %v\n%s", s.Scheme, err, out)
		}
	}
	if len(archived) == tried {
		return fmt.Sprintf("%d of %d schemes tried", tried, tried)
	}
	slices.Sort(archived)
	return strings.Join(archived, ", ")
}

// hasRecord reports whether an archive has a record of a URL of a scheme.
func hasRecord(t *testing.T, file, scheme string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return false
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Error(err)
	}
	return bytes.Contains(text, []byte("\nWARC-Target-URI: "+scheme+":")) || bytes.Contains(text, []byte("\nWARC-Target-URI: <"+scheme+":"))
}

func (w *why) page(t *testing.T, program string) string {
	target := "gopher://" + w.servers.Addr("gopher") + "/1/fruit"
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.paths[program], "serve", "--listen", "127.0.0.1:0", target)
	cmd.Env = []string{"HOME=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cancel()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	c := &http.Client{Jar: jar, Transport: transport, Timeout: hangs}
	read := func(u string) string {
		resp, err := c.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	address, err := url.Parse(strings.TrimSpace(first))
	if err != nil {
		t.Fatal(err)
	}
	home := read(address.String()) // also sets the cookie
	link := regexp.MustCompile(`href="(/view\?[^"]*` + regexp.QuoteMeta(url.QueryEscape(target)) + `)"`).FindStringSubmatch(home)
	if link == nil {
		t.Fatalf("the start page has no link to %s", target)
	}
	if !strings.Contains(read("http://"+address.Host+html.UnescapeString(link[1])), "pear.txt") {
		t.Errorf("the page of %s does not show pear.txt", target)
	}
	return "`urlget serve`"
}

func (w *why) queue(t *testing.T, program string) string {
	queue := t.TempDir()
	target := "gopher://" + w.servers.Addr("gopher") + "/0/fruit/pear.txt"
	for _, args := range [][]string{
		{"submit", "--embedded", queue, target},
		{"work", "--embedded", queue, "--allow-private", "--until-empty"},
	} {
		if _, out, err := w.command(t, program, args...); err != nil {
			t.Errorf("urlget %s: %v\n%s", args[0], err, out)
		}
	}
	return "`urlget submit`, `urlget work`"
}

func (w *why) library(t *testing.T, _ string) string {
	c := fetch.New(&fetch.Options{TLS: &tls.Config{RootCAs: w.servers.Roots}}, protocols.All)
	defer c.Close()
	text, err := c.ReadAll(t.Context(), "gopher://"+w.servers.Addr("gopher")+"/0/fruit/pear.txt", 1<<20)
	if err != nil || !strings.Contains(string(text), "pear") {
		t.Errorf("%q, %v", text, err)
	}
	return "Go: `fetch`"
}

// TestComparedREADME runs urlget and compares the results with its column in the README. With
// URLGET_COMPARED=write it also runs curl and wget and writes the table.
func TestComparedREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, began := strings.Cut(string(text), whyBegins)
	shown, after, ended := strings.Cut(rest, whyEnds)
	if !began || !ended {
		t.Fatalf("%s has no lines %q and %q", readme, whyBegins, whyEnds)
	}
	work := t.TempDir()
	w := &why{servers: testservers.Bind(t, loopback.New, loopback.Options{}), dir: work,
		comparison: &comparison{ca: filepath.Join(work, "ca.pem"), paths: map[string]string{"urlget": filepath.Join(work, "urlget")},
			free: make(chan struct{}, 1)}}
	if err := os.WriteFile(w.ca, w.servers.PEM, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", work, "../cmd/urlget", "../queue/cmd/urlget-queue").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if os.Getenv("URLGET_COMPARED") != "write" {
		for _, row := range whyRows {
			line := fmt.Sprintf("| %s | %s |", row.title, row.run(w, t, "urlget"))
			if !strings.Contains(shown, line) {
				t.Errorf("%s has no row %s", readme, line)
			}
		}
		return
	}
	head, rule := "| | urlget |", "|---|---|"
	for _, program := range []string{"curl", "wget"} {
		if w.paths[program], err = exec.LookPath(program); err != nil {
			t.Fatal(err)
		}
		_, out, _ := w.command(t, program, "--version")
		head, rule = head+" "+program+" "+versionNumber.FindString(string(out))+" |", rule+"---|"
	}
	table := head + "\n" + rule + "\n"
	for _, row := range whyRows {
		table += fmt.Sprintf("| %s |", row.title)
		for _, program := range []string{"urlget", "curl", "wget"} {
			cell, ok := row.others[program]
			if !ok {
				cell = row.run(w, t, program)
			}
			table += " " + cell + " |"
		}
		table += "\n"
	}
	if t.Failed() {
		t.Fatal("the table is incomplete and was not written")
	}
	if err := os.WriteFile(readme, []byte(before+whyBegins+table+whyEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
