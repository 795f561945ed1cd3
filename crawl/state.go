package crawl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
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
	reading *bolt.Tx     // open read transaction, or nil; it sees the last written state
	sync    func() error // Options.Sync; called before visits are recorded as complete
	changes changes
	written time.Time     // time of the last write
	cost    time.Duration // duration of the last write

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

// changes are pending updates by bucket and key. A nil value removes a key.
type changes map[string]map[string][]byte

func (c changes) put(bucket []byte, key string, value []byte) {
	m := c[string(bucket)]
	if m == nil {
		m = map[string][]byte{}
		c[string(bucket)] = m
	}
	m[key] = value
}

// take removes a key that is written only once. If the key is not yet in the file, nothing needs to
// be written.
func (c changes) take(bucket []byte, key string) {
	if c[string(bucket)][key] != nil {
		delete(c[string(bucket)], key)
		return
	}
	c.put(bucket, key, nil)
}

func (c changes) len() (n int) {
	for _, m := range c {
		n += len(m)
	}
	return n
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
	s = &State{db: db, changes: changes{}, written: time.Now(), moved: map[int]string{}}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range buckets {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
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
	return errors.Join(err, fileError(s.db.Close()))
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
	if s.changes.len() == 0 {
		return nil
	}
	begin := time.Now()
	if s.sync != nil {
		if err := s.sync(); err != nil {
			return err
		}
	}
	err := s.update(func(tx *bolt.Tx) error {
		if err := tx.Bucket(metaBucket).Put([]byte("seq"),
			binary.BigEndian.AppendUint64(nil, s.seq)); err != nil {
			return err
		}
		for name, m := range s.changes {
			b := tx.Bucket([]byte(name))
			keys := make([]string, 0, len(m))
			for key := range m {
				keys = append(keys, key)
			}
			slices.Sort(keys) // adjacent keys are on the same page
			for _, key := range keys {
				var err error
				if value := m[key]; value == nil {
					err = b.Delete([]byte(key))
				} else {
					err = b.Put([]byte(key), value)
				}
				if err != nil {
					return err
				}
				s.countAccess(tx)
			}
		}
		return nil
	})
	if err != nil {
		return fileError(err)
	}
	s.changes, s.written = changes{}, time.Now()
	s.cost = s.written.Sub(begin)
	return nil
}

// writeIfDue writes the pending changes if they are many or old. It spends at most a tenth of the
// time on writing.
func (s *State) writeIfDue() error {
	if n := s.changes.len(); n >= writeAfter || n > 0 && time.Since(s.written) >= max(writeEvery, 10*s.cost) {
		return s.write()
	}
	return nil
}

// get returns a copy of a value, or nil if there is none.
func (s *State) get(bucket []byte, key string) (value []byte, err error) {
	if v, ok := s.changes[string(bucket)][key]; ok {
		return v, nil
	}
	err = s.view(func(tx *bolt.Tx) error {
		value = bytes.Clone(tx.Bucket(bucket).Get([]byte(key)))
		s.countAccess(tx)
		return nil
	})
	return value, fileError(err)
}

func (s *State) record(key string) (*record, error) {
	b, err := s.get(urlsBucket, key)
	if b == nil || err != nil {
		return nil, err
	}
	r, err := unmarshalRecord(b)
	return r, fileError(err)
}

// Continues reports whether the crawl is unfinished, so that the next Run resumes it. Otherwise the
// next Run starts a new crawl, in which Page.Memo has the data of the last one.
func (s *State) Continues() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	over, err := s.get(metaBucket, "over")
	return err == nil && s.run > 0 && len(over) == 0
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
	over, err := s.get(metaBucket, "over")
	if err != nil {
		return nil, err
	}
	if s.run == 0 || len(over) > 0 {
		s.run++
		for n := range s.moved {
			s.changes.put(metaBucket, string(movedKey(n)), nil)
		}
		s.seeds = nil
		clear(s.moved)
		s.changes.put(metaBucket, "run", binary.BigEndian.AppendUint64(nil, s.run))
		s.changes.put(metaBucket, "over", nil)
		for i := len(keys); ; i++ { // seeds of the last crawl
			old, err := s.get(metaBucket, string(seedKey(i)))
			if err != nil || old == nil {
				break
			}
			s.changes.put(metaBucket, string(seedKey(i)), nil)
		}
		if err := s.update(func(tx *bolt.Tx) error {
			return clearBuckets(tx, queueBucket, failedBucket, shapesBucket)
		}); err != nil {
			return nil, fileError(err)
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
			s.changes.put(metaBucket, string(seedKey(n)), []byte(key))
		}
		numbers = append(numbers, n)
	}
	if err := s.write(); err != nil {
		return nil, err
	}
	return numbers, s.count()
}

func (s *State) count() error {
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

func (s *State) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes.put(metaBucket, "over", []byte{1})
	return s.write()
}

// moveSeed records the redirect target of a seed, for when the crawl is resumed.
func (s *State) moveSeed(n int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved[n] = key
	s.changes.put(metaBucket, string(movedKey(n)), []byte(key))
}
