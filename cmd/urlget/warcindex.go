package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/atomicfile"
)

func writeIndex(_ *program, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return failure.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return failure.File(err)
	}
	mode := info.Mode().Perm()&0o644 | 0o200 // the index has URLs and forms of the archive
	var damage *warc.DamageError
	err = atomicfile.Replace(warc.IndexName(name), mode, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		err := warc.WriteIndex(out, f, filepath.Base(name))
		if err != nil && !errors.As(err, &damage) {
			return fmt.Errorf("%s: %w", name, err)
		}
		return out.Flush()
	})
	if err == nil && damage != nil {
		return damagedArchive(fmt.Errorf("%s: %w", name, damage))
	}
	return failure.File(err)
}

// damagedArchive returns the error for an output that was made of an archive with damage.
func damagedArchive(damage error) error {
	return &fetch.Error{Code: fetch.ErrProtocol, Err: damage,
		Hint: "use urlget warc verify to see all damaged parts"}
}
