package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/pace"
)

const (
	// defaultSources is the number of URLs used in parallel if Options.Segments is 0 or AutoSegments.
	defaultSources = 4
	// maxBatch is the maximum size of a batch of several pieces, in bytes.
	maxBatch = 4 << 20
	// maxPiece is the maximum size of a piece that is kept in memory for its hash, in bytes.
	maxPiece = 64 << 20
)

var errOtherContent = errors.New("the source sent different content")

func (m *Manifest) hasUsablePieces() bool {
	return m.Pieces != nil && m.Size > 0 && min(m.Pieces.Length, m.Size) <= maxPiece
}

func (d *Downloader) doPieces(ctx context.Context, m *Manifest, urls []uri.URI, name string,
	opts *Options) (*Result, error) {
	first := &fetch.Request{URL: cmp.Or(m.From, urls[0])}
	sums, err := newSums(opts)
	if err == nil {
		err = cmp.Or(CheckName(opts.Dir), CheckName(name))
	}
	if err != nil {
		return nil, asError(err, first)
	}
	p := &pieceTransfer{d: d, file: m, opts: opts, sums: sums, sources: urls,
		done: make([]bool, len(m.Pieces.Sums))}
	res, err := p.run(ctx, name)
	if err != nil {
		return nil, (&transfer{req: first}).finish(err)
	}
	return res, nil
}

type pieceTransfer struct {
	d    *Downloader
	file *Manifest
	opts *Options
	sums *sums
	part *part

	batches  chan batch    // without a worker; it has room for all of them
	complete chan struct{} // closed when all pieces are in the part

	mu      sync.Mutex // guards the fields below and the caller's hooks
	sources []uri.URI  // sources without a worker
	done    []bool     // pieces in the part
	size    int64      // of the pieces in the part, in bytes
	written int64      // bytes in this run
	last    error      // error of the last dropped source
	resp    *fetch.Response
}

// A batch is consecutive pieces i, first <= i < last, for one request.
type batch struct{ first, last int }

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
			return nil, &fetch.Error{Code: fetch.ErrChanged,
				Err: fmt.Errorf("%s exists and is a different file", result.Name)}
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
	result.Name, result.Written = to.path(final), p.written
	result.SHA256, result.Proof = p.sums.hex256(), p.sums.proof()
	if p.resp != nil {
		result.URL, result.Meta = p.resp.URL, p.resp.Meta
		result.Meta.Size, result.Meta.Range = p.file.Size, fetch.Range{}
	}
	return result, p.d.saved(dir, final)
}

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
	replaced, _ := dir.lstat(name)
	p.part, err = createPart(dir, p.d.Sync, name, "", partMode(replaced, p.opts.Exists))
	return err
}

func (p *pieceTransfer) record() *record {
	r := &record{Version: recordVersion, Tool: p.d.Tool, Size: p.file.Size,
		URL: p.file.URLs[0].WithoutUserinfo().String()}
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

func (p *pieceTransfer) divide() {
	var all []batch
	for i, done := range p.done {
		switch n := len(all); {
		case done:
		case n > 0 && all[n-1].last == i && p.span(i)[1]-p.span(all[n-1].first)[0] <= maxBatch:
			all[n-1].last++
		default:
			all = append(all, batch{i, i + 1})
		}
	}
	p.batches, p.complete = make(chan batch, len(all)), make(chan struct{})
	for _, b := range all {
		p.batches <- b
	}
}

func (p *pieceTransfer) retrieve(ctx context.Context) error {
	if p.size == p.file.Size {
		return nil // by an earlier run
	}
	p.divide()
	group, ctx := errgroup.WithContext(ctx)
	n := p.opts.Segments
	if n == 0 || n == AutoSegments {
		n = defaultSources
	}
	for range min(max(n, 1), len(p.sources)) {
		group.Go(func() error { return p.work(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if p.size < p.file.Size {
		return p.last
	}
	return nil
}

// work retrieves pieces from one source, and from the next one when that is dropped.
func (p *pieceTransfer) work(ctx context.Context) error {
	for {
		p.mu.Lock()
		if len(p.sources) == 0 {
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
		if ctx.Err() != nil {
			return fetch.ContextError(ctx)
		}
		if hookErr, ok := errors.AsType[*hookError](err); ok {
			return hookErr
		}
		if _, ok := errors.AsType[*fetch.Error](err); !ok {
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
		select {
		case <-p.complete:
			return nil
		case <-ctx.Done():
			return fetch.ContextError(ctx)
		case b := <-p.batches: // also one that another worker gave back
			written, err := p.exchange(ctx, u, b)
			if b.first += written; b.first < b.last {
				p.batches <- b
			}
			if written > 0 {
				retrier.recordProgress()
			}
			if err != nil {
				err = retrier.again(ctx, err)
			}
			if err != nil {
				return err
			}
		}
	}
}

// exchange requests a batch and returns the number of pieces written.
func (p *pieceTransfer) exchange(ctx context.Context, u uri.URI, b batch) (written int, err error) {
	want := span{p.span(b.first)[0], p.span(b.last - 1)[1]}
	req := &fetch.Request{URL: u, From: p.file.From}
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
	for i := b.first; i < b.last; i++ {
		at := p.span(i)
		if piece, err = readPiece(resp.Body, piece[:0], at.length()); err != nil {
			return written, err
		}
		h := p.file.Pieces.New()
		h.Write(piece)
		if !bytes.Equal(h.Sum(nil), p.file.Pieces.Sums[i]) {
			return written, otherContent(u, fmt.Errorf("%w: the bytes from %d to %d do not match their hash",
				errOtherContent, at[0], at[1]-1))
		}
		if _, err := w.Write(piece); err != nil {
			return written, err
		}
		written++
		if err := p.recordPiece(i); err != nil {
			return written, err
		}
	}
	return written, nil
}

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
	if p.size == p.file.Size {
		close(p.complete)
	}
	return err
}

// readPiece appends n bytes of r to b, which grows as they are received.
func readPiece(r io.Reader, b []byte, n int64) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	m, err := io.CopyN(buf, r, n)
	if err == io.EOF {
		err = &fetch.Error{Op: "get", Code: fetch.ErrTruncated, Retry: true,
			Err: fmt.Errorf("received %d of %d bytes of a piece", m, n)}
	}
	return buf.Bytes(), err
}
