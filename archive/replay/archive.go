// Package replay serves requests from WARC files instead of servers, for any scheme. It returns the
// captured content, metadata, listings, redirects and errors.
//
// Archives may be untrusted. Their contents are treated like those of servers: redirects must pass
// the client's policy, names are made safe, and all reads are limited.
package replay

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxDamage limits the number of damage errors that are kept.
const maxDamage = 100

// maxRecords limits the number of records of files without an index.
const maxRecords = 2 << 20

// ErrTooMany is wrapped by the error of Open if files without an index have more than about two
// million records. With an index next to the file (see warc.Index) the limit does not apply.
var ErrTooMany = fmt.Errorf("replay: more than %d records and no index", maxRecords)

// An Archive is a set of WARC files and the positions of their records. The positions come from an
// index next to each file, or from reading the file once. An Archive is safe for concurrent use.
type Archive struct {
	files   []*os.File
	indexes []recordIndex
	growing *growingIndex // one of indexes; nil without Follow

	mu          sync.Mutex // protects the fields below
	damage      []error
	scanned     *table
	recordsLeft int                          // records that may still be added to scanned
	cached      [2]*table                    // results of index lookups: recent ones, and older ones
	maxCached   int                          // maximum number of URLs in each of them
	lines       int                          // maximum number of index lines of a WACZ file
	bySum       map[[sha256.Size]byte]string // URLs by the SHA-256 of their content; nil until needed

	scannedFiles []scannedFile

	web     sync.Once
	drivers [2]fetch.Driver // for HTTP: without and with decoding of content codings
}

// A place is the position of a record.
type place struct {
	file           io.ReaderAt
	offset, within int64
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
	cache      *cacheFields // nil except in the archives of a cache
	// standalone is set for a resource record without an exchange record.
	standalone bool
}

const exchangeRecord = "exchange"

// Open opens WARC and WACZ files. If the index NAME.cdxj next to NAME.warc.gz states how much of
// the file it covers, only the rest of the file is scanned. For a WACZ file its index is read; WARC
// files that are missing from the index or wrongly indexed are scanned. All other files are scanned
// once.
func Open(paths ...string) (*Archive, error) { return open(maxRecords, paths) }

// open is Open with a limit of the number of records.
func open(limit int, paths []string) (*Archive, error) {
	a := &Archive{recordsLeft: limit, maxCached: maxCachedURLs, lines: limit * (maxPacked / maxRecords), scanned: newTable(), cached: [2]*table{newTable(), newTable()}}
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

// A table maps URLs and IDs to records.
type table struct {
	captures map[string][]*snapshot // by record.Key of their URL
	records  map[string]place       // by WARC-Record-ID
	origins  map[origin]place       // records to which revisits may refer
	keys     map[string]bool        // keys that were looked up in indexes
}

func newTable() *table {
	return &table{make(map[string][]*snapshot), make(map[string]place), make(map[origin]place), make(map[string]bool)}
}

// add reads the index of a file, or scans it.
func (a *Archive) add(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	begin := make([]byte, len(zipMagic))
	if f.ReadAt(begin, 0); string(begin) == zipMagic {
		return a.addWACZ(f, info.Size())
	}
	covered, err := a.openIndex(f, info.Size())
	if err != nil || covered == info.Size() && covered > 0 {
		return err
	}
	return a.scan(f, f.Name(), covered)
}

// zipMagic is the start of a WACZ file.
const zipMagic = "PK\x03\x04"

// scan adds the records of a file from an offset on.
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
	a.scannedFiles = append(a.scannedFiles, scannedFile{f, from})
	s := newScanner(a, a.scanned, f)
	n, before := 0, len(a.damage)
	for {
		rec, err := r.Next()
		var damage *warc.DamageError
		switch {
		case err == io.EOF:
			if n == 0 && from == 0 && len(a.damage) > before {
				return fmt.Errorf("%s: not a WARC file: %w", name, a.damage[len(a.damage)-1])
			}
			s.addStandalones()
			return nil
		case errors.As(err, &damage):
			a.addDamage(fmt.Errorf("%s: %w", name, err))
		case err != nil:
			return err
		case a.recordsLeft == 0:
			return fmt.Errorf("%s: %w", name, ErrTooMany)
		default:
			n++
			a.recordsLeft--
			s.record(rec)
		}
	}
}

// A scanner adds the records of a file to a table.
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
	return &scanner{archive: a, table: t, file: f, requests: make(map[string]requestInfo), responses: make(map[string]*snapshot),
		inExchange: make(map[string]bool), incomplete: make(map[string]bool)}
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
	http := strings.HasPrefix(strings.ToLower(strings.ReplaceAll(rec.ContentType(), " ", "")), "application/http")
	switch {
	case c.kind == warc.Request && http:
		s.request(rec)
		return
	case c.kind == warc.Response && web && (http || rec.ContentType() == ""), c.kind == warc.Revisit && web:
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

// exchange reads an exchange record and reports whether it is valid.
func (s *scanner) exchange(c *snapshot, rec *warc.Record) bool {
	x, err := record.ReadExchange(rec.Block)
	if err != nil {
		return false
	}
	s.inExchange[x.Content] = x.Content != ""
	c.kind, c.op, c.rng, c.view, c.form = exchangeRecord, x.Op, x.Range, x.View, x.Form
	c.incomplete = s.incomplete[x.Content] && x.Op != fetch.OpDial
	c.failed = x.Failure != nil && (x.Failure.Retry || x.Failure.Class == fetch.ErrInterrupted || x.Failure.Class == fetch.ErrNotModified) || c.incomplete
	return true
}

// resource stores a resource record, which may belong to an exchange.
func (s *scanner) resource(c *snapshot, rec *warc.Record) {
	c.standalone = true
	if incompleteReason(rec) != "" {
		c.failed, c.incomplete = true, true
		s.incomplete[c.id] = c.id != ""
	}
	s.standalones = append(s.standalones, c)
}

func (s *scanner) add(u uri.URI, c *snapshot) {
	key := record.Key(u)
	s.table.captures[key] = append(s.table.captures[key], c)
}

// addStandalones adds the resources that do not belong to an exchange.
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

// read reads the record at p. Its block is verified (see warc.Record.Checked). The caller must call
// done after use.
func (a *Archive) read(p place) (rec *warc.Record, done func(), err error) {
	r, err := warc.NewReader(p.file)
	if err != nil {
		return nil, nil, err
	}
	if err = r.SeekRecord(p.offset, p.within); err == nil {
		if rec, err = r.Next(); err == nil {
			rec.Block = rec.Checked()
			if rec.Type() == warc.Revisit && rec.Length <= maxHead || rec.Length == 0 {
				// Its content is elsewhere or empty, so that nobody reads its block to the end.
				var block []byte
				block, err = io.ReadAll(rec.Block)
				rec.Block = bytes.NewReader(block)
			}
			if err == nil {
				return rec, func() { r.Close() }, nil
			}
		}
	}
	r.Close()
	return nil, nil, err
}

// find returns the best capture for req: of several equally good ones the one nearest to at, or the
// last one if at is zero, as far as usable (see Options) allows. It returns nil if there is none.
func (a *Archive) find(req *fetch.Request, at time.Time, usable func(Capture) bool) *snapshot {
	p := newPreference(req, at)
	var best *snapshot
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c.matches(p) && (usable == nil || usable(c.capture())) && (best == nil || p.compare(c, best) >= 0) {
			best = c
		}
	}
	return best
}

// alternatives returns all other captures that match req, best first. They are used if than is a
// revisit whose content is missing from the open archives.
func (a *Archive) alternatives(req *fetch.Request, at time.Time, than *snapshot, usable func(Capture) bool) []*snapshot {
	p := newPreference(req, at)
	var list []*snapshot
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c != than && c.matches(p) && (usable == nil || usable(c.capture())) {
			list = append(list, c)
		}
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, func(c, d *snapshot) int { return p.compare(d, c) })
	return list[:min(len(list), maxVersions)]
}

// matches reports whether c matches the request of p.
func (c *snapshot) matches(p *preference) bool {
	req := p.req
	switch {
	case c.kind != exchangeRecord && !(c.hasMethod(req) && c.hasBody(p.bodyDigest)):
		return false
	case !c.coversRange(req.Range), c.form != p.form:
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

// coversRange reports whether c covers the range want. If want extends to the end of the content or
// beyond, the captured range must end there too.
func (c *snapshot) coversRange(want fetch.Range) bool {
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

// hasMethod reports whether c was requested with the method of req.
func (c *snapshot) hasMethod(req *fetch.Request) bool {
	have, want := cmp.Or(c.method, "GET"), methodOf(req)
	return have == want || have == "HEAD" && want == "GET" && req.Op == fetch.OpStat
}

// methodOf returns the HTTP method of a request.
func methodOf(req *fetch.Request) string {
	if req.Body != nil || req.GetBody != nil {
		return cmp.Or(req.Method, "POST")
	}
	return cmp.Or(req.Method, "GET")
}

// A preference ranks the captures that match a request.
type preference struct {
	req        *fetch.Request
	form       string // digest of the submitted form
	bodyDigest string // of the request; see bodyDigest
	at         time.Time
}

func newPreference(req *fetch.Request, at time.Time) *preference {
	return &preference{req: req, form: record.FormDigest(req.Form), bodyDigest: requestDigest(req), at: at}
}

// compare returns 1 if c is better than d, -1 if it is worse, and 0 if the later one in the archive
// is preferred.
func (p *preference) compare(c, d *snapshot) int {
	if order := p.rank(c, d); order != 0 {
		return order
	}
	if p.at.IsZero() {
		return c.date.Compare(d.date)
	}
	return cmp.Compare(d.date.Sub(p.at).Abs(), c.date.Sub(p.at).Abs())
}

// rank is compare without regard to time.
func (p *preference) rank(c, d *snapshot) int {
	for _, prefer := range []func(*snapshot) bool{
		func(c *snapshot) bool { return !c.failed && c.status != 304 },
		func(c *snapshot) bool { return c.rng.IsZero() },
		func(c *snapshot) bool { return c.kind != exchangeRecord || c.op == p.req.Op },
		func(c *snapshot) bool { return !c.standalone },
	} {
		switch {
		case prefer(c) && !prefer(d):
			return 1
		case prefer(d) && !prefer(c):
			return -1
		}
	}
	return 0
}

// Find returns the time of the capture that matches req and is nearest to at, or the last one if at
// is zero. It returns false if there is none.
func (a *Archive) Find(req *fetch.Request, at time.Time) (time.Time, bool) {
	best := a.find(req, at, nil)
	if best == nil {
		return time.Time{}, false
	}
	if !a.lacksContent(best) {
		return best.date, true
	}
	for _, c := range a.alternatives(req, at, best, nil) {
		if !a.lacksContent(c) {
			return c.date, true
		}
	}
	return best.date, true
}

// Times returns the times of the captures that the archive may replay for a request, oldest first.
// Failures that may have been temporary, and captures of a part, are only among them if there is
// nothing better.
func (a *Archive) Times(req *fetch.Request) []time.Time {
	best := a.find(req, time.Time{}, nil)
	if best == nil {
		return nil
	}
	p := newPreference(req, time.Time{})
	var list []time.Time
	for _, c := range a.capturesOf(record.Key(req.URL)) {
		if c.matches(p) && p.rank(c, best) == 0 {
			list = append(list, c.date)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// lacksContent reports whether the content of a capture is missing from the open archives.
func (a *Archive) lacksContent(c *snapshot) bool {
	p := c.place
	switch c.kind {
	case warc.Revisit:
	case exchangeRecord:
		rec, done, err := a.read(c.place)
		if err != nil {
			return false
		}
		x, err := record.ReadExchange(rec.Block)
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
	return errors.Is(err, errMissingContent)
}

// URLs returns at most most captured URLs that match, sorted, and reports whether there are more.
func (a *Archive) URLs(match func(url string) bool, limit int) (list []string, more bool, err error) {
	found := make(map[string]bool)
	note := func(key string) {
		switch {
		case found[key] || !match(key):
		case len(found) < limit:
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
				note(record.Key(u))
			}
		}))
	}
	return slices.Sorted(maps.Keys(found)), more, err
}

// A Capture describes one captured exchange.
type Capture struct {
	Time time.Time
	Op   fetch.Op
	// Status is the HTTP status; 0 for other schemes.
	Status int
	// Failure is the error of the exchange; nil if it succeeded, and always nil for HTTP. Only
	// Captures sets it.
	Failure *fetch.Error
	// Incomplete is set if the content was not captured to its end.
	Incomplete bool
	// The other fields are set in the archives of a cache only (see capture.Capture.ForCache). Key is
	// that of the requests that the response answers (see fetch.Variant), Vary the fields of the
	// header of that name, and Login reports whether the request identified a user.
	Key, Vary string
	Login     bool
	// Address is the address of the server, or zero if it is unknown.
	Address netip.Addr
	// Validator is the validator in the request of a 304: the value of If-None-Match or, without it,
	// of If-Modified-Since.
	Validator string
}

// cacheFields are the fields of a Capture in the archive of a cache.
type cacheFields struct {
	key, vary, validator string
	login                bool
	address              netip.Addr
}

// readCacheFields sets c.cache from a record, except vary.
func (c *snapshot) readCacheFields(rec *warc.Record) {
	words := strings.Fields(rec.Get(record.CacheKey))
	if len(words) == 0 {
		return
	}
	c.cache = &cacheFields{key: words[0], login: slices.Contains(words, record.CacheLogin), validator: rec.Get(record.CacheValidator)}
	if !slices.Contains(words, record.CacheProxied) {
		c.cache.address, _ = netip.ParseAddr(rec.Get("WARC-IP-Address")) // zero if it is invalid
	}
}

func (c *snapshot) capture() Capture {
	found := Capture{Time: c.date, Op: c.op, Status: c.status, Incomplete: c.incomplete}
	if f := c.cache; f != nil {
		found.Key, found.Vary, found.Login, found.Address, found.Validator = f.key, f.vary, f.login, f.address, f.validator
	}
	return found
}

// Text returns the operation and the HTTP status.
func (c *Capture) Text() string {
	text := c.Op.String()
	if c.Status != 0 {
		text += " " + strconv.Itoa(c.Status)
	}
	return text
}

// Captures returns at most most captures of a URL, oldest first.
func (a *Archive) Captures(u uri.URI, limit int) []Capture {
	found := slices.Clone(a.capturesOf(record.Key(u)))
	slices.SortStableFunc(found, func(c, d *snapshot) int { return c.date.Compare(d.date) })
	var list []Capture
	for _, c := range found[:min(len(found), limit)] {
		one := c.capture()
		if c.kind == exchangeRecord {
			if rec, done, err := a.read(c.place); err == nil {
				if x, err := record.ReadExchange(rec.Block); err == nil && x.Failure != nil {
					one.Failure = x.Failure.Error()
				}
				done()
			}
		}
		list = append(list, one)
	}
	return list
}
