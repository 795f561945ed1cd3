package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
)

func runPack(_ *program, _ *cobra.Command, args []string) error {
	if len(args) < 2 || !isPacked(args[0]) {
		return failure.Hinted("the first FILE is the output and must end in .wacz",
			"for example: urlget warc pack ALL.wacz ONE.warc.gz TWO.warc.gz")
	}
	out, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return failure.File(err)
	}
	err = packInto(out, args[1:])
	_, isDamage := errors.AsType[*warc.DamageError](err)
	if err != nil && !isDamage {
		out.Close()
		os.Remove(args[0])
		return failure.File(err)
	}
	if failed := out.Close(); failed != nil || err == nil {
		return failure.File(failed)
	}
	return damagedArchive(err)
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
