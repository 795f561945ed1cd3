//go:build !linux

// Package unnamed creates files without a name (O_TMPFILE) and links them, if the system supports it.
package unnamed

import (
	"errors"
	"os"
)

// Create returns errors.ErrUnsupported.
func Create(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// LinkFile returns errors.ErrUnsupported.
func LinkFile(_, _ *os.File, _ string) error { return errors.ErrUnsupported }
