package main

import (
	"os"

	"github.com/urlget/urlget/cmd/urlget/internal/flags"
)

// A painter colours text for people; the zero value leaves it plain.
type painter bool

func (p painter) wrap(code, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) bad(text string) string  { return p.wrap("1;31", text) }
func (p painter) good(text string) string { return p.wrap("32", text) }
func (p painter) note(text string) string { return p.wrap("36", text) }

// color reports whether to use colour on f: as --color says, or else if f is a terminal and
// NO_COLOR (no-color.org) is not opts.
func color(o *flags.Options, f *os.File, terminal bool) painter {
	switch o.Report.Color {
	case flags.ColorAlways:
		return true
	case flags.ColorNever:
		return false
	}
	return painter(terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}
