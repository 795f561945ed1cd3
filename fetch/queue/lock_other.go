//go:build !unix || solaris || aix

package queue

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }
