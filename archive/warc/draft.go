package warc

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
)

// A Draft is a record to be written. If they are missing, Write adds the fields WARC-Record-ID,
// WARC-Date, WARC-Block-Digest and Content-Length.
type Draft struct {
	Header Header
	Block  *Spool // nil if empty
	// Index, if not nil, is the index entry of the record. Write sets its position, target and
	// date, and removes the parameters of Mime.
	Index *IndexEntry
	// Copied marks a record from another archive, whose index entry is derived from the record
	// itself.
	Copied bool
}

// NewWriterLevel fails only for invalid levels.
var (
	zippers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		return z
	}}
	storers = sync.Pool{New: func() any {
		z, _ := gzip.NewWriterLevel(nil, gzip.NoCompression)
		return z
	}}
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
	pool := &zippers
	if d.Header.Type() == Request && d.Block != nil && d.Block.Len() <= maxStored {
		pool = &storers
	}
	z := pool.Get().(*gzip.Writer)
	defer pool.Put(z)
	z.Reset(out)
	if err := d.write(z); err != nil {
		return err
	}
	return z.Close()
}

func (d *Draft) write(w io.Writer) error {
	head := append(make([]byte, 0, 1024), "WARC/1.1\r\n"...)
	for _, f := range d.Header {
		head = append(append(head, f.Name...), ": "...)
		head = append(append(head, oneLine(f.Value)...), "\r\n"...)
	}
	head = append(head, "\r\n"...)
	if _, err := w.Write(head); err != nil {
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
	_, err := io.WriteString(w, "\r\n\r\n")
	return err
}

func complete(d *Draft) {
	h := &d.Header
	if h.Get("WARC-Record-ID") == "" {
		h.addID()
	}
	if h.Get("WARC-Date") == "" {
		h.AddTime("WARC-Date", time.Now())
	}
	length := int64(0)
	if d.Block != nil {
		length = d.Block.Len()
		if h.Get("WARC-Block-Digest") == "" {
			h.Add("WARC-Block-Digest", d.Block.Digest())
		}
	}
	h.Add("Content-Length", strconv.FormatInt(length, 10))
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
