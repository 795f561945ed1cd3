package main

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/render"
)

// The exit statuses. The first failure determines the status.
const (
	exitOK          = 0
	exitUsage       = job.ExitUsage
	exitFile        = job.ExitFile
	exitIncomplete  = job.ExitIncomplete
	exitInterrupted = job.ExitInterrupted
)

// An exit is the status to exit with. Several goroutines may use it.
type exit struct {
	mu     sync.Mutex
	first  int // status of the first failure
	number int // of what failed with it
}

// failed notes a failure of what has that number: the lowest decides.
func (e *exit) failed(number, status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == exitOK || number >= 0 && number < e.number && status != exitInterrupted {
		e.first, e.number = status, number
	}
}

func (e *exit) status() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first
}

// exitStatus returns the exit status for err.
func exitStatus(err error) int {
	if err == nil {
		return exitOK
	}
	if wrong := (*failure.Usage)(nil); errors.As(err, &wrong) {
		return exitUsage
	}
	return job.ExitStatus(fetch.CodeOf(err))
}

// printError writes what went wrong as one line, and a second one with what can be done about it.
// place is where the user gave it, as FILE:LINE, and subject the URL, redacted; both may be "".
func printError(w io.Writer, paint tty.Painter, place, subject string, err error) {
	line, use := paint.Bad("urlget:")+" ", hintOf(err)
	if place != "" {
		line += fetch.Printable(place) + ": "
	}
	if subject != "" {
		line += fetch.Printable(subject) + ": "
	}
	own := (*fetch.Error)(nil)
	if errors.As(err, &own) && own.URL != "" && own.URL != subject {
		line += fetch.Printable(own.URL) + ": " // where a redirect led
	}
	text := render.Message(err)
	if own != nil && own.Reason.Kind == driver.ReasonHostKey {
		text = strings.TrimPrefix(text, fetch.ErrTLS.Error()+": ") // SSH has trust, but no TLS
	}
	line += text + "\n"
	if use != "" {
		line += paint.Note("hint:") + " " + fetch.Printable(use) + "\n"
	}
	io.WriteString(w, line)
}

// hintOf returns what can be done about err, or "".
func hintOf(err error) string {
	var own *fetch.Error
	var wrong *failure.Usage
	switch {
	case errors.As(err, &wrong):
		return wrong.Hint
	case errors.As(err, &own):
		return hint(own)
	}
	return ""
}
