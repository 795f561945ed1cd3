package download

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urlget/urlget/internal/filelock"
)

// A part is a partial file with its record. It is locked against other transfers, including those
// of other processes if the system supports that.
type part struct {
	dir      directory
	sync     Sync
	file     file
	names    partNames
	recorded time.Time     // when the record was written; zero if there is none
	interval time.Duration // until the next record of a transfer in segments
}

// PartialName returns the path of the partial file that an interrupted transfer leaves for the file at
// path. Its record, and a temporary file for that, stand beside it; [Downloader.Discard] removes all
// three.
func PartialName(path string) string {
	dir, name := filepath.Split(path)
	return dir + namesFor(name).part
}

// IsPartialName reports whether a name ends like that of a partial file, of its record or of its
// temporary file. The case of letters does not count, as in some file systems. Such a name must not be
// given to a file by a server: a later transfer would take it for its own.
func IsPartialName(name string) bool { return partialSuffix(name) != "" }

func partialSuffix(name string) string {
	lower := strings.ToLower(name)
	for _, suffix := range []string{partSuffix, recordSuffix, tempSuffix} {
		if strings.HasSuffix(lower, suffix) {
			return suffix
		}
	}
	return ""
}

type partNames struct{ part, record, temp string }

const (
	partSuffix   = ".part"
	recordSuffix = ".part.json"
	tempSuffix   = ".part.new" // the next record, until it is complete
)

// namesFor derives the names from that of the final file. A very long name is truncated and gets a
// digest.
func namesFor(name string) partNames {
	stem := stemOf(name)
	return partNames{stem + partSuffix, stem + recordSuffix, stem + tempSuffix}
}

func stemOf(name string) string {
	if len(name)+len(recordSuffix) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = fmt.Sprintf("%s~%x", strings.ToValidUTF8(name[:200], ""), sum[:8])
	}
	return name
}

// completePath returns the path that the complete file would have. It differs from that of f.name if
// another transfer writes a part of that name.
func (f *toFile) completePath() string {
	if f.part == nil {
		return f.path(f.name)
	}
	return f.path(strings.TrimSuffix(f.part.names.part, partSuffix))
}

var (
	errLocked = errors.New("another transfer is writing it")
	// errRaced is returned if another transfer has created, removed or renamed the part concurrently.
	errRaced    = errors.New("another transfer changed the partial file")
	errForeign  = errors.New("it belongs to another URL")
	errNoRecord = errors.New("its record is missing or invalid")
	// errLinked is returned for a part with other hard links, which must not be written to.
	errLinked     = errors.New("it has other hard links")
	errEmpty      = errors.New("it is empty")
	errNotRegular = errors.New("it is not a regular file")
)

// maxParts bounds the parts of one name that are in use, and the attempts after errRaced.
const maxParts = 10_000

// createPart creates an empty part for name. An existing part is removed first, because writing to
// it would damage a complete file that is a hard link of it. If url is not "", a part that another
// URL could resume is kept, because servers often choose the name.
func createPart(dir directory, sync Sync, name, url string, perm fs.FileMode) (*part, error) {
	for n, races := 0, 0; n < maxParts && races < maxParts; {
		p := &part{dir: dir, sync: sync, names: namesFor(numbered(name, n))}
		switch err := p.create(url, perm); {
		case err == nil:
			return p, nil
		case errors.Is(err, errLocked), err == errForeign:
			n++
		case errors.Is(err, errRaced):
			races++
		default:
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrExist)
}

func (p *part) create(url string, perm fs.FileMode) error {
	if err := p.clear(url); err != nil {
		return err
	}
	f, err := p.dir.open(p.names.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) {
		return errRaced
	}
	if err != nil {
		return err
	}
	if lock(f) != nil || !p.isNamed(f) {
		closeLocked(f)
		return errRaced
	}
	if err := p.removeRecord(); err != nil { // left by a part that was removed
		closeLocked(f)
		return err
	}
	p.file = f
	return nil
}

// clear removes an old part. If it has a record of a URL other than url, clear returns errForeign.
func (p *part) clear(url string) error {
	if old, err := p.openOld(); err == nil {
		if rec, bad := readRecord(p.dir, p.names.record); url != "" && bad == nil && rec.URL != url {
			closeLocked(old)
			return errForeign
		}
		err = p.remove()
		closeLocked(old)
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p *part) isNamed(f file) bool {
	named, err := p.dir.lstat(p.names.part)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

func (p *part) openOld() (file, error) {
	f, err := openRegular(p.dir, p.names.part, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: p.names.part, Err: errLocked}
	}
	if !p.isNamed(f) {
		closeLocked(f)
		return nil, errRaced
	}
	return f, nil
}

// openPart opens the part of name for a resume, and returns its record and its size. The error is
// errNoRecord, errEmpty or errLinked if it cannot be resumed. If there is no part, the error matches
// fs.ErrNotExist.
func openPart(dir directory, sync Sync, name string) (*part, *record, int64, error) {
	if dir.isAbsent(stemOf(name) + partSuffix) {
		return nil, nil, 0, fs.ErrNotExist
	}
	p := &part{dir: dir, sync: sync, names: namesFor(name), recorded: time.Now()}
	f, err := p.openOld()
	if err != nil {
		return nil, nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Size() == 0:
		err = errEmpty
	case links(info) > 1:
		err = errLinked
	}
	var rec *record
	if err == nil {
		if rec, err = readRecord(dir, p.names.record); err != nil {
			err = errNoRecord
		}
	}
	if err != nil {
		closeLocked(f)
		return nil, nil, 0, err
	}
	p.file = f
	return p, rec, info.Size(), nil
}

// save writes the record. A list of missing segments must be true even after a power failure, so the
// part is synced first. Without segments, the size of the part suffices.
func (p *part) save(r *record) error {
	if len(r.Missing) > 0 {
		if err := p.file.Sync(); err != nil {
			return err
		}
	}
	p.recorded = time.Now()
	p.interval = min(max(2*p.interval, recordFirst), recordEvery)
	return writeRecord(p.dir, p.names, r, p.sync == SyncEach)
}

func (p *part) recordDue() bool { return time.Since(p.recorded) >= p.interval }

// writeAt returns a separate writer for the bytes from offset on, because the kernel moves bytes only
// to the current position of a file.
func (p *part) writeAt(offset int64) (io.WriteCloser, error) {
	f, err := openRegular(p.dir, p.names.part, os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if !p.isNamed(p.file) {
		err = fmt.Errorf("%s was replaced", p.names.part)
	} else {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// rewind empties the part. The record is removed first: it must never describe bytes of another
// version.
func (p *part) rewind() error {
	if err := p.removeRecord(); err != nil {
		return err
	}
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

func (p *part) removeRecord() error {
	p.recorded = time.Time{}
	return ignoreMissing(p.dir.remove(p.names.record))
}

func (p *part) remove() error {
	return errors.Join(
		ignoreMissing(p.dir.remove(p.names.record)),
		ignoreMissing(p.dir.remove(p.names.temp)),
		ignoreMissing(p.dir.remove(p.names.part)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func closeLocked(f file) error {
	filelock.Unlock(f)
	return f.Close()
}

// lock locks f until closeLocked. It does not wait. It succeeds if the file system does not support
// locks.
func lock(f file) error {
	if err := filelock.Try(f); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
