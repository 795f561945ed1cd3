package crawl

import (
	"hash/maphash"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// A table is a bucket of the state file with the changes that are not yet written. An absent value of V
// stands for a missing key.
type table[V value] struct {
	bucket  []byte
	decode  func([]byte) (V, error) // the result does not share memory with the argument
	pending map[string]V            // changes since the last write
	written map[string]V            // those of the last write, which are often needed next
	// inFile has the hashes of all keys in the file. It is nil if they are unknown or too many.
	inFile map[uint64]struct{}
}

type value interface {
	isAbsent() bool
	// appendTo appends the encoded value to b.
	appendTo(b []byte) []byte
}

// maxInFile limits the hashes of the keys in a file: most crawls have fewer URLs.
const maxInFile = 1 << 16

var hashSeed = maphash.MakeSeed()

func newTable[V value](bucket []byte, decode func([]byte) (V, error)) table[V] {
	return table[V]{bucket: bucket, decode: decode, pending: map[string]V{}}
}

// opened prepares t for the file of tx.
func (t *table[V]) opened(tx *bolt.Tx) {
	if k, _ := tx.Bucket(t.bucket).Cursor().First(); k == nil {
		t.inFile = map[uint64]struct{}{}
	}
}

// clear forgets everything. The bucket must be empty.
func (t *table[V]) clear() {
	clear(t.pending)
	t.written, t.inFile = nil, map[uint64]struct{}{}
}

func (t *table[V]) put(key string, v V) { t.pending[key] = v }

// get returns a value, which may be shared: a change needs a put. s.mu must be held.
func (t *table[V]) get(s *State, key string) (v V, err error) {
	if v, ok := t.pending[key]; ok {
		return v, nil
	}
	if v, ok := t.written[key]; ok {
		return v, nil
	}
	if t.inFile != nil {
		if _, ok := t.inFile[maphash.String(hashSeed, key)]; !ok {
			return v, nil
		}
	}
	err = s.view(func(tx *bolt.Tx) (err error) {
		if b := tx.Bucket(t.bucket).Get([]byte(key)); b != nil {
			v, err = t.decode(b)
		}
		s.countAccess(tx)
		return err
	})
	return v, fileError(err)
}

func (t *table[V]) len() int { return len(t.pending) }

// write writes the pending changes. Text is the memory of values, which must stay valid until the
// transaction is committed.
func (t *table[V]) write(s *State, tx *bolt.Tx, text []byte) ([]byte, error) {
	if len(t.pending) == 0 {
		return text, nil
	}
	b := tx.Bucket(t.bucket)
	keys := make([]string, 0, len(t.pending))
	for key := range t.pending {
		keys = append(keys, key)
	}
	slices.Sort(keys) // adjacent keys are on the same page
	var k []byte
	for _, key := range keys {
		var err error
		k = append(k[:0], key...)
		if v := t.pending[key]; v.isAbsent() {
			err = b.Delete(k)
		} else {
			n := len(text)
			text = v.appendTo(text)
			err = b.Put(k, text[n:len(text):len(text)])
		}
		if err != nil {
			return text, err
		}
		s.countAccess(tx)
	}
	return text, nil
}

// wrote is called after the pending changes were written.
func (t *table[V]) wrote() {
	if len(t.pending) == 0 {
		return
	}
	if len(t.inFile)+len(t.pending) > maxInFile {
		t.inFile = nil
	}
	for key := range t.pending {
		if t.inFile == nil {
			break
		}
		t.inFile[maphash.String(hashSeed, key)] = struct{}{}
	}
	t.pending, t.written = map[string]V{}, t.pending
}

// A text is a value that is stored as it is.
type text string

func decodeText(b []byte) (text, error) { return text(b), nil }

func (t text) isAbsent() bool { return t == "" }

func (t text) appendTo(b []byte) []byte { return append(b, t...) }
