package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/internal/render"
)

// saveErrorPage saves the body of an error response in place of the content of j. It returns a
// function that reports this.
func (x *jobs) saveErrorPage(j *job.Job, e *fetch.Error) (report func()) {
	name, err := x.writeErrorPage(j, e)
	what := "the error page"
	if e.Partial {
		what = "the beginning of the error page"
	}
	return func() {
		switch {
		case err != nil:
			x.rep.con.Warn(what + " was not saved: " + render.ErrorText(failure.File(err)))
		case j.Output != "-":
			x.rep.say("%s was written to %s", what, fetch.Printable(x.out.path(name)))
		}
	}
}

// writeErrorPage returns the name of the file.
func (x *jobs) writeErrorPage(j *job.Job, e *fetch.Error) (string, error) {
	if j.Output == "-" {
		_, err := x.out.writer.Write(e.Body)
		return "", err
	}
	name := strings.TrimPrefix(j.Output, "./")
	if name == "" || strings.HasSuffix(name, "/") {
		name += download.Name(j.URL, &fetch.Meta{ContentType: e.Header.Get("Content-Type")})
	}
	if dir := path.Dir(name); dir != "." {
		if err := x.files.Root.MkdirAll(dir, 0o777); err != nil {
			return "", err
		}
	}
	if j.Exists != download.Overwrite {
		return x.writeUnused(name, e.Body)
	}
	written, err := x.writeUnused(name+".tmp", e.Body) // a file is replaced at once or not at all
	if err == nil {
		err = x.files.Root.Rename(written, name)
	}
	if err != nil && written != "" {
		x.files.Root.Remove(written)
	}
	return name, err
}

// writeUnused writes a new file and returns its name. After a failure there is no file.
func (x *jobs) writeUnused(name string, content []byte) (string, error) {
	root := x.files.Root
	file, name, err := createUnused(name, func(name string) (*os.File, error) {
		return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	})
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		root.Remove(name)
		return "", err
	}
	return name, nil
}

const maxUnused = 10_000

// createUnused creates a file of that name or, if it is in use, of NAME.1 and so on. It returns the
// name that it chose.
func createUnused(name string, create func(name string) (*os.File, error)) (*os.File, string, error) {
	unused := name
	for n := 1; ; n++ {
		f, err := create(unused)
		if !errors.Is(err, fs.ErrExist) || n > maxUnused {
			return f, unused, err
		}
		unused = fmt.Sprintf("%s.%d", name, n)
	}
}
