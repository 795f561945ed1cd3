package crawl

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An item is a link in the queue, without Seed, Text, Listed and Traits.
type item struct {
	Link
	seq uint64 // its number in the queue
	key string // see id
}

func newItem(l *Link) *item {
	it := &item{Link: *l}
	it.URL, it.From, it.Seed = l.URL.WithoutUserinfo(), l.From.WithoutUserinfo(), uri.URI{}
	it.Text, it.Listed, it.Traits = "", false, fetch.Traits{}
	return it
}

func (it *item) id() string {
	if it.key == "" {
		it.key = it.URL.Key()
	}
	return it.key
}

// queueKey returns the key of the item in the queue bucket.
func (it *item) queueKey() []byte { return queueKey(it.URL.Host(), it.seq) }

func queueKey(host string, seq uint64) []byte {
	b := append(make([]byte, 0, len(host)+9), host...)
	return binary.BigEndian.AppendUint64(append(b, 0), seq)
}

// appendTo appends the encoded item, without its number.
func (it *item) appendTo(b []byte) []byte {
	flags := byte(0)
	if it.Save {
		flags |= 1
	}
	if it.Guessed {
		flags |= 2
	}
	b = append(b, byte(it.Kind), flags)
	b = binary.AppendUvarint(b, uint64(it.seed))
	b = binary.AppendUvarint(b, uint64(it.Depth))
	b = binary.AppendVarint(b, it.Size)
	at := int64(0)
	if !it.ModTime.IsZero() {
		at = it.ModTime.UnixNano()
	}
	b = binary.AppendVarint(b, at)
	for _, s := range []string{it.Rel, it.URL.String(), it.From.String()} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for _, u := range it.Via {
		s := u.String()
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

var errDamaged = errors.New("damaged state file")

// unmarshalItem decodes an item. The result does not share memory with b.
func unmarshalItem(b []byte) (*item, error) {
	if len(b) < 2 {
		return nil, errDamaged
	}
	d := decoder{b: b[2:]}
	it := &item{Link: Link{Kind: fetch.EntryKind(b[0]), Save: b[1]&1 != 0, Guessed: b[1]&2 != 0}}
	it.seed, it.Depth = int(d.uvarint()), int(d.uvarint())
	it.Size = d.varint()
	if at := d.varint(); at != 0 {
		it.ModTime = time.Unix(0, at)
	}
	it.Rel = d.text()
	var err1, err2 error
	it.URL, err1 = uri.Parse(d.text())
	it.From, err2 = uri.Parse(d.text())
	for len(d.b) > 0 && err2 == nil {
		var u uri.URI
		u, err2 = uri.Parse(d.text())
		it.Via = append(it.Via, u)
	}
	if d.failed || err1 != nil || err2 != nil {
		return nil, errDamaged
	}
	return it, nil
}

type record struct {
	run   uint64 // the last crawl that found it
	state byte
	depth int
	memo  []byte // stored by the last visit
}

// The states of URLs. There is none for an active visit: after a crash the URL is still queued.
const (
	queued = iota + 1
	done
	failed
)

func (r *record) isAbsent() bool { return r == nil }

func (r *record) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(append(b, r.state), r.run)
	return append(binary.AppendUvarint(b, uint64(r.depth)), r.memo...)
}

func decodeRecord(b []byte) (*record, error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	d := decoder{b: b[1:]}
	r := &record{state: b[0], run: d.uvarint(), depth: int(d.uvarint())}
	r.memo = append(r.memo, d.b...)
	if d.failed {
		return nil, errDamaged
	}
	return r, nil
}

type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.failed = true
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.failed, d.b = true, nil
		return
	}
	d.b = d.b[n:]
}
