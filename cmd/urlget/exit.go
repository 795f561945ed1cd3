package main

import (
	"errors"
	"io"
	"sync"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// Exit statuses that the command sets itself; job.ExitStatus has the others. The first failure
// determines the status.
const (
	exitOK          = 0
	exitExists      = 1 // -O names an existing file, and -nc keeps it
	exitUsage       = 2
	exitFile        = 3
	exitIncomplete  = 18
	exitInterrupted = 130
)

// An exit holds the exit status. It is safe for concurrent use.
type exit struct {
	mu     sync.Mutex
	first  int // status of the first failure
	number int // task number of that failure
}

// failed records a failure of a task. The lowest task number determines the status.
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

func exitStatus(err error) int {
	if err == nil {
		return exitOK
	}
	if wrong := (*failure.Usage)(nil); errors.As(err, &wrong) {
		return exitUsage
	}
	return job.ExitStatus(fetch.CodeOf(err))
}

// printError writes an error as one line, followed by a line with a hint, if any. pos is the
// FILE:LINE of the URL in a list, and subject is the redacted URL; both may be "".
func printError(w io.Writer, paint tty.Painter, pos, subject string, err error) {
	line, use := paint.Bad("urlget:")+" ", hintOf(err)
	for _, name := range []string{pos, subject} {
		if name != "" {
			line += fetch.Printable(name) + ": "
		}
	}
	if own, ok := errors.AsType[*fetch.Error](err); ok && own.URL != "" && own.URL != subject {
		line += fetch.Printable(own.URL) + ": " // the target of a redirect
	}
	line += render.ErrorText(err) + "\n"
	if use != "" {
		line += paint.Note("hint:") + " " + fetch.Printable(use) + "\n"
	}
	io.WriteString(w, line)
}
