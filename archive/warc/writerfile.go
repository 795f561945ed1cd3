package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
)

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
