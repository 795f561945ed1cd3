package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"iter"
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
	subdirs map[string]*subdir // open directories by digest prefix
}

type subdir struct {
	*os.Root
	file *os.File // the same directory
}

func (s *subdir) Close() error { return errors.Join(s.file.Close(), s.Root.Close()) }

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
	d := &Dir{name: name, root: root, subdirs: map[string]*subdir{}}
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
func (d *Dir) Begin() (Spool, error) { return &dirSpool{dir: d}, nil }

// create creates an unfinished file. Its name is "" if it has none.
func (d *Dir) create() (f *os.File, name string, err error) {
	dir := filepath.Join(d.name, tmpDir)
	if d.unnamedFiles {
		f, err = unnamed.Create(dir)
		return f, "", err
	}
	for {
		f, err := os.CreateTemp(dir, "")
		if err != nil {
			return nil, "", err
		}
		name := path.Join(tmpDir, filepath.Base(f.Name()))
		if filelock.Try(f) != nil {
			return f, name, nil // other workers judge the file by its age
		}
		current, err := os.Lstat(f.Name())
		if opened, openedErr := f.Stat(); err == nil && openedErr == nil && os.SameFile(current, opened) {
			return f, name, nil
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
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() &&
				time.Since(info.ModTime()) > abandonedAfter {
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

// subdir keeps the directory open.
func (d *Dir) subdir(sum string) (*subdir, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.subdirs[sum[:2]]; s != nil {
		return s, nil
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
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	s := &subdir{root, f}
	d.subdirs[sum[:2]] = s
	return s, nil
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

// List implements Lister.
func (d *Dir) List(ctx context.Context) iter.Seq2[Content, error] {
	return func(yield func(Content, error) bool) {
		err := fs.WalkDir(d.root.FS(), artefact.BodyDir, func(name string, e fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
			sum, ok := artefact.Sum(name)
			if !ok || !e.Type().IsRegular() {
				return nil
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // removed since
				return nil
			}
			if err == nil && !yield(Content{sum, info.Size(), info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(Content{}, err)
		}
	}
}

// Remove implements Lister.
func (d *Dir) Remove(_ context.Context, sum string) error {
	if err := artefact.Check(sum); err != nil {
		return err
	}
	if err := d.root.Remove(artefact.Path(sum)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// holds reports whether the directory has a body of that size and digest. It reads the file
// completely, because others may have replaced it.
func (s *subdir) holds(sum string, size int64) (bool, error) {
	info, err := s.Lstat(sum)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return false, err
	}
	f, err := s.Open(sum)
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

// maxInMemory is the size in bytes up to which a spool has no file before Commit.
const maxInMemory = 64 << 10

type dirSpool struct {
	dir       *Dir
	memory    []byte   // the data, if file is nil
	file      *os.File // nil while the data is small
	temporary string   // name of the file; "" if it has none
	over      bool
}

// Write implements Spool.
func (s *dirSpool) Write(p []byte) (int, error) {
	if s.over {
		return 0, fs.ErrClosed
	}
	if s.file == nil && len(s.memory)+len(p) <= maxInMemory {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if err := s.useFile(); err != nil {
		return 0, err
	}
	return s.file.Write(p)
}

func (s *dirSpool) useFile() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, s.temporary, err = s.dir.create(); err == nil {
		_, err = s.file.Write(s.memory)
		s.memory = nil
	}
	return err
}

// Reader implements Spool.
func (s *dirSpool) Reader() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.memory), nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return struct{ io.Reader }{s.file}, err
}

func (s *dirSpool) size() (int64, error) {
	if s.file == nil {
		return int64(len(s.memory)), nil
	}
	info, err := s.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Commit implements Spool. For durability, it syncs the data, then sets the name, then syncs the
// directory.
func (s *dirSpool) Commit(ctx context.Context, sum string) (string, error) {
	defer s.Discard()
	if err := artefact.Check(sum); err != nil {
		return "", err
	}
	if s.over {
		return "", fs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	size, err := s.size()
	if err != nil {
		return "", err
	}
	dir, err := s.dir.subdir(sum)
	if err != nil {
		return "", err
	}
	name := artefact.Path(sum)
	if held, err := dir.holds(sum, size); err != nil {
		return "", err
	} else if held {
		return name, nil
	}
	if err := s.useFile(); err != nil {
		return "", err
	}
	if err := errors.Join(s.file.Sync(), s.file.Chmod(0o644)); err != nil {
		return "", err
	}
	if s.temporary == "" {
		err = unnamed.LinkFile(s.file, dir.file, sum)
		if errors.Is(err, fs.ErrExist) { // another worker committed first, or the file is something else
			if held, err := dir.holds(sum, size); held || err != nil {
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
	return name, syncDir(dir.file)
}

// nameTemporary gives the file a temporary name, from which it can replace another file.
func (s *dirSpool) nameTemporary() error {
	dir, err := s.dir.root.Open(tmpDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := rand.Text()
	if err := unnamed.LinkFile(s.file, dir, name); err != nil {
		return err
	}
	s.temporary = path.Join(tmpDir, name)
	return nil
}

// syncDir makes the names in a directory durable.
func syncDir(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) &&
		!errors.Is(err, fs.ErrInvalid) {
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
	if s.file != nil {
		s.file.Close()
	}
	if s.temporary != "" {
		s.dir.root.Remove(s.temporary) // fails after a rename; an abandoned file is harmless
	}
}
