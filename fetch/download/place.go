package download

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

type place struct {
	d         *Downloader
	where     string     // path of the directory below the root
	dir       *cachedDir // nil until openDir
	requested string     // the requested name in it; "" to choose one with Name
	name      string     // the name in it; may still change if requested is ""
}

// newPlace returns the place of file, a path below dir, which is below the root.
func newPlace(d *Downloader, dir, file string) place {
	below, name := path.Split(file)
	where := "."
	if dir+below != "" {
		where = path.Join(".", dir, below)
	}
	return place{d: d, where: where, requested: name, name: name}
}

func (p *place) path(name string) string {
	if p.where == "." && !strings.HasPrefix(name, "/") {
		return path.Clean(name) // as Join does, without its copies
	}
	return path.Join(p.where, name)
}

func (p *place) openDir(create bool) (err error) {
	if p.dir == nil {
		p.dir, err = p.d.dirs.get(p.d.Root, p.where, create)
	}
	return err
}

func (p *place) pathError(op string, err error) error {
	return &fs.PathError{Op: op, Path: p.path(p.name), Err: err}
}

// inDir calls do with the directory, which is created if necessary. If it was removed while it was
// kept open, it is recreated and do is called again.
func (p *place) inDir(do func(directory) error) error {
	if err := p.openDir(true); err != nil {
		return err
	}
	err := do(p.dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	p.d.dirs.drop(p.dir)
	p.dir = nil
	if err := p.openDir(true); err != nil {
		return err
	}
	return do(p.dir)
}

// removeStrayRecord removes a record without a part. A run that was killed after it had renamed the part
// leaves one.
func (p *place) removeStrayRecord() {
	if !hasPart(p.dir, p.name) {
		p.dir.remove(namesFor(p.name).record) // it does no harm if that fails
	}
}

// hasPart reports whether a file has a part. If that is unknown, it returns true.
func hasPart(dir directory, name string) bool { return !dir.isAbsent(stemOf(name) + partSuffix) }

func (p *place) closeDir() {
	if p.dir != nil {
		p.d.dirs.put(p.dir)
	}
}
