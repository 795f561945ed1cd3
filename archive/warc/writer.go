package warc

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// WriterOptions configure a Writer. The zero value has the defaults.
type WriterOptions struct {
	// Plain disables compression. It is implied by a name that ends in ".warc".
	Plain bool
	// MaxSize is the size in bytes after which a new file is started; 0 means that there is only
	// one file. If MaxSize is set, file names have a five-digit number before the suffix.
	MaxSize int64
	// Append continues an existing file after its last complete record. Without it, an existing
	// file is an error that matches fs.ErrExist.
	Append bool
	// Index writes a CDXJ index next to the files.
	Index bool
	// Info has the warc-fields of the warcinfo record of each file.
	Info Header
	// Format is the conformsTo field of the warcinfo record; it may be empty.
	Format string
}

// A Writer appends records to files. It locks them against other writers. It is safe for concurrent
// use: records are never interleaved.
type Writer struct {
	opts   WriterOptions
	base   string // the path without number and suffix
	suffix string

	restricted atomic.Bool // the files are readable only by their owner

	mu       sync.Mutex
	file     *os.File
	existing int64 // length of the existing part of the first file
	number   int
	size     int64
	index    *os.File
	// covered means that the index has all records of the file.
	covered  bool
	copied   *indexer // records of other archives in the file; nil if there are none
	err      error    // sticky write error
	last     Header   // header of the last record
	unsynced bool     // written but not synced
}

// Create creates or opens the file at path. A missing suffix is added. If another Writer, also of
// another process, writes the file or its index, the error matches ErrInUse and nothing is changed.
func Create(path string, opts WriterOptions) (*Writer, error) {
	w := &Writer{opts: opts}
	switch {
	case strings.HasSuffix(path, ".warc.gz") && !opts.Plain:
		w.base, w.suffix = strings.TrimSuffix(path, ".warc.gz"), ".warc.gz"
	case strings.HasSuffix(path, ".warc"):
		w.base, w.suffix, w.opts.Plain = strings.TrimSuffix(path, ".warc"), ".warc", true
	case opts.Plain:
		w.base, w.suffix = strings.TrimSuffix(path, ".warc.gz"), ".warc"
	default:
		w.base, w.suffix = path, ".warc.gz"
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

// open claims the files before it changes any of them.
func (w *Writer) open() (err error) {
	var isNew, newIndex bool
	defer func() {
		if err != nil {
			err = errors.Join(err, abandon(w.file, isNew), abandon(w.index, newIndex))
		}
	}()
	if w.file, isNew, err = w.claimLast(); err != nil {
		return err
	}
	if w.opts.Index {
		if w.index, newIndex, err = w.claim(w.base+".cdxj", os.O_APPEND, w.opts.Append); err != nil {
			return err
		}
	}
	if isNew {
		err = w.writeInfo()
	} else {
		err = w.resume()
	}
	if err != nil || w.index == nil {
		return err
	}
	return w.continueIndex()
}

// NewSpool returns an empty Spool for a record. Its temporary file is in the directory of the
// archive.
func (w *Writer) NewSpool() *Spool { return newSpool(filepath.Dir(w.base)) }

// Restrict makes the files accessible only to their owner, for records that required a login. It
// applies to the current file, the index and all later files. On file systems without permissions
// it does nothing.
func (w *Writer) Restrict() {
	if w.restricted.Swap(true) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range []*os.File{w.file, w.index} {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			f.Chmod(info.Mode().Perm() &^ 0o077)
		}
	}
}

func (w *Writer) perm() fs.FileMode {
	if w.restricted.Load() {
		return 0o600
	}
	return 0o666
}

// Write appends records, all to the same file. The caller must still close their spools. If writing
// fails, the file is truncated to its last complete record, and all later calls fail.
func (w *Writer) Write(list ...*Draft) error {
	b := batches.Get().(*batch)
	defer b.free()
	packErr := w.packAll(b, list)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = cmp.Or(w.err, packErr); w.err != nil {
		return cmp.Or(packErr, w.err)
	}
	if w.opts.MaxSize > 0 && w.size >= w.opts.MaxSize && !w.continuesExchange(list) {
		if w.err = w.nextFile(); w.err != nil {
			return w.err
		}
	}
	w.unsynced = true
	if w.err = w.writeRecords(b, list); w.err != nil {
		return w.err
	}
	w.last = nil
	if n := len(list); n > 0 {
		w.last = list[n-1].Header
	}
	if w.index != nil {
		w.err = w.indexRecords(list, b.offsets)
	}
	return w.err
}

// A batch has the encoded short records of one Write. Long records are streamed and not part of it.
type batch struct {
	bytes.Buffer
	ends    []int   // end of each record
	offsets []int64 // of each record in the file, and the end of the last one
}

const maxPacking = 1 << 20

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) free() {
	b.Reset()
	if b.ends, b.offsets = b.ends[:0], b.offsets[:0]; b.Cap() <= maxPacking {
		batches.Put(b)
	}
}

func (w *Writer) packAll(b *batch, list []*Draft) error {
	for _, d := range list {
		if err := w.pack(&b.Buffer, d); err != nil {
			return err
		}
		b.ends = append(b.ends, b.Len())
	}
	return nil
}

func (w *Writer) writeRecords(b *batch, list []*Draft) error {
	from, to := 0, 0 // short records that are not yet written
	for i, d := range list {
		b.offsets = append(b.offsets, w.size+int64(to-from))
		if b.ends[i] > to {
			to = b.ends[i]
			continue
		}
		if err := w.append(b.Bytes()[from:to]); err != nil {
			return err
		}
		from = to
		if err := w.stream(d); err != nil {
			return err
		}
	}
	if err := w.append(b.Bytes()[from:to]); err != nil {
		return err
	}
	b.offsets = append(b.offsets, w.size)
	return nil
}

// Err returns the error that prevents further writes, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// append appends encoded records to the file. If that fails, the file is truncated to its previous
// size.
func (w *Writer) append(packed []byte) error {
	if len(packed) == 0 {
		return nil
	}
	if _, err := w.file.Write(packed); err != nil {
		return w.rewind(err)
	}
	w.size += int64(len(packed))
	return nil
}

func (w *Writer) rewind(err error) error {
	_, seekErr := w.file.Seek(w.size, io.SeekStart)
	return errors.Join(err, w.file.Truncate(w.size), seekErr)
}

// stream appends a record that is too long for memory. If that fails, the file is truncated to its
// previous size.
func (w *Writer) stream(d *Draft) error {
	var err error
	if w.opts.Plain {
		err = w.encode(w.file, d) // the kernel copies
	} else {
		buffered := bufio.NewWriterSize(w.file, 256<<10)
		if err = w.encode(buffered, d); err == nil {
			err = buffered.Flush()
		}
	}
	if err != nil {
		return w.rewind(err)
	}
	w.size, err = w.file.Seek(0, io.SeekCurrent)
	return err
}

// Sync flushes all records to disk. It also returns the error of an earlier Write.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || !w.unsynced {
		return w.err
	}
	err := w.file.Sync()
	w.unsynced = err != nil
	return err
}

// Close flushes all records to disk and closes the files. It also returns the error of an earlier
// Write.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.err, w.finishIndex(), w.file.Sync(), release(w.file))
	if w.index != nil {
		err = errors.Join(err, release(w.index))
	}
	w.file, w.err = nil, cmp.Or(w.err, fs.ErrClosed)
	return err
}
