// Package failure classifies what goes wrong in the command itself: mistakes on the command line and
// errors of the local system.
package failure

import (
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// A Usage is a mistake on the command line.
type Usage struct {
	Text string
	Hint string // what to do about it, or ""
}

func (e *Usage) Error() string { return e.Text }

// Usagef returns a Usage without a hint.
func Usagef(format string, args ...any) *Usage { return &Usage{Text: fmt.Sprintf(format, args...)} }

// Hinted returns a Usage with a hint.
func Hinted(text, hint string) *Usage { return &Usage{text, hint} }

// File classifies an error of the local system.
func File(err error) error { return fetch.ErrFile.Wrap("", err) }
