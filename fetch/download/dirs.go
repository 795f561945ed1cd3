package download

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"

	"github.com/urlget/urlget/internal/rlimit"
)

// maxCached bounds the number of unused directories that are kept open. A mirror of many hosts takes
// their directories in turn.
var maxCached = sync.OnceValue(func() int { return min(max(rlimit.Files()/16, 16), 256) })

// directories holds the directories that a Downloader keeps open. Opening one for each file would
// cost as much as saving a small file.
type directories struct {
	mu     sync.Mutex
	cached map[string]*cachedDir // by path
	uses   uint64                // number of uses so far

	wrap func(directory) directory // nil except in tests
}

// A cachedDir is closed when it is neither used nor in the cache.
type cachedDir struct {
	directory
	path    string
	system  uint64 // the file system's device
	users   int
	lastUse uint64
	dropped bool
	parts   earlierParts
}

func (all *directories) get(root *os.Root, path string, create bool) (*cachedDir, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	d := all.cached[path]
	if d == nil {
		opened, err := openOrMake(root, path, create)
		if err != nil {
			return nil, err
		}
		if all.cached == nil {
			all.cached = map[string]*cachedDir{}
		}
		if all.wrap != nil {
			opened = all.wrap(opened)
		}
		d = &cachedDir{directory: opened, path: path, system: opened.device()}
		all.cached[path] = d
	}
	all.uses++
	d.users, d.lastUse = d.users+1, all.uses
	return d, nil
}

// Lstat is like os.Root.Lstat for name, a path below Root with elements separated by slashes. The
// directory stays open for the next file, until Flush.
func (d *Downloader) Lstat(name string) (fs.FileInfo, error) {
	dir, err := d.dirs.get(d.Root, path.Dir(name), false)
	if err != nil {
		return nil, err
	}
	defer d.dirs.put(dir)
	if base := path.Base(name); !dir.isAbsent(base) {
		return dir.lstat(base)
	}
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

func openOrMake(root *os.Root, path string, create bool) (directory, error) {
	d, err := openDir(root, path)
	if !create || !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := root.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	return openDir(root, path)
}

func (all *directories) put(d *cachedDir) {
	all.mu.Lock()
	defer all.mu.Unlock()
	d.users--
	if d.dropped && d.users == 0 {
		d.Close()
	}
	if len(all.cached) > maxCached() {
		all.closeOldest()
	}
}

// drop ends the use of d and does not keep it.
func (all *directories) drop(d *cachedDir) {
	all.mu.Lock()
	if all.cached[d.path] == d {
		delete(all.cached, d.path)
	}
	d.dropped = true
	all.mu.Unlock()
	all.put(d)
}

func (all *directories) closeOldest() {
	var oldest *cachedDir
	for _, d := range all.cached {
		if d.users == 0 && (oldest == nil || d.lastUse < oldest.lastUse) {
			oldest = d
		}
	}
	if oldest != nil {
		delete(all.cached, oldest.path)
		oldest.Close()
	}
}

func (all *directories) closeUnused() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for path, d := range all.cached {
		if d.users == 0 {
			delete(all.cached, path)
			d.Close()
		}
	}
}
