package main

import (
	"fmt"
	"io"

	"github.com/urlget/urlget/fetch"
)

// readAtMost reads r to its end. More than limit bytes are a fetch.ErrTooLarge.
func readAtMost(r io.Reader, name string, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, tooLarge(name, limit)
	}
	return content, err
}

func tooLarge(name string, limit int64) error {
	return &fetch.Error{Code: fetch.ErrTooLarge, Err: fmt.Errorf("%s has more than %d bytes", name, limit)}
}
