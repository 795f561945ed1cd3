//go:build !linux && !darwin

package queue

import "errors"

// Free returns an error of class errors.ErrUnsupported on this system.
func (d *Dir) Free() (int64, error) { return 0, errors.ErrUnsupported }
