package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Most of the time of a short command is the start of its process. Workers are processes that run many
// command lines, one after the other, each with its own directory, environment and streams. Tests of
// signals, terminals, closed pipes and other programs start a process per command.

// workerName is the name under which the test binary is a worker.
const workerName = "urlget-worker"

// A commandLine is the input of a worker.
type commandLine struct {
	Args []string // without the name of the command
	Dir  string
	Env  []string // a later variable replaces an earlier one of the same name
	// Standard input and output are pipes, unless these name files in Dir.
	In, Out string
	Input   []byte // through the pipe
}

// A commandResult is the output of a worker.
type commandResult struct {
	Status         int
	Stdout, Stderr string // Stdout is empty if it is a file
	Err            string // a failure of the worker itself
}

// work runs the command lines from standard input until it ends.
func work() {
	debug.SetGCPercent(200) // as for the command
	in, out := gob.NewDecoder(bufio.NewReader(os.Stdin)), gob.NewEncoder(os.Stdout)
	lines := make(chan commandLine)
	go func() {
		for {
			var l commandLine
			if in.Decode(&l) != nil {
				os.Exit(0) // the test has ended, even if a command has not
			}
			lines <- l
		}
	}()
	for l := range lines {
		res, err := l.run()
		if err != nil {
			res.Err = err.Error()
		}
		if out.Encode(res) != nil {
			return
		}
	}
}

// run runs the command line in this process.
func (l commandLine) run() (res commandResult, err error) {
	os.Clearenv()
	for _, pair := range append(l.Env, "PWD="+l.Dir) {
		if name, value, _ := strings.Cut(pair, "="); name != "" {
			if err := os.Setenv(name, value); err != nil {
				return res, err
			}
		}
	}
	if zone := os.Getenv("TZ"); zone != "UTC" { // a process reads it once
		return res, fmt.Errorf("TZ=%s: a worker has only UTC", zone)
	}
	if err := os.Chdir(l.Dir); err != nil {
		return res, err
	}
	in, feed, err := os.Pipe()
	if err != nil {
		return res, err
	}
	defer func() { in.Close() }()
	if l.In != "" {
		feed.Close()
		in.Close()
		if in, err = os.Open(l.In); err != nil {
			return res, err
		}
	} else {
		go func() {
			feed.Write(l.Input) // fails if the command does not read everything
			feed.Close()
		}()
	}
	var readers sync.WaitGroup
	capture := func(to *string) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		readers.Go(func() {
			text, _ := io.ReadAll(r)
			r.Close()
			*to = string(text)
		})
		return w, nil
	}
	var out *os.File
	if l.Out != "" {
		out, err = os.Create(l.Out)
	} else {
		out, err = capture(&res.Stdout)
	}
	if err != nil {
		return res, err
	}
	errs, err := capture(&res.Stderr)
	if err != nil {
		return res, err
	}
	os.Args = append([]string{"urlget"}, l.Args...)
	stdin, stdout, stderr := os.Stdin, os.Stdout, os.Stderr
	os.Stdin, os.Stdout, os.Stderr = in, out, errs
	res.Status = runProcess()
	os.Stdin, os.Stdout, os.Stderr = stdin, stdout, stderr
	out.Close() // fails if the command has closed it
	errs.Close()
	readers.Wait() // like exec.Cmd, until other programs have closed them, too
	return res, nil
}

// A worker is a process that runs command lines.
type worker struct {
	cmd  *exec.Cmd
	pipe io.Closer // its standard input
	to   *gob.Encoder
	from *gob.Decoder
}

// waitLimit is the time for an event that must happen, such as the end of a command. A worker that
// exceeds it prints its goroutines.
const waitLimit = 5 * time.Minute

// idleWorkers are the workers that wait for a command line.
var idleWorkers struct {
	sync.Mutex
	list []*worker
}

// runInWorker runs the command line in an idle worker, or in a new one.
func runInWorker(l commandLine) (commandResult, error) {
	w, err := takeWorker()
	if err != nil {
		return commandResult{}, err
	}
	late := time.AfterFunc(waitLimit, func() { w.cmd.Process.Signal(syscall.SIGQUIT) })
	var res commandResult
	if err = w.to.Encode(l); err == nil {
		err = w.from.Decode(&res)
	}
	late.Stop()
	if err != nil {
		w.cmd.Process.Kill()
		return res, fmt.Errorf("the worker ended: %w", cmp.Or(w.cmd.Wait(), err))
	}
	if res.Err != "" {
		err = errors.New(res.Err)
	}
	idleWorkers.Lock()
	defer idleWorkers.Unlock()
	idleWorkers.list = append(idleWorkers.list, w)
	return res, err
}

func takeWorker() (*worker, error) {
	idleWorkers.Lock()
	defer idleWorkers.Unlock()
	if n := len(idleWorkers.list); n > 0 {
		w := idleWorkers.list[n-1]
		idleWorkers.list = idleWorkers.list[:n-1]
		return w, nil
	}
	cmd := urlget()
	cmd.Args[0] = workerName
	cmd.Env = append(os.Environ(), "TZ=UTC", "GORACE="+quickExit)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd: cmd, pipe: in, to: gob.NewEncoder(in), from: gob.NewDecoder(bufio.NewReader(out))}, cmd.Start()
}

// stopWorkers ends the idle workers.
func stopWorkers() {
	idleWorkers.Lock()
	defer idleWorkers.Unlock()
	for _, w := range idleWorkers.list {
		w.pipe.Close()
		w.cmd.Wait()
	}
	idleWorkers.list = nil
}

// runShellLine runs a line of a shell that calls urlget, in dir: in a worker if it is simple, otherwise
// in a shell. It returns the exit status and standard error. The variables are added to the environment.
func runShellLine(t *testing.T, dir, line string, variables ...string) (status int, stderr string) {
	t.Helper()
	env := append(append(os.Environ(), "HOME="+dir, "TZ=UTC"), variables...)
	if l, ok := parseShellLine(line); ok {
		l.Dir, l.Env = dir, env
		res, err := runInWorker(l)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return res.Status, res.Stderr
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), errs.String()
}

// parseShellLine returns the command line of a shell line that only calls urlget, with quotes and
// redirections to and from files, or false. As "| cat" does, a pipe takes the output if there is no
// redirection; without either it is the null device.
func parseShellLine(line string) (l commandLine, ok bool) {
	line, piped := strings.CutSuffix(line, " | cat")
	words, ok := shellWords(line)
	if !ok || len(words) == 0 || words[0] != "urlget" {
		return l, false
	}
	l.In = os.DevNull
	if !piped {
		l.Out = os.DevNull
	}
	for words = words[1:]; len(words) > 0; words = words[1:] {
		switch word := words[0]; {
		case word == "<" && len(words) > 1:
			l.In, words = words[1], words[1:]
		case word == ">" && len(words) > 1 && !piped:
			l.Out, words = words[1], words[1:]
		case strings.ContainsAny(word, "<>"):
			return l, false
		default:
			l.Args = append(l.Args, word)
		}
	}
	return l, true
}

// shellWords splits a line into words as a shell does, or returns false if the line has special
// characters other than quotes, < and >.
func shellWords(line string) (words []string, ok bool) {
	word, inWord := "", false
	for line != "" {
		c := line[0]
		line = line[1:]
		switch {
		case c == ' ':
			if inWord {
				words = append(words, word)
			}
			word, inWord = "", false
		case c == '\'' || c == '"':
			quoted, rest, closed := strings.Cut(line, string(c))
			if !closed || c == '"' && strings.ContainsAny(quoted, "$`\\") || strings.ContainsAny(quoted, "<>") {
				return nil, false
			}
			word, inWord, line = word+quoted, true, rest
		case strings.IndexByte("$`\\;&|(){}*?[]~#!\n\t", c) >= 0:
			return nil, false
		default:
			word, inWord = word+string(c), true
		}
	}
	if inWord {
		words = append(words, word)
	}
	return words, true
}

func TestShellLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`urlget -q URL`:                `["-q" "URL"] /dev/null /dev/null`,
		`urlget -H 'A: b' "" -a"b"'c'`: `["-H" "A: b" "" "-abc"] /dev/null /dev/null`,
		`urlget -i - < list > f`:       `["-i" "-"] list f`,
		`urlget URL | cat`:             `["URL"] /dev/null `,
		`urlget URL | wc`:              "",
		`urlget $URL`:                  "",
		`urlget "$URL"`:                "",
		`urlget *`:                     "",
		`urlget URL 2>f`:               "",
		`urlget 'a<b'`:                 "",
		`urlget URL; urlget URL`:       "",
		`cd d`:                         "",
	} {
		got := ""
		if l, ok := parseShellLine(line); ok {
			got = fmt.Sprintf("%q %s %s", l.Args, l.In, l.Out)
		}
		if got != strings.ReplaceAll(want, "/dev/null", os.DevNull) {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// A command line neither changes those after it nor depends on the state of the test process.
func TestWorkersSeparateCommands(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		line           commandLine
		status         int
		stdout, stderr string
	}{
		{commandLine{Args: []string{"-qO-", "file.txt"}, Env: []string{"TZ=UTC", "URLGET_CONFIG=/nowhere"}}, exitFile, "", "/nowhere"},
		{commandLine{Args: []string{"-i", "-", "-qO-"}, Env: []string{"TZ=UTC"}, Input: []byte("data:,x")}, exitOK, "x", ""},
		{commandLine{Args: []string{"-i", "-", "-qO-"}, Env: []string{"TZ=UTC"}}, exitOK, "", ""},
		{commandLine{Args: []string{"-O-", "data:,y"}, Env: []string{"TZ=UTC"}, Out: "out"}, exitOK, "", ""},
	} {
		tt.line.Dir = t.TempDir()
		res, err := runInWorker(tt.line)
		if err != nil || res.Status != tt.status || res.Stdout != tt.stdout || !strings.Contains(res.Stderr, tt.stderr) {
			t.Errorf("%d: %+v, %v", i, res, err)
		}
		if text, err := os.ReadFile(filepath.Join(tt.line.Dir, "out")); tt.line.Out != "" && string(text) != "y" {
			t.Errorf("%d: %q, %v", i, text, err)
		}
	}
	if _, err := runInWorker(commandLine{Dir: t.TempDir(), Env: []string{"TZ=Asia/Tokyo"}}); err == nil {
		t.Error("a time zone that a worker cannot have is accepted")
	}
}
