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

// WriterOptions say how a Writer writes. The zero value is the default.
type WriterOptions struct {
	// Plain leaves out the compression. It is left out too if the name ends in ".warc".
	Plain bool
	// MaxSize is the size in bytes from which on another file is begun; 0 means that there is one. The
	// names then have a number of five digits before the suffix.
	MaxSize int64
	// Append goes on behind the last whole record of what is there. Without it, a file that is there
	// is an error.
	Append bool
	// Index writes a CDXJ index beside the files.
	Index bool
	// Info is written into the warcinfo record of each file, as warc-fields.
	Info Header
	// Format names what the records conform to besides, in the warcinfo record; may be empty.
	Format string
}

// A Draft is a record to be written. The fields that every record has, but WARC-Type, are filled in
// if they are missing: WARC-Record-ID, WARC-Date, WARC-Block-Digest and Content-Length.
type Draft struct {
	Header Header
	Block  *Spool // nil if it is empty
	// Index, if not nil, is what an index says of the record. The place of the record and its
	// target are filled in.
	Index *IndexEntry
	// Copied says that the record is one of another archive: what an index says of it is found in it.
	Copied bool
}

// A Writer appends records to files. Its methods may be called by several goroutines: each record
// stands in the file as a whole.
type Writer struct {
	opts   WriterOptions
	base   string // the path without number and suffix
	suffix string

	restricted atomic.Bool // others may not read the files

	mu     sync.Mutex
	file   *os.File
	whole  int64 // what there was of the first file
	number int
	size   int64
	index  *os.File
	// covered says that all records of the file are in the index.
	covered bool
	copied  *indexer // of records of other archives in the file; nil if there were none
	err     error    // why nothing can be written any more
	last    Header   // of the record that was written last
	unsaved bool     // something was written that may not be durable
}

// Create opens or makes the file at path, to which a suffix is added if it has none.
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
	if index := w.base + ".cdxj"; opts.Index && !opts.Append { // found before there is an archive
		if _, err := os.Lstat(index); err == nil {
			return nil, &fs.PathError{Op: "open", Path: index, Err: fs.ErrExist}
		}
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	if w.opts.Index {
		if err := w.openIndex(); err != nil {
			return nil, errors.Join(err, w.file.Close())
		}
	}
	return w, nil
}

// openIndex opens the index, and finds out whether it has all that is in the file.
func (w *Writer) openIndex() error {
	how := os.O_RDWR | os.O_CREATE | os.O_APPEND
	if !w.opts.Append {
		how |= os.O_EXCL
	}
	f, err := os.OpenFile(w.base+".cdxj", how, w.perm())
	if err != nil {
		return err
	}
	w.index = f
	size, err := Covered(f, filepath.Base(w.name()))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.covered = w.whole == size
	var last [1]byte
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		if _, err := f.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			f.WriteString("\n") // a line that was cut off
		}
	}
	return nil
}

// Dir returns the directory of the files, for spools.
func (w *Writer) Dir() string { return filepath.Dir(w.base) }

// Restrict takes the rights to the files from all but their owner, for records that need a login: to
// the file that is being written and the index, and to files that follow. On file systems without
// such rights it does nothing.
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

// perm returns the rights of a file that is made.
func (w *Writer) perm() fs.FileMode {
	if w.restricted.Load() {
		return 0o600
	}
	return 0o666
}

// Files returns the paths of the files that there are, with those of earlier runs.
func (w *Writer) Files() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for i := range w.number + 1 {
		list = append(list, w.nameOf(i))
	}
	return list
}

// name returns the path of the current file.
func (w *Writer) name() string { return w.nameOf(w.number) }

func (w *Writer) nameOf(number int) string {
	if w.opts.MaxSize == 0 {
		return w.base + w.suffix
	}
	return fmt.Sprintf("%s-%05d%s", w.base, number, w.suffix)
}

// open opens the file to write to: the last one that is there, or a new one.
func (w *Writer) open() error {
	if w.opts.Append && w.opts.MaxSize > 0 {
		for {
			w.number++
			if _, err := os.Lstat(w.name()); err != nil {
				w.number--
				break
			}
		}
	}
	if w.opts.Append {
		f, err := os.OpenFile(w.name(), os.O_RDWR, 0)
		if err == nil {
			return w.resume(f)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return w.begin()
}

// resume goes on behind the last whole record of f.
func (w *Writer) resume(f *os.File) error {
	whole, err := lastWhole(f)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err == nil && whole == 0 {
		w.file, w.size = f, 0
		err = w.info()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.size, w.whole = f, max(w.size, whole), whole
	return nil
}

// lastWhole returns where the last whole record of a file ends. A file with content and no record
// is none of ours.
func lastWhole(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return 0, err
	}
	r, err := NewReader(f)
	if err != nil {
		return 0, fmt.Errorf("%s is no WARC file to append to: %w", f.Name(), err)
	}
	defer r.Close()
	for {
		_, err := r.Next()
		var damage *DamageError
		switch {
		case err == io.EOF:
			return r.Whole(), r.appendable(f, info.Size())
		case errors.As(err, &damage):
		case err != nil:
			return 0, err
		}
	}
}

// appendable refuses files that others have written in a form that is not ours, and what is none.
func (r *Reader) appendable(f *os.File, size int64) error {
	_, unpacked := r.pack.(plain)
	_, zipped := r.pack.(*gzipped)
	isPlain := strings.HasSuffix(f.Name(), ".warc")
	if r.Whole() > 0 {
		if unpacked != isPlain || zipped == isPlain {
			return fmt.Errorf("%s is not compressed as its name says: nothing is appended to it", f.Name())
		}
		return nil
	}
	// Perhaps the very first record was cut off, which is short.
	const most = 64 << 10
	var content io.Reader = io.NewSectionReader(f, 0, size)
	if zipped {
		if z, err := gzip.NewReader(content); err == nil {
			content = z
		}
	}
	begin := make([]byte, 5)
	n, _ := io.ReadFull(content, begin)
	isBeginning := strings.HasPrefix("WARC/", string(begin[:n])) || !isPlain && strings.HasPrefix("\x1f\x8b\x08", string(begin[:n]))
	if size > most || !isBeginning {
		return fmt.Errorf("%s holds no record: nothing is appended to it", f.Name())
	}
	return nil
}

// begin makes the next file.
func (w *Writer) begin() error {
	f, err := os.OpenFile(w.name(), os.O_RDWR|os.O_CREATE|os.O_EXCL, w.perm())
	if err != nil {
		return err
	}
	w.file, w.size = f, 0
	return w.info()
}

// info writes the record that every file begins with.
func (w *Writer) info() error {
	s := NewSpool(w.Dir())
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

// Write appends records, one after the other in the same file. Their spools stay the caller's. Once
// something could not be written, the file ends with a whole record, and every call fails.
func (w *Writer) Write(list ...*Draft) error {
	packed := packings.Get().(*bytes.Buffer)
	defer func() {
		if packed.Reset(); packed.Cap() <= maxPacking {
			packings.Put(packed)
		}
	}()
	// Where short records end in packed. Of a long one nothing is there.
	ends := make([]int, len(list))
	for i, d := range list {
		if err := w.pack(packed, d); err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.err = cmp.Or(w.err, err)
			return err
		}
		ends[i] = packed.Len()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.opts.MaxSize > 0 && w.size >= w.opts.MaxSize && !w.goesOn(list) {
		if w.err = errors.Join(w.endIndex(), w.file.Sync(), w.file.Close()); w.err == nil {
			w.number++
			w.covered = true
			w.err = w.begin()
		}
		if w.err != nil {
			return w.err
		}
	}
	w.unsaved = true
	places := make([]int64, len(list)+1)
	from, to := 0, 0 // of the short records that are not yet written
	for i, d := range list {
		if places[i] = w.size + int64(to-from); ends[i] > to {
			to = ends[i]
			continue
		}
		if w.err = w.append(packed.Bytes()[from:to]); w.err != nil {
			return w.err
		}
		from = to
		if w.err = w.stream(d); w.err != nil {
			return w.err
		}
	}
	if w.err = w.append(packed.Bytes()[from:to]); w.err != nil {
		return w.err
	}
	places[len(list)] = w.size
	w.last = nil
	if n := len(list); n > 0 {
		w.last = list[n-1].Header
	}
	if w.index != nil {
		w.err = w.note(list, places)
	}
	return w.err
}

// maxPacking bounds the memory for records on their way that is kept for others.
const maxPacking = 1 << 20

var packings = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Err returns why nothing can be written any more, nil if all is well.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// The levels are those that there are.
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

// maxStored is the length of a request that is not compressed within its member: half of it are
// digests and identifiers, so that it takes longer than all else that is done for the record, and
// saves little.
const maxStored = 512

// pack completes the header and appends the record to b as it stands in the file, unless it is too
// long to be held in memory.
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

// encode writes a record as it stands in the file.
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

// write writes a record that is complete.
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

// append puts short records at the end of the file. If that fails, the file ends where it did.
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

// rewind makes the file end where it did before err.
func (w *Writer) rewind(err error) error {
	_, seekErr := w.file.Seek(w.size, io.SeekStart)
	return errors.Join(err, w.file.Truncate(w.size), seekErr)
}

// stream puts a record that is too long to be held at the end of the file. If that fails, the file
// ends where it did.
func (w *Writer) stream(d *Draft) error {
	var err error
	if w.opts.Plain {
		err = w.encode(w.file, d) // which lets the kernel copy
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

// Sync makes durable what was written so far. It returns the error of an earlier Write too.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || !w.unsaved {
		return w.err
	}
	err := w.file.Sync()
	w.unsaved = err != nil
	return err
}

// Close makes what was written durable and closes the files. It returns the error of an earlier
// Write too.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.err, w.endIndex(), w.file.Sync(), w.file.Close())
	if w.index != nil {
		err = errors.Join(err, w.index.Close())
	}
	w.file, w.err = nil, cmp.Or(w.err, fs.ErrClosed)
	return err
}

// complete fills in what every record has.
func complete(d *Draft) {
	h := &d.Header
	if h.Get("WARC-Record-ID") == "" {
		h.Add("WARC-Record-ID", "<"+NewID()+">")
	}
	if h.Get("WARC-Date") == "" {
		h.Add("WARC-Date", FormatDate(time.Now()))
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

// oneLine makes one line of a value that somebody else chose.
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
