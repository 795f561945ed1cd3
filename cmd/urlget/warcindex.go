package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
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
	return failure.File(atomicfile.Replace(warc.IndexName(name), mode, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		if err := warc.WriteIndex(out, f, filepath.Base(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return out.Flush()
	}))
}
