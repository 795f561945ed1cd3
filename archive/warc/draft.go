package warc

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// A Draft is a record to be written.
type Draft struct {
	// Write adds the fields WARC-Record-ID and WARC-Date, if they are missing. The record also gets
	// WARC-Block-Digest, if it is missing, and Content-Length, which must be.
	Header Header
	Block  *Spool // nil if empty
	// Index, if not nil, is the index entry of the record. Write sets its position, target and
	// date, and removes the parameters of Mime.
	Index *IndexEntry
	// Copied marks a record from another archive, whose index entry is derived from the record
	// itself.
	Copied bool
}

var (
	zippers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for invalid levels
		return z
	}}
	// zipping limits the zippers in use to those that can run at once: each has tables of more than half a
	// megabyte.
	zipping = make(chan struct{}, runtime.NumCPU())
)

// maxStored is the maximum length of a request that is stored without compression in its gzip
// member. Half of it is digests and identifiers, so compression costs more time than the rest of
// the work and saves little.
const maxStored = 512

// pack completes the header of a record and appends the encoded record to b, unless it is too long
// for memory.
func (w *Writer) pack(b *bytes.Buffer, d *Draft) error {
	if d.Block != nil && d.Block.Err() != nil {
		return d.Block.Err()
	}
	complete(d)
	if d.Block != nil && d.Block.Len() > spoolMemory {
		return nil
	}
	return w.encode(b, d)
}

func (w *Writer) encode(out io.Writer, d *Draft) error {
	if w.opts.Plain {
		return d.write(out)
	}
	if d.Header.Type() == Request && d.Block != nil && d.Block.file == nil && d.Block.Len() <= maxStored {
		if stored, err := d.store(out); stored {
			return err
		}
	}
	zipping <- struct{}{}
	defer func() { <-zipping }()
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(out)
	if err := d.write(z); err != nil {
		return err
	}
	return z.Close()
}

// store writes a gzip member (RFC 1952) with one block that is not compressed (RFC 1951, section 3.2.4). The
// block of the record is in memory. If the record is too long for one, store writes nothing.
func (d *Draft) store(out io.Writer) (stored bool, err error) {
	buf := texts.Get().(*[]byte)
	defer texts.Put(buf)
	const start = 10 + 5
	p := append((*buf)[:0], 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 0, 0, 0, 0)
	p = append(append(d.appendHead(p), d.Block.bytes()...), recordEnd...)
	*buf = p
	record := p[start:]
	if len(record) > math.MaxUint16 {
		*buf = nil
		return false, nil
	}
	binary.LittleEndian.PutUint16(p[start-4:], uint16(len(record)))
	binary.LittleEndian.PutUint16(p[start-2:], ^uint16(len(record)))
	p = binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(record))
	p = binary.LittleEndian.AppendUint32(p, uint32(len(record)))
	_, err = out.Write(p)
	return true, err
}

// texts holds buffers for headers and short records.
var texts = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

var recordEnd = []byte("\r\n\r\n")

func (d *Draft) appendHead(p []byte) []byte {
	p = append(p, "WARC/1.1\r\n"...)
	for _, f := range d.Header {
		p = append(append(p, f.Name...), ": "...)
		p = append(append(p, oneLine(f.Value)...), "\r\n"...)
	}
	if d.Block != nil && d.Header.Get("WARC-Block-Digest") == "" {
		p = append(d.Block.sum.AppendTo(append(p, "WARC-Block-Digest: "...)), "\r\n"...)
	}
	return append(strconv.AppendInt(append(p, "Content-Length: "...), d.length(), 10), "\r\n\r\n"...)
}

func (d *Draft) write(w io.Writer) error {
	buf := texts.Get().(*[]byte)
	*buf = d.appendHead((*buf)[:0])
	_, err := w.Write(*buf)
	texts.Put(buf)
	if err != nil {
		return err
	}
	if d.Block != nil {
		n, err := d.Block.copyTo(w)
		if err == nil && n != d.Block.Len() {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	_, err = w.Write(recordEnd)
	return err
}

func complete(d *Draft) {
	h := &d.Header
	if h.Get("WARC-Record-ID") == "" {
		h.Add("WARC-Record-ID", string(appendID(nil)))
	}
	if h.Get("WARC-Date") == "" {
		h.AddTime("WARC-Date", time.Now())
	}
}

func (d *Draft) length() int64 {
	if d.Block == nil {
		return 0
	}
	return d.Block.Len()
}

// oneLine replaces control characters in an untrusted value by spaces.
func oneLine(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = ' ' <= s[i] && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}
