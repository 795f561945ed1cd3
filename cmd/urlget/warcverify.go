package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

	"github.com/urlget/urlget/archive/replay"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

func verifyArchive(p *program, name string) error {
	out := bufio.NewWriter(p.rep.std.out)
	file, err := replay.OpenFile(name)
	if err != nil {
		return failure.File(err)
	}
	defer file.Close()
	if isPacked(name) {
		if err := verifyPacked(out, file); err != nil {
			return err
		}
	}
	return eachIn(file, isPacked(name),
		func(name string, file io.ReaderAt) error { return verifyWARC(out, name, file) })
}

func verifyPacked(out *bufio.Writer, file replay.File) error {
	packed, err := newPacked(file)
	if err != nil {
		return err
	}
	problems, shown := 0, fetch.Printable(file.Name())
	packed.Verify(func(text string) {
		problems++
		fmt.Fprintf(out, "%s: %s\n", shown, fetch.Printable(text))
		out.Flush() // a long file shows its problems as they are found
	})
	if packed.IsSigned() {
		fmt.Fprintf(out, "%s: signature not checked\n", shown)
	}
	return cmp.Or(failure.File(out.Flush()), problemsIn(file.Name(), problems))
}

// problemsIn returns the error for the problems of an archive, or nil if there are none.
func problemsIn(name string, n int) error {
	if n == 0 {
		return nil
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("%s in %s", quantity(n, "problem"), name)}
}

func verifyWARC(out *bufio.Writer, name string, file io.ReaderAt) error {
	shown, problems := fetch.Printable(name), 0
	s, err := warc.Verify(file, func(p warc.Problem) {
		problems++
		fmt.Fprintf(out, "%s: byte %d: %s\n", shown, p.Offset, fetch.Printable(p.Text))
		out.Flush() // as in verifyPacked
	})
	if err != nil {
		return failure.File(fmt.Errorf("%s: %w", name, err))
	}
	fmt.Fprintf(out, "%s: %s, %s of content, %s\n", shown, quantity(s.Records, "record"), sizeText(s.Content),
		quantity(problems, "problem"))
	if s.External > 0 {
		fmt.Fprintf(out, "%s: %s of records in other archives\n", shown, quantity(s.External, "revisit"))
	}
	if s.Longer > 0 {
		fmt.Fprintf(out, "%s: %s with a body longer than Content-Length, read to the end of the record\n",
			shown, quantity(s.Longer, "response"))
	}
	if err := out.Flush(); err != nil {
		return failure.File(err)
	}
	if s.Records == 0 {
		return failure.File(fmt.Errorf("%s contains no records", name))
	}
	return problemsIn(name, problems)
}
