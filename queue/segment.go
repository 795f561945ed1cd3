package queue

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/urlget/urlget/fetch"
)

// A segment has results that were moved from the engine to the store. It consists of contents, each named
// by its digest, so that none can change: blocks with results, shards that find the block of a result, and
// the index, which names both. The engine has the list of segments.
type segment struct {
	piece          // the index
	First   uint64 `json:"first"` // sequence numbers of its results
	Last    uint64 `json:"last"`
	Results uint64 `json:"results"`
	Bytes   int64  `json:"bytes"` // of all its contents
	// From and To are when the engine stored the earliest and the latest result. The sequence numbers of an
	// engine that has lost all its data start again, but its clock does not.
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Listed time.Time `json:"listed"` // when the segment was added to the list
}

// A piece is a content of a segment.
type piece struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // in bytes
}

// A shardIndex names a power of two of shards. The first bits of a key are the number of its shard.
type shardIndex struct {
	Version int     `json:"v"`
	Shards  []piece `json:"shards"`
}

type segmentIndex struct {
	shardIndex
	Blocks []block `json:"blocks"`
}

// A block has JSON Lines, compressed with gzip.
type block struct {
	piece
	Lines int    `json:"lines"` // size in bytes without compression
	First uint64 `json:"first"` // sequence number
}

const (
	segmentVersion = 1
	// maxSegment limits the results of a segment. Its keys are in memory while it is written.
	maxSegment = 1 << 20
	// blockLines is the size of the lines, in bytes, after which a block ends.
	blockLines = 1 << 20
	// maxPiece limits what is read of a segment at once, in bytes, also after decompression. A result may
	// be as long as a message, and is up to twice as long in a block.
	maxPiece = 256 << 20
	// maxShard is the greatest mean number of keys of a shard.
	maxShard = 4 << 10
)

// A keyed value is the place of a result in a segment.
type keyed struct {
	key   uint64
	block uint32
}

// keySize is the size of a keyed value in a shard, in bytes: two numbers in big-endian order. A shard begins
// with as many bytes of salt.
const keySize = 12

// keyOf returns the key of a result. Submitters choose IDs, so their digests are used.
func keyOf(id string) uint64 {
	sum := sha256.Sum256([]byte(id))
	return binary.BigEndian.Uint64(sum[:])
}

// appendLine appends the line of a result.
func appendLine(b []byte, m *Stored) []byte {
	id, _ := json.Marshal(m.ID)
	b = append(strconv.AppendUint(append(b, `{"sequence":`...), m.Sequence, 10), `,"id":`...)
	b = append(append(b, id...), `,"stored":"`...)
	b = append(m.Time.UTC().AppendFormat(b, time.RFC3339Nano), `",`...)
	if bytes.IndexByte(m.Data, '\n') < 0 && json.Valid(m.Data) {
		b = append(append(b, `"result":`...), m.Data...)
	} else { // not written by a worker
		raw, _ := json.Marshal(m.Data)
		b = append(append(b, `"raw":`...), raw...)
	}
	return append(b, "}\n"...)
}

// parseLine parses the line of a result, without the end of the line. It does not decode the result.
func parseLine(line []byte) (m Stored, err error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"sequence":`))
	number, rest, ok1 := bytes.Cut(rest, []byte(`,"id":"`))
	id, rest, ok2 := bytes.Cut(rest, []byte(`","stored":"`))
	at, rest, ok3 := bytes.Cut(rest, []byte(`","result":`))
	data, ok4 := bytes.CutSuffix(rest, []byte("}"))
	if ok && ok1 && ok2 && ok3 && ok4 && !bytes.ContainsAny(id, `\"`) {
		m.Sequence, err = strconv.ParseUint(string(number), 10, 64)
		if err == nil {
			m.Time, err = time.Parse(time.RFC3339Nano, string(at))
		}
		m.ID, m.Data = string(id), data
		return m, err
	}
	var l struct {
		Sequence uint64
		ID       string
		Stored   time.Time
		Result   json.RawMessage
		Raw      []byte
	}
	err = json.Unmarshal(line, &l)
	if l.Raw == nil {
		l.Raw = l.Result
	}
	return Stored{Sequence: l.Sequence, ID: l.ID, Time: l.Stored, Data: l.Raw}, err
}

// put stores a content and reads it back.
func put(ctx context.Context, s Store, data []byte) (piece, error) {
	sum := sha256.Sum256(data)
	p := piece{hex.EncodeToString(sum[:]), int64(len(data))}
	spool, err := s.Begin()
	if err != nil {
		return p, err
	}
	defer spool.Discard()
	if _, err = spool.Write(data); err == nil {
		_, err = spool.Commit(ctx, p.SHA256)
	}
	if err == nil {
		_, err = p.read(ctx, s)
	}
	return p, err
}

// errDamaged is the cause of errors of contents that are missing or have another size or digest.
var errDamaged = errors.New("missing or damaged")

// read reads and verifies a content.
func (p piece) read(ctx context.Context, s Store) ([]byte, error) {
	if p.Size < 0 || p.Size > maxPiece {
		return nil, fmt.Errorf("content %s: %w: %d bytes", p.SHA256, errDamaged, p.Size)
	}
	r, err := s.Get(ctx, p.SHA256)
	if err == nil {
		defer r.Close()
		var data []byte
		data, err = io.ReadAll(io.LimitReader(r, p.Size+1))
		if err == nil && int64(len(data)) == p.Size {
			return data, nil
		}
		if err == nil {
			err = fmt.Errorf("%w: it has not %d bytes", errDamaged, p.Size)
		}
	}
	switch fetch.CodeOf(err) {
	case fetch.ErrNotFound, fetch.ErrChecksum, fetch.ErrRequest:
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	return nil, fmt.Errorf("content %s: %w", p.SHA256, err)
}

func (s *segment) index(ctx context.Context, store Store) (*segmentIndex, error) {
	x := &segmentIndex{}
	return x, s.readIndex(ctx, store, x, &x.shardIndex)
}

// readIndex reads an index in JSON. Head is the part of it that names the shards.
func (p piece) readIndex(ctx context.Context, store Store, index any, head *shardIndex) error {
	data, err := p.read(ctx, store)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, index); err != nil {
		return fmt.Errorf("content %s: %w: %w", p.SHA256, errDamaged, err)
	}
	if n := len(head.Shards); head.Version != segmentVersion || n == 0 || n&(n-1) != 0 {
		return fmt.Errorf("content %s: %w: version %d with %d shards", p.SHA256, errDamaged, head.Version, n)
	}
	return nil
}

// lines reads a block and yields its results.
func (b *block) lines(ctx context.Context, s Store, yield func(Stored) bool) error {
	data, err := b.read(ctx, s)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil && (b.Lines < 0 || b.Lines > maxPiece) {
		err = fmt.Errorf("%d bytes", b.Lines)
	}
	text := make([]byte, 0, max(min(b.Lines, maxPiece), 0))
	if err == nil {
		text = text[:b.Lines]
		_, err = io.ReadFull(z, text)
	}
	for line := range bytes.Lines(text) {
		var m Stored
		if err == nil {
			m, err = parseLine(bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil || !yield(m) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("content %s: %w: %w", b.SHA256, errDamaged, err)
	}
	return nil
}

// find returns the numbers of the blocks that may have a key.
func (x *segmentIndex) find(ctx context.Context, s Store, key uint64) (blocks []uint32, err error) {
	shard := x.Shards[shardOf(key, len(x.Shards))]
	data, err := shard.read(ctx, s)
	if err != nil {
		return nil, err
	}
	data = data[min(keySize, len(data)):] // the salt
	at := func(i int) uint64 { return binary.BigEndian.Uint64(data[i*keySize:]) }
	first, last := 0, len(data)/keySize
	for first < last {
		if middle := (first + last) / 2; at(middle) < key {
			first = middle + 1
		} else {
			last = middle
		}
	}
	for i := first; i < len(data)/keySize && at(i) == key; i++ {
		n := binary.BigEndian.Uint32(data[i*keySize+8:])
		if int(n) >= len(x.Blocks) {
			return nil, fmt.Errorf("content %s: %w: there is no block %d", shard.SHA256, errDamaged, n)
		}
		blocks = append(blocks, n)
	}
	return blocks, nil
}

// shardOf returns the number of the shard of a key among n, a power of two.
func shardOf(key uint64, n int) int {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	return int(key >> 1 >> (63 - bits)) // a shift by 64 if n is 1
}

// A segmentWriter writes one segment. Until it has the least number of results, it writes nothing.
type segmentWriter struct {
	store   Store
	least   uint64
	segment segment
	index   segmentIndex
	waiting [][]byte // the last blocks, which are not yet stored
	lines   []byte   // of the next block
	next    block
	keys    []keyed
	// salt makes the contents differ from those of an earlier attempt, which another program may be
	// deleting as unused.
	salt string
}

func newSegmentWriter(s Store, least uint64) *segmentWriter {
	return &segmentWriter{store: s, least: least, salt: rand.Text(),
		index: segmentIndex{shardIndex: shardIndex{Version: segmentVersion}}}
}

func (w *segmentWriter) add(ctx context.Context, m *Stored) error {
	s, at := &w.segment, m.Time.UTC()
	if s.Results == 0 {
		s.First, s.From, s.To = m.Sequence, at, at
	}
	if at.Before(s.From) {
		s.From = at
	}
	if at.After(s.To) {
		s.To = at
	}
	if len(w.lines) == 0 {
		w.next.First = m.Sequence
	}
	s.Last, s.Results = m.Sequence, s.Results+1
	w.keys = append(w.keys, keyed{keyOf(m.ID), uint32(len(w.index.Blocks))})
	if w.lines = appendLine(w.lines, m); len(w.lines) < blockLines {
		return nil
	}
	return w.endBlock(ctx)
}

func (w *segmentWriter) endBlock(ctx context.Context) error {
	if len(w.lines) == 0 {
		return nil
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	z.Comment = w.salt
	z.Write(w.lines)
	if err := z.Close(); err != nil {
		return err
	}
	w.next.Lines = len(w.lines)
	w.index.Blocks, w.waiting = append(w.index.Blocks, w.next), append(w.waiting, b.Bytes())
	w.lines = w.lines[:0]
	if w.segment.Results < w.least {
		return nil
	}
	return w.storeBlocks(ctx)
}

func (w *segmentWriter) storeBlocks(ctx context.Context) error {
	for ; len(w.waiting) > 0; w.waiting = w.waiting[1:] {
		p, err := w.put(ctx, w.waiting[0])
		if err != nil {
			return err
		}
		w.index.Blocks[len(w.index.Blocks)-len(w.waiting)].piece = p
	}
	return nil
}

func (w *segmentWriter) put(ctx context.Context, data []byte) (piece, error) {
	w.segment.Bytes += int64(len(data))
	return put(ctx, w.store, data)
}

// end writes the rest of the segment.
func (w *segmentWriter) end(ctx context.Context) (*segment, error) {
	if err := w.endBlock(ctx); err != nil {
		return nil, err
	}
	if err := w.storeBlocks(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(w.keys, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	n := 1
	for len(w.keys)/n > maxShard {
		n *= 2
	}
	for i := range n {
		data := []byte(w.salt)[:keySize]
		for ; len(w.keys) > 0 && shardOf(w.keys[0].key, n) == i; w.keys = w.keys[1:] {
			data = binary.BigEndian.AppendUint64(data, w.keys[0].key)
			data = binary.BigEndian.AppendUint32(data, w.keys[0].block)
		}
		p, err := w.put(ctx, data)
		if err != nil {
			return nil, err
		}
		w.index.Shards = append(w.index.Shards, p)
	}
	data, err := json.Marshal(w.index)
	if err == nil {
		w.segment.piece, err = w.put(ctx, data)
	}
	return &w.segment, err
}
