package replay

import (
	"bufio"
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

const (
	// maxLines bounds the lines of an index, of each of which 16 bytes are kept in memory.
	maxLines = 32 << 20
	// maxLine bounds one of them; longer ones are left out.
	maxLine = 64 << 10
	// maxLooked bounds the URLs of which is remembered what an index has.
	maxLooked = 4096
	// maxVersions bounds the records of one URL that are looked at.
	maxVersions = 10_000
)

// An indexed is an archive of which an index says where records are. Its methods are called with the
// lock of the Archive.
type indexed interface {
	// find returns what there is of the URL with that key, and perhaps of others.
	find(key string) []located
	// each calls f with what the index has.
	each(f func(warc.IndexEntry)) error
	count() int
	close() error
}

// A located is where a record is, as an index says.
type located struct {
	archive io.ReaderAt
	offset  int64
	extra
}

// An index is a CDXJ file that covers the beginning of an archive.
type index struct {
	file    *os.File
	archive *os.File
	covered int64
	lines   []line // in the order of hash
}

// A line of an index: the hash of its URL, and where it is.
type line struct {
	hash   uint64
	offset int64
}

var seed = maphash.MakeSeed()

// numbered is the end of the names of files that --warc-max-size makes, which share an index.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9]{5}$`) })

// openIndex looks for an index of an archive with that size, and returns how much of it it covers.
func (a *Archive) openIndex(f *os.File, size int64) (covered int64, err error) {
	base := f.Name()
	for _, suffix := range []string{".gz", ".zst", ".warc"} {
		base = strings.TrimSuffix(base, suffix)
	}
	for _, name := range []string{base + ".cdxj", numbered().ReplaceAllString(base, "") + ".cdxj"} {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		x := &index{file: file, archive: f}
		x.covered, err = warc.Covered(file, filepath.Base(f.Name()))
		// One that covers more than there is is that of another file.
		if err == nil && x.covered > 0 && x.covered <= size {
			if err = x.load(); err == nil {
				a.indexes = append(a.indexes, x)
				return x.covered, nil
			}
		}
		file.Close() // and what it says is found out by reading the archive
	}
	return 0, nil
}

// load reads where the lines of URLs are.
func (x *index) load() error {
	if _, err := x.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	name := filepath.Base(x.archive.Name())
	in := bufio.NewReaderSize(x.file, maxLine)
	for at := int64(0); ; {
		text, err := in.ReadSlice('\n')
		begin := at
		at += int64(len(text))
		for err == bufio.ErrBufferFull {
			text = nil
			var more []byte
			more, err = in.ReadSlice('\n')
			at += int64(len(more))
		}
		if e, ok := warc.ParseIndexEntry(text); ok && e.File == name && e.Offset < x.covered {
			if u, err := uri.ParseRef(e.URL); err == nil && u.IsAbs() {
				if len(x.lines) == maxLines {
					return ErrTooMany
				}
				x.lines = append(x.lines, line{maphash.String(seed, capture.Key(u)), begin})
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(x.lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.offset, b.offset)) })
	return nil
}

// entry reads a line.
func (x *index) entry(l line) (warc.IndexEntry, bool) {
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
	return warc.ParseIndexEntry(text)
}

func (x *index) count() int   { return len(x.lines) }
func (x *index) close() error { return x.file.Close() }

// find implements indexed.
func (x *index) find(key string) []located {
	hash := maphash.String(seed, key)
	i, _ := slices.BinarySearchFunc(x.lines, hash, func(l line, h uint64) int { return cmp.Compare(l.hash, h) })
	var list []located
	for ; i < len(x.lines) && x.lines[i].hash == hash && len(list) < maxVersions; i++ {
		if e, ok := x.entry(x.lines[i]); ok {
			list = append(list, located{x.archive, e.Offset, extra{e.Origin, e.Request, e.Method}})
		}
	}
	return list
}

// of returns the captures of the URL with that key.
func (a *Archive) of(key string) []*captured {
	if len(a.indexes) == 0 {
		return a.scanned.captures[key]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look(key)
	return slices.Concat(a.scanned.captures[key], a.looked[0].captures[key])
}

// look notes what the indexes have of the URL with that key.
func (a *Archive) look(key string) {
	if a.looked[0].keys[key] {
		return
	}
	if len(a.looked[0].keys) >= a.most {
		a.looked[0], a.looked[1] = newTable(), a.looked[0]
	}
	a.looked[0].keys[key] = true
	for _, x := range a.indexes {
		if !a.lookIn(x, key) { // an index was given up, and its archives read
			a.looked = [2]*table{newTable(), newTable()}
			a.look(key)
			return
		}
	}
}

// lookIn reads the records of one URL. An index may lie, so that only what a record says of itself
// counts. It returns false if it is not asked again.
func (a *Archive) lookIn(x indexed, key string) bool {
	var s *scanner
	var r *warc.Reader
	end := func() {
		if r != nil {
			s.settle()
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
		u, err := uri.ParseRef(rec.TargetURI())
		if err != nil || !u.IsAbs() || capture.Key(u) != key {
			return false
		}
		s.record(rec)
		return true
	}
	for _, l := range x.find(key) {
		if s == nil || s.file != l.archive {
			end()
			s = newScanner(a, a.looked[0], l.archive)
			var err error
			if r, err = warc.NewReader(l.archive); err != nil {
				r = nil
				return true
			}
		}
		if l.origin > 0 {
			a.lookAt(l.archive, l.origin)
		}
		known := len(a.looked[0].captures[key])
		ok := note(l.offset)
		if ok && l.request > 0 {
			ok = note(l.request)
		}
		if p, is := x.(*packed); !ok && is {
			p.distrust(a, key)
			return false
		}
		if list := a.looked[0].captures[key]; l.request == 0 && len(list) > known {
			list[known].method = cmp.Or(list[known].method, l.method)
		}
	}
	return true
}

// lookAt notes one record, as that to which a revisit refers.
func (a *Archive) lookAt(archive io.ReaderAt, offset int64) {
	p := place{file: archive, offset: offset}
	if rec, done, err := a.read(p); err == nil {
		if id := rec.ID(); id != "" {
			a.looked[0].records[id] = p
		}
		done()
	}
}

// byID returns where the record with an identifier is.
func (a *Archive) byID(id string) (place, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.scanned.records[id]; ok {
		return p, true
	}
	for _, t := range a.looked {
		if p, ok := t.records[id]; ok {
			return p, true
		}
	}
	return place{}, false
}

// byOrigin returns where the record is that somebody else refers to by URL and date.
func (a *Archive) byOrigin(o origin) place {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p, ok := a.scanned.origins[o]; ok || len(a.indexes) == 0 {
		return p
	}
	if u, err := uri.ParseRef(o.url); err == nil && u.IsAbs() {
		a.look(capture.Key(u))
	}
	for _, t := range []*table{a.scanned, a.looked[0], a.looked[1]} { // the first has changed if an index was given up
		if p, ok := t.origins[o]; ok {
			return p
		}
	}
	return place{}
}

// each calls f with what the index has of its archive.
func (x *index) each(f func(warc.IndexEntry)) error {
	name := filepath.Base(x.archive.Name())
	return warc.ReadIndex(io.NewSectionReader(x.file, 0, 1<<62), func(e warc.IndexEntry) error {
		if e.File == name && e.Offset < x.covered {
			f(e)
		}
		return nil
	})
}
