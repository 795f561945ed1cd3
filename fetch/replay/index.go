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

	"github.com/urlget/urlget/fetch/capture"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetch/warc"
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
var numbered = regexp.MustCompile(`-[0-9]{5}$`)

// openIndex looks for an index of an archive with that size, and returns how much of it it covers.
func (a *Archive) openIndex(f *os.File, size int64) (covered int64, err error) {
	base := f.Name()
	for _, suffix := range []string{".gz", ".zst", ".warc"} {
		base = strings.TrimSuffix(base, suffix)
	}
	for _, name := range []string{base + ".cdxj", numbered.ReplaceAllString(base, "") + ".cdxj"} {
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
			if u, err := uri.Parse(e.URL); err == nil && u.IsAbs() {
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

// find returns the lines for the URL with that key, and perhaps others.
func (x *index) find(key string) []warc.IndexEntry {
	hash := maphash.String(seed, key)
	i, _ := slices.BinarySearchFunc(x.lines, hash, func(l line, h uint64) int { return cmp.Compare(l.hash, h) })
	var list []warc.IndexEntry
	for ; i < len(x.lines) && x.lines[i].hash == hash && len(list) < maxVersions; i++ {
		if e, ok := x.entry(x.lines[i]); ok {
			list = append(list, e)
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
		a.lookIn(x, key)
	}
}

// lookIn reads the records of one URL. An index may lie, so that only what a record says of itself
// counts.
func (a *Archive) lookIn(x *index, key string) {
	r, err := warc.NewReader(x.archive)
	if err != nil {
		return
	}
	defer r.Close()
	s := newScanner(a, a.looked[0], x.archive)
	note := func(offset int64) {
		if r.SeekRecord(offset, 0) != nil {
			return
		}
		rec, err := r.Next()
		if err != nil || rec.Offset != offset {
			return
		}
		if u, err := uri.Parse(rec.TargetURI()); err == nil && u.IsAbs() && capture.Key(u) == key {
			s.record(rec)
		}
	}
	for _, e := range x.find(key) {
		if e.Origin > 0 {
			a.lookAt(x, e.Origin)
		}
		note(e.Offset)
		if e.Request > 0 {
			note(e.Request)
		}
	}
	s.settle()
}

// lookAt notes one record, as that to which a revisit refers.
func (a *Archive) lookAt(x *index, offset int64) {
	p := place{file: x.archive, offset: offset}
	if rec, done, err := a.read(p); err == nil {
		if id := rec.ID(); id != "" {
			a.looked[0].records[id] = p
		}
		done()
	}
}

// byID returns where the record with an identifier is.
func (a *Archive) byID(id string) (place, bool) {
	p, ok := a.scanned.records[id]
	if ok || len(a.indexes) == 0 {
		return p, ok
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.looked {
		if p, ok := t.records[id]; ok {
			return p, true
		}
	}
	return place{}, false
}

// byOrigin returns where the record is that somebody else refers to by URL and date.
func (a *Archive) byOrigin(o origin) place {
	if p, ok := a.scanned.origins[o]; ok || len(a.indexes) == 0 {
		return p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, err := uri.Parse(o.url); err == nil && u.IsAbs() {
		a.look(capture.Key(u))
	}
	for _, t := range a.looked {
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
