package warc

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

const (
	// maxIndexedHead limits the head of an HTTP message that is read for an index or verification.
	maxIndexedHead = 256 << 10
	// maxRequestDistance is the maximum number of records between a response and its request.
	maxRequestDistance = 64
	// maxIDs limits the record IDs that are remembered for revisits that refer to nothing else.
	maxIDs = 1 << 20
)

// errShared is returned by Index for a file with several records in one compressed member, whose
// positions an index cannot express.
var errShared = errors.New("warc: records share a compressed member")

// IndexName returns the path of the index next to a WARC file: /a/b.cdxj for /a/b.warc.gz.
func IndexName(path string) string {
	for _, suffix := range []string{".gz", ".zst", ".bz2", ".warc"} {
		path = strings.TrimSuffix(path, suffix)
	}
	return path + ".cdxj"
}

// Index calls f with an entry for each response, revisit, resource, conversion and metadata record
// of a file, in file order. Name is the file name in the entries. Index returns the number of bytes
// covered, which is the size of the file unless its end is damaged. If records share a compressed
// member, it returns an error. An error of f stops it. Damage does not: after all other entries, Index
// returns the first *DamageError.
func Index(file io.ReaderAt, name string, f func(IndexEntry) error) (covered int64, err error) {
	r, err := NewReader(file)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	x := newIndexer(name)
	var damaged error
	for rec, err := range r.Records() {
		switch damage, isDamage := errors.AsType[*DamageError](err); {
		case isDamage:
			x.endRecord(damage.Offset)
			if damaged == nil {
				damaged = damage
			}
			continue
		case err != nil:
			return 0, err
		case rec.Within > 0:
			return 0, errShared
		}
		x.endRecord(rec.Offset)
		if err := x.flush(maxRequestDistance, f); err != nil {
			return 0, err
		}
		x.addRecord(rec)
	}
	x.endRecord(r.ValidSize())
	if err := x.flush(0, f); err != nil {
		return r.ValidSize(), err
	}
	return r.ValidSize(), damaged
}

type indexer struct {
	name     string
	ids      map[string]int64       // offsets of records with content, by ID
	requests map[string]requestInfo // recent requests, by the ID of the response or of the request
	recent   []string               // the keys of requests
	pending  []pendingEntry         // entries whose request may follow
	open     bool                   // the last entry has no length yet
	count    int                    // number of records
}

func newIndexer(name string) *indexer {
	return &indexer{name: name, ids: make(map[string]int64), requests: make(map[string]requestInfo)}
}

// A pendingEntry waits for the request of its record.
type pendingEntry struct {
	IndexEntry
	id     string
	number int
}

// requestInfo holds the data of a request record.
type requestInfo struct {
	offset        int64
	method, query string // see readRequest
}

func (x *indexer) endRecord(at int64) {
	if x.open {
		last := &x.pending[len(x.pending)-1]
		last.Length, x.open = max(0, at-last.Offset), false
	}
}

// flush passes entries that have waited for more than maxDistance records to f.
func (x *indexer) flush(maxDistance int, f func(IndexEntry) error) error {
	for len(x.pending) > 0 && (maxDistance == 0 || x.count-x.pending[0].number > maxDistance) {
		if err := f(x.pending[0].IndexEntry); err != nil {
			return err
		}
		x.pending = x.pending[1:]
	}
	return nil
}

func (x *indexer) addRecord(rec *Record) {
	x.count++
	e := pendingEntry{id: rec.ID(), number: x.count, IndexEntry: IndexEntry{
		URL: rec.TargetURI(), Date: rec.Date(), Offset: rec.Offset,
		File: x.name, Digest: rec.Get("WARC-Payload-Digest"),
	}}
	isHTTP := rec.IsHTTP()
	switch rec.Type() {
	case Request:
		if isHTTP {
			x.request(rec)
		}
		return
	case Response, Revisit:
		e.Mime = "unk"
		if isHTTP || rec.Type() == Response && rec.ContentType() == "" {
			if resp, err := rec.HTTPResponse(maxIndexedHead); err == nil {
				e.Status = resp.StatusCode
				e.Mime = bareType(resp.Header.Get("Content-Type"))
			}
		}
		if rec.Type() == Revisit {
			e.Mime = "warc/revisit"
			if rec.Refers("WARC-Refers-To-Target-URI") == "" {
				e.Origin = x.ids[rec.Refers("WARC-Refers-To")]
			}
		}
		q, ok := x.requests[e.id]
		if !ok {
			q = x.requests[rec.Refers("WARC-Concurrent-To")]
		}
		e.setRequest(q)
	case Resource, conversion, Metadata:
		e.Mime = bareType(rec.ContentType())
	default:
		return
	}
	if e.URL == "" {
		return
	}
	if e.id != "" && rec.Type() != Metadata && len(x.ids) < maxIDs {
		x.ids[e.id] = e.Offset
	}
	x.pending, x.open = append(x.pending, e), true
}

// request stores the position of a request record. The response may precede or follow it.
func (x *indexer) request(rec *Record) {
	q := requestInfo{offset: rec.Offset}
	q.method, q.query, _ = readRequest(rec.Block)
	concurrentTo := rec.Refers("WARC-Concurrent-To")
	for i := range x.pending {
		if concurrentTo != "" && x.pending[i].id == concurrentTo {
			x.pending[i].setRequest(q)
			return
		}
	}
	for _, key := range []string{rec.ID(), concurrentTo} {
		if key == "" {
			continue
		}
		x.requests[key] = q
		if x.recent = append(x.recent, key); len(x.recent) > 2*maxRequestDistance {
			delete(x.requests, x.recent[0])
			x.recent = x.recent[1:]
		}
	}
}

func (e *IndexEntry) setRequest(q requestInfo) {
	e.Request = q.offset
	if q.method != http.MethodGet {
		e.Method, e.RequestBody = q.method, q.query
	}
}

// bareType returns a media type without parameters, as required in an index.
func bareType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		t, _, _ = strings.Cut(contentType, ";")
		t = strings.TrimSpace(t)
	}
	if t == "" || strings.ContainsAny(t, " \r\n") {
		return "unk"
	}
	return t
}

// WriteIndex writes the sorted index of a file, with a line that states how much of the file it
// covers. Damaged parts are as for Index: the index is complete without them.
func WriteIndex(w io.Writer, file io.ReaderAt, name string) error {
	var lines [][]byte
	covered, damaged := Index(file, name, func(e IndexEntry) error {
		lines = append(lines, e.AppendTo(nil))
		return nil
	})
	if _, isDamage := errors.AsType[*DamageError](damaged); damaged != nil && !isDamage {
		return damaged
	}
	slices.SortFunc(lines, bytes.Compare)
	if _, err := w.Write(coverage{name, covered}.appendTo(nil)); err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return damaged
}
