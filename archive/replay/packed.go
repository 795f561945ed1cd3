package replay

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

// maxPacked bounds the lines of the indexes in a WACZ file, of each of which 24 bytes are kept in
// memory.
const maxPacked = 8 << 20

var errTooManyLines = errors.New("too many records in its index")

// A packed is a WACZ file with an index of its WARC files. Whoever packed it says what is in them:
// where a record is not what the index says of it, all of them are read.
type packed struct {
	name   string
	files  []wacz.File
	apart  []bool // files that were read, as the index is of no use for them
	reader *wacz.Reader
	lines  []packedLine // in the order of hash
	extras []extra
}

// A packedLine is what is kept of a line.
type packedLine struct {
	hash   uint64 // of the key of the URL
	offset int64
	file   uint32 // in packed.files
	extra  uint32 // in packed.extras, from 1; 0 if there is none
}

// An extra is what few lines have.
type extra struct {
	origin, request int64
	method          string
}

// addPacked reads the index of a WACZ file, or where there is none of use, the WARC files in it.
func (a *Archive) addPacked(f *os.File, size int64) error {
	r, err := wacz.NewReader(f, size)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	p := &packed{name: f.Name(), files: r.Files(), reader: r}
	rest, err := p.load(a.lines)
	switch {
	case errors.Is(err, errTooManyLines):
		return fmt.Errorf("%s: %w: more than %d", f.Name(), err, a.lines)
	case err != nil:
		if !errors.Is(err, wacz.ErrNoIndex) {
			a.damaged(fmt.Errorf("%s: %w; its archives are read instead", p.name, err))
		}
		p.lines, p.extras, p.apart, rest = nil, nil, nil, p.files
	default:
		a.indexes = append(a.indexes, p)
	}
	for _, file := range rest {
		if err := a.scan(file, p.name+"/"+file.Name, 0); err != nil {
			return err
		}
	}
	return nil
}

// load reads the index, and returns the files that must be read because it says nothing of them, or
// was made by a program that knows the web only, and they have more. Most bounds its lines.
func (p *packed) load(most int) (rest []wacz.File, err error) {
	numbers := make(map[string]uint32)
	for i, file := range p.files {
		numbers[path.Base(file.Name)] = uint32(i)
	}
	named, partly := make([]bool, len(p.files)), make([]bool, len(p.files))
	err = p.reader.ReadIndex(func(e warc.IndexEntry) error {
		number, ok := numbers[path.Base(e.File)]
		if !ok {
			return nil
		}
		u, err := uri.ParseRef(e.URL)
		if err != nil || !u.IsAbs() {
			return nil
		}
		if len(p.lines) == most {
			return errTooManyLines
		}
		named[number] = true
		web := warc.HoldsHTTP(u.Scheme())
		partly[number] = partly[number] || !web && u.Host() != "" && e.Instant == ""
		l := packedLine{maphash.String(seed, capture.Key(u)), e.Offset, number, 0}
		if e.Origin > 0 || e.Request > 0 || e.Method != "" {
			p.extras = append(p.extras, extra{e.Origin, e.Request, e.Method})
			l.extra = uint32(len(p.extras))
		}
		p.lines = append(p.lines, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.apart = partly
	for i, file := range p.files {
		if !named[i] || partly[i] {
			p.apart[i] = true
			rest = append(rest, file)
		}
	}
	p.lines = slices.DeleteFunc(p.lines, func(l packedLine) bool { return p.apart[l.file] })
	slices.SortFunc(p.lines, func(a, b packedLine) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	return rest, nil
}

func (p *packed) find(key string) []located {
	hash := maphash.String(seed, key)
	i, _ := slices.BinarySearchFunc(p.lines, hash, func(l packedLine, h uint64) int { return cmp.Compare(l.hash, h) })
	var list []located
	for ; i < len(p.lines) && p.lines[i].hash == hash && len(list) < maxVersions; i++ {
		l := p.lines[i]
		at := located{archive: p.files[l.file], offset: l.offset}
		if l.extra > 0 {
			at.extra = p.extras[l.extra-1]
		}
		list = append(list, at)
	}
	return list
}

func (p *packed) count() int   { return len(p.lines) }
func (p *packed) close() error { return nil }

// each reads the index once more.
func (p *packed) each(f func(warc.IndexEntry)) error {
	if len(p.lines) == 0 { // the files were read
		return nil
	}
	return p.reader.ReadIndex(func(e warc.IndexEntry) error {
		f(e)
		return nil
	})
}

// distrust gives the index up, and reads the archives.
func (p *packed) distrust(a *Archive, key string) {
	a.damaged(fmt.Errorf("%s: its index lies about %s; its archives are read instead", p.name, strings.TrimSpace(key)))
	p.lines, p.extras = nil, nil
	for i, file := range p.files {
		if p.apart[i] {
			continue
		}
		if err := a.scan(io.ReaderAt(file), p.name+"/"+file.Name, 0); err != nil {
			a.damaged(err)
		}
	}
}
