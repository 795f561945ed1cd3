package download

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// A part is an unfinished file with its record. It is locked against other
// transfers, of other processes too where the system can do that.
type part struct {
	root    *os.Root
	file    *os.File
	names   partNames
	written bool // the record is there
}

// partNames are the names of a part, its record, and the record's next
// version.
type partNames struct{ part, record, temp string }

const (
	partSuffix   = ".part"
	recordSuffix = ".part.json"
	tempSuffix   = ".part.new"
)

// namesFor derives the names from that of the file to be. Those of a very long
// one are cut and told apart by a digest.
func namesFor(name string) partNames {
	if len(name)+len(recordSuffix) > maxName {
		sum := sha256.Sum256([]byte(name))
		name = fmt.Sprintf("%s~%x", strings.ToValidUTF8(name[:200], ""), sum[:8])
	}
	return partNames{name + partSuffix, name + recordSuffix, name + tempSuffix}
}

// errLocked reports a part that another transfer is writing.
var errLocked = errors.New("another transfer is writing it")

// maxNumber bounds the search for a free name.
const maxNumber = 10000

// createPart makes a new, empty part for name. An old one is removed first: to
// write into it would damage the complete file if it is still linked to one.
// If url is not "", one that could be continued for another URL stays, since
// it is often the server that chooses the name.
func createPart(root *os.Root, name, url string) (*part, error) {
	for n := 0; n < maxNumber; {
		p := &part{root: root, names: namesFor(numbered(name, n))}
		switch err := p.create(url); {
		case err == nil:
			return p, nil
		case errors.Is(err, errLocked), err == errForeign:
			n++
		case !errors.Is(err, errRaced):
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrExist)
}

// errRaced reports that another transfer changed the name meanwhile.
var errRaced = errors.New("raced")

// errForeign reports a part that belongs to another URL.
var errForeign = errors.New("it is a part of another URL")

func (p *part) create(url string) error {
	if old, err := p.openOld(); err == nil {
		if rec, bad := readRecord(p.root, p.names.record); url != "" && bad == nil && rec.URL != url {
			old.Close()
			return errForeign
		}
		err = p.removeFiles()
		old.Close()
		if err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := p.root.OpenFile(p.names.part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return errRaced
	}
	if err != nil {
		return err
	}
	if lock(f) != nil || !p.names.is(p.root, f) {
		f.Close()
		return errRaced
	}
	p.file = f
	return p.removeRecord() // of a part that somebody removed
}

// is reports whether the part's name still belongs to f.
func (n partNames) is(root *os.Root, f *os.File) bool {
	named, err := root.Lstat(n.part)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(named, opened)
}

// openOld opens and locks the part that is there.
func (p *part) openOld() (*os.File, error) {
	info, err := p.root.Lstat(p.names.part)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: p.names.part, Err: errors.New("it is not a regular file")}
	}
	f, err := p.root.OpenFile(p.names.part, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: p.names.part, Err: errLocked}
	}
	if !p.names.is(p.root, f) {
		f.Close()
		return nil, errRaced
	}
	return f, nil
}

// openPart opens the part of name to continue it, with its record. Without a
// usable record the error is not of the file system; without a part it matches
// fs.ErrNotExist.
func openPart(root *os.Root, name string) (*part, *record, error) {
	p := &part{root: root, names: namesFor(name)}
	f, err := p.openOld()
	if err != nil {
		return nil, nil, err
	}
	rec, err := readRecord(root, p.names.record)
	if err != nil {
		f.Close()
		return nil, nil, errNoRecord
	}
	p.file, p.written = f, true
	return p, rec, nil
}

// errNoRecord reports a part that nothing is known of.
var errNoRecord = errors.New("there is no record of what it is a part of")

// save writes the record, after the octets it speaks of.
func (p *part) save(r *record) error {
	if len(r.Missing) > 0 {
		if err := p.file.Sync(); err != nil {
			return err
		}
	}
	p.written = true
	return writeRecord(p.root, p.names.record, p.names.temp, r)
}

func (p *part) size() (int64, error) {
	info, err := p.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// rewind empties the part. The record goes first: it must never speak of
// octets of another object.
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
	p.written = false
	return ignoreMissing(p.root.Remove(p.names.record))
}

func (p *part) removeFiles() error {
	return errors.Join(
		ignoreMissing(p.root.Remove(p.names.record)),
		ignoreMissing(p.root.Remove(p.names.temp)),
		ignoreMissing(p.root.Remove(p.names.part)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// discard removes the part and its record.
func (p *part) discard() error {
	return errors.Join(p.removeFiles(), p.file.Close())
}

// commit makes the part the file name, or a like one, and returns which. The
// record goes first: a part that a kill leaves linked to the complete file
// must not be continued.
func (p *part) commit(name string, exists Exists, modTime time.Time) (string, error) {
	defer p.file.Close()
	if err := p.file.Sync(); err != nil {
		return "", err
	}
	if !modTime.IsZero() {
		if err := p.root.Chtimes(p.names.part, time.Now(), modTime); err != nil {
			return "", err
		}
	}
	if p.written {
		if err := p.removeRecord(); err != nil {
			return "", err
		}
	}
	switch exists {
	case Overwrite, Newer:
		return name, p.root.Rename(p.names.part, name)
	case Resume:
		if p.extends(name) {
			return name, p.root.Rename(p.names.part, name)
		}
	}
	for n := range maxNumber {
		free := numbered(name, n)
		err := p.moveTo(free)
		if !errors.Is(err, fs.ErrExist) {
			return free, err
		}
		if exists == Skip {
			return name, errors.Join(err, p.removeFiles())
		}
	}
	return "", fmt.Errorf("%s and its numbers: %w", name, fs.ErrExist)
}

// moveTo renames the part to name, unless there is something of that name. A
// file system without links gets an empty file as a placeholder for an
// instant.
func (p *part) moveTo(name string) error {
	err := p.root.Link(p.names.part, name)
	if err == nil {
		p.root.Remove(p.names.part) // if that fails, the file is there all the same
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	f.Close()
	if err := p.root.Rename(p.names.part, name); err != nil {
		return errors.Join(err, p.root.Remove(name))
	}
	return nil
}

// extends reports whether the file name is the beginning of the part, so that
// nothing is lost with it.
func (p *part) extends(name string) bool {
	info, err := p.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	old, err := p.root.Open(name)
	if err != nil {
		return false
	}
	defer old.Close()
	whole := io.NewSectionReader(p.file, 0, info.Size())
	return sameContent(old, whole)
}

// sameContent reports whether a and b hold the same octets.
func sameContent(a, b io.Reader) bool {
	bufA, bufB := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if n != m || string(bufA[:n]) != string(bufB[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return isEnd(errA) && isEnd(errB)
		}
	}
}

func isEnd(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }
