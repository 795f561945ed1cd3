// Package failure classifies the errors of the command itself: usage errors and local file errors.
package failure

import (
	"fmt"

	"github.com/urlget/urlget/fetch"
)

// A Usage is a usage error.
type Usage struct {
	Text string
	Hint string // may be ""
}

func (e *Usage) Error() string { return e.Text }

// Usagef returns a Usage without a hint.
func Usagef(format string, args ...any) *Usage { return &Usage{Text: fmt.Sprintf(format, args...)} }

// Hinted returns a Usage with a hint.
func Hinted(text, hint string) *Usage { return &Usage{text, hint} }

// File classifies err as a local file error.
func File(err error) error { return fetch.ErrFile.Wrap("", err) }
