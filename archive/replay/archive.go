// Package replay answers requests from WARC files in place of servers, whatever the scheme:
// content, metadata, listings, redirects and errors as they were when they were captured.
//
// Archives may come from strangers. What they say is data, as what a server says: redirects pass
// the policy of the client, names are made safe, and everything that is read is bounded.
package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// maxDamage bounds the list of damaged places that is kept.
const maxDamage = 100

// maxRecords bounds the records that are remembered of files without an index.
const maxRecords = 2 << 20

// ErrTooMany is the cause of the error of Open for files that have more records than are
// remembered: about two million. An index beside the file (see warc.Index) has no such limit.
var ErrTooMany = fmt.Errorf("replay: more than %d records and no index", maxRecords)

// An Archive is a set of WARC files of which is known what is where: from an index beside the file,
// or because it was read once. Its methods may be called by many goroutines.
type Archive struct {
	files   []*os.File
	indexes []indexed

	mu      sync.Mutex // for all below
	damage  []error
	scanned *table
	left    int       // records that may still be remembered
	looked  [2]*table // what was looked up in indexes: lately, and before that
	most    int       // URLs in each of them
	lines   int       // most that a packed index may have

	web     sync.Once
	drivers [2]driver.Driver // of HTTP: for answers as they are, and for coded ones
}

// A place is where a record stands.
type place struct {
	file           io.ReaderAt
	offset, within int64
}

// An origin is how a revisit refers to a record that has no identifier in common.
type origin struct {
	url  string
	date time.Time
}

// A captured is one exchange that can be replayed.
type captured struct {
	place
	kind   string // of the record: exchange, response, revisit or resource
	date   time.Time
	op     fetch.Op
	rng    fetch.Range
	total  int64 // of what rng is a part, as HTTP tells it; 0 if that is not known
	view   string
	form   string
	status int    // of HTTP; 0 for others
	method string // of HTTP; "" if it is not known
	sent   string // the digest of what was sent with it; "" if nothing was
	coded  bool   // codings were asked for
	failed bool   // it failed in a way that says little of the resource, or is not whole
	id     string
	// bare is set for a resource record that nothing else is said about.
	bare bool
}

const exchangeRecord = "exchange"

// Open opens WARC files, and WACZ files that have some. If there is an index beside a file,
// NAME.cdxj for NAME.warc.gz, that says how much of it it covers, only the rest is read. Of a WACZ
// file the index in it is read, and the files only that this does not have, or is wrong about. Others
// are read once.
func Open(paths ...string) (*Archive, error) { return open(maxRecords, paths) }

// open remembers at most so many records.
func open(limit int, paths []string) (*Archive, error) {
	a := &Archive{left: limit, most: maxLooked, lines: limit * (maxPacked / maxRecords), scanned: newTable(), looked: [2]*table{newTable(), newTable()}}
	for _, path := range paths {
		f, err := os.Open(path)
		if err == nil {
			a.files = append(a.files, f)
			err = a.add(f)
		}
		if err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// Close closes the files. What is read of them then fails.
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

// Damage returns the first places that could not be read, as errors that name the file and the
// byte.
func (a *Archive) Damage() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.damage)
}

// damaged notes a place, or an index, that is of no use. The lock is held, or nobody else knows a.
func (a *Archive) damaged(err error) {
	if len(a.damage) < maxDamage {
		a.damage = append(a.damage, err)
	}
}

// Len returns how many URLs there are. With an index, it is how many records that has.
func (a *Archive) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.scanned.captures)
	for _, x := range a.indexes {
		n += x.count()
	}
	return n
}

// A table says what is where.
type table struct {
	captures map[string][]*captured // by capture.Key of their URL
	records  map[string]place       // by WARC-Record-ID
	origins  map[origin]place       // where revisits may find what they refer to
	keys     map[string]bool        // that were looked up in indexes
}

func newTable() *table {
	return &table{make(map[string][]*captured), make(map[string]place), make(map[origin]place), make(map[string]bool)}
}

// add finds out what is in a file.
func (a *Archive) add(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	begin := make([]byte, len(zipMagic))
	if f.ReadAt(begin, 0); string(begin) == zipMagic {
		return a.addPacked(f, info.Size())
	}
	covered, err := a.openIndex(f, info.Size())
	if err != nil || covered == info.Size() && covered > 0 {
		return err
	}
	return a.scan(f, f.Name(), covered)
}

// zipMagic is what a WACZ file begins with.
const zipMagic = "PK\x03\x04"

// scan notes what is in a file from some byte on.
func (a *Archive) scan(f io.ReaderAt, name string, from int64) error {
	r, err := warc.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	if from > 0 {
		if err := r.SeekRecord(from, 0); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	s := newScanner(a, a.scanned, f)
	n, before := 0, len(a.damage)
	for {
		rec, err := r.Next()
		var damage *warc.DamageError
		switch {
		case err == io.EOF:
			if n == 0 && from == 0 && len(a.damage) > before {
				return fmt.Errorf("%s is no WARC file: %w", name, a.damage[len(a.damage)-1])
			}
			s.settle()
			return nil
		case errors.As(err, &damage):
			a.damaged(fmt.Errorf("%s: %w", name, err))
		case err != nil:
			return err
		case a.left == 0:
			return fmt.Errorf("%s: %w", name, ErrTooMany)
		default:
			n++
			a.left--
			s.record(rec)
		}
	}
}

// A scanner notes the records of a file in a table.
type scanner struct {
	archive  *Archive
	table    *table
	file     io.ReaderAt
	requests map[string]asked     // by the identifier of the answer, until that is met
	answers  map[string]*captured // those whose request was not met
	owned    map[string]bool      // resources that an exchange tells more about
	cut      map[string]bool      // resources that are not whole
	bare     []*captured
}

func newScanner(a *Archive, t *table, f io.ReaderAt) *scanner {
	return &scanner{archive: a, table: t, file: f, requests: make(map[string]asked), answers: make(map[string]*captured)}
}

func (s *scanner) record(rec *warc.Record) {
	a := s.table
	here := place{s.file, rec.Offset, rec.Within}
	if id := rec.ID(); id != "" {
		a.records[id] = here
	}
	u, err := uri.ParseRef(rec.TargetURI())
	if err != nil || !u.IsAbs() {
		return
	}
	c := &captured{place: here, date: rec.Date(), kind: rec.Type(), id: rec.ID()}
	web := warc.HoldsHTTP(u.Scheme())
	if o := (origin{rec.TargetURI(), c.date}); c.kind == warc.Revisit && a.origins[o].file == nil {
		a.origins[o] = here // unless the content has the same date
	}
	http := strings.HasPrefix(strings.ToLower(strings.ReplaceAll(rec.ContentType(), " ", "")), "application/http")
	switch {
	case c.kind == warc.Request && http:
		s.request(rec)
		return
	case c.kind == warc.Response && web && (http || rec.ContentType() == ""), c.kind == warc.Revisit && web:
		if !c.readHead(rec) {
			return
		}
		if q, ok := s.requests[c.id]; ok && c.id != "" {
			delete(s.requests, c.id)
			c.take(q)
		} else if other := rec.Refers("WARC-Concurrent-To"); other != "" {
			c.take(s.requests[other])
		}
		if c.id != "" {
			s.answers[c.id] = c
		}
	case c.kind == warc.Metadata && rec.ContentType() == capture.TypeExchange:
		x, err := readExchange(rec.Block)
		if err != nil {
			return
		}
		if s.owned == nil {
			s.owned = make(map[string]bool)
		}
		s.owned[x.Content] = x.Content != ""
		c.kind, c.op, c.rng, c.view, c.form = exchangeRecord, x.Op, x.Range, x.View, x.Form
		c.failed = x.Failure != nil && (x.Failure.Retry || x.Failure.Class == fetch.ErrInterrupted || x.Failure.Class == fetch.ErrNotModified) ||
			s.cut[x.Content] && x.Op != fetch.OpDial
	case c.kind == warc.Resource:
		a.origins[origin{rec.TargetURI(), rec.Date()}] = here
		c.bare = true
		if missing(rec) != "" {
			c.failed = true
			if s.cut == nil {
				s.cut = make(map[string]bool)
			}
			s.cut[c.id] = c.id != ""
		}
		s.bare = append(s.bare, c)
		return
	default:
		return
	}
	if c.kind == warc.Response {
		a.origins[origin{rec.TargetURI(), rec.Date()}] = here
	}
	s.add(u, c)
}

func (s *scanner) add(u uri.URI, c *captured) {
	key := capture.Key(u)
	s.table.captures[key] = append(s.table.captures[key], c)
}

// settle adds the resources of which no exchange tells more.
func (s *scanner) settle() {
	for _, c := range s.bare {
		if s.owned[c.id] {
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

// read reads the header of the record at p. Its block ends with an error if it is not what was
// written. Done ends the use of it.
func (a *Archive) read(p place) (rec *warc.Record, done func(), err error) {
	r, err := warc.NewReader(p.file)
	if err != nil {
		return nil, nil, err
	}
	if err = r.SeekRecord(p.offset, p.within); err == nil {
		if rec, err = r.Next(); err == nil {
			rec.Block = rec.Checked()
			return rec, func() { r.Close() }, nil
		}
	}
	r.Close()
	return nil, nil, err
}

// find returns the capture that answers req best: at the time nearest to at, the last one if that
// is zero. It returns nil if there is none.
func (a *Archive) find(req *fetch.Request, at time.Time) *captured {
	p := newPreference(req, at)
	var best *captured
	for _, c := range a.of(capture.Key(req.URL)) {
		if c.answers(req, p.form) && (best == nil || p.compare(c, best) >= 0) {
			best = c
		}
	}
	return best
}

// others returns the captures that answer req besides, the best first. They are for where that one is
// a revisit of what is in no archive that is open.
func (a *Archive) others(req *fetch.Request, at time.Time, than *captured) []*captured {
	p := newPreference(req, at)
	var list []*captured
	for _, c := range a.of(capture.Key(req.URL)) {
		if c != than && c.answers(req, p.form) {
			list = append(list, c)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(c, d *captured) int { return p.compare(d, c) })
	return list[:min(len(list), maxVersions)]
}

// answers reports whether c can answer req at all.
func (c *captured) answers(req *fetch.Request, form string) bool {
	switch {
	case c.kind != exchangeRecord && !c.hasMethod(req):
		return false
	case !c.isPart(req.Range), c.form != form:
		return false
	case c.kind == exchangeRecord && c.view != req.View:
		return false
	case req.Op == fetch.OpDial || c.op == fetch.OpDial:
		return req.Op == c.op
	case c.op == fetch.OpStat:
		return req.Op == fetch.OpStat
	}
	return true
}

// isPart reports whether c is that part, or has all of which it is one. Who asks for the rest, or for
// more than there is, gets what ends with the content.
func (c *captured) isPart(want fetch.Range) bool {
	if c.rng.IsZero() || c.rng == want {
		return true
	}
	if c.total == 0 || want.IsZero() {
		return false
	}
	want = want.Of(c.total)
	return want.Offset == c.rng.Offset && c.rng.Offset+c.rng.Length == c.total &&
		(want.Length == 0 || want.Length > c.rng.Length)
}

// hasMethod reports whether c was asked for as req asks.
func (c *captured) hasMethod(req *fetch.Request) bool {
	have, want := cmp.Or(c.method, "GET"), "GET"
	if req.Body != nil || req.GetBody != nil {
		want = "POST"
	}
	want = cmp.Or(req.Method, want)
	return have == want || have == "HEAD" && want == "GET" && req.Op == fetch.OpStat
}

// A preference is which captures answer a request better than others.
type preference struct {
	req  *fetch.Request
	form string // the digest of the answers to a form
	sent string // the digest of what is sent
	at   time.Time
}

func newPreference(req *fetch.Request, at time.Time) *preference {
	p := &preference{req: req, form: capture.FormDigest(req.Form), at: at}
	if req.GetBody != nil {
		p.sent = sentDigest(req)
	}
	return p
}

// compare returns 1 if c answers better than d does, -1 if d does, and 0 if the one that stands behind
// the other does.
func (p *preference) compare(c, d *captured) int {
	for _, prefer := range []func(*captured) bool{
		func(c *captured) bool { return !c.failed && c.status != 304 },
		func(c *captured) bool { return c.sent == p.sent },
		func(c *captured) bool { return c.rng.IsZero() },
		func(c *captured) bool { return c.kind != exchangeRecord || c.op == p.req.Op },
		func(c *captured) bool { return !c.bare },
	} {
		switch {
		case prefer(c) && !prefer(d):
			return 1
		case prefer(d) && !prefer(c):
			return -1
		}
	}
	if p.at.IsZero() {
		return c.date.Compare(d.date)
	}
	return cmp.Compare(d.date.Sub(p.at).Abs(), c.date.Sub(p.at).Abs())
}

// Times returns when a URL was captured, sorted.
func (a *Archive) Times(u uri.URI) []time.Time {
	var list []time.Time
	for _, c := range a.of(capture.Key(u)) {
		list = append(list, c.date)
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.Compact(list)
}

// Find returns the time of the capture that answers req, nearest to at or, if that is zero, the
// last one, and false if there is none.
func (a *Archive) Find(req *fetch.Request, at time.Time) (time.Time, bool) {
	best := a.find(req, at)
	if best == nil {
		return time.Time{}, false
	}
	if !a.isElsewhere(best) {
		return best.date, true
	}
	for _, c := range a.others(req, at, best) {
		if !a.isElsewhere(c) {
			return c.date, true
		}
	}
	return best.date, true
}

// isElsewhere reports whether the content of a capture is in no archive that is open.
func (a *Archive) isElsewhere(c *captured) bool {
	p := c.place
	switch c.kind {
	case warc.Revisit:
	case exchangeRecord:
		rec, done, err := a.read(c.place)
		if err != nil {
			return false
		}
		x, err := readExchange(rec.Block)
		done()
		if err != nil || x.Content == "" {
			return false
		}
		p, _ = a.byID(x.Content)
	default:
		return false
	}
	_, _, _, done, err := a.payload(p, 0)
	if err == nil {
		done()
	}
	return errors.Is(err, errElsewhere)
}

// URLs returns URLs of which there are captures and that match, sorted, and whether there are more
// than most.
func (a *Archive) URLs(match func(url string) bool, most int) (list []string, more bool, err error) {
	found := make(map[string]bool)
	note := func(key string) {
		switch {
		case found[key] || !match(key):
		case len(found) < most:
			found[key] = true
		default:
			more = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(a.scanned.captures)) {
		note(key)
	}
	for _, x := range a.indexes {
		err = errors.Join(err, x.each(func(e warc.IndexEntry) {
			if u, err := uri.ParseRef(e.URL); err == nil && u.IsAbs() {
				note(capture.Key(u))
			}
		}))
	}
	return slices.Sorted(maps.Keys(found)), more, err
}

// A Capture is one exchange in an archive.
type Capture struct {
	Time time.Time
	Op   fetch.Op
	// Status is that of HTTP; 0 for others.
	Status int
	// Failure is why it came to nothing; nil if it did not, or for HTTP, where Status tells.
	Failure *fetch.Error
}

// Text says in a few words what was captured.
func (c *Capture) Text() string {
	text := c.Op.String()
	if c.Status != 0 {
		text += " " + strconv.Itoa(c.Status)
	}
	return text
}

// Captures returns the captures of a URL, the oldest first, and no more than most of them.
func (a *Archive) Captures(u uri.URI, most int) []Capture {
	found := slices.Clone(a.of(capture.Key(u)))
	slices.SortStableFunc(found, func(c, d *captured) int { return c.date.Compare(d.date) })
	var list []Capture
	for _, c := range found[:min(len(found), most)] {
		one := Capture{Time: c.date, Op: c.op, Status: c.status}
		if c.kind == exchangeRecord {
			if rec, done, err := a.read(c.place); err == nil {
				if x, err := readExchange(rec.Block); err == nil && x.Failure != nil {
					one.Failure = x.Failure.Error()
				}
				done()
			}
		}
		list = append(list, one)
	}
	return list
}
