package telnet

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// A transcript writes both directions of a connection, one line per item:
//
//	< DO TTYPE
//	> WILL TTYPE
//	< SB TTYPE "\x01"
//	< "login: "
//
// A nil transcript does nothing.
type transcript struct {
	mu    sync.Mutex
	w     io.Writer                    // nil for none
	trace func(sent bool, line string) // of the client, without data: they may contain a password
	err   error
}

func newTranscript(w io.Writer, trace func(sent bool, line string)) *transcript {
	if w == nil && trace == nil {
		return nil
	}
	return &transcript{w: w, trace: trace}
}

func (t *transcript) data(sent bool, p []byte) {
	if t == nil || len(p) == 0 {
		return
	}
	for line := range strings.Lines(string(p)) {
		t.line(sent, fmt.Sprintf("%q", line))
	}
}

func (t *transcript) command(sent bool, command byte, option ...byte) {
	if t == nil {
		return
	}
	s := commandName(command)
	for _, o := range option {
		s += " " + optionName(o)
	}
	t.negotiation(sent, s)
}

func (t *transcript) subneg(sent bool, option byte, payload []byte) {
	if t != nil {
		t.negotiation(sent, fmt.Sprintf("SB %s %q", optionName(option), payload))
	}
}

func (t *transcript) negotiation(sent bool, s string) {
	if t.trace != nil {
		t.trace(sent, s)
	}
	t.line(sent, s)
}

func (t *transcript) line(sent bool, s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.w == nil || t.err != nil {
		return
	}
	mark := "<"
	if sent {
		mark = ">"
	}
	_, t.err = fmt.Fprintf(t.w, "%s %s\n", mark, s)
}

func (t *transcript) failed() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return nil
	}
	return fetch.ErrFile.Errorf("transcript: %w", t.err)
}
