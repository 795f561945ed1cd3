package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/internal/atomicfile"
)

func runPack(_ *program, _ *cobra.Command, args []string) error {
	if len(args) < 2 || !isPacked(args[0]) {
		return failure.Hinted("the first FILE is the output and must end in .wacz",
			"for example: urlget warc pack ALL.wacz ONE.warc.gz TWO.warc.gz")
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return failure.File(&fs.PathError{Op: "open", Path: args[0], Err: syscall.EEXIST})
	}
	mode := fs.FileMode(0o644)
	for _, name := range args[1:] {
		info, err := os.Stat(name)
		if err != nil {
			return failure.File(err)
		}
		mode &= info.Mode().Perm() | 0o600 // as private as the archives
	}
	var damage *warc.DamageError
	var damaged error
	err := atomicfile.Replace(args[0], mode, func(out io.Writer) error {
		err := packInto(out, args[1:])
		if errors.As(err, &damage) {
			damaged, err = err, nil
		}
		return err
	})
	if err == nil && damaged != nil {
		return damagedArchive(damaged)
	}
	return failure.File(err)
}

func packInto(out io.Writer, names []string) error {
	var list []wacz.File
	for _, name := range names {
		f, err := replay.OpenFile(name)
		if err != nil {
			return err
		}
		defer f.Close()
		list = append(list, wacz.File{Name: filepath.Base(name),
			SectionReader: io.NewSectionReader(f, 0, f.Size())})
	}
	return wacz.Write(out, list, wacz.Options{Software: "urlget/" + programVersion()})
}
