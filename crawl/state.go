package crawl

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/urlget/urlget/fetch"
)

// A State is what a crawl has met and has still to visit, in a file, so that a crawl that was
// interrupted, be it by a crash, goes on where it was. It is for one process at a time.
//
// What changes is kept in memory and written together: often enough that a crash costs about a
// second, and always in an order in which nothing is lost. A URL that was being visited, or whose
// end was not yet written, is visited again.
type State struct {
	mu      sync.Mutex // for all below
	db      *bolt.DB
	reading *bolt.Tx     // sees what was written last; nil until it is needed
	settle  func() error // makes durable what visits did, before it is written that they are over
	changes changes
	written time.Time     // when the last changes were
	cost    time.Duration // of writing them

	run     uint64 // the number of the crawl
	seq     uint64 // of the last item
	seeds   []string
	moved   map[int]string // where seeds were found that are elsewhere
	queue   queue
	claimed map[string]bool // the places of items that are visited without having been taken
	touches int             // values of the file since its pages were let go of
	waiting int64           // items in the queue, with those that are being visited
}

// The buckets: URLs by key, the queue by host and number, what failed in this crawl, how many URLs
// have a shape, who has a name, and single values.
var (
	urlsBucket   = []byte("urls")
	queueBucket  = []byte("queue")
	failedBucket = []byte("failed")
	shapesBucket = []byte("shapes")
	namesBucket  = []byte("names")
	metaBucket   = []byte("meta")
	buckets      = [][]byte{urlsBucket, queueBucket, failedBucket, shapesBucket, namesBucket, metaBucket}
)

// changes are what is to be written, by bucket and key. A value of nil removes a key.
type changes map[string]map[string][]byte

func (c changes) put(bucket []byte, key string, value []byte) {
	m := c[string(bucket)]
	if m == nil {
		m = map[string][]byte{}
		c[string(bucket)] = m
	}
	m[key] = value
}

// take removes a key that is written once at most: of one that is not in the file yet, nothing needs
// to be written.
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
	// writeAfter is how many changes are kept in memory at most, and writeEvery how long.
	writeAfter = 10_000
	writeEvery = 500 * time.Millisecond
)

// ErrInUse is the cause of the error of Open if another process has the state.
var ErrInUse = errors.New("crawl: state in use by another process")

// Open opens the state in the file name, and makes it if there is none. Errors are of class
// ErrFile.
func Open(name string) (*State, error) { return open(name, false) }

// open is Open. If noSync is true, nothing is durable.
func open(name string, noSync bool) (s *State, err error) {
	defer func() {
		if r := recover(); r != nil { // bbolt trusts its file
			s, err = nil, fileError(fmt.Errorf("%s: %w: %v", name, errDamaged, r))
		}
	}()
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fileError(&fs.PathError{Op: "open", Path: name, Err: errors.New("it is not a regular file")})
	}
	db, err := bolt.Open(name, 0o600, &bolt.Options{Timeout: 50 * time.Millisecond, FreelistType: bolt.FreelistMapType, NoSync: noSync})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fileError(fmt.Errorf("%s: %w", name, ErrInUse))
	case errors.As(err, new(*fs.PathError)): // which has the name
		return nil, fileError(err)
	case err != nil:
		return nil, fileError(fmt.Errorf("%s: %w", name, err))
	}
	s = &State{db: db, changes: changes{}, written: time.Now(), claimed: map[string]bool{}, moved: map[int]string{}}
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

// Close writes what has changed and closes the file.
func (s *State) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write()
	s.stopReading()
	return errors.Join(err, fileError(s.db.Close()))
}

// view calls f to read the file. A transaction for each value would take longer than the value.
func (s *State) view(f func(tx *bolt.Tx) error) (err error) {
	if s.reading == nil {
		if s.reading, err = s.db.Begin(false); err != nil {
			return err
		}
	}
	return f(s.reading)
}

// update calls f to change the file, which waits for what is being read.
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

// write writes the changes. The lock is held meanwhile: what is known must not differ from what is
// written.
func (s *State) write() error {
	if s.changes.len() == 0 {
		return nil
	}
	begin := time.Now()
	if s.settle != nil {
		if err := s.settle(); err != nil {
			return err
		}
	}
	err := s.update(func(tx *bolt.Tx) error {
		if err := tx.Bucket(metaBucket).Put([]byte("seq"), binary.BigEndian.AppendUint64(nil, s.seq)); err != nil {
			return err
		}
		for name, m := range s.changes {
			b := tx.Bucket([]byte(name))
			keys := make([]string, 0, len(m))
			for key := range m {
				keys = append(keys, key)
			}
			slices.Sort(keys) // neighbours lie on the same page
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
				s.touched(tx)
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

// writeIfDue writes the changes if there are many or if they are old. At most a tenth of the time
// goes into that.
func (s *State) writeIfDue() error {
	if n := s.changes.len(); n >= writeAfter || n > 0 && time.Since(s.written) >= max(writeEvery, 10*s.cost) {
		return s.write()
	}
	return nil
}

// get returns a copy of a value, and nil if there is none.
func (s *State) get(bucket []byte, key string) (value []byte, err error) {
	if v, ok := s.changes[string(bucket)][key]; ok {
		return v, nil
	}
	err = s.view(func(tx *bolt.Tx) error {
		value = bytes.Clone(tx.Bucket(bucket).Get([]byte(key)))
		s.touched(tx)
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

// Continues reports whether the state is that of a crawl that has not come to its end: the next Run
// goes on with it. Otherwise the next Run begins anew, and knows what visits of the last one left
// in Page.Memo.
func (s *State) Continues() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	over, err := s.get(metaBucket, "over")
	return err == nil && s.run > 0 && len(over) == 0
}

// Seeds returns where the last crawl began: URLs without logins and default ports.
func (s *State) Seeds() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seeds)
}

// begin begins a crawl, or goes on with one. It returns the numbers of the seeds.
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
		for i := len(keys); ; i++ { // of the last crawl
			old, err := s.get(metaBucket, string(seedKey(i)))
			if err != nil || old == nil {
				break
			}
			s.changes.put(metaBucket, string(seedKey(i)), nil)
		}
		if err := s.empty(queueBucket, failedBucket, shapesBucket); err != nil {
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
			s.changes.put(metaBucket, string(seedKey(n)), []byte(key))
		}
		numbers = append(numbers, n)
	}
	if err := s.write(); err != nil {
		return nil, err
	}
	return numbers, s.count()
}

// count counts what is in the queue.
func (s *State) count() error {
	return fileError(s.view(func(tx *bolt.Tx) error {
		s.waiting = int64(tx.Bucket(queueBucket).Stats().KeyN)
		return nil
	}))
}

// Waiting returns how many URLs are to be visited, with those that are being visited.
func (s *State) Waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (s *State) empty(names ...[]byte) error {
	return fileError(s.update(func(tx *bolt.Tx) error {
		for _, name := range names {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return nil
	}))
}

// requeue puts what has failed back into the queue.
func (s *State) requeue() error {
	return fileError(s.update(func(tx *bolt.Tx) error {
		q := tx.Bucket(queueBucket)
		err := tx.Bucket(failedBucket).ForEach(func(k, v []byte) error { return q.Put(k, v) })
		if err != nil {
			return err
		}
		if err := tx.DeleteBucket(failedBucket); err != nil {
			return err
		}
		_, err = tx.CreateBucket(failedBucket)
		return err
	}))
}

// finish notes that the crawl has come to its end.
func (s *State) finish() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes.put(metaBucket, "over", []byte{1})
	return s.write()
}

// moveSeed notes that a seed was found elsewhere: a crawl that goes on with this one has to know.
func (s *State) moveSeed(n int, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved[n] = key
	s.changes.put(metaBucket, string(movedKey(n)), []byte(key))
}

// What add did.
const (
	known = iota // the URL was met in this crawl
	fresh        // it is queued
	alike        // there are too many URLs of its form
)

// add queues an item unless its URL was met in this crawl. A URL that was met farther away, and
// whose links were too far away, is visited again: limit is how deep links may lie, and less than 0
// means that there is no limit. Of URLs of one form, if that is not "", there are at most as many
// as most.
func (s *State) add(it *item, limit int, form string, most int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.record(key)
	if err != nil {
		return known, err
	}
	if r != nil && r.run == s.run {
		if it.depth >= r.depth {
			return known, nil
		}
		if limit < 0 || r.state != done || r.depth < limit || it.depth >= limit {
			r.depth = it.depth
			s.changes.put(urlsBucket, key, r.marshal())
			return known, s.writeIfDue()
		}
	} else if form != "" && most >= 0 {
		b, err := s.get(shapesBucket, form)
		if err != nil {
			return known, err
		}
		n := number(b)
		if n >= uint64(most) {
			return alike, nil
		}
		s.changes.put(shapesBucket, form, binary.BigEndian.AppendUint64(nil, n+1))
	}
	if r == nil {
		r = &record{}
	}
	r.run, r.state, r.depth = s.run, queued, it.depth
	s.changes.put(urlsBucket, key, r.marshal())
	s.enqueue(it)
	s.queue.push(it)
	return fresh, s.writeIfDue()
}

// enqueue gives the item a place in the queue.
func (s *State) enqueue(it *item) {
	s.seq++
	it.place = binary.BigEndian.AppendUint64(append([]byte(it.url.Host()), 0), s.seq)
	s.changes.put(queueBucket, string(it.place), it.marshal())
	s.waiting++
}

// claim takes a URL that a redirect leads to, as if it had been queued and taken: it is to be
// visited in place of it. It returns false if the URL was met before.
func (s *State) claim(to *item) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := to.id()
	r, err := s.record(key)
	if err != nil || r != nil && r.run == s.run {
		return false, err
	}
	if r == nil {
		r = &record{}
	}
	r.run, r.state, r.depth = s.run, queued, to.depth
	s.changes.put(urlsBucket, key, r.marshal())
	s.enqueue(to)
	s.claimed[string(to.place)] = true
	return true, nil
}

// end notes how the visit of an item ended. If its URL was found nearer meanwhile, and links that
// were too far away are not any more, it is visited again; limit is how deep links may lie.
func (s *State) end(it *item, state byte, memo []byte, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := it.id()
	r, err := s.record(key)
	if err != nil {
		return err
	}
	if r == nil {
		r = &record{run: s.run, depth: it.depth}
	}
	delete(s.claimed, string(it.place))
	r.state, r.memo = state, memo
	s.changes.put(urlsBucket, key, r.marshal())
	s.changes.take(queueBucket, string(it.place))
	s.waiting--
	if state == failed {
		s.changes.put(failedBucket, string(it.place), it.marshal())
	}
	if state == done && r.run == s.run && limit >= 0 && it.depth >= limit && r.depth < limit {
		r.state = queued
		s.changes.put(urlsBucket, key, r.marshal())
		again := *it
		again.depth = r.depth
		s.enqueue(&again)
		s.queue.push(&again)
	}
	return s.writeIfDue()
}
