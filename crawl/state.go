package crawl

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/urlget/urlget/fetch"
)

// A State is the stored progress of a crawl: the known URLs and the queue. With it an interrupted
// crawl can be resumed, even after a crash. A State is safe for concurrent use, but only one
// process can open its file at a time.
//
// Changes are collected in memory and written together. A crash loses about a second of work, and
// no URL is lost: one whose visit was active or not yet recorded is visited again.
type State struct {
	mu      sync.Mutex // protects the fields below
	db      *bolt.DB
	reading *bolt.Tx      // open read transaction, or nil; it sees the last written state
	sync    func() error  // Options.Sync; called before visits are recorded as complete
	written time.Time     // time of the last write
	cost    time.Duration // duration of the last write
	later   *time.Timer   // calls writeLater, or nil

	urls   table[*record]
	shapes table[count]
	names  table[claim]
	failed table[text]
	meta   table[text]
	// queued are the items to be written, by number, and unqueued the keys to be removed from the file.
	queued   map[uint64]*item
	unqueued table[text]

	run      uint64 // the number of the crawl
	seq      uint64 // of the last item
	seeds    []string
	moved    map[int]string // redirect targets of seeds, by index
	queue    queue
	accesses int   // accesses to the file since its pages were released
	waiting  int64 // queued and active items
}

// The buckets: URLs by key, the queue by host and number, failures of this crawl, the number of
// URLs of each form, the owners of names, and single values.
var (
	urlsBucket   = []byte("urls")
	queueBucket  = []byte("queue")
	failedBucket = []byte("failed")
	shapesBucket = []byte("shapes")
	namesBucket  = []byte("names")
	metaBucket   = []byte("meta")
	buckets      = [][]byte{urlsBucket, queueBucket, failedBucket, shapesBucket, namesBucket, metaBucket}
)

// A stored is a table of values of some type.
type stored interface {
	len() int
	write(s *State, tx *bolt.Tx, text []byte) ([]byte, error)
	wrote()
}

func (s *State) tables() []stored {
	return []stored{&s.urls, &s.unqueued, &s.failed, &s.shapes, &s.names, &s.meta}
}

// pending returns the number of changes that are not written.
func (s *State) pending() int {
	return len(s.queued) + s.urls.len() + s.unqueued.len() + s.failed.len() + s.shapes.len() + s.names.len() +
		s.meta.len()
}

const (
	// writeAfter is the maximum number of pending changes, writeEvery their maximum age.
	writeAfter = 10_000
	writeEvery = 500 * time.Millisecond
)

// ErrInUse is wrapped by the error of Open if another process has opened the state.
var ErrInUse = errors.New("crawl: state in use by another process")

// Open opens the state file name, or creates it if it does not exist. Errors have the code
// fetch.ErrFile.
func Open(name string) (*State, error) { return open(name, false) }

// mapped is the address space for a state, in bytes. Each time that a state outgrows it, bbolt copies the
// pages in memory.
const mapped = 64 << 20

// open is Open. If noSync is true, writes are not durable.
func open(name string, noSync bool) (s *State, err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt panics on damaged files
			s, err = nil, fileError(fmt.Errorf("%s: %w: %v", name, errDamaged, r))
		}
	}()
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fileError(&fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")})
	}
	opts := &bolt.Options{Timeout: 50 * time.Millisecond, FreelistType: bolt.FreelistMapType, NoSync: noSync}
	if runtime.GOOS != "windows" { // where the file would get this size
		opts.InitialMmapSize = mapped
	}
	db, err := bolt.Open(name, 0o600, opts)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fileError(fmt.Errorf("%s: %w", name, ErrInUse))
	case errors.As(err, new(*fs.PathError)): // which has the name
		return nil, fileError(err)
	case err != nil:
		return nil, fileError(fmt.Errorf("%s: %w", name, err))
	}
	s = &State{db: db, written: time.Now(), moved: map[int]string{}, queued: map[uint64]*item{},
		urls: newTable(urlsBucket, decodeRecord), shapes: newTable(shapesBucket, decodeCount),
		names: newTable(namesBucket, decodeClaim), failed: newTable(failedBucket, decodeText),
		meta: newTable(metaBucket, decodeText), unqueued: newTable(queueBucket, decodeText)}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		s.urls.opened(tx)
		s.shapes.opened(tx)
		s.names.opened(tx)
		meta := tx.Bucket(metaBucket)
		s.run, s.seq = number(meta.Get([]byte("run"))), number(meta.Get([]byte("seq")))
		for i := 0; ; i++ {
			seed := meta.Get(seedKey(i))
			if seed == nil {
				return nil
			}
			s.seeds = append(s.seeds, string(seed))
			if to := meta.Get(movedKey(i)); to != nil {
				s.moved[i] = string(to)
			}
		}
	})
	if err != nil {
		db.Close()
		return nil, fileError(err)
	}
	s.queue.init()
	return s, nil
}

func seedKey(i int) []byte { return binary.BigEndian.AppendUint32([]byte("seed"), uint32(i)) }

func movedKey(i int) []byte { return binary.BigEndian.AppendUint32([]byte("moved"), uint32(i)) }

// A count is a number of URLs.
type count uint64

func decodeCount(b []byte) (count, error) { return count(number(b)), nil }

func (n count) isAbsent() bool { return n == 0 }

func (n count) appendTo(b []byte) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

func fileError(err error) error { return fetch.ErrFile.Wrap("crawl", err) }

// Close writes pending changes and closes the file.
func (s *State) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write()
	s.stopReading()
	s.stopLater()
	return errors.Join(err, fileError(s.db.Close()))
}

// Remove closes the file and removes it. Changes that are not written are lost.
func (s *State) Remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetChanges()
	s.stopReading()
	s.stopLater()
	name := s.db.Path()
	return fileError(errors.Join(s.db.Close(), os.Remove(name)))
}

// view calls f with a read transaction, which stays open for the next call: opening one for each
// value takes longer than reading the value.
func (s *State) view(f func(tx *bolt.Tx) error) (err error) {
	if s.reading == nil {
		if s.reading, err = s.db.Begin(false); err != nil {
			return err
		}
	}
	return f(s.reading)
}

func (s *State) update(f func(tx *bolt.Tx) error) error {
	s.stopReading()
	return s.db.Update(f)
}

func (s *State) stopReading() {
	if s.reading != nil {
		s.reading.Rollback()
		s.reading = nil
	}
}

// write writes the pending changes. It holds the lock until the end because the state in memory
// must not differ from the state written.
func (s *State) write() error {
	if s.pending() == 0 {
		return nil
	}
	begin := time.Now()
	if s.sync != nil {
		if err := s.sync(); err != nil {
			return err
		}
	}
	err := s.update(func(tx *bolt.Tx) error {
		text := binary.BigEndian.AppendUint64(nil, s.seq)
		err := tx.Bucket(metaBucket).Put([]byte("seq"), text)
		if err == nil {
			text, err = s.writeQueued(tx, text)
		}
		for _, t := range s.tables() {
			if err == nil {
				text, err = t.write(s, tx, text)
			}
		}
		return err
	})
	if err != nil {
		return fileError(err)
	}
	s.forgetChanges()
	s.written = time.Now()
	s.cost = s.written.Sub(begin)
	return nil
}

func (s *State) writeQueued(tx *bolt.Tx, text []byte) ([]byte, error) {
	items := make([]*item, 0, len(s.queued))
	for _, it := range s.queued {
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b *item) int {
		return cmp.Or(strings.Compare(a.URL.Host(), b.URL.Host()), cmp.Compare(a.seq, b.seq))
	})
	b := tx.Bucket(queueBucket)
	for _, it := range items {
		n := len(text)
		text = it.appendTo(text)
		if err := b.Put(it.queueKey(), text[n:len(text):len(text)]); err != nil {
			return text, err
		}
		s.countAccess(tx)
	}
	return text, nil
}

// forgetChanges is for changes that were written, or never will be.
func (s *State) forgetChanges() {
	for _, t := range s.tables() {
		t.wrote()
	}
	clear(s.queued)
}

// writeIfDue writes the pending changes if they are many or old. It spends at most a tenth of the
// time on writing.
func (s *State) writeIfDue() error {
	if n := s.pending(); n >= writeAfter || n > 0 && time.Since(s.written) >= max(writeEvery, 10*s.cost) {
		return s.write()
	} else if n > 0 && s.later == nil {
		s.later = time.AfterFunc(max(writeEvery, 10*s.cost), s.writeLater)
	}
	return nil
}

func (s *State) stopLater() {
	if s.later != nil {
		s.later.Stop()
		s.later = nil
	}
}

// writeLater writes changes that no other change follows, for instance during a long transfer. If it fails,
// they remain pending, and the next write reports the error.
func (s *State) writeLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later != nil {
		s.later = nil
		s.write()
	}
}

// Continues reports whether the crawl is unfinished, so that the next Run resumes it. Otherwise the
// next Run starts a new crawl, in which Page.Memo has the data of the last one.
func (s *State) Continues() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	over, err := s.meta.get(s, "over")
	return err == nil && s.run > 0 && over == ""
}

// Seeds returns the seeds of the last crawl: URLs without logins and default ports.
func (s *State) Seeds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seeds)
}

// SeedTargets returns, for each of Seeds, the URL that it redirected to, or "".
func (s *State) SeedTargets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	targets := make([]string, len(s.seeds))
	for n, to := range s.moved {
		if n < len(targets) {
			targets[n] = to
		}
	}
	return targets
}

// begin starts or resumes a crawl and returns the indexes of the seeds.
func (s *State) begin(keys []string) (numbers []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	over, err := s.meta.get(s, "over")
	if err != nil {
		return nil, err
	}
	if s.run == 0 || over != "" {
		if err := s.beginNew(len(keys)); err != nil {
			return nil, err
		}
	} else {
		s.queue.spilled = true
		if err := s.requeue(); err != nil {
			return nil, err
		}
	}
	for _, key := range keys {
		n := slices.Index(s.seeds, key)
		if n < 0 {
			n = len(s.seeds)
			s.seeds = append(s.seeds, key)
			s.meta.put(string(seedKey(n)), text(key))
		}
		numbers = append(numbers, n)
	}
	if err := s.write(); err != nil {
		return nil, err
	}
	return numbers, s.countWaiting()
}

// beginNew begins a crawl with a number of seeds. It forgets the queue and the seeds of the last one.
func (s *State) beginNew(seeds int) error {
	if s.run > 0 {
		if err := s.update(func(tx *bolt.Tx) error {
			return clearBuckets(tx, queueBucket, failedBucket, shapesBucket)
		}); err != nil {
			return fileError(err)
		}
	}
	clear(s.queued)
	s.unqueued.clear()
	s.failed.clear()
	s.shapes.clear()
	for n := range s.moved {
		s.meta.put(string(movedKey(n)), "")
	}
	for i := seeds; i < len(s.seeds); i++ {
		s.meta.put(string(seedKey(i)), "")
	}
	s.seeds = nil
	clear(s.moved)
	s.run++
	s.meta.put("run", text(binary.BigEndian.AppendUint64(nil, s.run)))
	s.meta.put("over", "")
	return nil
}

func (s *State) countWaiting() error {
	return fileError(s.view(func(tx *bolt.Tx) error {
		s.waiting = int64(tx.Bucket(queueBucket).Stats().KeyN)
		return nil
	}))
}

// Waiting returns the number of queued and active URLs.
func (s *State) Waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func clearBuckets(tx *bolt.Tx, names ...[]byte) error {
	for _, name := range names {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) requeue() error {
	return fileError(s.update(func(tx *bolt.Tx) error {
		q := tx.Bucket(queueBucket)
		err := tx.Bucket(failedBucket).ForEach(func(k, v []byte) error { return q.Put(k, v) })
		if err != nil {
			return err
		}
		return clearBuckets(tx, failedBucket)
	}))
}

// finish records the end of a crawl. If the state is removed soon, it is not written.
func (s *State) finish(removed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta.put("over", "\x01")
	if removed {
		return nil
	}
	return s.write()
}

// moveSeed records the redirect target of a seed, for when the crawl is resumed.
func (s *State) moveSeed(n int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved[n] = key
	s.meta.put(string(movedKey(n)), text(key))
}
