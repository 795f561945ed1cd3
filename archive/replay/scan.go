package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

type place struct {
	file           io.ReaderAt
	offset, within int64
}

// open returns a reader of the records from p on.
func (p place) open() (*warc.Reader, error) {
	r, err := warc.NewReader(p.file)
	if err != nil {
		return nil, err
	}
	if err := r.SeekRecord(p.offset, p.within); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// An origin identifies a record by URL and date. Revisits use it to refer to records without an ID.
type origin struct {
	url  string
	date time.Time
}

// A snapshot is an exchange that can be replayed.
type snapshot struct {
	place
	kind       string // of the record: exchange, response, revisit or resource
	date       time.Time
	op         fetch.Op
	rng        fetch.Range
	total      int64 // size of the complete content if rng is set, from Content-Range; 0 if unknown
	view       string
	form       string
	status     int    // of HTTP; 0 for other schemes
	method     string // of HTTP; "" if unknown
	bodyDigest string // of the request; see bodyDigest
	coded      bool   // the request accepted content codings
	failed     bool   // a temporary failure, or incomplete
	incomplete bool
	id         string
	varies     byte // a bit for each of negotiated that the response depends on
	known      bool // variant is that of the request
	variant    variant
	cache      *cacheFields // nil except in the archives of a cache
	// standalone is set for a resource record without an exchange record.
	standalone bool
}

const exchangeRecord = "exchange"

type table struct {
	captures map[string][]*snapshot // by record.Key of their URL
	records  map[string]place       // by WARC-Record-ID
	origins  map[origin]place       // records to which revisits may refer
	keys     map[string]bool        // keys that were looked up in indexes
	changed  map[string]time.Time   // when the resources of keys may have changed, in archives of a cache
}

func newTable() *table {
	return &table{
		captures: make(map[string][]*snapshot), records: make(map[string]place),
		origins: make(map[origin]place), keys: make(map[string]bool), changed: make(map[string]time.Time),
	}
}

func (a *Archive) scan(f io.ReaderAt, name string, from int64) error {
	start := place{file: f, offset: from}
	r, err := start.open()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	a.scannedFiles = append(a.scannedFiles, start)
	s := newScanner(a, a.scanned, f)
	n, before := 0, len(a.damage)
	for rec, err := range r.Records() {
		switch _, isDamage := errors.AsType[*warc.DamageError](err); {
		case isDamage:
			a.addDamage(fmt.Errorf("%s: %w", name, err))
		case err != nil:
			return err
		case a.recordsLeft == 0:
			return fmt.Errorf("%s: %w", name, errTooMany)
		default:
			n++
			a.recordsLeft--
			s.record(rec)
		}
	}
	if n == 0 && from == 0 && len(a.damage) > before {
		return fmt.Errorf("%s: not a WARC file: %w", name, a.damage[len(a.damage)-1])
	}
	s.addStandalones()
	return nil
}

type scanner struct {
	archive     *Archive
	table       *table
	file        io.ReaderAt
	requests    map[string]requestInfo // by the ID of the response, until that is read
	responses   map[string]*snapshot   // responses whose request was not yet read
	inExchange  map[string]bool        // resources that belong to an exchange
	incomplete  map[string]bool        // truncated resources
	standalones []*snapshot
}

func newScanner(a *Archive, t *table, f io.ReaderAt) *scanner {
	return &scanner{
		archive: a, table: t, file: f,
		requests: make(map[string]requestInfo), responses: make(map[string]*snapshot),
		inExchange: make(map[string]bool), incomplete: make(map[string]bool),
	}
}

func (s *scanner) record(rec *warc.Record) {
	a := s.table
	pos := place{s.file, rec.Offset, rec.Within}
	if id := rec.ID(); id != "" {
		a.records[id] = pos
	}
	u, err := uri.ParseRef(rec.TargetURI())
	if err != nil || !u.IsAbs() {
		return
	}
	c := &snapshot{place: pos, date: rec.Date(), kind: rec.Type(), id: rec.ID()}
	c.readCacheFields(rec)
	web := httprecord.InScheme(u.Scheme())
	if o := (origin{rec.TargetURI(), c.date}); c.kind == warc.Revisit && a.origins[o].file == nil {
		a.origins[o] = pos // a response or resource with the same date takes precedence
	}
	switch {
	case c.kind == warc.Request && rec.IsHTTP():
		s.request(rec)
		return
	case web && c.kind == warc.Response && (rec.IsHTTP() || rec.ContentType() == ""),
		web && c.kind == warc.Revisit:
		c.readHead(rec)
		if q, ok := s.requests[c.id]; ok && c.id != "" {
			delete(s.requests, c.id)
			c.setRequest(q)
		} else if other := rec.Refers("WARC-Concurrent-To"); other != "" {
			c.setRequest(s.requests[other])
		}
		if c.id != "" {
			s.responses[c.id] = c
		}
	case c.kind == warc.Metadata && rec.ContentType() == record.TypeChange:
		if key := record.Key(u); c.date.After(a.changed[key]) {
			a.changed[key] = c.date
		}
		return
	case c.kind == warc.Metadata && rec.ContentType() == record.TypeExchange:
		if !s.exchange(c, rec) {
			return
		}
	case c.kind == warc.Resource:
		a.origins[origin{rec.TargetURI(), rec.Date()}] = pos
		s.resource(c, rec)
		return
	default:
		return
	}
	if c.kind == warc.Response {
		a.origins[origin{rec.TargetURI(), rec.Date()}] = pos
	}
	s.add(u, c)
}

func (s *scanner) exchange(c *snapshot, rec *warc.Record) bool {
	x, err := record.ReadExchange(rec.Block)
	if err != nil {
		return false
	}
	s.inExchange[x.Content] = x.Content != ""
	c.kind, c.op, c.rng, c.view, c.form = exchangeRecord, x.Op, x.Range, x.View, x.Form
	c.incomplete = s.incomplete[x.Content] && x.Op != fetch.OpDial
	c.failed = c.incomplete
	if f := x.Failure; f != nil {
		c.failed = c.failed || f.Retry || f.Class == fetch.ErrInterrupted || f.Class == fetch.ErrNotModified
	}
	return true
}

// resource stores a resource record, which may belong to an exchange.
func (s *scanner) resource(c *snapshot, rec *warc.Record) {
	c.standalone = true
	if rec.Incomplete() != "" {
		c.failed, c.incomplete = true, true
		s.incomplete[c.id] = c.id != ""
	}
	s.standalones = append(s.standalones, c)
}

func (s *scanner) add(u uri.URI, c *snapshot) {
	key := record.Key(u)
	s.table.captures[key] = append(s.table.captures[key], c)
}

func (s *scanner) addStandalones() {
	for _, c := range s.standalones {
		if s.inExchange[c.id] {
			continue
		}
		if rec, done, err := s.archive.read(c.place); err == nil {
			if u, err := uri.ParseRef(rec.TargetURI()); err == nil {
				s.add(u, c)
			}
			done()
		}
	}
}
