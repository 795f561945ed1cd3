package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A console is standard error: messages and, on a terminal, the progress of transfers below them.
// It is safe for concurrent use.
type console struct {
	mu sync.Mutex
	w  io.Writer
	display

	screen *os.File   // the terminal that messages go to; nil if it is none
	asking sync.Mutex // held by who asks the user
	silent bool       // no warnings
}

// Write writes complete lines, above the display if there is one.
func (c *console) Write(p []byte) (int, error) {
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

// prose returns a writer of messages: on a terminal their lines break between words.
func (c *console) prose() io.Writer { return proseWriter{c} }

type proseWriter struct{ *console }

func (p proseWriter) Write(text []byte) (int, error) {
	if p.screen == nil {
		return p.console.Write(text)
	}
	cols, _ := sizeOf(p.screen)
	_, err := p.console.Write([]byte(wrap(string(text), cols)))
	return len(text), err
}

// alone keeps others from writing and from asking the user, until it is resumed.
func (c *console) alone() (resume func()) {
	c.asking.Lock()
	goOn := c.pause()
	return func() {
		goOn()
		c.asking.Unlock()
	}
}

// warn tells the user about something that did not keep the command from its work.
func (c *console) warn(warning string) {
	if !c.silent {
		io.WriteString(c.prose(), "urlget: "+fetch.Printable(warning)+"\n")
	}
}

// warnings is the log of a run. It prints warnings as messages, and with -v everything else too.
type warnings struct {
	con *console
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
	w.con.warn(text)
	return nil
}

func (w warnings) WithAttrs([]slog.Attr) slog.Handler { return w }

func (w warnings) WithGroup(string) slog.Handler { return w }

// trace prints a line of a protocol conversation.
func (c *console) trace(sent bool, line string) {
	mark := "< "
	if sent {
		mark = "> "
	}
	io.WriteString(c, mark+fetch.Printable(line)+"\n")
}

// replies returns a Recorder that prints the replies of servers as they arrive, below the URL that
// they belong to, which also keeps those of concurrent transfers apart.
func (c *console) replies() fetch.Recorder {
	var mu sync.Mutex
	var last *fetch.Exchange
	return func(_ context.Context, req *fetch.Request) *fetch.Exchange {
		x := &fetch.Exchange{}
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
	}
}
