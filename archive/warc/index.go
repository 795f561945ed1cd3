package warc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

const (
	// maxIndexedHead bounds the head of an HTTP message that is read for an index, or to verify it.
	maxIndexedHead = 256 << 10
	// maxApart is how many records may stand between an answer and its request.
	maxApart = 64
	// maxIDs is how many identifiers are remembered for revisits that name nothing else.
	maxIDs = 1 << 20
)

// ErrShared is the error of Index for a file in which several records share a compressed member, so
// that an index cannot say where each of them is.
var ErrShared = errors.New("warc: records share a compressed member")

// Index calls f with a line for each record of a file that has content or tells of an exchange, in
// their order: responses, revisits, resources, conversions and metadata. Name is what the lines
// call the file. It returns how many bytes of the file are covered, which are all unless its end is
// damaged. An error of f ends it.
func Index(file io.ReaderAt, name string, f func(IndexEntry) error) (covered int64, err error) {
	r, err := NewReader(file)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	x := newIndexer(name)
	for {
		rec, err := r.Next()
		var damage *DamageError
		switch {
		case errors.As(err, &damage):
			x.ends(damage.Offset)
			continue
		case err == io.EOF:
			x.ends(r.Whole())
			return r.Whole(), x.flush(0, f)
		case err != nil:
			return 0, err
		case rec.Within > 0:
			return 0, ErrShared
		}
		x.ends(rec.Offset)
		if err := x.flush(maxApart, f); err != nil {
			return 0, err
		}
		x.take(rec)
	}
}

// An indexer makes the lines of an index.
type indexer struct {
	name     string
	ids      map[string]int64 // where records with content are
	requests map[string]asked // by the identifier of the answer or of the request, of the last records
	recent   []string         // the keys of requests
	held     []indexed        // lines whose request may follow
	open     bool             // the last line has no length yet
	count    int              // of records
}

func newIndexer(name string) *indexer {
	return &indexer{name: name, ids: make(map[string]int64), requests: make(map[string]asked)}
}

// An indexed line waits for the request of its record.
type indexed struct {
	IndexEntry
	id     string
	number int
}

// asked is what a request record says.
type asked struct {
	offset int64
	method string
}

// ends tells that the last record ends at an offset.
func (x *indexer) ends(at int64) {
	if x.open {
		last := &x.held[len(x.held)-1]
		last.Length, x.open = max(0, at-last.Offset), false
	}
}

// flush passes on the lines that have waited for more than so many records.
func (x *indexer) flush(most int, f func(IndexEntry) error) error {
	for len(x.held) > 0 && (most == 0 || x.count-x.held[0].number > most) {
		if err := f(x.held[0].IndexEntry); err != nil {
			return err
		}
		x.held = x.held[1:]
	}
	return nil
}

func (x *indexer) take(rec *Record) {
	x.count++
	e := indexed{id: rec.ID(), number: x.count, IndexEntry: IndexEntry{URL: rec.TargetURI(), Date: rec.Date(), Offset: rec.Offset,
		File: x.name, Digest: rec.Get("WARC-Payload-Digest")}}
	isHTTP := strings.HasPrefix(strings.ToLower(rec.ContentType()), "application/http")
	switch rec.Type() {
	case Request:
		if isHTTP {
			x.request(rec)
		}
		return
	case Response, Revisit:
		e.Mime = "unk"
		if isHTTP || rec.Type() == Response && rec.ContentType() == "" {
			if resp, err := ReadAnswer(rec.Block, maxIndexedHead); err == nil {
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
		e.answers(q)
	case Resource, Conversion, Metadata:
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
	x.held, x.open = append(x.held, e), true
}

// request notes where a request is, for its answer, which may stand before or behind it.
func (x *indexer) request(rec *Record) {
	q := asked{offset: rec.Offset}
	if req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(rec.Block, maxIndexedHead))); err == nil {
		q.method = req.Method
	}
	other := rec.Refers("WARC-Concurrent-To")
	for i := range x.held {
		if other != "" && x.held[i].id == other {
			x.held[i].answers(q)
			return
		}
	}
	for _, key := range []string{rec.ID(), other} {
		if key == "" {
			continue
		}
		x.requests[key] = q
		if x.recent = append(x.recent, key); len(x.recent) > 2*maxApart {
			delete(x.requests, x.recent[0])
			x.recent = x.recent[1:]
		}
	}
}

func (e *IndexEntry) answers(q asked) {
	e.Request = q.offset
	if q.method != http.MethodGet {
		e.Method = q.method
	}
}

// bareType returns a media type without its parameters, as indexes have it.
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

// WriteIndex writes the index of a file, sorted, and says in it how much of the file it covers.
func WriteIndex(w io.Writer, file io.ReaderAt, name string) error {
	var lines [][]byte
	covered, err := Index(file, name, func(e IndexEntry) error {
		lines = append(lines, e.AppendTo(nil))
		return nil
	})
	if err != nil {
		return err
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
	return nil
}
