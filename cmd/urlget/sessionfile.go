package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
)

// A sessionFile is the file that -O names for what a session prints. As with any content, it gets
// its name when the session has ended well; until then, and if it fails, it is NAME.part.
type sessionFile struct {
	get  *getter
	part *os.File
	n    int64
}

// sessionOutput returns where to write what a session prints, and what is to be called at its end.
// At a terminal it is shown there too, since somebody answers it.
func (g *getter) sessionOutput(terminal bool) (io.Writer, func(error) error, error) {
	nothing := func(err error) error { return err }
	switch {
	case g.opts.Output.Continue || g.opts.Output.Newer:
		return nil, nil, failure.Usagef("a session cannot be continued or compared with a file: -c and -N do not apply")
	case g.out.stream == "-" || g.out.stream == "" && g.out.name == "":
		return g.std.out, nothing, nil
	case g.out.stream != "":
		return g.beside(terminal, g.device), nothing, nil
	}
	name := g.out.name + ".part"
	if err := g.files.Root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, failure.File(err)
	}
	part, err := g.files.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, nil, failure.File(err)
	}
	f := &sessionFile{get: g, part: part}
	return g.beside(terminal, f), f.end, nil
}

func (r *reporter) beside(terminal bool, w io.Writer) io.Writer {
	if terminal {
		return io.MultiWriter(r.std.out, w)
	}
	return w
}

// Write implements io.Writer, within --max-size.
func (f *sessionFile) Write(p []byte) (int, error) {
	most := int64(f.get.opts.Limits.MaxSize)
	tooMuch := most > 0 && f.n+int64(len(p)) > most
	if tooMuch {
		p = p[:most-f.n]
	}
	n, err := f.part.Write(p)
	f.n += int64(n)
	if err == nil && tooMuch {
		err = &fetch.Error{Code: fetch.ErrTooLarge, Err: fmt.Errorf("the session printed more than %d bytes", most)}
	}
	return n, err
}

// end gives the file its name if the session ended well, which is so if failed is nil.
func (f *sessionFile) end(failed error) error {
	g, root := f.get, f.get.files.Root
	if failed == nil {
		failed = failure.File(f.part.Sync())
	}
	err := failure.File(f.part.Close())
	switch {
	case failed == nil:
		failed = err
	case f.n == 0:
		root.Remove(g.out.name + ".part")
	}
	path := filepath.Join(g.out.dir, g.out.name)
	if failed != nil {
		if own := (*fetch.Error)(nil); errors.As(failed, &own) && own.Hint == "" && f.n > 0 {
			own.Hint = "what came is kept in " + path + ".part"
		}
		return failed
	}
	if old, err := root.Stat(g.out.name); err == nil && old.Mode().IsRegular() {
		if err := root.Chmod(g.out.name+".part", old.Mode().Perm()); err != nil {
			return failure.File(err)
		}
	}
	if err := root.Rename(g.out.name+".part", g.out.name); err != nil {
		return failure.File(err)
	}
	g.say("%s %s (%s)", g.con.Paint.Good("saved"), fetch.Printable(path), sizeText(f.n))
	return nil
}
