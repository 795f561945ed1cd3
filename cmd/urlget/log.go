package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

const backgroundLog = "urlget-log"

// inBackground is the environment variable that marks the background process. Its value is ignored.
const inBackground = "URLGET_BACKGROUND"

// openLog replaces standard error by the log file. detached reports that a background process does
// the rest.
func (r *reporter) openLog(args []string) (detached bool, err error) {
	l := &r.opts.Log
	name, mode := l.File, os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	if l.Append != "" {
		name, mode = l.Append, os.O_WRONLY|os.O_CREATE|os.O_APPEND
	}
	for _, arg := range args {
		if l.Background && !isAbs(arg) {
			return false, failure.Hinted(fetch.Printable(arg)+": the URL has no scheme",
				cmp.Or(r.opts.Misread(arg),
					"did you mean "+flags.Guessed+"://"+fetch.Printable(strings.TrimLeft(arg, "/"))+" ?"))
		}
	}
	switch {
	case !l.Background || os.Getenv(inBackground) != "":
	case name == "-":
		return false, failure.Usagef("-b requires a log file, not -")
	case r.opts.Login.Ask:
		return false, failure.Usagef("--ask-password: cannot prompt for a password in the background")
	default:
		return true, r.detach(name, mode)
	}
	os.Unsetenv(inBackground)
	if l.Background { // standard error is the log
		r.con.Redirect(r.std.err)
		r.logged = true
		return false, nil
	}
	if name == "" || name == "-" {
		return false, nil
	}
	file, err := os.OpenFile(name, mode, 0o666)
	if err != nil {
		return false, failure.File(err)
	}
	r.terminalErr, r.std.err = r.std.err, file
	r.con.Redirect(file)
	r.logged = true
	return false, nil
}

// closeLog reports messages that are missing from the log on standard error, if that is not the log.
func (r *reporter) closeLog() {
	err := r.con.LogError()
	if r.terminalErr != nil {
		err = cmp.Or(err, r.std.err.Close())
	}
	if err = failure.File(err); err == nil {
		return
	}
	r.exit.failed(-1, exitStatus(err))
	if r.terminalErr != nil {
		printError(r.terminalErr, false, "", "", err)
	}
}

func (r *reporter) detach(name string, mode int) error {
	program, err := os.Executable()
	if err != nil {
		return failure.File(err)
	}
	var log *os.File
	if name != "" {
		log, err = os.OpenFile(name, mode, 0o666)
	} else {
		log, _, err = createUnused(backgroundLog, func(name string) (*os.File, error) {
			return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		})
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
	fmt.Fprintf(r.std.err, "running in the background as process %d; messages are written to %s\n", p.Pid,
		fetch.Printable(log.Name()))
	return failure.File(p.Release())
}
