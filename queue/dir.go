package queue

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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
)

// A Dir is a Store in a directory: the content with digest abcd… is the file sha256/ab/abcd…, and
// what is on its way is below tmp, without a name if the system can. Several workers may share one,
// over a network file system too.
type Dir struct {
	name string
	root *os.Root
	// nameless says that a file can be made without a name, and be given one: what a worker that is
	// killed had begun to write then vanishes with it.
	nameless bool

	mu      sync.Mutex
	shelves map[string]*os.File // open directories, by the beginning of the digests of their files
}

const (
	onTheirWay = "tmp"
	kept       = "sha256"
)

// OpenDir opens a directory as a store, and makes it if it is not there.
func OpenDir(name string) (*Dir, error) {
	for _, dir := range []string{onTheirWay, kept} {
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

// linksNameless reports whether a file without a name can be given one here.
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
			return s, nil // others have to go by its age
		}
		there, err := os.Lstat(f.Name())
		if own, errOwn := f.Stat(); err == nil && errOwn == nil && os.SameFile(there, own) {
			return s, nil
		}
		f.Close() // somebody took it for a leftover before it was locked
	}
}

// leftAfter is how long nothing may have been written to a file on its way until it may count as
// left behind.
const leftAfter = time.Hour

// sweep removes what killed workers left: what nobody has locked and has written to for long.
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

// shelf returns the directory of the files whose digests begin like one, and makes it if it is not
// there. It stays open.
func (d *Dir) shelf(sum string) (*os.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if shelf := d.shelves[sum[:2]]; shelf != nil {
		return shelf, nil
	}
	if d.shelves == nil {
		return nil, os.ErrClosed
	}
	name := path.Join(kept, sum[:2])
	if err := d.root.MkdirAll(name, 0o777); err != nil {
		return nil, err
	}
	above, err := d.root.Open(kept)
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

// Get returns the content with a digest. Reading it fails at its end if it does not have the digest.
func (d *Dir) Get(_ context.Context, sum string) (io.ReadCloser, error) {
	if !isDigest(sum) {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no SHA-256 digest", sum)}
	}
	f, err := d.root.Open(ArtefactPath(sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: err}
	}
	if err != nil {
		return nil, err
	}
	return Verify(f, sum), nil
}

// holds reports whether a content of a size is there, as a file of its own. Others may have put
// something else under its name, so all of it is read.
func (d *Dir) holds(sum string, size int64) (bool, error) {
	name := ArtefactPath(sum)
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
	return Holds(Verify(f, sum))
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
	return path.Join(kept, sha256[:2], sha256)
}

type dirSpool struct {
	*os.File
	dir       *Dir
	temporary string // its name; "" if it has none
	over      bool
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
		if errors.Is(err, fs.ErrExist) { // another worker was faster, or it is something else
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

// nameTemporary gives the file a name among those on their way, from which it can replace another one.
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

// syncDir makes the names in a directory outlast a power failure.
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
		s.dir.root.Remove(s.temporary) // unless it has its name; what cannot be removed is only in the way
	}
}
