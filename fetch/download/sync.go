package download

import (
	"errors"
	"os"
	"path"
	"runtime"
	"sync"

	"github.com/urlget/urlget/fetch"
)

// Sync selects when saved files are made durable, so that they survive a power failure.
type Sync uint8

// Values of Sync.
const (
	// SyncBatch leaves it to Flush, which costs little more for thousands of files than for one.
	// Until then, a power failure may destroy the content of new files while their names survive. A
	// file that replaces another is synced first.
	SyncBatch Sync = iota
	// SyncEach syncs each file before it gets its name, and then the directory.
	SyncEach
	// SyncNone leaves it to the system.
	SyncNone
)

// maxFew is the number of files up to which they are synced one by one. Syncing a whole file system
// also waits for data of other programs.
const maxFew = 8

// pending lists the files that are saved but not synced.
type pending struct {
	mu   sync.Mutex
	few  []savedFile
	many map[uint64]string // for each file system with more than a few files, one directory
}

type savedFile struct {
	dir, name string
	system    uint64
}

// saved records a new file, or syncs its directory with SyncEach.
func (d *Downloader) saved(dir *cachedDir, name string) error {
	switch d.Sync {
	case SyncNone:
		return nil
	case SyncEach:
		return d.syncNames(dir.path)
	}
	if full := d.unsaved.add(savedFile{dir.path, name, dir.system}); full != nil {
		return d.syncFiles(full)
	}
	return nil
}

// add adds f. It returns the files that must be synced now, because there are many and the system
// cannot sync a whole file system.
func (p *pending) add(f savedFile) (full []savedFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.many[f.system] != "" {
		return nil
	}
	p.few = append(p.few, f)
	if len(p.few) <= maxFew {
		return nil
	}
	full, p.few = p.few, nil
	if !canSyncFileSystem {
		return full
	}
	if p.many == nil {
		p.many = map[uint64]string{}
	}
	for _, f := range full {
		p.many[f.system] = f.dir
	}
	return nil
}

// Flush syncs the saved files that are not synced yet, except with SyncNone, and closes the
// directories that were kept open. It cannot be interrupted. Errors are of class ErrFile; another
// Flush does not retry these files.
func (d *Downloader) Flush() error {
	defer d.dirs.closeUnused()
	p := &d.unsaved
	p.mu.Lock()
	few, many := p.few, p.many
	p.few, p.many = nil, nil
	p.mu.Unlock()
	err := d.syncFiles(few)
	for _, path := range many {
		err = errors.Join(err, d.inCached(path, directory.syncFileSystem))
	}
	if err != nil {
		return &fetch.Error{Op: "save", Code: fetch.ErrFile, Err: err}
	}
	return nil
}

func (d *Downloader) syncFiles(files []savedFile) error {
	var all error
	synced := map[string]bool{}
	for _, f := range files {
		err := d.inCached(f.dir, func(dir directory) error { return syncFile(dir, f.name) })
		all = errors.Join(all, err)
		if !synced[f.dir] {
			synced[f.dir] = true
			all = errors.Join(all, d.syncNames(f.dir))
		}
	}
	return all
}

// syncNames syncs a directory and its parents up to the root.
func (d *Downloader) syncNames(dir string) error {
	for {
		if err := d.inCached(dir, directory.sync); err != nil || dir == "." {
			return err
		}
		dir = path.Dir(dir)
	}
}

// inCached calls do with a directory. It does nothing if the directory no longer exists.
func (d *Downloader) inCached(path string, do func(directory) error) error {
	dir, err := d.dirs.get(d.Root, path, false)
	if err == nil {
		err = do(dir.directory)
		d.dirs.put(dir)
	}
	return ignoreMissing(err)
}

func syncFile(dir directory, name string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" {
		flag = os.O_RDWR
	}
	f, err := openRegular(dir, name, flag)
	if errors.Is(err, errNotRegular) {
		return nil // the file was replaced
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
