package tty

import (
	"os"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

// A Painter adds colors to text. The zero value does not.
type Painter bool

func (p Painter) wrap(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p Painter) Bad(text string) string  { return p.wrap("1;31", text) }
func (p Painter) Good(text string) string { return p.wrap("32", text) }
func (p Painter) Note(text string) string { return p.wrap("36", text) }

// Color reports whether to use colors. With the automatic mode, it is true on a terminal if NO_COLOR
// (no-color.org) is not set.
func Color(mode flags.ColorMode, terminal bool) Painter {
	switch mode {
	case flags.ColorAlways:
		return true
	case flags.ColorNever:
		return false
	}
	return Painter(terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}
