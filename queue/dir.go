package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/filelock"
	"github.com/urlget/urlget/internal/unnamed"
	"github.com/urlget/urlget/queue/internal/artefact"
)

// A Dir is a Store in a directory. The body with digest abcd… is the file sha256/ab/abcd….
// Unfinished files are in tmp, or have no name if the system supports that. Several workers may
// share a Dir, also on a network file system.
type Dir struct {
	name string
	root *os.Root
	// unnamedFiles reports whether files can be created without a name and linked later. The
	// unfinished files of a killed worker then disappear.
	unnamedFiles bool

	mu      sync.Mutex
	subdirs map[string]*os.File // open directories by digest prefix
}

// tmpDir is the directory of unfinished files.
const tmpDir = "tmp"

// OpenDir opens a directory as a store and creates it if needed.
func OpenDir(name string) (*Dir, error) {
	for _, dir := range []string{tmpDir, artefact.BodyDir} {
		if err := os.MkdirAll(filepath.Join(name, dir), 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	d := &Dir{name: name, root: root, subdirs: map[string]*os.File{}}
	d.unnamedFiles = d.canLinkUnnamed()
	d.sweep()
	return d, nil
}

// Close closes the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, subdir := range d.subdirs {
		subdir.Close()
	}
	d.subdirs = nil
	return d.root.Close()
}

// canLinkUnnamed reports whether the file system can link a file without a name.
func (d *Dir) canLinkUnnamed() bool {
	f, err := unnamed.Create(filepath.Join(d.name, tmpDir))
	if err != nil {
		return false
	}
	defer f.Close()
	dir, err := d.root.Open(tmpDir)
	if err != nil {
		return false
	}
	defer dir.Close()
	name := rand.Text()
	defer d.root.Remove(path.Join(tmpDir, name))
	return unnamed.LinkFile(f, dir, name) == nil
}

// Begin implements Store.
func (d *Dir) Begin() (Spool, error) {
	dir := filepath.Join(d.name, tmpDir)
	if d.unnamedFiles {
		f, err := unnamed.Create(dir)
		if err != nil {
			return nil, err
		}
		return &dirSpool{File: f, dir: d}, nil
	}
	for {
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return nil, err
		}
		s := &dirSpool{File: f, dir: d, temporary: path.Join(tmpDir, filepath.Base(f.Name()))}
		if filelock.Try(f) != nil {
			return s, nil // other workers judge the file by its age
		}
		current, err := os.Lstat(f.Name())
		if opened, openedErr := f.Stat(); err == nil && openedErr == nil && os.SameFile(current, opened) {
			return s, nil
		}
		f.Close() // another worker removed it before it was locked
	}
}

// abandonedAfter is the age after which an unlocked unfinished file counts as abandoned.
const abandonedAfter = time.Hour

// sweep removes abandoned files of killed workers: old files that are not locked.
func (d *Dir) sweep() {
	dir, err := d.root.Open(tmpDir)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		list, err := dir.ReadDir(1000)
		for _, e := range list {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandonedAfter {
				d.sweepOne(path.Join(tmpDir, e.Name()))
			}
		}
		if err != nil || len(list) == 0 {
			return
		}
	}
}

func (d *Dir) sweepOne(name string) {
	f, err := d.root.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	if filelock.Try(f) == nil {
		d.root.Remove(name)
	}
}

// subdir returns the directory for a digest and creates it if needed. The directory stays open.
func (d *Dir) subdir(sum string) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if subdir := d.subdirs[sum[:2]]; subdir != nil {
		return subdir, nil
	}
	if d.subdirs == nil {
		return nil, os.ErrClosed
	}
	name := path.Join(artefact.BodyDir, sum[:2])
	if err := d.root.MkdirAll(name, 0o777); err != nil {
		return nil, err
	}
	above, err := d.root.Open(artefact.BodyDir)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := syncDir(above); err != nil {
		return nil, err
	}
	subdir, err := d.root.Open(name)
	if err == nil {
		d.subdirs[sum[:2]] = subdir
	}
	return subdir, err
}

// Get implements Store.
func (d *Dir) Get(_ context.Context, sum string) (io.ReadCloser, error) {
	if err := artefact.Check(sum); err != nil {
		return nil, err
	}
	f, err := d.root.Open(artefact.Path(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return artefact.Verify(f, sum), nil
}

// holds reports whether the store has a body of that size and digest. It reads the file completely,
// because others may have replaced it.
func (d *Dir) holds(sum string, size int64) (bool, error) {
	name := artefact.Path(sum)
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, err
	}
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		f.Close()
		return false, err
	}
	return artefact.Holds(artefact.Verify(f, sum))
}

type dirSpool struct {
	*os.File
	dir       *Dir
	temporary string // name of the temporary file; "" if it has none
	over      bool
}

// Reader implements Spool.
func (s *dirSpool) Reader() (io.Reader, error) {
	_, err := s.Seek(0, io.SeekStart)
	return struct{ io.Reader }{s.File}, err
}

// Commit implements Spool. For durability, it syncs the data, then sets the name, then syncs the
// directory.
func (s *dirSpool) Commit(ctx context.Context, sum string) (string, error) {
	defer s.Discard()
	if err := artefact.Check(sum); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := artefact.Path(sum)
	info, err := s.Stat()
	if err != nil {
		return "", err
	}
	if held, err := s.dir.holds(sum, info.Size()); err != nil {
		return "", err
	} else if held {
		return name, nil
	}
	if err := s.Sync(); err != nil {
		return "", err
	}
	if err := s.Chmod(0o644); err != nil {
		return "", err
	}
	subdir, err := s.dir.subdir(sum)
	if err != nil {
		return "", err
	}
	if s.temporary == "" {
		err = unnamed.LinkFile(s.File, subdir, sum)
		if errors.Is(err, fs.ErrExist) { // another worker committed first, or the file is something else
			if held, err := s.dir.holds(sum, info.Size()); held || err != nil {
				return name, err
			}
			err = s.nameTemporary()
		}
	}
	if err == nil && s.temporary != "" {
		err = s.dir.root.Rename(s.temporary, name)
	}
	if err != nil {
		return "", err
	}
	return name, syncDir(subdir)
}

// nameTemporary gives the file a temporary name, from which it can replace another file.
func (s *dirSpool) nameTemporary() error {
	dir, err := s.dir.root.Open(tmpDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := rand.Text()
	if err := unnamed.LinkFile(s.File, dir, name); err != nil {
		return err
	}
	s.temporary = path.Join(tmpDir, name)
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
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
	if s.temporary != "" {
		s.dir.root.Remove(s.temporary) // fails after a rename; an abandoned file is harmless
	}
}
