package replay

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
)

const (
	// maxLines limits the number of lines of an index. Each needs 16 bytes of memory.
	maxLines = 32 << 20
	// maxLine limits the length of a line, as in warc.ReadIndex.
	maxLine = 256 << 10
	// maxCachedURLs limits the number of URLs whose index lookups are cached.
	maxCachedURLs = 4096
	// maxVersions limits the number of records of one URL.
	maxVersions = 10_000
)

// A recordIndex is the index of an archive. Archive.mu must be held when its methods are called.
type recordIndex interface {
	// find returns the records of the URL with a key. It may return records of other URLs too.
	find(key string) []location
	// each calls f with each entry. An error of f stops it.
	each(f func(warc.IndexEntry) error) error
	count() int
	close() error
}

// A location is the position of a record according to an index.
type location struct {
	archive io.ReaderAt
	offset  int64
	repeats bool // the content of another record, as a revisit or a 304 does
	rareFields
}

func locationOf(archive io.ReaderAt, e *warc.IndexEntry) location {
	repeats := e.Status == http.StatusNotModified || e.Mime == "warc/revisit"
	return location{archive, e.Offset, repeats, rareFields{e.Origin, e.Request, e.Method}}
}

// A cdxjIndex is a CDXJ file that covers the start of a WARC file.
type cdxjIndex struct {
	file    *os.File
	archive localFile
	covered int64
	lines   []line // sorted by hash
}

// A line is the position of an index line and the hash of its URL.
type line struct {
	hash   uint64
	offset int64
}

var seed = maphash.MakeSeed()

// numbered matches the end of file names made by --warc-max-size. Such files share an index.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9]{5}$`) })

// openIndex opens the index of a WARC file, if there is one, and returns the number of bytes it
// covers.
func (a *Archive) openIndex(f localFile) (covered int64, err error) {
	own := warc.IndexName(f.Name())
	shared := numbered().ReplaceAllString(strings.TrimSuffix(own, ".cdxj"), "") + ".cdxj"
	for _, name := range []string{own, shared} {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		x := &cdxjIndex{file: file, archive: f}
		x.covered, err = warc.Covered(file, filepath.Base(f.Name()))
		// If it covers more than the file, it is the index of another file.
		if err == nil && x.covered > 0 && x.covered <= f.size {
			if err = x.load(); err == nil {
				a.indexes = append(a.indexes, x)
				return x.covered, nil
			}
		}
		file.Close() // the WARC file is scanned instead
	}
	return 0, nil
}

func (x *cdxjIndex) load() error {
	err := x.each(func(e warc.IndexEntry) error {
		key := record.KeyOf(e.URL)
		switch {
		case key == "":
			return nil
		case len(x.lines) == maxLines:
			return errTooMany
		}
		x.lines = append(x.lines, line{maphash.String(seed, key), e.Line})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(x.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.offset, b.offset))
	})
	return nil
}

func (x *cdxjIndex) entry(l line) (e warc.IndexEntry, ok bool) {
	text := make([]byte, 1024)
	n, _ := x.file.ReadAt(text, l.offset)
	if n == len(text) && !slices.Contains(text, '\n') {
		text = make([]byte, maxLine)
		n, _ = x.file.ReadAt(text, l.offset)
	}
	text = text[:n]
	if end := slices.Index(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return e, e.Parse(text)
}

func (x *cdxjIndex) count() int   { return len(x.lines) }
func (x *cdxjIndex) close() error { return x.file.Close() }

func (x *cdxjIndex) find(key string) []location {
	hash := maphash.String(seed, key)
	begin := sort.Search(len(x.lines), func(i int) bool { return x.lines[i].hash >= hash })
	end := begin
	for end < len(x.lines) && x.lines[end].hash == hash {
		end++
	}
	var list []location
	for _, l := range x.lines[max(begin, end-maxVersions):end] {
		if e, ok := x.entry(l); ok {
			list = append(list, locationOf(x.archive, &e))
		}
	}
	return list
}

func (a *Archive) capturesOf(key string) []*snapshot {
	if len(a.indexes) == 0 {
		return a.scanned.captures[key]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.loadIndexed(key)
	return slices.Concat(a.scanned.captures[key], a.cached[0].captures[key])
}

func (a *Archive) loadIndexed(key string) {
	if a.growing != nil {
		a.growing.grow(a.addGrown)
	}
	if a.cached[0].keys[key] {
		return
	}
	if len(a.cached[0].keys) >= a.maxCached {
		a.cached[0], a.cached[1] = newTable(), a.cached[0]
	}
	a.cached[0].keys[key] = true
	for _, x := range a.indexes {
		if !a.loadFromIndex(x, key) { // the index is wrong and its files were scanned
			a.cached = [2]*table{newTable(), newTable()}
			a.loadIndexed(key)
			return
		}
	}
}

// loadFromIndex adds the records of a URL from one index. It returns false if the index was given up.
func (a *Archive) loadFromIndex(x recordIndex, key string) bool {
	return a.load(x, key, a.recentLocations(x.find(key)))
}

// load adds the records of a URL at locations from an index. An index may be wrong, so only the records
// themselves are trusted. It returns false if the index was given up.
func (a *Archive) load(x recordIndex, key string, from []location) bool {
	var s *scanner
	var r *warc.Reader
	end := func() {
		if r != nil {
			s.addStandalones()
			r.Close()
		}
	}
	defer func() { end() }()
	note := func(offset int64) bool {
		if r.SeekRecord(offset, 0) != nil {
			return false
		}
		rec, err := r.Next()
		if err != nil || rec.Offset != offset {
			return false
		}
		if record.KeyOf(rec.TargetURI()) != key {
			return false
		}
		s.record(rec)
		return true
	}
	for _, l := range from {
		if s == nil || s.file != l.archive {
			end()
			s = newScanner(a, a.cached[0], l.archive)
			var err error
			if r, err = warc.NewReader(l.archive); err != nil {
				r = nil
				return true
			}
		}
		if l.origin > 0 {
			a.loadRecord(l.archive, l.origin)
		}
		known := len(a.cached[0].captures[key])
		ok := note(l.offset)
		if ok && l.request > 0 {
			ok = note(l.request)
		}
		if p, is := x.(*waczIndex); !ok && is {
			p.drop(a, key)
			return false
		}
		list := a.cached[0].captures[key]
		if l.request != 0 || l.method == "" || len(list) <= known || list[known].method != "" {
			continue
		}
		// Indexes of other programs do not have the position of the request, which usually follows.
		if rec, err := r.Next(); err == nil && rec.Type() == warc.Request {
			s.record(rec)
		}
		if c := list[known]; c.method == "" {
			c.method, c.bodyDigest = l.method, unknownBody
		}
	}
	return true
}

func (a *Archive) loadRecord(archive io.ReaderAt, offset int64) {
	p := place{file: archive, offset: offset}
	if rec, done, err := a.read(p); err == nil {
		if id := rec.ID(); id != "" {
			a.cached[0].records[id] = p
		}
		done()
	}
}

func (a *Archive) byID(id string) (place, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.scanned.records[id]; ok {
		return p, true
	}
	for _, t := range a.cached {
		if p, ok := t.records[id]; ok {
			return p, true
		}
	}
	return place{}, false
}

func (a *Archive) byOrigin(o origin) place {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.scanned.origins[o]; ok || len(a.indexes) == 0 {
		return p
	}
	if key := record.KeyOf(o.url); key != "" {
		a.loadIndexed(key)
	}
	// If an index was given up, scanned has changed.
	for _, t := range []*table{a.scanned, a.cached[0], a.cached[1]} {
		if p, ok := t.origins[o]; ok {
			return p
		}
	}
	return place{}
}

func (x *cdxjIndex) each(f func(warc.IndexEntry) error) error {
	name := filepath.Base(x.archive.Name())
	return warc.ReadIndex(io.NewSectionReader(x.file, 0, 1<<62), func(e warc.IndexEntry) error {
		if e.File == name && e.Offset < x.covered {
			return f(e)
		}
		return nil
	})
}
