package queue

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/urlget/urlget/fetch"
)

// A Dir is a Store in a directory: the content with digest abcd… is the file sha256/ab/abcd…, and
// what is on its way is below tmp. Several workers may share one, over a network file system too.
type Dir struct {
	name string
	root *os.Root
}

// OpenDir opens a directory as a store, and makes it if it is not there.
func OpenDir(name string) (*Dir, error) {
	for _, dir := range []string{"tmp", "sha256"} {
		if err := os.MkdirAll(filepath.Join(name, dir), 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Dir{name, root}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Begin implements Store.
func (d *Dir) Begin() (Spool, error) {
	f, err := os.CreateTemp(filepath.Join(d.name, "tmp"), "")
	if err != nil {
		return nil, err
	}
	return &dirSpool{File: f, dir: d}, nil
}

// Get returns the content with a digest.
func (d *Dir) Get(_ context.Context, sum string) (io.ReadCloser, error) {
	if !isDigest(sum) {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no SHA-256 digest", sum)}
	}
	f, err := d.root.Open(ArtefactPath(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: err}
	}
	return f, err
}

func isDigest(sum string) bool {
	_, err := hex.DecodeString(sum)
	return err == nil && len(sum) == 64
}

// List returns the paths of all files in the directory, also of those on their way, in order.
func (d *Dir) List() (paths []string, err error) {
	err = fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			paths = append(paths, name)
		}
		return err
	})
	return paths, err
}

// ArtefactPath returns the path of the content with a digest in a store, with slashes.
func ArtefactPath(sha256 string) string {
	return path.Join("sha256", sha256[:2], sha256)
}

type dirSpool struct {
	*os.File
	dir  *Dir
	over bool
}

// Reader implements Spool.
func (s *dirSpool) Reader() (io.Reader, error) {
	_, err := s.Seek(0, io.SeekStart)
	return struct{ io.Reader }{s.File}, err
}

// Commit implements Spool. The order is what makes it safe: the bytes first, then the name, then
// the directory that has the name.
func (s *dirSpool) Commit(ctx context.Context, sum string) (string, error) {
	defer s.Discard()
	if !isDigest(sum) {
		return "", fmt.Errorf("%q is no digest", sum)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := ArtefactPath(sum)
	if _, err := s.dir.root.Stat(name); err == nil {
		return name, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := s.Sync(); err != nil {
		return "", err
	}
	if err := s.Chmod(0o644); err != nil {
		return "", err
	}
	if err := s.dir.root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return "", err
	}
	if err := s.dir.root.Rename(s.temporary(), name); err != nil {
		return "", err
	}
	return name, s.dir.sync(path.Dir(name))
}

func (s *dirSpool) temporary() string { return path.Join("tmp", filepath.Base(s.Name())) }

// sync makes the names in a directory, and its own, outlast a power failure.
func (d *Dir) sync(name string) error {
	for _, dir := range []string{name, path.Dir(name)} {
		f, err := d.root.Open(dir)
		if err != nil {
			return err
		}
		err = f.Sync()
		f.Close()
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
			return err
		}
	}
	return nil
}

// Discard implements Spool.
func (s *dirSpool) Discard() {
	if s.over {
		return
	}
	s.over = true
	s.Close()
	s.dir.root.Remove(s.temporary()) // unless it has its name; what cannot be removed is only in the way
}
