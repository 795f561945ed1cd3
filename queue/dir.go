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
	// nameless reports whether files can be created without a name and linked later. The unfinished
	// files of a killed worker then disappear.
	nameless bool

	mu      sync.Mutex
	shelves map[string]*os.File // open directories by digest prefix
}

// onTheirWay is the directory of unfinished files.
const onTheirWay = "tmp"

// OpenDir opens a directory as a store and creates it if needed.
func OpenDir(name string) (*Dir, error) {
	for _, dir := range []string{onTheirWay, artefact.Kept} {
		if err := os.MkdirAll(filepath.Join(name, dir), 0o777); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	d := &Dir{name: name, root: root, shelves: map[string]*os.File{}}
	d.nameless = d.linksNameless()
	d.sweep()
	return d, nil
}

// Close closes the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, shelf := range d.shelves {
		shelf.Close()
	}
	d.shelves = nil
	return d.root.Close()
}

// linksNameless reports whether the file system can link a file without a name.
func (d *Dir) linksNameless() bool {
	f, err := unnamed.Create(filepath.Join(d.name, onTheirWay))
	if err != nil {
		return false
	}
	defer f.Close()
	dir, err := d.root.Open(onTheirWay)
	if err != nil {
		return false
	}
	defer dir.Close()
	name := rand.Text()
	defer d.root.Remove(path.Join(onTheirWay, name))
	return unnamed.LinkFile(f, dir, name) == nil
}

// Begin implements Store.
func (d *Dir) Begin() (Spool, error) {
	dir := filepath.Join(d.name, onTheirWay)
	if d.nameless {
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
		s := &dirSpool{File: f, dir: d, temporary: path.Join(onTheirWay, filepath.Base(f.Name()))}
		if filelock.Try(f) != nil {
			return s, nil // other workers judge the file by its age
		}
		there, err := os.Lstat(f.Name())
		if own, errOwn := f.Stat(); err == nil && errOwn == nil && os.SameFile(there, own) {
			return s, nil
		}
		f.Close() // another worker removed it before it was locked
	}
}

// leftAfter is the age after which an unlocked unfinished file counts as abandoned.
const leftAfter = time.Hour

// sweep removes abandoned files of killed workers: old files that are not locked.
func (d *Dir) sweep() {
	dir, err := d.root.Open(onTheirWay)
	if err != nil {
		return
	}
	defer dir.Close()
	for {
		list, err := dir.ReadDir(1000)
		for _, e := range list {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > leftAfter {
				d.sweepOne(path.Join(onTheirWay, e.Name()))
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

// shelf returns the directory for a digest and creates it if needed. The directory stays open.
func (d *Dir) shelf(sum string) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if shelf := d.shelves[sum[:2]]; shelf != nil {
		return shelf, nil
	}
	if d.shelves == nil {
		return nil, os.ErrClosed
	}
	name := path.Join(artefact.Kept, sum[:2])
	if err := d.root.MkdirAll(name, 0o777); err != nil {
		return nil, err
	}
	above, err := d.root.Open(artefact.Kept)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	if err := syncDir(above); err != nil {
		return nil, err
	}
	shelf, err := d.root.Open(name)
	if err == nil {
		d.shelves[sum[:2]] = shelf
	}
	return shelf, err
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
	shelf, err := s.dir.shelf(sum)
	if err != nil {
		return "", err
	}
	if s.temporary == "" {
		err = unnamed.LinkFile(s.File, shelf, sum)
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
	return name, syncDir(shelf)
}

// nameTemporary gives the file a temporary name, from which it can replace another file.
func (s *dirSpool) nameTemporary() error {
	dir, err := s.dir.root.Open(onTheirWay)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := rand.Text()
	if err := unnamed.LinkFile(s.File, dir, name); err != nil {
		return err
	}
	s.temporary = path.Join(onTheirWay, name)
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
