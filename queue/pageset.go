package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A pageSet has marks of pages that were moved from the engine to the store, where a page needs 16 bytes. It
// consists of contents, each named by its digest: shards with the pages in order of their IDs, and the index,
// which names them. A mark in the engine is newer than that in the set.
type pageSet struct {
	piece            // the index
	Pages  uint64    `json:"pages"`
	Bytes  int64     `json:"bytes"`  // of all its contents
	Last   uint64    `json:"last"`   // sequence number of its latest mark in the engine
	To     time.Time `json:"to"`     // when the engine stored that mark
	Listed time.Time `json:"listed"` // when the set was added to the list of segments
}

// An entry is a page in a shard: 12 bytes of its ID, its depth, and mark.Followed. A shard begins with as
// many bytes of salt.
type entry [entryID + 4]byte

const (
	entryID = 12
	// maxDepth limits the depths in a pageSet.
	maxDepth = math.MaxUint16 - 1
	pageKey  = "page/" // prefix of the keys of marks in Engine.Pages
)

func compareEntries(a, b entry) int { return bytes.Compare(a[:entryID], b[:entryID]) }

// shard returns the number of the shard of the page among n.
func (e *entry) shard(n int) int { return shardOf(binary.BigEndian.Uint64(e[:]), n) }

func (e *entry) mark() mark {
	return mark{Depth: int(binary.BigEndian.Uint16(e[entryID:])),
		Followed: int(binary.BigEndian.Uint16(e[entryID+2:]))}
}

// entryOf returns the entry of a page. It reports whether the entry says all that the mark says and a visit
// needs: Via is for the first one.
func entryOf(id string, m mark) (e entry, ok bool) {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) < entryID || m.Depth < 0 || m.Depth > maxDepth || m.Followed < 0 ||
		m.Followed > maxDepth+1 || len(m.Via) > 0 && m.Followed == 0 {
		return e, false
	}
	copy(e[:entryID], raw)
	binary.BigEndian.PutUint16(e[entryID:], uint16(m.Depth))
	binary.BigEndian.PutUint16(e[entryID+2:], uint16(m.Followed))
	return e, true
}

// storedEntry is entryOf for a value of Engine.Pages.
func storedEntry(v *Stored) (e entry, ok bool) {
	id, ok := strings.CutPrefix(v.ID, pageKey)
	var m mark
	if !ok || json.Unmarshal(v.Data, &m) != nil {
		return e, false
	}
	return entryOf(id, m)
}

// has reports whether the set has the value of Engine.Pages, or has had it.
func (s *pageSet) has(v *Stored) bool { return v.Sequence <= s.Last && !v.Time.After(s.To) }

func (s *pageSet) index(ctx context.Context, store Store) (*shardIndex, error) {
	x := &shardIndex{}
	return x, s.readIndex(ctx, store, x, x)
}

// readShard returns the entries of a shard.
func readShard(ctx context.Context, store Store, p piece) ([]entry, error) {
	data, err := p.read(ctx, store)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(data)%len(entry{}) != 0 {
		return nil, fmt.Errorf("content %s: %w: a shard of %d bytes", p.SHA256, errDamaged, len(data))
	}
	list := make([]entry, len(data)/len(entry{})-1)
	for i := range list {
		copy(list[i][:], data[(i+1)*len(entry{}):])
	}
	return list, nil
}

// all yields the entries of the set in order.
func (s *pageSet) all(ctx context.Context, store Store) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		x, err := s.index(ctx, store)
		if err != nil {
			yield(entry{}, err)
			return
		}
		for _, p := range x.Shards {
			list, err := readShard(ctx, store, p)
			if err != nil {
				yield(entry{}, err)
				return
			}
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// merge stores a set with the pages of s, which may be nil, and those in added, which are in order and newer.
func (s *pageSet) merge(ctx context.Context, store Store, added []entry) (*pageSet, error) {
	most := len(added)
	var before iter.Seq2[entry, error] = func(func(entry, error) bool) {}
	if s != nil {
		most += int(s.Pages)
		before = s.all(ctx, store)
	}
	w := newPageSetWriter(store, most)
	for e, err := range before {
		for err == nil && len(added) > 0 && compareEntries(added[0], e) < 0 {
			err = w.add(ctx, added[0])
			added = added[1:]
		}
		if err == nil && (len(added) == 0 || compareEntries(added[0], e) != 0) {
			err = w.add(ctx, e)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, e := range added {
		if err := w.add(ctx, e); err != nil {
			return nil, err
		}
	}
	return w.end(ctx)
}

// A pageSetWriter writes a set whose entries are added in order.
type pageSetWriter struct {
	store Store
	set   pageSet
	index shardIndex
	n     int    // shards of the set
	shard []byte // the next one
	salt  string // as that of a segmentWriter
}

func newPageSetWriter(s Store, most int) *pageSetWriter {
	w := &pageSetWriter{store: s, index: shardIndex{Version: segmentVersion}, n: 1, salt: rand.Text()}
	for most/w.n > maxShard {
		w.n *= 2
	}
	return w
}

func (w *pageSetWriter) add(ctx context.Context, e entry) error {
	for e.shard(w.n) > len(w.index.Shards) {
		if err := w.endShard(ctx); err != nil {
			return err
		}
	}
	w.shard = append(w.shard, e[:]...)
	w.set.Pages++
	return nil
}

func (w *pageSetWriter) endShard(ctx context.Context) error {
	p, err := w.put(ctx, slices.Concat([]byte(w.salt[:len(entry{})]), w.shard))
	w.index.Shards, w.shard = append(w.index.Shards, p), w.shard[:0]
	return err
}

func (w *pageSetWriter) put(ctx context.Context, data []byte) (piece, error) {
	w.set.Bytes += int64(len(data))
	return put(ctx, w.store, data)
}

func (w *pageSetWriter) end(ctx context.Context) (*pageSet, error) {
	for len(w.index.Shards) < w.n {
		if err := w.endShard(ctx); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(w.index)
	if err == nil {
		w.set.piece, err = w.put(ctx, data)
	}
	return &w.set, err
}

// movedPages finds the marks of a crawl in its pageSet.
type movedPages struct {
	results *Results // of the crawl

	loading mutex // guards the fields below during requests
	loaded  time.Time
	view    *pageView // nil if the list has no set
}

func newMovedPages(r *Results) *movedPages { return &movedPages{results: r, loading: newMutex()} }

// A pageView is a pageSet with some of its shards in memory.
type pageView struct {
	set   *pageSet
	store Store
	index *shardIndex

	mu     sync.Mutex
	shards map[int][]entry
}

const (
	// pageSetTime is how long a list with a set is used. A mark is removed from the engine later than that
	// after it is in a listed set, so that it is always found in one of them.
	pageSetTime = 2 * time.Second
	// maxShards limits the shards in memory, of 64 KB each.
	maxShards = 1024
)

// find returns the mark of a page, or ErrNotFound. If the set is damaged, a page with a result is known from
// that. A missing content may be in another store, so it is an error.
func (p *movedPages) find(ctx context.Context, id string) (mark, error) {
	want, ok := entryOf(id, mark{})
	if !ok {
		return mark{}, ErrNotFound
	}
	v, err := p.current(ctx)
	if v == nil && err == nil {
		return mark{}, ErrNotFound
	}
	var list []entry
	if err == nil {
		list, err = v.shard(ctx, want.shard(len(v.index.Shards)))
	}
	switch {
	case errors.Is(err, errDamaged) && fetch.CodeOf(err) == fetch.ErrNotFound:
		return mark{}, pagesError(err)
	case errors.Is(err, errDamaged):
		return p.fromResult(ctx, id)
	case err != nil:
		return mark{}, err
	}
	i, ok := slices.BinarySearchFunc(list, want, compareEntries)
	if !ok {
		return mark{}, ErrNotFound
	}
	return list[i].mark(), nil
}

func pagesError(err error) error {
	return &fetch.Error{Code: fetch.ErrFile,
		Err: fmt.Errorf("the pages that were moved to the store: %w", err)}
}

// fromResult returns the mark of a page with a result. Its depth is not known; with 0, no link visits it
// again.
func (p *movedPages) fromResult(ctx context.Context, id string) (mark, error) {
	_, err := p.results.Get(ctx, id, time.Time{})
	return mark{Followed: 1}, err
}

func (p *movedPages) current(ctx context.Context) (*pageView, error) {
	if err := p.loading.lock(ctx); err != nil {
		return nil, err
	}
	defer p.loading.unlock()
	if time.Since(p.loaded) < pageSetTime {
		return p.view, nil
	}
	at := time.Now()
	l, _, err := loadSegments(ctx, p.results.Engine)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Pages == nil:
		p.view = nil
	case p.view == nil || p.view.set.SHA256 != l.Pages.SHA256:
		v := &pageView{set: l.Pages, shards: map[int][]entry{}}
		if v.store, err = p.results.open(ctx); err == nil {
			v.index, err = v.set.index(ctx, v.store)
		}
		if err != nil {
			return nil, err
		}
		p.view = v
	}
	p.loaded = at
	return p.view, nil
}

// shard returns the entries of a shard. It reads it once, if there are not too many.
func (v *pageView) shard(ctx context.Context, n int) ([]entry, error) {
	v.mu.Lock()
	list, ok := v.shards[n]
	v.mu.Unlock()
	if ok {
		return list, nil
	}
	list, err := readShard(ctx, v.store, v.index.Shards[n])
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	keep(v.shards, maxShards, n, list)
	return list, nil
}

// marks are the marks of a crawl: in the engine and, if they were moved, in the store.
type marks struct {
	Values
	moved *movedPages
}

// Get implements Values. A mark in the store has the revision 0. The set is read after the engine, so that it
// has the marks that were removed from it.
func (m marks) Get(ctx context.Context, key string) ([]byte, uint64, error) {
	data, revision, err := m.Values.Get(ctx, key)
	id, ok := strings.CutPrefix(key, pageKey)
	if !ok || !errors.Is(err, ErrNotFound) {
		return data, revision, err
	}
	moved, err := m.moved.find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	data, err = json.Marshal(moved)
	return data, 0, err
}

// Update implements Values.
func (m marks) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision > 0 {
		return m.Values.Update(ctx, key, value, revision)
	}
	revision, err := m.Create(ctx, key, value)
	if errors.Is(err, ErrExists) {
		err = ErrConflict
	}
	return revision, err
}
