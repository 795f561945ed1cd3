// Package tty writes messages, progress and colors to the terminal and prompts the user.
package tty

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
)

// A Console is standard error: messages and, on a terminal, the progress of transfers below them.
// It is safe for concurrent use.
type Console struct {
	mu sync.Mutex
	w  io.Writer
	display

	screen    *os.File   // terminal for messages, or nil
	prompting sync.Mutex // held while prompting
	Silent    bool       // no warnings
}

// NewConsole returns a console on standard error.
func NewConsole(stderr *os.File) *Console {
	c := &Console{w: stderr}
	if stderr != nil && term.IsTerminal(int(stderr.Fd())) {
		c.screen = stderr
	}
	return c
}

// Redirect sends messages to a log instead of standard error. Each line begins with the time.
func (c *Console) Redirect(file *os.File) { c.w, c.screen = &timedLines{w: file}, nil }

// LogError returns the first error of writing to the log of Redirect.
func (c *Console) LogError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if log, ok := c.w.(*timedLines); ok {
		return log.err
	}
	return nil
}

type timedLines struct {
	w      io.Writer
	inLine bool
	err    error
}

func (t *timedLines) Write(p []byte) (int, error) {
	now := time.Now().Format(time.DateTime) + " "
	var text []byte
	for line := range bytes.Lines(p) {
		if !t.inLine {
			text = append(text, now...)
		}
		text = append(text, line...)
		t.inLine = line[len(line)-1] != '\n'
	}
	if _, err := t.w.Write(text); err != nil {
		t.err = cmp.Or(t.err, err)
		return 0, err
	}
	return len(p), nil
}

// Show prepares the display on a terminal or as plain lines; nil and false disable it. ending is
// closed after a signal to end the command.
func (c *Console) Show(paint Painter, ending <-chan struct{}, plain bool, terminal *os.File) {
	c.Paint, c.ending, c.plain, c.tty = paint, ending, plain, terminal
}

// Drawn reports whether the display is drawn on a terminal.
func (c *Console) Drawn() bool { return c.tty != nil }

// Shown reports whether there is a display, on a terminal or in lines.
func (c *Console) Shown() bool { return c.tty != nil || c.plain }

// Write writes complete lines, above the display if there is one.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty == nil {
		return c.w.Write(p)
	}
	text := c.erase() + string(p)
	select {
	case <-c.ending:
		text = "\r\x1b[K" + text // the terminal may have echoed the key
	default:
	}
	_, err := io.WriteString(c.w, text+c.redraw(time.Now()))
	return len(p), err
}

// Prose returns a writer for messages that wraps long lines between words on a terminal.
func (c *Console) Prose() io.Writer { return proseWriter{c} }

type proseWriter struct{ *Console }

func (p proseWriter) Write(text []byte) (int, error) {
	if p.screen == nil {
		return p.Console.Write(text)
	}
	cols, _ := sizeOf(p.screen)
	_, err := p.Console.Write([]byte(wrap(string(text), cols)))
	return len(text), err
}

// Alone blocks other writes and prompts until resume is called.
func (c *Console) Alone() (resume func()) {
	c.prompting.Lock()
	resumeDisplay := c.Pause()
	return func() {
		resumeDisplay()
		c.prompting.Unlock()
	}
}

// Warn prints a warning.
func (c *Console) Warn(warning string) {
	if !c.Silent {
		io.WriteString(c.Prose(), "urlget: "+fetch.Printable(warning)+"\n")
	}
}

// Logger returns a logger that prints warnings or, if all is set, all records.
func (c *Console) Logger(all bool) *slog.Logger { return slog.New(warnings{c, all}) }

type warnings struct {
	con *Console
	all bool
}

func (w warnings) Enabled(_ context.Context, level slog.Level) bool {
	return w.all || level >= slog.LevelWarn
}

func (w warnings) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	attrs := make(map[string]string)
	r.Attrs(func(attr slog.Attr) bool {
		attrs[attr.Key] = attr.Value.String()
		if attr.Key == "error" {
			text += ": " + attr.Value.String()
		} else {
			text += " (" + attr.Key + " " + attr.Value.String() + ")"
		}
		return true
	})
	if r.Message == "redirect" {
		text = attrs["from"] + " redirects to " + attrs["to"]
	}
	w.con.Warn(text)
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

func (w warnings) WithGroup(string) slog.Handler { return w }

// Trace prints a line of a protocol conversation.
func (c *Console) Trace(sent bool, line string) {
	mark := "< "
	if sent {
		mark = "> "
	}
	io.WriteString(c, mark+fetch.Printable(line)+"\n")
}

// Replies returns a Recorder that prints server replies as they arrive, below their URL, which
// separates parallel transfers.
func (c *Console) Replies() fetch.Recorder {
	var mu sync.Mutex
	var last *fetch.Recording
	return fetch.RecorderFunc(func(_ context.Context, req *fetch.Request) *fetch.Recording {
		x := &fetch.Recording{}
		x.Line = func(sent bool, line string) {
			if sent {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			text := "  " + fetch.Printable(line) + "\n"
			if last != x {
				last, text = x, fetch.Printable(req.URL.Redacted())+"\n"+text
			}
			io.WriteString(c, text)
		}
		return x
	})
}
