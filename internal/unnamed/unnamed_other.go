//go:build !linux

// Package unnamed makes files without a name (O_TMPFILE), and names them, where the system can.
package unnamed

import (
	"errors"
	"os"
)

// Create returns errors.ErrUnsupported.
func Create(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// LinkFile returns errors.ErrUnsupported.
func LinkFile(_, _ *os.File, _ string) error { return errors.ErrUnsupported }
