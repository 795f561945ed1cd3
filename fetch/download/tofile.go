package download

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

const (
	// maxInMemory is the size in bytes up to which content is kept in memory until it is complete.
	maxInMemory = 64 << 10
	// smallMemory is the size of the memory of smaller content, in bytes.
	smallMemory = 8 << 10
	// recordFrom is the size in bytes from which on a part gets a record at once, in case the
	// process is killed. Smaller parts get one only after an error.
	recordFrom = 1 << 20
	// recordFirst and recordEvery are the first and the last interval between records of a transfer in
	// segments; it doubles, because each record waits for the disk. If the process is killed, the
	// bytes transferred since the last record are lost.
	recordFirst, recordEvery = 100 * time.Millisecond, 5 * time.Second
	// writeOutEvery is the number of bytes of a part after which the kernel is asked to write them to
	// the disk. By default it starts late, and a sync then waits for all of them.
	writeOutEvery = 4 << 20
)

// toFile is the destination of Do. Small content is kept in memory and becomes a file in one step;
// other content is written to a part.
type toFile struct {
	*progress
	place
	existingFiles
	req  *fetch.Request
	opts *Options
	sums *sums

	begun   bool      // content was received or existed before: the name is final
	memory  []byte    // nil if the content is not kept in memory
	size    int       // of the content in memory
	out     int64     // value of done at the last writeOut
	part    *part     // nil while the content is in memory
	modTime time.Time // of the file made from the content in memory
	outcome Outcome   // set if the transfer ends with errNotNeeded
}

// memories and smallMemories hold the memory of files. Many transfers wait for their content at once, so
// that large memory for each of many small files would double the heap.
var (
	memories      = sync.Pool{New: func() any { return new([maxInMemory]byte) }}
	smallMemories = sync.Pool{New: func() any { return new([smallMemory]byte) }}
)

// remember provides memory for the content, of f.want bytes, and for one more byte, which is an error.
func (f *toFile) remember() {
	if 0 <= f.want && f.want < smallMemory {
		f.memory = smallMemories.Get().(*[smallMemory]byte)[:]
	} else {
		f.memory = memories.Get().(*[maxInMemory]byte)[:]
	}
}

func (f *toFile) forget() {
	switch len(f.memory) {
	case smallMemory:
		smallMemories.Put((*[smallMemory]byte)(f.memory))
	case maxInMemory:
		memories.Put((*[maxInMemory]byte)(f.memory))
	}
	f.memory = nil
}

func (f *toFile) init(d *Downloader, req *fetch.Request, name string, opts *Options, s *sums, p *progress) {
	*f = toFile{progress: p, place: newPlace(d, opts.Dir, name), req: req, opts: opts, sums: s}
	if f.requested == "" {
		f.name = nameFor(req, nil)
	}
}

func (f *toFile) close() {
	f.closePart()
	f.forgetExisting()
	f.closeDir()
	f.forget()
}

func (f *toFile) closePart() {
	if f.part != nil {
		closeLocked(f.part.file)
		f.part = nil
	}
}

// begin prepares for the content of resp. It returns errNotNeeded if the content is not saved.
func (f *toFile) begin(ctx context.Context, resp *fetch.Response) error {
	switch {
	case resp.Kind == fetch.KindNone:
		if f.part != nil {
			f.part.remove()
		}
		f.outcome = NoContent
		return errNotNeeded
	case f.begun:
		return f.written() // the part has been emptied
	case resp.Kind == fetch.KindSession:
		return &fetch.Error{Code: fetch.ErrInteractive}
	case f.requested == "":
		if name := nameFor(f.req, &resp.Meta); name != f.name {
			f.name = name
			if f.existing != nil { // it has the old name
				f.forgetExisting()
				f.progress.reset()
				f.furthest = 0
				return errAgain
			}
		}
	}
	if err := f.compare(resp); err != nil {
		return err
	}
	if f.opts.Exists == Resume && f.searched != f.name {
		if err := f.search(ctx); err != nil {
			return err
		}
		if f.part != nil || f.existing != nil {
			return errAgain
		}
	}
	f.begun = true
	if f.existing != nil {
		return nil
	}
	if f.want <= maxInMemory {
		f.remember()
		return nil
	}
	if err := f.makePart(); err != nil {
		return err
	}
	return f.written()
}

func (f *toFile) makePart() error {
	owner := f.url()
	if f.opts.Exists == Resume {
		owner = "" // Restart was called because the existing bytes cannot be resumed
	}
	return f.inDir(func(dir directory) (err error) {
		f.part, err = createPart(dir, f.d.Sync, f.name, owner, partMode(f.old, f.opts.Exists))
		return err
	})
}

// partMode returns the mode of a new part. It is that of the old file to be replaced, if there is one,
// so that the part is not readable for more users than the file.
func partMode(old fs.FileInfo, exists Exists) fs.FileMode {
	if old != nil && old.Mode().IsRegular() && exists.replaces() {
		return old.Mode().Perm() | 0o600
	}
	return 0o666
}

func (f *toFile) Write(p []byte) (int, error) {
	if f.part == nil && f.existing == nil && len(p) <= len(f.memory)-f.size {
		f.size += copy(f.memory[f.size:], p)
		return len(p), nil
	}
	if err := f.spill(); err != nil {
		return 0, err
	}
	return f.part.file.Write(p)
}

// spill creates a part from the content in memory, or from the existing file to resume, if there is
// none yet.
func (f *toFile) spill() error {
	switch {
	case f.part != nil:
		return nil
	case f.existing != nil:
		return f.adopt()
	}
	if err := f.makePart(); err != nil {
		return err
	}
	_, err := f.part.file.Write(f.memory[:f.size])
	f.forget()
	return err
}

// osFile returns the file that the next bytes go to, or nil if they must go through Write.
func (f *toFile) osFile() *os.File {
	if f.part == nil {
		return nil
	}
	file, _ := f.part.file.(*os.File)
	return file
}

func (f *toFile) rewind() error {
	f.size, f.out = 0, 0
	if f.part == nil {
		return nil
	}
	return f.part.rewind()
}

func (f *toFile) truncate(n int64) error {
	f.out = min(f.out, n)
	if f.part == nil {
		f.size = int(n)
		return nil
	}
	if err := f.part.file.Truncate(n); err != nil {
		return err
	}
	_, err := f.part.file.Seek(n, io.SeekStart)
	return err
}

// written writes a record for a large part, so that it can be resumed if the process is killed. It is
// also called before the first byte.
func (f *toFile) written() error {
	f.beginWriting()
	if f.part == nil || max(f.done, f.want) < recordFrom || !resumable(f.req) {
		return nil
	}
	if !f.part.recorded.IsZero() && (f.missing == nil || !f.part.recordDue()) {
		return nil
	}
	return f.part.save(f.record())
}

// beginWriting asks the kernel to write the part to the disk after each writeOutEvery bytes.
func (f *toFile) beginWriting() {
	if f.part == nil || f.d.Sync == SyncNone || f.done-f.out < writeOutEvery {
		return
	}
	if f.missing == nil {
		writeOut(f.part.file, f.out, f.done-f.out)
	} else {
		writeOut(f.part.file, 0, 0)
	}
	f.out = f.done
}

// resumable reports whether the response to req can be resumed: it is the whole content of a resource.
func resumable(req *fetch.Request) bool {
	return !req.Sends() && req.Range.IsZero() && len(req.Ranges) == 0
}

func (f *toFile) record() *record {
	v := f.known()
	return &record{Version: recordVersion, Tool: f.d.Tool, URL: f.url(),
		ETag: v.ETag, ModTime: v.ModTime, Size: v.Size,
		Type: f.form.mediaType, Coding: f.form.coding, Digests: f.stated,
		Replace: f.replace || f.opts.Exists == Overwrite || f.opts.Exists == Newer, Missing: f.unfinished()}
}

// url returns the URL for a record, without credentials.
func (f *toFile) url() string {
	return cmp.Or(f.opts.owner, f.req.URL.WithoutUserinfo().String())
}

// divide replaces a record that would treat the gaps between segments as content.
func (f *toFile) divide() error {
	if f.part.recorded.IsZero() {
		return nil
	}
	return f.part.save(f.record())
}

func (f *toFile) writeAt(offset int64) (io.WriteCloser, error) { return f.part.writeAt(offset) }

func (f *toFile) digest(ctx context.Context) error {
	f.sums.rewind()
	var content io.ReaderAt
	switch {
	case f.part != nil:
		content = f.part.file
	case f.existing != nil:
		content = f.existing
	default:
		content = bytes.NewReader(f.memory[:f.size])
	}
	_, err := io.Copy(f.sums, &contextReader{ctx, io.NewSectionReader(content, 0, f.done)})
	return err
}

// abandon ends a failed transfer. If keep is true, a part that a later run could resume is kept.
func (f *toFile) abandon(keep bool) {
	keep = keep && f.done > 0 && resumable(f.req) && (f.adopted == 0 || !f.exceeded)
	if f.part == nil && (!keep || f.memory == nil || f.spill() != nil) {
		return
	}
	if keep && (f.part.recorded.IsZero() || f.missing != nil || f.exceeded) {
		keep = f.part.save(f.record()) == nil
	}
	switch {
	case keep:
	case f.adopted > 0:
		f.restore()
	default:
		f.part.remove()
	}
}
