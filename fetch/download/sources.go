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
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/metalink"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pace"
)

// Sources are options for a file with several sources. Nil means the zero value.
type Sources struct {
	Options
	// From is the URL of the description if a server named the sources. They are then retrieved
	// under the policy for URLs from servers (see fetch.Request.From).
	From uri.URI
	// Dropped is called with each source that is not used again and the error. Calls do not overlap.
	Dropped func(u uri.URI, err error)
}

const (
	// defaultSources is the number of sources used in parallel if Options.Segments is 0 or
	// AutoSegments.
	defaultSources = 4
	// batch is the size of a request for consecutive pieces, in bytes.
	batch = 4 << 20
	// maxPiece is the maximum size of a piece that is kept in memory for its hash, in bytes.
	maxPiece = 64 << 20
)

// errOtherContent drops a source that sends other content.
var errOtherContent = errors.New("the source sent different content")

// DoSources saves a file that has several sources as name (see Get). If name is "", it is the
// file's own name, with each element made safe as by [Name].
//
// If the size of the file and the hashes of its pieces are known, pieces come from several sources
// in parallel: Options.Segments of them, or 4, with one request at a time each. A piece has at most
// 64 MiB. It is written once its hash is verified. A source that sends a wrong piece, or fails, is
// dropped, and other sources take over. With Resume, pieces of an interrupted transfer are reused
// if their hashes match.
//
// Otherwise the sources are tried one by one for the whole file, until one sends the right size and
// checksum. If all fail, the error is that of the last.
func (d *Downloader) DoSources(ctx context.Context, file *metalink.File, name string, opts *Sources) (res *Result, err error) {
	if opts == nil {
		opts = &Sources{}
	}
	o := *opts
	o.Checksum = cmp.Or(o.Checksum, file.Checksum)
	name = cmp.Or(name, SafePath(file.Name))
	var sources []uri.URI
	for _, s := range file.Sources {
		if slices.ContainsFunc(d.Client.Schemes(), func(have fetch.Scheme) bool { return have.Name == s.URL.Scheme() && have.Can(fetch.OpGet) }) {
			sources = append(sources, s.URL)
		}
	}
	if len(sources) == 0 {
		return nil, &fetch.Error{Op: "get", Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s: none of its %d sources has a supported scheme", name, len(file.Sources))}
	}
	if opts.Checksum == "" && file.Checksum != "" {
		defer func() {
			if res != nil && res.Proof != nil && res.Proof.By == byChecksum {
				res.Proof.By = "metalink"
			}
		}()
	}
	if file.Pieces == nil || file.Pieces.Length > maxPiece && file.Size > maxPiece || name == "" || file.Size == 0 {
		requests := make([]*fetch.Request, len(sources))
		for i, u := range sources {
			requests[i] = &fetch.Request{URL: u, From: o.From, WantDigest: o.Checksum == ""}
		}
		return d.trySources(ctx, file.Size, requests, name, &o)
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
	res, err = p.run(ctx, name)
	if err != nil {
		return nil, (&transfer{req: first}).finish(err)
	}
	return res, nil
}

// SafePath makes each element of a path with slashes safe, as [Name] does. DoSources uses it for names
// from Metalink documents.
func SafePath(name string) string {
	if name == "" {
		return ""
	}
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = Name(uri.URI{}, &fetch.Meta{Name: e})
	}
	return strings.Join(elements, "/")
}

// trySources sends one request after the other, until one returns the whole file. Size is -1 if
// unknown. If all fail, the error is that of the last.
func (d *Downloader) trySources(ctx context.Context, size int64, requests []*fetch.Request, name string, opts *Sources) (*Result, error) {
	o := opts.Options
	o.Response = func(resp *fetch.Response) error {
		if resp.Range.IsZero() && resp.Size >= 0 && size >= 0 && resp.Size != size {
			return &fetch.Error{Op: "get", URL: resp.URL.Redacted(), Code: fetch.ErrChecksum, Err: fmt.Errorf("the resource has %d bytes, expected %d", resp.Size, size)}
		}
		if opts.Response != nil {
			return opts.Response(resp)
		}
		return nil
	}
	for i, req := range requests {
		res, err := d.Do(ctx, req, name, &o)
		if err == nil || ctx.Err() != nil || i == len(requests)-1 {
			return res, err
		}
		switch fetch.CodeOf(err) {
		case fetch.ErrFile, fetch.ErrRequest:
			return nil, err
		}
		if opts.Dropped != nil {
			opts.Dropped(req.URL, err)
		}
	}
	panic("unreachable")
}

// A pieceTransfer retrieves the pieces of one file.
type pieceTransfer struct {
	d    *Downloader
	file *metalink.File
	opts *Sources
	sums *sums
	part *part

	mu      sync.Mutex // guards the fields below and the caller's hooks
	sources []uri.URI  // sources without a worker
	done    []bool     // pieces in the part
	taken   []bool     // pieces in the part or with a worker
	workers int
	size    int64 // of the pieces in the part, in bytes
	written int64 // bytes in this run
	last    error // error of the last dropped source
	resp    *fetch.Response
	changed chan struct{} // closed when a piece is done or given back
}

func (p *pieceTransfer) span(i int) span {
	begin := int64(i) * p.file.Pieces.Length
	return span{begin, min(begin+p.file.Pieces.Length, p.file.Size)}
}

func (p *pieceTransfer) run(ctx context.Context, name string) (*Result, error) {
	to := newPlace(p.d, p.opts.Dir, name)
	if err := to.openDir(true); err != nil {
		return nil, err
	}
	defer to.closeDir()
	dir, base := to.dir, to.name
	result := &Result{Outcome: Saved, Name: to.path(base), Size: p.file.Size, URL: p.sources[0]}
	if old, err := dir.lstat(base); err == nil {
		switch e := p.opts.Exists; {
		case e == Skip:
			result.Outcome, result.Size = Skipped, old.Size()
			return result, nil
		case (e == Newer || e == Resume) && p.intact(ctx, dir, base):
			result.Outcome = Unchanged
			return result, nil
		case e == Resume:
			return nil, &fetch.Error{Code: fetch.ErrChanged, Err: fmt.Errorf("%s exists and is a different file", result.Name)}
		}
	}
	if err := p.prepare(ctx, dir, base); err != nil {
		return nil, err
	}
	defer closeLocked(p.part.file)
	err := p.retrieve(ctx)
	if err == nil && p.sums.active() {
		p.sums.rewind()
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
	final, err := p.part.commit(result.Name, p.opts.Exists, false, time.Time{}, &p.d.numbers)
	if err != nil {
		return nil, err
	}
	result.Name, result.Written, result.SHA256, result.Proof = to.path(final), p.written, p.sums.hex256(), p.sums.proof()
	if p.resp != nil {
		result.URL, result.Meta = p.resp.URL, p.resp.Meta
		result.Meta.Size, result.Meta.Range = p.file.Size, fetch.Range{}
	}
	return result, p.d.saved(dir, final)
}

// intact reports whether the file exists with the right size and hashes.
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
	return p.verifyPieces(ctx, f) == nil && !slices.Contains(p.done, false)
}

// verifyPieces verifies the hashes of the pieces in f and sets done and size.
func (p *pieceTransfer) verifyPieces(ctx context.Context, f io.ReaderAt) error {
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

// prepare opens the part of an earlier run, or creates one.
func (p *pieceTransfer) prepare(ctx context.Context, dir directory, name string) (err error) {
	clear(p.done)
	p.size = 0
	if p.opts.Exists == Resume {
		old, _, _, err := openPart(dir, p.d.Sync, name)
		switch {
		case err == nil:
			p.part = old
			if err := p.verifyPieces(ctx, old.file); err != nil {
				closeLocked(old.file)
				return err
			}
			if p.size > 0 && p.opts.Reuse != nil {
				p.opts.Reuse("the hashes of its pieces match")
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
	for i, done := range p.done {
		at := p.span(i)
		switch n := len(r.Missing); {
		case done:
		case n > 0 && r.Missing[n-1][1] == at[0]:
			r.Missing[n-1][1] = at[1]
		default:
			r.Missing = append(r.Missing, at)
		}
	}
	return r
}

// retrieve retrieves the missing pieces.
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

// work retrieves pieces from one source, and from the next one when that is dropped.
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
		err := p.retrieveFrom(ctx, u)
		if err == nil {
			return nil
		}
		var hookErr *hookError
		if ctx.Err() != nil {
			return fetch.ContextError(ctx)
		}
		if errors.As(err, &hookErr) {
			return hookErr
		}
		var e *fetch.Error
		if !errors.As(err, &e) {
			return err // an error of the local file
		}
		p.mu.Lock()
		p.last = err
		if p.opts.Dropped != nil {
			p.opts.Dropped(u, err)
		}
		p.mu.Unlock()
	}
}

// retrieveFrom retrieves pieces from u until none is missing or the retries are used up.
func (p *pieceTransfer) retrieveFrom(ctx context.Context, u uri.URI) error {
	retrier := newRetrier(p.opts.Retry)
	retrier.Report = func(failed int, wait time.Duration, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.opts.Retry.Report != nil {
			p.opts.Retry.Report(failed, wait, err)
		}
	}
	ctx = pace.WithWindow(ctx, &retrier.window)
	for {
		first, last, err := p.take(ctx)
		if err != nil || first < 0 {
			return err
		}
		written, err := p.exchange(ctx, u, first, last)
		p.giveBack(first+written, last)
		if written > 0 {
			retrier.recordProgress()
		}
		if err == nil {
			continue
		}
		if err := retrier.again(ctx, err); err != nil {
			return err
		}
	}
}

// take reserves the next missing pieces i, first <= i < last. If other workers have all of them, it
// waits until one is given back or all are done. If none is missing, first is negative.
func (p *pieceTransfer) take(ctx context.Context) (first, last int, err error) {
	for {
		p.mu.Lock()
		changed := p.changed
		if first = slices.Index(p.taken, false); first >= 0 {
			for last = first; last < len(p.taken) && !p.taken[last] && (last == first || p.span(last)[1]-p.span(first)[0] <= batch); last++ {
				p.taken[last] = true
			}
		}
		complete := !slices.Contains(p.done, false)
		p.mu.Unlock()
		if first >= 0 || complete {
			return first, last, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, 0, fetch.ContextError(ctx)
		}
	}
}

// signal wakes waiting workers. The caller holds mu.
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

// exchange requests the pieces i, first <= i < last, and returns the number of pieces written.
func (p *pieceTransfer) exchange(ctx context.Context, u uri.URI, first, last int) (written int, err error) {
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
	if err := p.recordResponse(resp); err != nil {
		return 0, err
	}
	resp.TakeDigests() // the hashes of the pieces show which ones are wrong
	if err := p.seek(resp, u, want[0]); err != nil {
		return 0, err
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
			return i - first, otherContent(u, fmt.Errorf("%w: the bytes from %d to %d do not match their hash", errOtherContent, at[0], at[1]-1))
		}
		if _, err := w.Write(piece); err != nil {
			return i - first, err
		}
		if err := p.recordPiece(i); err != nil {
			return i + 1 - first, err
		}
	}
	return last - first, nil
}

// recordResponse records resp and passes it to the hook.
func (p *pieceTransfer) recordResponse(resp *fetch.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resp = resp
	if p.opts.Response != nil {
		if err := p.opts.Response(resp); err != nil {
			return &hookError{err}
		}
	}
	return nil
}

// seek advances the body of resp to an offset of the file. Servers without ranges send the whole
// file.
func (p *pieceTransfer) seek(resp *fetch.Response, u uri.URI, offset int64) error {
	switch whole := resp.Range.IsZero(); {
	case resp.Kind != fetch.KindObject, whole && resp.Size >= 0 && resp.Size != p.file.Size:
		return otherContent(u, errOtherContent)
	case whole:
		if n, err := io.CopyN(io.Discard, resp.Body, offset); err != nil {
			return otherContent(u, fmt.Errorf("it ends after %d bytes: %w", n, err))
		}
	case resp.Range.Offset != offset:
		return &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrProtocol, Err: errWrongRange}
	}
	return nil
}

// recordPiece records that piece i is in the part.
func (p *pieceTransfer) recordPiece(i int) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.span(i).length()
	p.done[i] = true
	p.size += n
	p.written += n
	if p.opts.Progress != nil {
		p.opts.Progress(p.size, p.file.Size)
	}
	if p.file.Size >= recordFrom && p.part.recordDue() {
		err = p.part.save(p.record())
	}
	p.signal()
	return err
}

// otherContent returns the error of a source that sends other content.
func otherContent(u uri.URI, err error) error {
	return &fetch.Error{Op: "get", URL: u.Redacted(), Code: fetch.ErrChecksum, Err: err}
}

// readPiece appends n bytes of r to b, which grows as they are received.
func readPiece(r io.Reader, b []byte, n int64) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	m, err := io.CopyN(buf, r, n)
	if err == io.EOF {
		err = &fetch.Error{Op: "get", Code: fetch.ErrTruncated, Retry: true, Err: fmt.Errorf("received %d of %d bytes of a piece", m, n)}
	}
	return buf.Bytes(), err
}
