package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// logging is what the flags say of where messages go.
type logging struct {
	file, appended string
	background     bool
	brief          bool
}

// addLogFlags defines the flags about messages.
func addLogFlags(f *pflag.FlagSet, s *settings) {
	f.BoolVar(&s.log.brief, "no-verbose", false, "print a line for each file, but no progress (also -nv)")
	f.StringVarP(&s.log.file, "output-file", "o", "", "write messages to the log `FILE`; for content, that is -O")
	f.StringVarP(&s.log.appended, "append-output", "a", "", "append messages to the log `FILE`")
	f.BoolVarP(&s.log.background, "background", "b", false, "go on in the background, with a log")
}

// backgroundLog is where messages of the background go if no file is named.
const backgroundLog = "urlget-log"

// inBackground tells a process that it is the one in the background. Its value means nothing.
const inBackground = "URLGET_BACKGROUND"

// openLog makes the log file take the place of standard error. detached reports that another
// process does the rest.
func (a *app) openLog(args []string) (detached bool, err error) {
	l := &a.set.log
	name, flags := l.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	switch {
	case l.file != "" && l.appended != "":
		return false, usage("-o and -a exclude each other")
	case l.appended != "":
		name, flags = l.appended, os.O_WRONLY|os.O_CREATE|os.O_APPEND
	}
	if err := checkLogName(l.file, args); err != nil {
		return false, err
	}
	for _, arg := range args {
		if u, err := uri.ParseLoose(arg); l.background && (err != nil || !u.IsAbs()) {
			return false, &usageError{fetch.Printable(arg) + ": the URL has no scheme",
				cmp.Or(a.set.misread(arg), "did you mean "+guessed+"://"+fetch.Printable(strings.TrimLeft(arg, "/"))+" ?")}
		}
	}
	switch {
	case !l.background || os.Getenv(inBackground) != "":
	case name == "-":
		return false, usage("-b leaves the terminal: its log is a file, not -")
	case a.set.ask:
		return false, usage("--ask-password: in the background there is no terminal to ask for the password at")
	default:
		return true, a.detach(name)
	}
	os.Unsetenv(inBackground)
	if name == "" || name == "-" || l.background {
		return false, nil
	}
	if a.logFile, err = os.OpenFile(name, flags, 0o666); err != nil {
		return false, fileError(err)
	}
	a.std.err, a.con.w, a.con.screen = a.logFile, a.logFile, nil
	return false, nil
}

// checkLogName refuses a log that is named like what is retrieved: other tools have -o for that.
func checkLogName(log string, urls []string) error {
	for _, url := range urls {
		name := path.Base(url)
		if log == "" || strings.HasSuffix(log, ".log") || !strings.Contains(strings.TrimSuffix(url, name), "/") {
			continue
		}
		if filepath.Base(log) == name || path.Ext(name) != "" && filepath.Ext(log) == path.Ext(name) {
			return &usageError{"-o names a log, and " + fetch.Printable(log) + " looks like content", "-O " + log + " saves the content there"}
		}
	}
	return nil
}

// detach starts the command once more, on its own and with its messages in a log.
func (a *app) detach(name string) error {
	l := &a.set.log
	program, err := os.Executable()
	if err != nil {
		return fileError(err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if l.appended != "" {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	var log *os.File
	if name != "" {
		log, err = os.OpenFile(name, flags, 0o666)
	} else {
		log, err = newLog()
	}
	if err != nil {
		return fileError(err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fileError(err)
	}
	defer null.Close()
	p, err := os.StartProcess(program, os.Args, &os.ProcAttr{
		Files: []*os.File{null, log, log}, Env: append(os.Environ(), inBackground+"=1"), Sys: ownSession()})
	if err != nil {
		return fileError(err)
	}
	fmt.Fprintf(a.std.err, "going on in the background as process %d; messages are in %s\n", p.Pid, fetch.Printable(log.Name()))
	return fileError(p.Release())
}

// newLog makes a log of a name that is free.
func newLog() (*os.File, error) {
	name := backgroundLog
	for n := 1; ; n++ {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || n > 10_000 {
			return f, err
		}
		name = backgroundLog + "." + strconv.Itoa(n)
	}
}
