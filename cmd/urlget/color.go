package main

import "os"

// When to use colour.
const (
	colorAuto colorMode = iota
	colorAlways
	colorNever
)

type colorMode uint8

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
// NO_COLOR (no-color.org) is not set.
func (s *settings) color(f *os.File, terminal bool) painter {
	switch s.colors {
	case colorAlways:
		return true
	case colorNever:
		return false
	}
	return painter(terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}
