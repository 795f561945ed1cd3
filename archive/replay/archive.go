// Package replay serves requests from WARC files instead of servers, for any scheme. It returns the
// captured content, metadata, listings, redirects and errors.
//
// Archives may be untrusted. Their contents are treated like those of servers: redirects must pass
// the client's policy, names are made safe, and all reads are limited.
package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// maxDamage limits the number of damage errors that are kept.
const maxDamage = 100

// maxRecords limits the number of records of files without an index.
const maxRecords = 2 << 20

var errTooMany = fmt.Errorf("replay: more than %d records and no index", maxRecords)

// An Archive is a set of WARC files and the positions of their records. The positions come from an
// index next to each file, or from reading the file once. An Archive is safe for concurrent use.
type Archive struct {
	files   []File
	indexes []recordIndex
	growing *growingIndex // one of indexes; nil without Follow
	recent  bool          // see KeepRecent

	mu          sync.Mutex // protects the fields below
	damage      []error
	scanned     *table
	recordsLeft int               // records that may still be added to scanned
	cached      [2]*table         // results of index lookups: recent ones, and older ones
	maxCached   int               // maximum number of URLs in each of them
	lines       int               // maximum number of index lines of a WACZ file
	bySum       map[string]string // URLs by the digest of their content, see sumKey; nil until needed

	scannedFiles []place // WARC files, or their ends, that no index covers

	nearOnce sync.Once
	nearby   map[string][]string // see nearURLs

	web     sync.Once
	drivers [2]fetch.Driver // for HTTP: without and with decoding of content codings
}

// Open opens WARC and WACZ files. If the index NAME.cdxj next to NAME.warc.gz states how much of
// the file it covers, only the rest of the file is scanned. For a WACZ file its index is read; WARC
// files that are missing from the index or wrongly indexed are scanned. All other files are scanned
// once, and may have about two million records together.
func Open(paths ...string) (*Archive, error) { return open(maxRecords, paths) }

func open(limit int, paths []string) (*Archive, error) {
	var files []File
	for _, path := range paths {
		f, err := OpenFile(path)
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, err
		}
		files = append(files, f)
	}
	return openFiles(limit, files)
}

// OpenFiles is Open for open files. Those on a server have no index next to them, so WARC files among
// them are read once. Close closes the files, and OpenFiles does so if it returns an error.
func OpenFiles(files ...File) (*Archive, error) { return openFiles(maxRecords, files) }

func openFiles(limit int, files []File) (*Archive, error) {
	a := &Archive{
		recordsLeft: limit, maxCached: maxCachedURLs, lines: limit * (maxPacked / maxRecords),
		scanned: newTable(), cached: [2]*table{newTable(), newTable()}, files: files,
	}
	for _, f := range files {
		if err := a.add(f); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// Close closes the files. Responses that are still open then fail.
func (a *Archive) Close() error {
	var err error
	for _, f := range a.files {
		err = errors.Join(err, f.Close())
	}
	for _, x := range a.indexes {
		err = errors.Join(err, x.close())
	}
	return err
}

// Files returns the names of the files, as given to Open.
func (a *Archive) Files() []string {
	var names []string
	for _, f := range a.files {
		names = append(names, f.Name())
	}
	return names
}

// Damage returns errors for damaged parts of the files, at most 100. They contain the file name and
// the offset.
func (a *Archive) Damage() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.damage)
}

// addDamage records a damaged part or index. a.mu must be held, unless a is not yet shared.
func (a *Archive) addDamage(err error) {
	if len(a.damage) < maxDamage {
		a.damage = append(a.damage, err)
	}
}

// Len returns the number of captured URLs. For files with an index it counts records instead.
func (a *Archive) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.scanned.captures)
	for _, x := range a.indexes {
		n += x.count()
	}
	return n
}

func (a *Archive) add(f File) error {
	begin := make([]byte, len(zipMagic))
	if f.ReadAt(begin, 0); string(begin) == zipMagic {
		return a.addWACZ(f)
	}
	covered := int64(0)
	if local, ok := f.(localFile); ok {
		var err error
		if covered, err = a.openIndex(local); err != nil || covered == local.size && covered > 0 {
			return err
		}
	}
	return a.scan(f, f.Name(), covered)
}

const zipMagic = "PK\x03\x04"

// read reads the record at p. Its block is verified (see warc.Record.Checked). The caller must call
// done after use.
func (a *Archive) read(p place) (rec *warc.Record, done func(), err error) {
	r, err := p.open()
	if err != nil {
		return nil, nil, err
	}
	if rec, err = r.Next(); err == nil {
		rec.Block = rec.Checked()
		if rec.Type() == warc.Revisit && rec.Length <= maxHead || rec.Length == 0 {
			// Its content is elsewhere or empty, so that nobody reads its block to the end.
			var block []byte
			block, err = io.ReadAll(rec.Block)
			rec.Block = bytes.NewReader(block)
		}
	}
	if err != nil {
		r.Close()
		return nil, nil, err
	}
	return rec, func() { r.Close() }, nil
}
