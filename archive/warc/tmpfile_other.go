//go:build !linux

package warc

import (
	"errors"
	"os"
)

func tmpfile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
