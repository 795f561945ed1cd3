//go:build !linux

package queue

import (
	"errors"
	"os"
)

func nameless(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func link(*os.File, *os.File, string) error { return errors.ErrUnsupported }
