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

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// backgroundLog is where messages of the background go if no file is named.
const backgroundLog = "urlget-log"

// inBackground tells a process that it is the one in the background. Its value means nothing.
const inBackground = "URLGET_BACKGROUND"

// openLog makes the log file take the place of standard error. detached reports that another
// process does the rest.
func (r *reporter) openLog(args []string) (detached bool, err error) {
	l := &r.opts.Log
	name, mode := l.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	switch {
	case l.File != "" && l.Append != "":
		return false, failure.Usagef("-o and -a exclude each other")
	case l.Append != "":
		name, mode = l.Append, os.O_WRONLY|os.O_CREATE|os.O_APPEND
	}
	if err := checkLogName(l.File, args); err != nil {
		return false, err
	}
	for _, arg := range args {
		if u, err := uri.ParseLoose(arg); l.Background && (err != nil || !u.IsAbs()) {
			return false, failure.Hinted(fetch.Printable(arg)+": the URL has no scheme",
				cmp.Or(r.opts.Misread(arg), "did you mean "+flags.Guessed+"://"+fetch.Printable(strings.TrimLeft(arg, "/"))+" ?"))
		}
	}
	switch {
	case !l.Background || os.Getenv(inBackground) != "":
	case name == "-":
		return false, failure.Usagef("-b leaves the terminal: its log is a file, not -")
	case r.opts.Login.Ask:
		return false, failure.Usagef("--ask-password: in the background there is no terminal to ask for the password at")
	default:
		return true, r.detach(name)
	}
	os.Unsetenv(inBackground)
	if name == "" || name == "-" || l.Background {
		return false, nil
	}
	file, err := os.OpenFile(name, mode, 0o666)
	if err != nil {
		return false, failure.File(err)
	}
	r.std.err = file
	r.con.Redirect(file)
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
			return failure.Hinted("-o names a log, and "+fetch.Printable(log)+" looks like content", "-O "+log+" saves the content there")
		}
	}
	return nil
}

// detach starts the command once more, on its own and with its messages in a log.
func (r *reporter) detach(name string) error {
	l := &r.opts.Log
	program, err := os.Executable()
	if err != nil {
		return failure.File(err)
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if l.Append != "" {
		mode = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	var log *os.File
	if name != "" {
		log, err = os.OpenFile(name, mode, 0o666)
	} else {
		log, err = newLog()
	}
	if err != nil {
		return failure.File(err)
	}
	defer log.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return failure.File(err)
	}
	defer null.Close()
	p, err := os.StartProcess(program, os.Args, &os.ProcAttr{
		Files: []*os.File{null, log, log}, Env: append(os.Environ(), inBackground+"=1"), Sys: ownSession()})
	if err != nil {
		return failure.File(err)
	}
	fmt.Fprintf(r.std.err, "going on in the background as process %d; messages are in %s\n", p.Pid, fetch.Printable(log.Name()))
	return failure.File(p.Release())
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
