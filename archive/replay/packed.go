package replay

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/wacz"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

// maxPacked limits the number of index lines of a WACZ file. Each needs 24 bytes of memory.
const maxPacked = 8 << 20

var errTooManyLines = errors.New("too many records in the index")

// A waczIndex is a WACZ file with an index. The index may be wrong: if a record differs from it,
// all WARC files are scanned instead.
type waczIndex struct {
	name    string
	files   []packedFile
	scanned []bool // files that were scanned because the index does not describe them completely
	reader  *wacz.Reader
	lines   []waczLine // sorted by hash
	extras  []rareFields
}

type packedFile struct {
	*io.SectionReader
	base string // name in the index
	path string // name of the WACZ file and base
}

func (f packedFile) Name() string { return f.path }

type waczLine struct {
	hash   uint64 // of the key of the URL
	offset int64
	file   uint32 // index of packed.files
	extra  uint32 // index of packed.extras plus 1; 0 if there is none
}

type rareFields struct {
	origin, request int64
	method          string
}

// addWACZ reads the index of a WACZ file. If it has no valid index, the WARC files in it are
// scanned.
func (a *Archive) addWACZ(f File) error {
	r, err := wacz.NewReader(f, f.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	left := a.lines
	return a.addPacked(f.Name(), r, &left)
}

// addPacked adds a WACZ file and those in it. All their indexes together may have the lines that are left.
func (a *Archive) addPacked(name string, r *wacz.Reader, left *int) error {
	for _, in := range r.Nested() {
		if err := a.addPacked(name+"/"+in.Name(), in, left); err != nil {
			return err
		}
	}
	if len(r.Files()) == 0 {
		return nil
	}
	p := &waczIndex{name: name, reader: r}
	for _, file := range r.Files() {
		p.files = append(p.files, packedFile{file.SectionReader, file.Name, p.name + "/" + file.Name})
	}
	rest, err := p.load(*left)
	*left -= len(p.lines)
	switch {
	case errors.Is(err, errTooManyLines):
		return fmt.Errorf("%s: %w: more than %d", name, err, a.lines)
	case err != nil:
		if !errors.Is(err, wacz.ErrNoIndex) {
			a.addDamage(fmt.Errorf("%s: %w; reading its WARC files instead", p.name, err))
		}
		p.lines, p.extras, p.scanned, rest = nil, nil, nil, p.files
	default:
		a.indexes = append(a.indexes, p)
	}
	for _, file := range rest {
		if err := a.scan(file, file.path, 0); err != nil {
			return err
		}
	}
	return nil
}

// load reads the index, which may have limit lines. It returns the files that must be scanned: those
// that the index does not mention, and those with records of other schemes than HTTP whose index was
// made by another program.
func (p *waczIndex) load(limit int) (rest []packedFile, err error) {
	numbers := make(map[string]uint32)
	for i, file := range p.files {
		numbers[path.Base(file.base)] = uint32(i)
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
		if len(p.lines) == limit {
			return errTooManyLines
		}
		named[number] = true
		web := httprecord.InScheme(u.Scheme())
		partly[number] = partly[number] || !web && u.Host() != "" && e.Instant == ""
		l := waczLine{maphash.String(seed, record.Key(u)), e.Offset, number, 0}
		if e.Origin > 0 || e.Request > 0 || e.Method != "" {
			p.extras = append(p.extras, rareFields{e.Origin, e.Request, e.Method})
			l.extra = uint32(len(p.extras))
		}
		p.lines = append(p.lines, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.scanned = partly
	for i, file := range p.files {
		if !named[i] || partly[i] {
			p.scanned[i] = true
			rest = append(rest, file)
		}
	}
	p.lines = slices.DeleteFunc(p.lines, func(l waczLine) bool { return p.scanned[l.file] })
	slices.SortFunc(p.lines, func(a, b waczLine) int {
		return cmp.Or(
			cmp.Compare(a.hash, b.hash), cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	return rest, nil
}

func (p *waczIndex) find(key string) []location {
	hash := maphash.String(seed, key)
	i := sort.Search(len(p.lines), func(i int) bool { return p.lines[i].hash >= hash })
	var list []location
	for ; i < len(p.lines) && p.lines[i].hash == hash && len(list) < maxVersions; i++ {
		l := p.lines[i]
		at := location{archive: p.files[l.file], offset: l.offset}
		if l.extra > 0 {
			at.rareFields = p.extras[l.extra-1]
		}
		list = append(list, at)
	}
	return list
}

func (p *waczIndex) count() int   { return len(p.lines) }
func (p *waczIndex) close() error { return nil }

// each implements recordIndex. It reads the index file again.
func (p *waczIndex) each(f func(warc.IndexEntry) error) error {
	if len(p.lines) == 0 { // the files were scanned
		return nil
	}
	return p.reader.ReadIndex(f)
}

func (p *waczIndex) drop(a *Archive, key string) {
	const message = "%s: wrong index entry for %s; reading its WARC files instead"
	a.addDamage(fmt.Errorf(message, p.name, strings.TrimSpace(key)))
	p.lines, p.extras = nil, nil
	for i, file := range p.files {
		if p.scanned[i] {
			continue
		}
		if err := a.scan(file, file.path, 0); err != nil {
			a.addDamage(err)
		}
	}
}
