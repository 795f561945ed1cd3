package mailbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	messageKey = 'm'
	contentKey = 'c'
)

// keyOf returns the key of an identifier: a hash, because bbolt limits the length of keys.
func keyOf(kind byte, id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return append([]byte{kind}, sum[:20]...)
}

// An index stores the positions of messages. For each unit it has a bucket, named by its path, with
// the positions by key. The key "state" holds the size and the time of the unit. A nil index is
// empty.
//
// A second file holds the checksum of the index. If it is missing or differs, the index is recreated,
// because bbolt panics on a corrupt file. While the index changes, the checksum does not exist.
type index struct {
	db    *bolt.DB
	path  string
	dirty bool // the index has changed, and the checksum is removed
}

// openIndex returns nil if the index cannot be opened, because it only saves time.
func openIndex(dir string) *index {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return nil
	}
	x := &index{path: filepath.Join(dir, "mailbox.db")}
	if want, err := os.ReadFile(x.sumPath()); err != nil || !bytes.Equal(want, x.sum()) {
		if err := os.Remove(x.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	var err error
	x.db, err = bolt.Open(x.path, 0o600, &bolt.Options{Timeout: time.Second, NoFreelistSync: true})
	if err != nil {
		return nil
	}
	return x
}

func (x *index) sumPath() string { return x.path + ".sha256" }

func (x *index) sum() []byte {
	f, err := os.Open(x.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil
	}
	return h.Sum(nil)
}

// update changes the index. The first change removes the checksum.
func (x *index) update(f func(*bolt.Tx) error) error {
	if !x.dirty {
		if err := os.Remove(x.sumPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		x.dirty = true
	}
	return x.db.Update(f)
}

func (x *index) close() {
	if x != nil && x.db.Close() == nil && x.dirty {
		os.WriteFile(x.sumPath(), x.sum(), 0o600) // if that fails, the index will be recreated
	}
}

var stateKey = []byte("state")

// state returns the size and the time of a unit, which change if it does.
func (u unit) state() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(u.info.Size()))
	return binary.BigEndian.AppendUint64(b, uint64(u.info.ModTime().UnixNano()))
}

// lookup returns the message with the key, or nil. current reports whether the index holds the current
// state of the unit.
func (x *index) lookup(u unit, key []byte) (m *Message, current bool) {
	if x == nil {
		return nil, false
	}
	x.db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(u.path))
		if b == nil || string(b.Get(stateKey)) != string(u.state()) {
			return nil
		}
		current = true
		if v := b.Get(key); len(v) >= 16 {
			m = &Message{
				Path:   u.path,
				Offset: int64(binary.BigEndian.Uint64(v)),
				Size:   int64(binary.BigEndian.Uint64(v[8:])),
			}
			if u.dir {
				m.Path = filepath.Join(u.path, filepath.Base(string(v[16:])))
			}
		}
		return nil
	})
	return m, current
}

const batchSize = 10_000

// An indexWriter indexes a unit. A nil indexWriter does nothing.
type indexWriter struct {
	index *index
	unit  unit
	batch []position
	err   error
}

type position struct{ key, value []byte }

func (x *index) writer(u unit) *indexWriter {
	if x == nil {
		return nil
	}
	w := &indexWriter{index: x, unit: u}
	w.err = x.update(func(tx *bolt.Tx) error {
		name := []byte(u.path)
		if tx.Bucket(name) != nil {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		_, err := tx.CreateBucket(name)
		return err
	})
	return w
}

func (w *indexWriter) add(m *Message) {
	if w == nil || w.err != nil {
		return
	}
	value := binary.BigEndian.AppendUint64(nil, uint64(m.Offset))
	value = binary.BigEndian.AppendUint64(value, uint64(m.Size))
	if w.unit.dir {
		value = append(value, filepath.Base(m.Path)...)
	}
	w.batch = append(w.batch, position{keyOf(messageKey, m.id()), value})
	for _, id := range m.contentIDs {
		w.batch = append(w.batch, position{keyOf(contentKey, id), value})
	}
	if len(w.batch) >= batchSize {
		w.flush(nil)
	}
}

// flush writes the batch. If state is not nil, it also writes the state, which makes the unit known.
func (w *indexWriter) flush(state []byte) {
	if w.err != nil {
		return
	}
	w.err = w.index.update(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte(w.unit.path))
		for _, p := range w.batch {
			if b.Get(p.key) != nil {
				continue // the first message with an identifier counts
			}
			if err := b.Put(p.key, p.value); err != nil {
				return err
			}
		}
		if state != nil {
			return b.Put(stateKey, state)
		}
		return nil
	})
	w.batch = w.batch[:0]
}

func (w *indexWriter) commit() {
	if w != nil {
		w.flush(w.unit.state())
	}
}

// abandon drops the batch. The unit stays unknown.
func (w *indexWriter) abandon() {
	if w != nil {
		w.batch = nil
	}
}
