package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/urlget/urlget/fetch"
)

// existingFiles holds what exists under the name of a file before its transfer: the file itself, or a
// part from an earlier run.
type existingFiles struct {
	old      fs.FileInfo // the existing file, or nil
	oldName  string      // the name that old belongs to
	searched string      // the name whose part was searched for
	partless string      // the name that had no part
	replace  bool        // the earlier run was to replace the existing file
	existing file        // the existing file to resume; nil once it is a part
	adopted  int64       // size of the existing file that became the part; otherwise 0
	overlaps bool        // an overlap may prove that the part belongs to the resource
}

// prepare examines the existing file and returns errNotNeeded if no request is needed.
func (f *toFile) prepare(ctx context.Context) error {
	switch f.opts.Exists {
	case NewName:
		return nil
	case Overwrite:
		return f.searchOwnPart(ctx)
	case Resume:
		return f.search(ctx)
	}
	if err := f.lookUp(); err != nil {
		return err
	}
	if f.old != nil && (f.opts.Exists == Skip || f.knownToSuffice()) {
		return f.keepExisting()
	}
	if err := f.searchOwnPart(ctx); err != nil || f.part != nil {
		return err
	}
	if f.old != nil && !f.opts.Known.usable() {
		f.req.IfChanged = fetch.Validator{ModTime: f.old.ModTime()}
	}
	return nil
}

// searchOwnPart looks for the part of Options.ResumePart.
func (f *toFile) searchOwnPart(ctx context.Context) error {
	if !f.opts.ResumePart || f.requested == "" || !resumable(f.req) {
		return nil
	}
	if err := f.openDir(false); err != nil {
		return ignoreMissing(err)
	}
	err := f.searchPart(ctx)
	if errors.Is(err, errLocked) || errors.Is(err, errRaced) {
		return nil // createPart chooses another name
	}
	if f.part != nil {
		f.req.IfChanged = fetch.Validator{} // that of NAME, which the part replaces
	}
	return err
}

func (k *Known) usable() bool { return k != nil && k.Size >= 0 && !k.ModTime.IsZero() }

func (f *toFile) knownToSuffice() bool {
	return f.opts.Known.usable() && f.suffices(f.opts.Known.Size, f.opts.Known.ModTime)
}

// Suffices reports whether, with Newer, the file described by info needs no request.
func (k *Known) Suffices(info fs.FileInfo) bool {
	return k.usable() && newer(info, k.Size, k.ModTime)
}

// newer reports whether a file has the same size as a resource and is not older. If size is
// negative, any size matches.
func newer(file fs.FileInfo, size int64, modTime time.Time) bool {
	return (size == file.Size() || size < 0) && fetch.PlausibleTime(modTime) &&
		!modTime.Truncate(time.Second).After(file.ModTime().Truncate(time.Second))
}

// compare compares the existing file with resp. It returns errNotNeeded if the file is kept.
func (f *toFile) compare(resp *fetch.Response) error {
	if f.opts.Exists == NewName {
		return nil
	}
	if err := f.lookUp(); err != nil || f.old == nil {
		return err
	}
	switch {
	case f.existing != nil && (!resp.Range.IsZero() || f.done <= overlapSize):
		return nil // the bytes themselves can be compared
	case f.suffices(f.want, resp.ModTime):
		return f.keepExisting()
	case f.opts.Exists == Resume && !f.old.Mode().IsRegular():
		return f.pathError("resume", errNotRegular)
	case f.old.IsDir() && (f.opts.Exists == Overwrite || f.opts.Exists == Newer):
		return f.pathError("replace", errors.New("it is a directory"))
	}
	return nil
}

func (f *toFile) lookUp() error {
	if f.oldName == f.name {
		return nil
	}
	f.old = nil
	if f.opts.Absent && f.oldName == "" {
		f.oldName = f.name
		return nil
	}
	err := f.openDir(false)
	if err == nil && !f.dir.isAbsent(f.name) {
		f.old, err = f.dir.lstat(f.name)
	}
	if ignoreMissing(err) != nil {
		return err
	}
	f.oldName = f.name
	return nil
}

// suffices reports whether the existing file makes it unnecessary to retrieve a resource of size
// bytes (-1 if unknown).
func (f *toFile) suffices(size int64, modTime time.Time) bool {
	switch f.opts.Exists {
	case Skip:
		return true
	case Resume:
		return size == f.old.Size() && fetch.PlausibleTime(modTime) &&
			modTime.Truncate(time.Second).Equal(f.old.ModTime().Truncate(time.Second))
	case Newer:
		return newer(f.old, size, modTime)
	}
	return false
}

func (f *toFile) keepExisting() error {
	f.outcome = Unchanged
	switch f.opts.Exists {
	case Skip:
		f.outcome = Skipped
	case Resume:
		f.removeStrayRecord()
		if f.opts.Reuse != nil {
			f.opts.Reuse("the size and the time match")
		}
	}
	return errNotNeeded
}

func (f *toFile) describeSaved(r *Result) {
	r.Name, r.ModTime = f.path(f.name), f.modTime
	if f.memory != nil {
		if f.opts.Content {
			r.Content = append(f.opts.ContentBuffer[:0], f.memory[:f.size]...)
		}
		return
	}
	f.closePart() // which may change the time
	if info, err := f.dir.lstat(f.name); err == nil {
		r.ModTime = info.ModTime()
	}
}

// describe completes r if the transfer ended with errNotNeeded.
func (f *toFile) describe(r *Result) error {
	r.Outcome, r.Size, r.SHA256, r.Proof = f.outcome, -1, "", nil
	if f.outcome == NoContent {
		return nil
	}
	if f.opts.Exists == Resume {
		f.removeStrayRecord()
	}
	r.Name = f.path(f.name)
	info, err := f.dir.lstat(f.name)
	if err == nil {
		r.Size, r.ModTime = info.Size(), info.ModTime()
	}
	return err
}

// search looks for a part or an existing file of the name and treats it as the bytes transferred so
// far. It returns errNotNeeded if they are known to be complete.
func (f *toFile) search(ctx context.Context) error {
	f.searched = f.name
	if err := f.openDir(false); err != nil {
		return ignoreMissing(err)
	}
	if err := f.searchPart(ctx); err != nil || f.part != nil {
		return err
	}
	if err := f.lookUp(); err != nil || f.old == nil {
		return err
	}
	if f.knownToSuffice() {
		return f.keepExisting()
	}
	return f.findExisting()
}

func (f *toFile) searchPart(ctx context.Context) error {
	p, rec, size, err := openPart(f.dir, f.d.Sync, f.name)
	if f.requested == "" && (err != nil || rec.URL != f.url()) {
		if n, r, s := f.numberedPart(); n != nil {
			if err == nil {
				closeLocked(p.file)
			}
			p, rec, size, err = n, r, s, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.partless = f.name
		return nil
	case err == errEmpty:
		return nil
	case err == errNoRecord, err == errLinked:
		f.restart(err.Error())
		return nil
	case err != nil:
		return err
	}
	reason := ""
	switch {
	case rec.URL != f.url():
		reason = errForeign.Error()
	case rec.object().Guard().IsZero() && rec.Missing != nil:
		reason = "its record has no validator"
	case !rec.fits(size):
		reason = "its size does not match its record"
	case f.opts.Exists != Resume && rec.Missing != nil:
		reason = "it is in segments"
	case f.opts.Exists != Resume && size == rec.Size:
		// Request the last byte again, because the caller needs a response.
		if err := p.file.Truncate(size - 1); err != nil {
			closeLocked(p.file)
			return err
		}
		return f.resume(ctx, p, rec, size-1)
	default:
		return f.resume(ctx, p, rec, size)
	}
	closeLocked(p.file)
	f.restart(reason)
	return nil
}

// numberedPart looks for a numbered part of the URL. A part has a number if another URL of an
// earlier run had the same name. The numbered name becomes the file's. If there is none,
// numberedPart returns nil.
func (f *toFile) numberedPart() (p *part, rec *record, size int64) {
	for n := 1; n < maxParts; n++ {
		name := numbered(f.name, n)
		p, rec, size, err := openPart(f.dir, f.d.Sync, name)
		if err == nil && rec.URL == f.url() {
			f.name = name
			return p, rec, size
		}
		if err == nil {
			closeLocked(p.file)
		}
		if _, missing := f.dir.lstat(name); missing != nil && errors.Is(err, fs.ErrNotExist) {
			break // this number is unused
		}
	}
	return nil, nil, 0
}

func (f *toFile) restart(reason string) {
	if f.opts.Restart != nil {
		f.opts.Restart(fmt.Sprintf("%s cannot be resumed: %s", f.path(namesFor(f.name).part), reason))
	}
}

func (f *toFile) resume(ctx context.Context, p *part, rec *record, size int64) error {
	f.part, f.begun, f.replace = p, true, rec.Replace
	if err := f.checkExisting(rec, size); err != nil {
		return err
	}
	f.form = form{mediaType: rec.Type, coding: rec.Coding}
	f.object, f.stated, f.want, f.done = rec.object(), rec.Digests, rec.Size, size
	missing := rec.Missing
	if missing == nil && f.opts.Segments > 1 && rec.Size > size && !rec.object().Guard().IsZero() {
		if spans := (span{size, rec.Size}).split(f.opts.Segments); len(spans) > 1 {
			missing = spans
		}
	}
	if missing != nil {
		f.progress.divide(missing)
		f.done = rec.Size
		for _, m := range missing {
			f.done -= m.length()
		}
	}
	f.furthest = f.done
	// A time and a size are weak proof: a change within a second may keep both.
	f.resumed, f.overlaps = true, f.object.Guard().ETag == ""
	f.byOverlap = f.overlaps
	if f.object.Guard().IsZero() && f.object.ETag != "" {
		f.before = f.object
	}
	if missing != nil {
		f.overlaps, f.byOverlap = false, false
		return nil
	}
	f.sums.expect(f.stated)
	if f.sums.active() {
		if _, err := io.Copy(f.sums, &contextReader{ctx, f.part.file}); err != nil {
			return err
		}
	}
	_, err := f.part.file.Seek(size, io.SeekStart)
	return err
}

// checkExisting returns an error if a file has the name of the part's file and the part does not
// extend it.
func (f *toFile) checkExisting(rec *record, size int64) error {
	err := f.lookUp()
	switch {
	case err != nil || f.old == nil || f.replace || rec.Missing != nil || f.opts.Exists != Resume:
		return err
	case !f.old.Mode().IsRegular():
		return f.pathError("resume", errNotRegular)
	case f.old.Size() <= size && !f.part.extends(f.name):
		return f.notBeginning()
	}
	return nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, &fetch.Error{Code: fetch.ErrInterrupted, Err: context.Cause(c.ctx)}
	}
	return c.r.Read(p)
}
