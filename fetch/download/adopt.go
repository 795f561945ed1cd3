package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urlget/urlget/fetch"
)

// findExisting treats an existing file of that name as the bytes transferred so far. An overlap
// must prove that they belong to the resource.
func (f *toFile) findExisting() error {
	if !f.old.Mode().IsRegular() || f.old.Size() == 0 {
		return nil
	}
	file, err := openRegular(f.dir, f.name, os.O_RDONLY)
	if err != nil {
		return err
	}
	f.existing = file
	f.done, f.furthest = f.old.Size(), f.old.Size()
	f.resumed, f.byOverlap = true, true
	return nil
}

// unproven returns the bytes of the existing file, or of the part it was renamed to.
func (f *toFile) unproven() io.ReaderAt {
	switch {
	case f.existing != nil:
		return f.existing
	case f.part != nil && f.overlaps:
		return f.part.file
	case f.memory != nil && f.overlaps:
		return bytes.NewReader(f.memory[:f.size])
	}
	return nil
}

// distrust makes unproven return the part, or the content in memory.
func (f *toFile) distrust() bool {
	if f.part == nil && f.memory == nil || f.adopted > 0 {
		return false
	}
	f.overlaps = true
	return true
}

func (f *toFile) doubtful() bool { return f.overlaps && f.adopted == 0 && f.existing == nil }

func (f *toFile) prove(ctx context.Context) error {
	switch {
	case f.part != nil && !f.object.Validator.IsZero():
		return f.part.save(f.record()) // with the validator
	case f.existing == nil || !f.sums.active():
		return nil // or digested already
	}
	_, err := io.Copy(f.sums, &contextReader{ctx, io.NewSectionReader(f.existing, 0, f.done)})
	return err
}

func (f *toFile) disprove() error {
	if f.adopted > 0 {
		if err := f.restore(); err != nil {
			return err
		}
		return f.notBeginning()
	}
	if f.existing != nil {
		return f.notBeginning()
	}
	f.overlaps = false // the bytes are those of an earlier run's part
	return nil
}

func (f *toFile) notBeginning() error {
	name := f.path(f.name)
	return &fetch.Error{Op: "save", Code: fetch.ErrChanged,
		Reason: fetch.Reason{Kind: fetch.ReasonNotBeginning, File: name},
		Err:    fmt.Errorf("%s is not the beginning of %s", name, f.req.URL.Redacted())}
}

// adopt turns the existing file into the part, in order to append to it. A file that has other hard
// links, or is not writable, is copied.
func (f *toFile) adopt() error {
	info, err := f.existing.Stat()
	if err == nil && info.Size() != f.done {
		err = f.pathError("resume", errors.New("another program is writing it"))
	}
	if err != nil {
		return err
	}
	file, err := openRegular(f.dir, f.name, os.O_RDWR)
	if links(info) > 1 || errors.Is(err, fs.ErrPermission) {
		if err == nil {
			file.Close()
		}
		return f.adoptCopy()
	}
	if err != nil {
		return err
	}
	p := &part{dir: f.dir, sync: f.d.Sync, names: namesFor(f.name), file: file}
	if err = f.takeOver(p, info); err != nil {
		closeLocked(file)
		return err
	}
	f.part, f.adopted = p, f.done
	f.forgetExisting()
	_, err = file.Seek(f.adopted, io.SeekStart)
	return err
}

// takeOver renames the existing file to p, which gets a record of its own first.
func (f *toFile) takeOver(p *part, found fs.FileInfo) error {
	opened, err := p.file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(found, opened) {
		return f.pathError("resume", errors.New("the file was replaced"))
	}
	if lock(p.file) != nil {
		return f.pathError("lock", errLocked)
	}
	if err := p.clear(""); err != nil {
		return err
	}
	f.overlaps = true
	err = p.save(f.record())
	if err == nil {
		err = renameNew(f.dir, f.name, p.names.part)
	}
	if err == nil && !p.isNamed(p.file) {
		err = errors.Join(errRaced, renameNew(f.dir, p.names.part, f.name)) // it was another file
	}
	if err != nil {
		p.removeRecord()
	}
	return err
}

func (f *toFile) adoptCopy() error {
	if err := f.makePart(); err != nil {
		return err
	}
	n, err := io.Copy(f.part.file, io.NewSectionReader(f.existing, 0, f.done))
	if err == nil && n < f.done {
		err = io.ErrUnexpectedEOF
	}
	f.forgetExisting()
	return err
}

func (e *existingFiles) forgetExisting() {
	if e.existing != nil {
		e.existing.Close()
		e.existing = nil
	}
}

func (f *toFile) restore() error {
	p := f.part
	if err := p.file.Truncate(f.adopted); err != nil {
		return err
	}
	if err := renameNew(f.dir, p.names.part, f.name); err != nil {
		return err
	}
	closeLocked(p.file)
	f.part, f.adopted, f.overlaps = nil, 0, false
	return errors.Join(p.removeRecord(), f.dir.chtimes(f.name, f.old.ModTime()))
}
