package tty

import (
	"context"
	"io"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
)

// A Prompt asks the user at the terminal even if standard input is redirected.
type Prompt struct {
	messages *os.File               // where the user sees messages
	alone    func() (resume func()) // blocks other writes
}

// NewPrompt returns a prompt that prints its questions on a console.
func NewPrompt(stderr *os.File, c *Console) Prompt { return Prompt{stderr, c.Alone} }

// Possible reports whether there is a terminal.
func (p Prompt) Possible() bool { return p.messages != nil && term.IsTerminal(int(p.messages.Fd())) }

// Ask prints a question and returns the answer, which is not echoed if secret is set. Without a
// terminal, the error has code fetch.ErrAuth.
func (p Prompt) Ask(ctx context.Context, question string, secret bool) (string, error) {
	if !p.Possible() {
		return "", fetch.ErrAuth
	}
	name := "/dev/tty"
	if runtime.GOOS == "windows" {
		name = "CONIN$"
	}
	tty, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return "", fetch.ErrAuth
	}
	defer tty.Close()
	defer p.alone()()
	// Echo is turned off before the question is printed, and restored at the end even if a read is
	// still pending.
	fd := int(tty.Fd())
	state, err := term.GetState(fd)
	if err == nil && secret {
		_, err = term.MakeRaw(fd)
	}
	if err != nil {
		return "", fetch.ErrAuth
	}
	defer term.Restore(fd, state)
	read := func() (string, error) { return flags.ReadLine(tty) }
	if secret {
		t := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{tty, p.messages}, "")
		read = func() (string, error) { return t.ReadPassword(question) }
	} else {
		io.WriteString(p.messages, question)
	}
	type answer struct {
		text string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		text, err := read()
		done <- answer{text, err}
	}()
	select {
	case a := <-done:
		if a.err == io.EOF { // ^C or ^D, without a line end
			io.WriteString(p.messages, "\r\n")
			a.err = &fetch.Error{Code: fetch.ErrInterrupted}
		}
		return a.text, a.err
	case <-ctx.Done():
		io.WriteString(p.messages, "\r\n")
		return "", context.Cause(ctx)
	}
}
