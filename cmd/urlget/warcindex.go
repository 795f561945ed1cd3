package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

func warcIndexCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "index FILE...",
		Short: "Write an index next to an archive (CDXJ)",
		Args:  needFile,
		RunE:  eachFile(p.rep, writeIndex),
	}
}

func writeIndex(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return failure.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return failure.File(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".cdxj-*")
	if err != nil {
		return failure.File(err)
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	out := bufio.NewWriter(tmp)
	if err := warc.WriteIndex(out, f, filepath.Base(name)); err != nil {
		return failure.File(fmt.Errorf("%s: %w", name, err))
	}
	mode := info.Mode().Perm() & 0o644 // the index has URLs and forms of the archive
	if err := errors.Join(out.Flush(), tmp.Chmod(mode|0o200), tmp.Close()); err != nil {
		return failure.File(err)
	}
	return failure.File(os.Rename(tmp.Name(), warc.IndexName(name)))
}
