package warc

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
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

// claimLast opens and locks the last existing file, or a new one.
func (w *Writer) claimLast() (f *os.File, isNew bool, err error) {
	if !w.opts.Append || w.opts.MaxSize == 0 {
		return w.claim(w.name(), 0, w.opts.Append)
	}
	exists := func(number int) bool {
		_, err := os.Lstat(w.nameOf(number))
		return err == nil
	}
	for exists(w.number + 1) {
		w.number++
	}
	// Another writer has a file locked until it has locked the next one. With the one before locked,
	// this writer cannot take a file that the other has just created.
	if w.number > 0 && exists(w.number-1) {
		w.number--
	}
	for {
		previous := f
		f, isNew, err = w.claim(w.name(), 0, true)
		if previous != nil {
			err = errors.Join(err, release(previous))
		}
		if err != nil || !exists(w.number+1) {
			return f, isNew, err
		}
		w.number++
	}
}

func (w *Writer) continueIndex() error {
	size, err := Covered(w.index, filepath.Base(w.name()))
	if err != nil {
		return err
	}
	w.covered = w.existing == size
	var last [1]byte
	if end, err := w.index.Seek(0, io.SeekEnd); err == nil && end > 0 {
		if _, err := w.index.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			w.index.WriteString("\n") // end an incomplete line
		}
	}
	return nil
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

// Files returns the paths of all files, including those of earlier runs.
func (w *Writer) Files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for i := range w.number + 1 {
		list = append(list, w.nameOf(i))
	}
	return list
}

func (w *Writer) name() string { return w.nameOf(w.number) }

func (w *Writer) nameOf(number int) string {
	if w.opts.MaxSize == 0 {
		return w.base + w.suffix
	}
	return fmt.Sprintf("%s-%05d%s", w.base, number, w.suffix)
}

func (w *Writer) resume() error {
	complete, err := validSize(w.file)
	if err == nil {
		err = w.file.Truncate(complete)
	}
	if err == nil {
		_, err = w.file.Seek(complete, io.SeekStart)
	}
	if err == nil && complete == 0 {
		err = w.writeInfo()
	}
	w.size, w.existing = max(w.size, complete), complete
	return err
}

// validSize returns the end of the last complete record of a file. A file with content but without
// a record is an error.
func validSize(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	r, err := NewReader(f)
	if err != nil {
		return 0, fmt.Errorf("%s: not a WARC file: %w", f.Name(), err)
	}
	defer r.Close()
	for _, err := range r.Records() {
		if _, isDamage := errors.AsType[*DamageError](err); err != nil && !isDamage {
			return 0, err
		}
	}
	return r.ValidSize(), r.appendable(f, info.Size())
}

// appendable returns an error if the file is not a WARC file, or if its compression does not match
// its name.
func (r *Reader) appendable(f *os.File, size int64) error {
	_, unpacked := r.pack.(plain)
	_, zipped := r.pack.(*gzipped)
	isPlain := strings.HasSuffix(f.Name(), ".warc")
	if r.ValidSize() > 0 {
		if unpacked != isPlain || zipped == isPlain {
			return fmt.Errorf("cannot append to %s: compression does not match the file name", f.Name())
		}
		return nil
	}
	// The first record, which is short, may be incomplete.
	const limit = 64 << 10
	var content io.Reader = io.NewSectionReader(f, 0, size)
	if zipped {
		if z, err := gzip.NewReader(content); err == nil {
			content = z
		}
	}
	begin := make([]byte, 5)
	n, _ := io.ReadFull(content, begin)
	isBeginning := strings.HasPrefix("WARC/", string(begin[:n])) ||
		!isPlain && strings.HasPrefix("\x1f\x8b\x08", string(begin[:n]))
	if size > limit || !isBeginning {
		return fmt.Errorf("cannot append to %s: no WARC records", f.Name())
	}
	return nil
}

func (w *Writer) writeInfo() error {
	s := w.NewSpool()
	for _, f := range w.opts.Info {
		fmt.Fprintf(s, "%s: %s\r\n", f.Name, oneLine(f.Value))
	}
	fmt.Fprintf(s, "format: WARC File Format 1.1\r\n")
	if w.opts.Format != "" {
		fmt.Fprintf(s, "conformsTo: %s\r\n", w.opts.Format)
	}
	d := &Draft{Block: s, Header: Header{{"WARC-Type", Info}, {"WARC-Filename", filepath.Base(w.name())},
		{"Content-Type", "application/warc-fields"}}}
	defer s.Close()
	var text bytes.Buffer
	if err := w.pack(&text, d); err != nil {
		return err
	}
	return w.append(text.Bytes())
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
	offsets, err := w.writeRecords(b, list)
	if w.err = err; err != nil {
		return err
	}
	w.last = nil
	if n := len(list); n > 0 {
		w.last = list[n-1].Header
	}
	if w.index != nil {
		w.err = w.indexRecords(list, offsets)
	}
	return w.err
}

// A batch has the encoded short records of one Write. Long records are streamed and not part of it.
type batch struct {
	bytes.Buffer
	ends []int // end of each record
}

const maxPacking = 1 << 20

var batches = sync.Pool{New: func() any { return new(batch) }}

func (b *batch) free() {
	b.Reset()
	if b.ends = b.ends[:0]; b.Cap() <= maxPacking {
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

// nextFile creates the next file and closes the current one. It is locked until the next one is, so
// that no other writer takes either of them.
func (w *Writer) nextFile() error {
	if err := errors.Join(w.finishIndex(), w.file.Sync()); err != nil {
		return err
	}
	w.number++
	f, _, err := w.claim(w.name(), 0, false)
	if err != nil {
		return err
	}
	previous := w.file
	w.file, w.size, w.covered = f, 0, true
	return errors.Join(release(previous), w.writeInfo())
}

// writeRecords appends the records of list to the file. It returns their offsets and the end of the
// last one.
func (w *Writer) writeRecords(b *batch, list []*Draft) (offsets []int64, err error) {
	from, to := 0, 0 // short records that are not yet written
	for i, d := range list {
		offsets = append(offsets, w.size+int64(to-from))
		if b.ends[i] > to {
			to = b.ends[i]
			continue
		}
		if err := w.append(b.Bytes()[from:to]); err != nil {
			return nil, err
		}
		from = to
		if err := w.stream(d); err != nil {
			return nil, err
		}
	}
	if err := w.append(b.Bytes()[from:to]); err != nil {
		return nil, err
	}
	return append(offsets, w.size), nil
}

// Err returns the error that prevents further writes, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
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
