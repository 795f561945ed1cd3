// Package file reads local files and directories (RFC 1738, section 3.10; RFC 8089).
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Root, if not nil, is the directory to which URLs are confined: "file:///a" is the file "a" in
	// it, and symbolic links do not lead outside. The caller must close Root, after the client.
	Root *os.Root
	// Devices allows reading devices and named pipes. Opening a pipe waits for a writer.
	Devices bool
}

// Load registers the driver with its defaults.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(env fetch.Env, reg *fetch.Registry) {
		reg.Register(fetch.Scheme{
			Name:    "file",
			Ops:     ops,
			Ranges:  true,
			Local:   true,
			Traits:  fetch.Traits{Tree: true},
			Summary: "local files and directories (RFC 1738, RFC 8089)",
			Driver:  &opener{Options: opts, env: env},
		})
	}
}

var ops = []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList}

type opener struct {
	Options
	env fetch.Env
}

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	u, name, err := d.locate(req.URL)
	if err != nil {
		return nil, err
	}
	f, info, err := d.open(ctx, name)
	if err != nil {
		return nil, explain(err)
	}
	resp, err := d.respond(ctx, req, u, name, f, info)
	if err != nil || req.Op == fetch.OpStat {
		f.Close()
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (d *opener) respond(
	ctx context.Context, req *fetch.Request, u uri.File, name string, f *os.File, info fs.FileInfo,
) (*fetch.Response, error) {
	if info.IsDir() {
		return d.directory(ctx, req, u, name, f, info)
	}
	if err := remotefile.CheckFile(req, false); err != nil {
		return nil, err
	}
	return object(ctx, req, f, info, d.env.Timeouts().Idle)
}

func (d *opener) locate(u uri.URI) (uri.File, string, error) {
	f, err := uri.ParseFile(u)
	if err != nil {
		return f, "", err
	}
	if !f.IsLocal() && !isThisHost(f.Host) {
		return f, "", &fetch.Error{Code: fetch.ErrNotRetrievable,
			Err:  fmt.Errorf("file URLs are local, but %s is another host", f.Host),
			Hint: fmt.Sprintf("if %s has an FTP server, use ftp://%s%s", f.Host, f.Host, u.Path())}
	}
	name, err := systemPath(f.Path, d.Root != nil)
	if err != nil {
		return f, "", &fetch.Error{Code: fetch.ErrURL, Err: err}
	}
	return f, name, nil
}

func isThisHost(host string) bool {
	name, err := os.Hostname()
	return err == nil && strings.EqualFold(host, name)
}

// open opens name. Unless Devices is set, it opens only files and directories, so that opening
// neither blocks nor has side effects.
func (d *opener) open(ctx context.Context, name string) (*os.File, fs.FileInfo, error) {
	info, err := d.stat(name)
	if err != nil {
		return nil, nil, err
	}
	if err := d.checkType(info); err != nil {
		return nil, nil, err
	}
	f, err := d.openFile(ctx, name, info)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat() // the file may have been replaced
	if err == nil {
		err = d.checkType(info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (d *opener) stat(name string) (fs.FileInfo, error) {
	if d.Root != nil {
		return d.Root.Stat(name)
	}
	return os.Stat(name)
}

func (d *opener) readlink(name string) string {
	read := os.Readlink
	if d.Root != nil {
		read = d.Root.Readlink
	}
	target, err := read(name)
	if err != nil {
		return ""
	}
	return target
}

// checkType refuses files that may block when read, or that have side effects when read.
func (d *opener) checkType(info fs.FileInfo) error {
	mode := info.Mode()
	if mode.IsRegular() || mode.IsDir() || d.Devices && mode.Type()&fs.ModeSocket == 0 {
		return nil
	}
	return fetch.ErrRefused.Errorf("%s, neither a file nor a directory", kind(mode))
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// explain removes the file name from err, because errors also contain the URL.
func explain(err error) error {
	var (
		pe    *fs.PathError
		errno syscall.Errno
	)
	if !errors.As(err, &pe) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), isNotDirectory(err):
		return &fetch.Error{Code: fetch.ErrNotFound, Err: pe.Err}
	case errors.Is(err, fs.ErrPermission), !errors.As(err, &errno): // or outside the root
		return &fetch.Error{Code: fetch.ErrRefused, Err: pe.Err}
	}
	return fetch.ErrFile.Errorf("%s: %w", pe.Op, pe.Err)
}

func (d *opener) Explain(req *fetch.Request) ([]string, error) {
	_, name, err := d.locate(req.URL)
	if err != nil {
		return nil, err
	}
	return []string{"open " + fetch.Printable(name)}, nil
}
