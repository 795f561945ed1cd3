package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
)

// Sources are options for a file that can be had in several places. Nil means the zero value.
type Sources struct {
	Options
	// From is what named the sources, if that was a server; they are then retrieved under the
	// policy for what servers name (see fetch.Request.From).
	From uri.URI
	// Dropped is called with each source that is not asked again, and why. Calls do not overlap.
	Dropped func(u uri.URI, err error)
}

const (
	// defaultSources is how many sources are asked at once if Options.Segments does not say.
	defaultSources = 4
	// batch is how much is requested of a source at once, in bytes, in whole pieces.
	batch = 4 << 20
	// maxPiece is the size of pieces, in bytes, up to which they are kept in memory to be compared.
	maxPiece = 64 << 20
)

// errLies is why a source is dropped.
var errLies = errors.New("it sends something else than the file")

// DoSources saves a file that can be had from several sources, as name (see Get); "" stands for the
// file's own name, of which each element is made as [Name] does.
//
// If its size and the hashes of its pieces, of at most 64 MiB, are known, as many sources as
// Options.Segments says, or 4, bring pieces at once, one request at a time each. Every piece is
// compared with its hash before it is written. A source that sends a wrong one, or fails, is
// dropped, and others bring what it owes. Pieces of an interrupted transfer are used again, with
// Resume, if their hashes are right. Otherwise one source after the other is asked for the whole,
// until one brings what has the right size and checksum. Only if none does is there an error, that
// of the last.
func (d *Downloader) DoSources(ctx context.Context, file *metalink.File, name string, opts *Sources) (*Result, error) {
	if opts == nil {
		opts = &Sources{}
	}
	o := *opts
	o.Checksum = cmp.Or(o.Checksum, file.Checksum)
	name = cmp.Or(name, safePath(file.Name))
	var sources []uri.URI
	for _, s := range file.Sources {
		if slices.ContainsFunc(d.Client.Schemes(), func(have fetch.Scheme) bool { return have.Name == s.URL.Scheme() && have.Can(fetch.OpGet) }) {
			sources = append(sources, s.URL)
		}
	}
	if len(sources) == 0 {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s: none of its %d sources is of a known scheme", name, len(file.Sources))}
	}
	if file.Pieces == nil || file.Pieces.Length > maxPiece && file.Size > maxPiece || name == "" || file.Size == 0 {
		return d.oneAfterTheOther(ctx, file, sources, name, &o)
	}
	first := &fetch.Request{URL: sources[0]}
	if !o.From.IsZero() {
		first.URL = o.From
	}
	sums, err := newSums(&o.Options)
	if err == nil {
		err = cmp.Or(CheckName(o.Dir), CheckName(name))
	}
	if err != nil {
		return nil, asError(err, first)
	}
	p := &pieceTransfer{d: d, file: file, opts: &o, sums: sums, sources: sources, done: make([]bool, len(file.Pieces.Sums))}
	res, err := p.run(ctx, name)
	if err != nil {
		return nil, (&transfer{req: first}).finish(err)
	}
	return res, nil
}

// safePath returns a path that others chose, each element of which is as [Name] makes it.
func safePath(name string) string {
	if name == "" {
		return ""
	}
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = Name(uri.URI{}, &fetch.Meta{Name: e})
	}
	return strings.Join(elements, "/")
}

// oneAfterTheOther asks the sources for the whole.
func (d *Downloader) oneAfterTheOther(ctx context.Context, file *metalink.File, sources []uri.URI, name string, opts *Sources) (*Result, error) {
	o := opts.Options
	o.Response = func(resp *fetch.Response) error {
		if resp.Range.IsZero() && resp.Size >= 0 && file.Size >= 0 && resp.Size != file.Size {
			return &fetch.Error{Op: "get", URL: resp.URL.Redacted(), Code: fetch.ErrChecksum, Err: fmt.Errorf("it has %d bytes, not %d", resp.Size, file.Size)}
		}
		if opts.Response != nil {
			return opts.Response(resp)
		}
		return nil
	}
	for i, u := range sources {
		res, err := d.Do(ctx, &fetch.Request{URL: u, From: opts.From}, name, &o)
		if err == nil || ctx.Err() != nil || i == len(sources)-1 {
			return res, err
		}
		switch fetch.CodeOf(err) {
		case fetch.ErrFile, fetch.ErrRequest:
			return nil, err
		}
		if opts.Dropped != nil {
			opts.Dropped(u, err)
		}
	}
	panic("unreachable")
}

// A pieceTransfer brings the pieces of one file.
type pieceTransfer struct {
	d    *Downloader
	file *metalink.File
	opts *Sources
	sums *sums
	part *part

	mu      sync.Mutex // for all below, and the caller's hooks
	sources []uri.URI  // that no worker has
	done    []bool     // pieces that are there
	taken   []bool     // pieces that are there, or that a worker brings
	workers int
	size    int64 // of what is there, in bytes
	written int64 // in this run
	last    error // of a source that was dropped
	resp    *fetch.Response
	changed chan struct{} // closed when a piece came, or was given back
}

func (p *pieceTransfer) span(i int) span {
	begin := int64(i) * p.file.Pieces.Length
	return span{begin, min(begin+p.file.Pieces.Length, p.file.Size)}
}

func (p *pieceTransfer) run(ctx context.Context, name string) (*Result, error) {
	where, base := path.Split(name)
	where = path.Join(".", p.opts.Dir, where)
	dir, err := p.d.dirs.get(p.d.Root, where, true)
	if err != nil {
		return nil, err
	}
	defer p.d.dirs.put(dir)
	result := &Result{Outcome: Saved, Name: path.Join(where, base), Size: p.file.Size, URL: p.sources[0]}
	if old, err := dir.lstat(base); err == nil {
		switch e := p.opts.Exists; {
		case e == Skip:
			result.Outcome, result.Size = Skipped, old.Size()
			return result, nil
		case (e == Newer || e == Resume) && p.intact(ctx, dir, base):
			result.Outcome = Unchanged
			return result, nil
		case e == Resume:
			return nil, &fetch.Error{Code: fetch.ErrChanged, Err: fmt.Errorf("%s is there, and is not this file", result.Name)}
		}
	}
	if err := p.prepare(ctx, dir, base); err != nil {
		return nil, err
	}
	defer p.part.file.Close()
	if err = p.retrieve(ctx); err == nil && p.sums != nil {
		p.sums.reset()
		_, err = io.Copy(p.sums, &contextReader{ctx, io.NewSectionReader(p.part.file, 0, p.file.Size)})
		if err == nil {
			if err = p.sums.verify(); err != nil {
				p.part.remove()
				return nil, err
			}
		}
	}
	if err != nil {
		if p.size == 0 || p.part.save(p.record()) != nil {
			p.part.remove()
		}
		return nil, err
	}
	final, err := p.part.commit(path.Join(where, base), p.opts.Exists, false, time.Time{}, &p.d.numbers)
	if err != nil {
		return nil, err
	}
	result.Name, result.Written, result.SHA256 = path.Join(where, final), p.written, p.sums.hex256()
	if p.resp != nil {
		result.URL, result.Meta = p.resp.URL, p.resp.Meta
		result.Meta.Size, result.Meta.Range = p.file.Size, fetch.Range{}
	}
	return result, p.d.saved(dir, final)
}

// intact reports whether the file is there already.
func (p *pieceTransfer) intact(ctx context.Context, dir directory, name string) bool {
	f, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() != p.file.Size {
		return false
	}
	return p.look(ctx, f) == nil && !slices.Contains(p.done, false)
}

// look finds out which pieces a file has.
func (p *pieceTransfer) look(ctx context.Context, f io.ReaderAt) error {
	p.size = 0
	for i := range p.done {
		if err := ctx.Err(); err != nil {
			return fetch.ContextError(ctx)
		}
		h, at := p.file.Pieces.New(), p.span(i)
		n, err := io.Copy(h, io.NewSectionReader(f, at[0], at.length()))
		p.done[i] = err == nil && n == at.length() && bytes.Equal(h.Sum(nil), p.file.Pieces.Sums[i])
		if p.done[i] {
			p.size += n
		}
	}
	return nil
}

// prepare opens the part that is to be completed, or an empty one.
func (p *pieceTransfer) prepare(ctx context.Context, dir directory, name string) (err error) {
	clear(p.done)
	p.size = 0
	if p.opts.Exists == Resume {
		old, _, _, err := openPart(dir, p.d.Sync, name)
		switch {
		case err == nil:
			p.part = old
			if err := p.look(ctx, old.file); err != nil {
				old.file.Close()
				return err
			}
			if p.size > 0 && p.opts.Reuse != nil {
				p.opts.Reuse("pieces of it have the right hashes")
			}
			return nil
		case errors.Is(err, errLocked):
			return err
		}
	}
	perm := fs.FileMode(0o666)
	if old, err := dir.lstat(name); err == nil && old.Mode().IsRegular() && p.opts.Exists.replaces() {
		perm = old.Mode().Perm() | 0o600
	}
	p.part, err = createPart(dir, p.d.Sync, name, "", perm)
	return err
}

func (p *pieceTransfer) record() *record {
	r := &record{Version: recordVersion, Tool: p.d.Tool, URL: p.file.Sources[0].URL.WithoutUserinfo().String(), Size: p.file.Size}
	for i, there := range p.done {
		at := p.span(i)
		switch n := len(r.Missing); {
		case there:
		case n > 0 && r.Missing[n-1][1] == at[0]:
			r.Missing[n-1][1] = at[1]
		default:
			r.Missing = append(r.Missing, at)
		}
	}
	return r
}

// retrieve brings the pieces that are missing.
func (p *pieceTransfer) retrieve(ctx context.Context) error {
	p.taken, p.changed = slices.Clone(p.done), make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	n := p.opts.Segments
	if n == 0 || n == AutoSegments {
		n = defaultSources
	}
	p.workers = min(max(n, 1), len(p.sources))
	for range p.workers {
		group.Go(func() error { return p.work(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if slices.Contains(p.done, false) {
		return p.last
	}
	return nil
}

// work brings pieces from one source, and from another one when that is dropped.
func (p *pieceTransfer) work(ctx context.Context) error {
	for {
		p.mu.Lock()
		if len(p.sources) == 0 {
			p.workers--
			p.signal()
			p.mu.Unlock()
			return nil
		}
		u := p.sources[0]
		p.sources = p.sources[1:]
		p.mu.Unlock()
		err := p.bring(ctx, u)
		if err == nil {
			return nil
		}
		var own *stopped
		if ctx.Err() != nil {
			return fetch.ContextError(ctx)
		}
		if errors.As(err, &own) {
			return own
		}
		var e *fetch.Error
		if !errors.As(err, &e) {
			return err // of the file
		}
		p.mu.Lock()
		p.last = err
		if p.opts.Dropped != nil {
			p.opts.Dropped(u, err)
		}
		p.mu.Unlock()
	}
}

// bring brings pieces from u until there are none, or it fails as often in a row as is allowed.
func (p *pieceTransfer) bring(ctx context.Context, u uri.URI) error {
	retrier := newRetrier(p.opts.Retry)
	retrier.Report = func(failed int, wait time.Duration, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.opts.Retry.Report != nil {
			p.opts.Retry.Report(failed, wait, err)
		}
	}
	for {
		first, last, err := p.take(ctx)
		if err != nil || first < 0 {
			return err
		}
		came, err := p.exchange(ctx, u, first, last)
		p.giveBack(first+came, last)
		if came > 0 {
			retrier.failed = 0
		}
		if err == nil {
			continue
		}
		if err := retrier.again(ctx, err); err != nil {
			return err
		}
	}
}

// take takes the next pieces that are missing, from first to before last. If others bring all of
// them, it waits for how that goes. First is less than 0 if none is missing.
func (p *pieceTransfer) take(ctx context.Context) (first, last int, err error) {
	for {
		p.mu.Lock()
		changed := p.changed
		if first = slices.Index(p.taken, false); first >= 0 {
			for last = first; last < len(p.taken) && !p.taken[last] && (last == first || p.span(last)[1]-p.span(first)[0] <= batch); last++ {
				p.taken[last] = true
			}
		}
		over := !slices.Contains(p.done, false)
		p.mu.Unlock()
		if first >= 0 || over {
			return first, last, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, 0, fetch.ContextError(ctx)
		}
	}
}

// signal wakes those that wait. The lock is held.
func (p *pieceTransfer) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pieceTransfer) giveBack(first, last int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := first; i < last; i++ {
		p.taken[i] = false
	}
	p.signal()
}

// exchange requests the pieces from first to before last, and returns how many came.
func (p *pieceTransfer) exchange(ctx context.Context, u uri.URI, first, last int) (came int, err error) {
	want := span{p.span(first)[0], p.span(last - 1)[1]}
	req := &fetch.Request{URL: u, From: p.opts.From}
	if want.length() < p.file.Size {
		req.Range = fetch.Range{Offset: want[0], Length: want.length()}
	}
	resp, err := p.d.Client.Do(ctx, req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	p.mu.Lock()
	p.resp = resp
	if p.opts.Response != nil {
		if err = p.opts.Response(resp); err != nil {
			err = &stopped{err}
		}
	}
	p.mu.Unlock()
	if err != nil {
		return 0, err
	}
	lies := func(err error) error {
		return &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrChecksum, Err: err}
	}
	switch whole := resp.Range.IsZero(); {
	case resp.Kind != fetch.KindObject, whole && resp.Size >= 0 && resp.Size != p.file.Size:
		return 0, lies(errLies)
	case whole && want[0] > 0: // it does not know ranges
		if n, err := io.CopyN(io.Discard, resp.Body, want[0]); err != nil {
			return 0, lies(fmt.Errorf("it ends after %d bytes: %w", n, err))
		}
	case !whole && resp.Range.Offset != want[0]:
		return 0, &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrProtocol, Err: errUnaskedRange}
	}
	w, err := p.part.writeAt(want[0])
	if err != nil {
		return 0, err
	}
	defer w.Close()
	piece := make([]byte, 0, 64<<10)
	for i := first; i < last; i++ {
		at := p.span(i)
		if piece, err = readPiece(resp.Body, piece[:0], at.length()); err != nil {
			return i - first, err
		}
		h := p.file.Pieces.New()
		h.Write(piece)
		if !bytes.Equal(h.Sum(nil), p.file.Pieces.Sums[i]) {
			return i - first, lies(fmt.Errorf("%w: the bytes from %d to %d have another hash", errLies, at[0], at[1]-1))
		}
		if _, err := w.Write(piece); err != nil {
			return i - first, err
		}
		p.mu.Lock()
		p.done[i] = true
		p.size += at.length()
		p.written += at.length()
		if p.opts.Progress != nil {
			p.opts.Progress(p.size, p.file.Size)
		}
		if p.file.Size >= recordFrom && time.Since(p.part.recorded) >= recordEvery {
			err = p.part.save(p.record())
		}
		p.signal()
		p.mu.Unlock()
		if err != nil {
			return i + 1 - first, err
		}
	}
	return last - first, nil
}

// readPiece appends n bytes of r to b, which grows as they come.
func readPiece(r io.Reader, b []byte, n int64) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	m, err := io.CopyN(buf, r, n)
	if err == io.EOF {
		err = &fetch.Error{Op: "get", Code: fetch.ErrTruncated, Retry: true, Err: fmt.Errorf("%d of %d bytes of a piece came", m, n)}
	}
	return buf.Bytes(), err
}
