package main

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
)

// A destination is a stream, or a file whose name may be "" for the suggested name.
type destination struct{ stream, dir, name string }

func resolveOutput(o *flags.Options) (destination, error) {
	switch {
	case o.Output.Document == "":
		return destination{dir: cmp.Or(o.Output.Dir, ".")}, nil
	case o.Output.Document == "-":
		return destination{stream: "-"}, nil
	}
	path := o.Output.Document
	if o.Output.Dir != "" {
		path = o.Output.Dir + string(filepath.Separator) + path
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return destination{}, failure.Hinted("-O "+path+" is a directory", "use -P "+path+" to save in it")
	case err == nil && !info.Mode().IsRegular():
		return destination{stream: path}, nil
	}
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return destination{}, failure.Usagef("-O %s is not a file name", o.Output.Document)
	}
	return destination{dir: cmp.Or(dir, "."), name: name}, nil
}

// An output is an open destination: a stream, or a directory, which is the root of the Downloader.
type output struct {
	destination
	writer io.Writer // nil for files
}

func (o *output) path(name string) string {
	if name = filepath.FromSlash(name); o.dir == "." {
		return filepath.Clean(name) // Join would copy it twice
	}
	return filepath.Join(o.dir, name)
}

// openOutput opens the destination of -O and -P: a directory, which is created if necessary, or a
// file that cannot be replaced, such as a device.
func (x *jobs) openOutput() (err error) {
	if x.out.destination, err = resolveOutput(x.opts); err != nil {
		return err
	}
	switch {
	case x.out.stream == "-":
		x.out.writer = stream(x.rep.std.out)
	case x.out.stream != "":
		device, err := os.OpenFile(x.out.stream, os.O_WRONLY, 0)
		if err != nil {
			return failure.File(err)
		}
		x.net.atEnd(func() error { return failure.File(device.Close()) })
		x.out.writer = stream(device)
	case x.out.name != "" && x.opts.Output.Dir == "": // only -P creates a directory
		x.files.Root, err = os.OpenRoot(x.out.dir)
	default:
		x.files.Root, err = openRoot(x.out.dir)
	}
	return failure.File(err)
}

// stream returns the writer for content that goes to w. The kernel can splice(2) into few devices
// besides the null device, and reports that only after data is in the pipe.
func stream(f *os.File) io.Writer {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || session.IsNull(info) {
		return f
	}
	return struct{ io.Writer }{f}
}

func openRoot(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	return root, err
}

func (x *jobs) closeFiles() error {
	err := x.files.Flush()
	if x.files.Root != nil {
		err = errors.Join(err, x.files.Root.Close())
	}
	return err
}
