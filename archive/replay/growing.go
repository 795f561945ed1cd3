package replay

import (
	"bytes"
	"hash/maphash"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch/uri"
)

// A growingIndex is the index of a WARC file that is being written. It has the lines that were added
// since it was opened.
type growingIndex struct {
	cdxjIndex
	at    int64 // of the next line
	added map[uint64][]int64
	total int
}

// Follow adds the records that are written to a WARC file from now on. The file must have an index next
// to it (see [warc.WriterOptions]). Requests find the records that the index has by then. Follow must be
// called before the first request, and only once.
func (a *Archive) Follow(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	f := localFile{File: file}
	a.files = append(a.files, f)
	index, err := os.Open(warc.IndexName(path))
	if err != nil {
		return err
	}
	x := &growingIndex{
		cdxjIndex: cdxjIndex{file: index, archive: f, covered: math.MaxInt64},
		added:     make(map[uint64][]int64),
	}
	a.indexes, a.growing = append(a.indexes, x), x
	x.at, err = index.Seek(0, io.SeekEnd)
	return err
}

// maxRead limits the part of an index that is read at once.
const maxRead = 1 << 20

// grow reads the lines that were added to the index. It calls added with the URL and the location of each.
func (x *growingIndex) grow(added func(uri.URI, location)) {
	for {
		info, err := x.file.Stat()
		if err != nil || info.Size() <= x.at {
			return
		}
		text := make([]byte, min(info.Size()-x.at, maxRead))
		n, _ := x.file.ReadAt(text, x.at)
		end := bytes.LastIndexByte(text[:n], '\n') + 1
		if end == 0 { // the line is not yet complete
			return
		}
		for one := range bytes.Lines(text[:end]) {
			x.add(one, added)
			x.at += int64(len(one))
		}
	}
}

func (x *growingIndex) add(text []byte, added func(uri.URI, location)) {
	e := warc.IndexEntry{}
	if x.total == maxLines || !e.Parse(text) || e.File != filepath.Base(x.archive.Name()) {
		return
	}
	u, err := uri.ParseRef(e.URL)
	if err != nil || !u.IsAbs() {
		return
	}
	hash := maphash.String(seed, record.Key(u))
	x.added[hash] = append(x.added[hash], x.at)
	x.total++
	added(u, locationOf(x.archive, &e))
}

func (x *growingIndex) find(key string) (list []location) {
	offsets := x.added[maphash.String(seed, key)]
	for _, offset := range offsets[max(0, len(offsets)-maxVersions):] {
		if e, ok := x.entry(line{offset: offset}); ok {
			list = append(list, locationOf(x.archive, &e))
		}
	}
	return list
}

func (x *growingIndex) count() int { return x.total }

func (x *growingIndex) each(f func(warc.IndexEntry) error) error {
	for _, offsets := range x.added {
		for _, offset := range offsets {
			if e, ok := x.entry(line{offset: offset}); ok {
				if err := f(e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
