package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
)

// A sessionFile is the file that -O names for what a session prints. As with any content, it gets
// its name when the session has ended well; until then, and if it fails, it is NAME.part.
type sessionFile struct {
	app  *app
	part *os.File
	n    int64
}

// sessionOutput returns where to write what a session prints, and what is to be called at its end.
// At a terminal it is shown there too, since somebody answers it.
func (a *app) sessionOutput(terminal bool) (io.Writer, func(error) error, error) {
	nothing := func(err error) error { return err }
	switch {
	case a.set.resume || a.set.newer:
		return nil, nil, usage("a session cannot be continued or compared with a file: -c and -N do not apply")
	case a.out.stream == "-" || a.out.stream == "" && a.out.name == "":
		return a.std.out, nothing, nil
	case a.out.stream != "":
		return a.beside(terminal, a.device), nothing, nil
	}
	name := a.out.name + ".part"
	if err := a.files.Root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, fileError(err)
	}
	part, err := a.files.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, nil, fileError(err)
	}
	f := &sessionFile{app: a, part: part}
	return a.beside(terminal, f), f.end, nil
}

func (a *app) beside(terminal bool, w io.Writer) io.Writer {
	if terminal {
		return io.MultiWriter(a.std.out, w)
	}
	return w
}

// Write implements io.Writer, within --max-size.
func (f *sessionFile) Write(p []byte) (int, error) {
	most := int64(f.app.set.maxSize)
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
	a, root := f.app, f.app.files.Root
	if failed == nil {
		failed = fileError(f.part.Sync())
	}
	err := fileError(f.part.Close())
	switch {
	case failed == nil:
		failed = err
	case f.n == 0:
		root.Remove(a.out.name + ".part")
	}
	path := filepath.Join(a.out.dir, a.out.name)
	if failed != nil {
		if own := (*fetch.Error)(nil); errors.As(failed, &own) && own.Hint == "" && f.n > 0 {
			own.Hint = "what came is kept in " + path + ".part"
		}
		return failed
	}
	if old, err := root.Stat(a.out.name); err == nil && old.Mode().IsRegular() {
		if err := root.Chmod(a.out.name+".part", old.Mode().Perm()); err != nil {
			return fileError(err)
		}
	}
	if err := root.Rename(a.out.name+".part", a.out.name); err != nil {
		return fileError(err)
	}
	a.say("%s %s (%s)", a.con.paint.good("saved"), fetch.Printable(path), sizeText(f.n))
	return nil
}
