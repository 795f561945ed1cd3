package download

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"time"

	"github.com/urlget/urlget/fetch"
)

func (f *toFile) commit() error {
	if f.existing != nil { // nothing was appended to it
		f.outcome = Unchanged
		return errNotNeeded
	}
	if f.same() {
		if f.part != nil {
			f.part.remove()
		}
		f.outcome = Unchanged
		return errNotNeeded
	}
	name, err := f.commitMemory()
	if err == errNeedsPart {
		if err = f.spill(); err == nil {
			name, err = f.part.commit(f.path(f.name), f.opts.Exists, f.replace, f.object.ModTime,
				&f.d.numbers)
		}
	}
	if f.opts.Exists == Resume && errors.Is(err, fs.ErrExist) {
		return f.notBeginning()
	}
	if f.opts.Exists == Skip && errors.Is(err, fs.ErrExist) {
		f.outcome, err = Skipped, errNotNeeded
		if f.part != nil {
			f.part.remove()
		}
	}
	if err != nil {
		return err
	}
	f.name = name
	return f.d.saved(f.dir, name)
}

// same reports whether the received content equals that of the file named by Options.Same, so that
// the existing file can stay.
func (f *toFile) same() bool {
	name := f.opts.Same
	if name == "" && f.opts.Exists == Newer {
		name = f.name
	}
	replaces := f.opts.Exists.replaces() && f.old != nil && f.old.Mode().IsRegular()
	if name == "" || !replaces || fetch.PlausibleTime(f.object.ModTime) {
		return false
	}
	file, err := openRegular(f.dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() != f.done {
		return false
	}
	var content io.Reader
	switch {
	case f.part != nil:
		content = io.NewSectionReader(f.part.file, 0, f.done)
	default:
		content = bytes.NewReader(f.memory[:f.size])
	}
	return sameContent(file, content)
}

var errNeedsPart = errors.New("it must be in a part")

// commitMemory writes the content in memory to an unnamed file and links it under its name.
func (f *toFile) commitMemory() (name string, err error) {
	if f.part != nil || f.old != nil && f.opts.Exists.replaces() {
		return "", errNeedsPart
	}
	err = f.inDir(func(dir directory) error {
		if f.partless != f.name && f.dir.hasPart(f.name) {
			return errNeedsPart // an old part must be replaced, or avoided
		}
		file, err := dir.unnamed()
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err = file.Write(f.memory[:f.size]); err != nil {
			return err
		}
		f.modTime = time.Time{}
		if t := f.object.ModTime; fetch.PlausibleTime(t) {
			if err := file.chtimes(t); err != nil {
				return err
			}
			if keepsTime(t) {
				f.modTime = t
			}
		}
		if f.d.Sync == SyncEach {
			if err := file.Sync(); err != nil {
				return err
			}
		}
		if f.modTime.IsZero() {
			if f.modTime, err = file.modTime(); err != nil {
				return err
			}
		}
		name, err = f.d.numbers.place(f.path(f.name), f.opts.Exists, file.link)
		return err
	})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrExist) && f.opts.Exists.replaces() {
		err = errNeedsPart
	}
	return name, err
}

// keepsTime reports whether each file system with unnamed files stores t as it is. Some store whole seconds
// in 32 bits.
func keepsTime(t time.Time) bool {
	return t.Nanosecond() == 0 && t.Unix() >= 0 && t.Unix() <= math.MaxInt32
}

func (e Exists) replaces() bool { return e == Overwrite || e == Newer || e == Resume }

// commit renames the part to the base name of file, or to a numbered one, and returns the name. If
// replace is true, an existing file may be replaced. The record is removed last: if the process is
// killed before, a resumable part or the file exists. A record without a part is ignored.
func (p *part) commit(file string, exists Exists, replace bool, modTime time.Time,
	taken *numbers) (string, error) {
	name := path.Base(file)
	replace = replace || exists == Overwrite || exists == Newer
	old, err := p.dir.lstat(name)
	replaces := err == nil && (replace || exists == Resume && p.extends(name))
	if replaces {
		if err := p.copyModeAndOwner(old); err != nil {
			return "", err
		}
	}
	// A power failure may destroy the content of a new file, but never that of both the old and
	// the new one.
	if p.sync == SyncEach || p.sync == SyncBatch && replaces {
		if err := p.file.Sync(); err != nil {
			return "", err
		}
	}
	if fetch.PlausibleTime(modTime) {
		if err := p.dir.chtimes(p.names.part, modTime); err != nil {
			return "", err
		}
	}
	if replaces || replace {
		err = p.dir.rename(p.names.part, name)
	} else {
		name, err = taken.place(file, exists, func(free string) error {
			return renameNew(p.dir, p.names.part, free)
		})
	}
	if err == nil && !p.recorded.IsZero() {
		p.removeRecord() // the file exists even if that fails
	}
	return name, err
}

// copyModeAndOwner gives the part the mode and the owner of the file that it replaces. If the group
// cannot be set, the part gets no group permissions.
func (p *part) copyModeAndOwner(old fs.FileInfo) error {
	if !old.Mode().IsRegular() {
		return nil
	}
	perm := old.Mode().Perm()
	if uid, gid, ok := owner(old); ok {
		info, err := p.file.Stat()
		if err != nil {
			return err
		}
		u, g, _ := owner(info)
		if (u != uid || g != gid) && p.file.Chown(uid, gid) != nil && p.file.Chown(-1, gid) != nil {
			perm &^= 0o070
		}
	}
	return p.file.Chmod(perm)
}

// renameNew renames a file unless the new name exists. On a file system that supports neither that
// nor links, it briefly creates an empty file as a placeholder.
func renameNew(dir directory, from, to string) error {
	err := dir.renameNew(from, to)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err = dir.link(from, to); err == nil {
		dir.remove(from) // the file exists even if that fails
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	placeholder, err := dir.open(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	placeholder.Close()
	if err := dir.rename(from, to); err != nil {
		return errors.Join(err, dir.remove(to))
	}
	return nil
}

// extends reports whether the file name is the beginning of the part, so that replacing it loses
// nothing.
func (p *part) extends(name string) bool {
	old, err := openRegular(p.dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer old.Close()
	info, err := old.Stat()
	return err == nil && sameContent(old, io.NewSectionReader(p.file, 0, info.Size()))
}

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
