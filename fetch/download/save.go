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

// recordAfter is how many octets make a part worth a record while its transfer
// runs, in case the process is killed. At an orderly end there always is one.
const recordAfter = 1 << 20

// A saving is a transfer to a file.
type saving struct {
	*transfer
	d       *Downloader
	name    string  // as asked for; "" lets Name choose
	final   string  // as far as it is known by now
	looked  string  // the name whose part of an earlier run was looked for
	part    *part   // nil until there is content to write
	outcome Outcome // if the transfer ends with errOver

	segments *segments // nil for one stream
	single   bool      // segments were tried, and did not work
}

func newSaving(d *Downloader, req *fetch.Request, name string, opts *Options, sums *sums) *saving {
	s := &saving{transfer: newTransfer(d.Client, req, opts, sums), d: d, name: name, final: name}
	if name == "" {
		s.final = Name(req.URL, nil)
	}
	s.begin, s.rewind, s.wrote = s.open, s.empty, s.note
	s.take = func(ctx context.Context, resp *fetch.Response, cancel func()) (bool, error) {
		if !s.divide(resp) {
			return false, nil
		}
		return true, s.segments.retrieve(ctx, resp, cancel)
	}
	return s
}

// save runs the transfer and gives the file its name.
func (s *saving) save(ctx context.Context) (*Result, error) {
	err := s.prepare(ctx)
	if err == nil {
		err = s.retrieve(ctx)
	}
	if s.opts.Exists == Newer && s.part == nil && fetch.CodeOf(err) == fetch.ErrNotModified {
		s.outcome, err = NotModified, errOver
	}
	if err == errOver {
		return s.unsaved()
	}
	if err != nil {
		s.leave(fetch.CodeOf(err) != fetch.ErrProtocol)
		return nil, err
	}
	if err := s.out.sums.verify(); err != nil {
		s.leave(false)
		return nil, err
	}
	if s.name == "" && s.last != nil {
		s.final = Name(s.req.URL, &s.last.Meta)
	}
	r := s.result()
	r.Name, err = s.part.commit(s.final, s.opts.Exists, s.object.ModTime)
	if s.opts.Exists == Skip && errors.Is(err, fs.ErrExist) {
		s.outcome = Existed
		return s.unsaved()
	}
	if err != nil {
		s.leave(true)
		return nil, err
	}
	return r, nil
}

// retrieve brings what is missing.
func (s *saving) retrieve(ctx context.Context) error {
	if s.segments != nil { // of an earlier run
		if err := s.segments.retrieve(ctx, nil, func() {}); err != errAgain {
			return err
		}
	}
	return s.run(ctx)
}

// unsaved is the result if the file that is there stays.
func (s *saving) unsaved() (*Result, error) {
	r := s.result()
	r.Outcome, r.Size, r.SHA256 = s.outcome, -1, ""
	if s.outcome == Listed {
		return r, nil
	}
	r.Name = s.final
	info, err := s.d.Root.Lstat(s.final)
	if err != nil {
		return nil, err
	}
	r.Size = info.Size()
	return r, nil
}

// prepare does what can be done before anything is asked.
func (s *saving) prepare(ctx context.Context) error {
	info, err := s.d.Root.Lstat(s.final)
	if ignoreMissing(err) != nil {
		return err
	}
	switch there := err == nil; {
	case there && s.opts.Exists == Skip:
		s.outcome = Existed
		return errOver
	case there && s.opts.Exists == Newer:
		req := *s.req
		req.IfChanged = fetch.Validator{ModTime: info.ModTime()}
		s.req = &req
	case s.opts.Exists == Resume:
		return s.look(ctx)
	}
	return nil
}

// look finds what an earlier run left under the name.
func (s *saving) look(ctx context.Context) error {
	s.looked = s.final
	p, rec, err := openPart(s.d.Root, s.final)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == errNoRecord:
		s.restart(err.Error())
		return nil
	case err != nil:
		return err
	}
	size, err := p.size()
	reason := ""
	switch o := rec.object(); {
	case err != nil:
		p.file.Close()
		return err
	case rec.URL != s.req.URL.Redacted():
		reason = errForeign.Error()
	case !o.resumable():
		reason = "there is no validator to recognize the rest by"
	case !rec.fits(size):
		reason = "it does not fit its record"
	}
	if reason != "" {
		p.file.Close()
		s.restart(reason)
		return nil
	}
	return s.resume(ctx, p, rec, size)
}

func (s *saving) restart(reason string) {
	if s.opts.Restart != nil {
		s.opts.Restart(fmt.Sprintf("%s cannot be continued: %s", namesFor(s.final).part, reason))
	}
}

// resume takes the part of an earlier run as what has come so far.
func (s *saving) resume(ctx context.Context, p *part, rec *record, size int64) error {
	s.part, s.out.w, s.object = p, p.file, rec.object()
	s.done, s.best, s.want = size, size, rec.Size
	missing := rec.Missing
	if missing == nil && s.opts.Segments > 1 && rec.Size > size {
		if spans := (span{size, rec.Size}).split(s.opts.Segments); len(spans) > 1 {
			missing = spans
		}
	}
	if missing != nil {
		s.segments = newSegments(s, missing)
		s.done = rec.Size
		for _, m := range missing {
			s.done -= m.length()
		}
		s.best = s.done
		return nil
	}
	if s.out.sums != nil {
		if _, err := io.Copy(s.out.sums, &contextReader{ctx, p.file}); err != nil {
			return err
		}
	}
	_, err := p.file.Seek(size, io.SeekStart)
	return err
}

// A contextReader ends when its context does.
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

// open makes the part for the content of resp, unless that is not to be saved.
func (s *saving) open(ctx context.Context, resp *fetch.Response) error {
	if s.part != nil {
		return nil // emptied
	}
	switch {
	case resp.Kind == fetch.KindSession:
		return &fetch.Error{Code: fetch.ErrInteractive}
	case resp.Kind == fetch.KindListing && s.name == "" && s.opts.Listing != nil:
		if err := s.opts.Listing(resp); err != nil {
			return &stopped{err}
		}
		s.outcome = Listed
		return errOver
	case s.name == "":
		s.final = Name(s.req.URL, &resp.Meta)
	}
	if err := s.compare(resp); err != nil {
		return err
	}
	if s.opts.Exists == Resume && s.looked != s.final {
		if err := s.look(ctx); err != nil {
			return err
		}
		if s.part != nil {
			return errAgain
		}
	}
	owner := s.req.URL.Redacted()
	if s.opts.Exists == Resume {
		owner = "" // the caller was told that what is there cannot be continued
	}
	p, err := createPart(s.d.Root, s.final, owner)
	if err != nil {
		return err
	}
	s.part, s.out.w = p, p.file
	return nil
}

// compare looks at the file that has the name. It returns errOver if that is
// to stay.
func (s *saving) compare(resp *fetch.Response) error {
	info, err := s.d.Root.Lstat(s.final)
	if err != nil {
		return ignoreMissing(err)
	}
	var (
		sameSize = resp.Size == info.Size()
		timed    = !resp.ModTime.IsZero()
		age      = resp.ModTime.Truncate(time.Second).Compare(info.ModTime().Truncate(time.Second))
	)
	switch exists := s.opts.Exists; {
	case exists == Skip, exists == Resume && sameSize && timed && age == 0:
		s.outcome = Existed
	case exists == Newer && timed && age <= 0 && (sameSize || resp.Size < 0):
		s.outcome = NotModified
	case info.IsDir() && (exists == Overwrite || exists == Newer):
		return &fs.PathError{Op: "replace", Path: s.final, Err: errors.New("it is a directory")}
	default:
		return nil
	}
	return errOver
}

// empty takes back what was written.
func (s *saving) empty() error { return s.part.rewind() }

// note writes the record once there is something worth it.
func (s *saving) note() error {
	if s.segments != nil {
		return s.segments.note()
	}
	if s.part.written || s.done < recordAfter || !s.continuable() {
		return nil
	}
	return s.part.save(s.record())
}

// continuable reports whether a later run could continue the part.
func (s *saving) continuable() bool {
	return s.done > 0 && s.req.Range.IsZero() && s.object.resumable()
}

func (s *saving) record() *record {
	r := &record{Version: recordVersion, Tool: s.d.Tool, URL: s.req.URL.Redacted(),
		ETag: s.object.ETag, ModTime: s.object.ModTime, Size: s.object.size}
	if s.segments != nil {
		r.Missing = s.segments.unfinished()
	}
	return r
}

// leave ends a failed transfer. What could be continued is kept if keep is
// true.
func (s *saving) leave(keep bool) {
	switch {
	case s.part == nil:
	case keep && s.continuable() && (s.part.written && s.segments == nil || s.part.save(s.record()) == nil):
		s.part.file.Close()
	default:
		s.part.discard()
	}
}
