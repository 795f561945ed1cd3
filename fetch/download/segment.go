package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/urlget/urlget/fetch"
)

// A divisible destination can be written at several offsets concurrently.
type divisible interface {
	destination
	// divide is called when the missing bytes are divided, before any of them is written.
	divide() error
	// writeAt returns a writer for the bytes from offset on.
	writeAt(offset int64) (io.WriteCloser, error)
}

// errUnproven ends a transfer in segments if a response does not prove that it is a range of the
// same version.
var errUnproven = errors.New("unproven")

// plan returns the segments for the content that begins in resp. It returns nil for a single stream,
// and one segment if grow may divide it later.
func (t *transfer) plan(resp *fetch.Response) []span {
	auto := t.opts.Segments == AutoSegments
	scheme, _ := t.client.Scheme(resp.URL.Scheme())
	if _, ok := t.dest.(divisible); !ok || t.oneStream || t.opts.Segments < 2 && !auto || t.done > 0 || t.want < 0 || t.req.Sends() ||
		!resp.Range.IsZero() || !t.req.Range.IsZero() || t.object.Guard().IsZero() || !scheme.Ranges {
		return nil
	}
	whole := span{0, t.want}
	if auto && t.want >= 2*minSegment {
		return []span{whole}
	}
	n := t.opts.Segments
	if scheme.RangeSets { // otherwise each range is a transfer that has to be aborted
		n *= perConnection
	}
	if all := whole.split(n); len(all) > 1 {
		return all
	}
	return nil
}

// perConnection is the number of ranges per connection where a range costs only a request. A faster
// connection then gets more of them, and servers that limit the rate of a response often start it
// fast.
const perConnection = 4

// retrieveSegments retrieves the missing ranges in parallel. If first is not nil, it is a response
// that begins at the first of them, and cancel aborts it.
func (t *transfer) retrieveSegments(ctx context.Context, first *fetch.Response, cancel func()) error {
	dest := t.dest.(divisible)
	if err := dest.divide(); err != nil {
		return err
	}
	s := &scheduler{transfer: t, dest: dest, queue: slices.Clone(t.missing), ended: make(chan struct{})}
	err := s.run(ctx, first, cancel)
	if err == errUnproven {
		t.oneStream = true
		return t.startOver("the server does not send ranges of the same version", errAgain)
	}
	t.undigested = true // the bytes did not arrive in order
	if err != nil {
		return &lastError{err}
	}
	return nil
}

// A scheduler distributes the segments of a transfer to workers.
type scheduler struct {
	transfer *transfer
	dest     divisible
	mu       sync.Mutex // guards the fields below, the transfer's progress and the caller's hooks
	queue    []*span    // segments without a worker
	workers  int        // workers that have not ended
	// secondChance is true if the last worker may retry once after being refused, because the
	// server may have refused too many connections.
	secondChance bool
	received     int64         // bytes
	ended        chan struct{} // closed when the last worker ends
}

func (s *scheduler) run(ctx context.Context, first *fetch.Response, cancel func()) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, cancel)()
	s.workers = min(max(s.transfer.opts.Segments, 1), len(s.queue))
	s.secondChance = s.workers > 1
	for range s.workers {
		piece, resp := s.nextSegment(), first
		first = nil
		group.Go(func() error { return s.work(ctx, piece, resp) })
	}
	if s.transfer.opts.Segments == AutoSegments {
		group.Go(func() error { return s.grow(ctx, group) })
	}
	return group.Wait()
}

// nextSegment returns a segment from the queue. If the queue is empty, it returns nil and the worker
// must end.
func (s *scheduler) nextSegment() *span {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.workerEnds()
		return nil
	}
	piece := s.queue[0]
	s.queue = s.queue[1:]
	return piece
}

// workerEnds records that a worker ends.
func (s *scheduler) workerEnds() {
	if s.workers--; s.workers == 0 {
		close(s.ended)
	}
}

// work retrieves segments until the queue is empty. If the server does not accept so many
// connections, it puts its segment back for the other workers.
func (s *scheduler) work(ctx context.Context, piece *span, resp *fetch.Response) error {
	retrier := newRetrier(s.transfer.opts.Retry)
	retrier.Report = s.retrying
	for ; piece != nil; piece = s.nextSegment() {
		for before := s.rest(piece); before.length() > 0; before = s.rest(piece) {
			err := s.retrieve(ctx, piece, resp)
			resp = nil
			if s.rest(piece)[0] > before[0] {
				retrier.failed = 0
			}
			if err == nil {
				continue
			}
			if err := retrier.again(ctx, err); err != nil {
				switch {
				case s.putBack(piece, err):
					return nil
				case s.tryAlone(err):
					continue
				}
				return err
			}
		}
	}
	return nil
}

func (s *scheduler) retrying(failed int, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if report := s.transfer.opts.Retry.Report; report != nil {
		report(failed, wait, err)
	}
}

// putBack returns piece to the queue after a final error that too many connections may have caused,
// if another worker can take it.
func (s *scheduler) putBack(piece *span, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !tooMany(err) || s.workers == 1 {
		return false
	}
	s.workerEnds()
	s.queue = append(s.queue, piece)
	return true
}

// tryAlone reports whether the last worker may retry after being refused.
func (s *scheduler) tryAlone(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := fetch.CodeOf(err)
	if code != fetch.ErrBusy && code != fetch.ErrRefused || s.workers > 1 || !s.secondChance {
		return false
	}
	s.secondChance = false
	return true
}

// tooMany reports whether err may be due to too many connections.
func tooMany(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrBusy, fetch.ErrRefused, fetch.ErrNetwork, fetch.ErrServer, fetch.ErrTruncated:
		return true
	}
	return false
}

// retrieve requests the rest of piece and copies it. If resp is not nil, it is used instead of a
// request. The response is closed when retrieve returns, because other segments may be waiting for
// its connection.
func (s *scheduler) retrieve(ctx context.Context, piece *span, resp *fetch.Response) error {
	if resp == nil {
		var err error
		if resp, err = s.request(ctx, piece); err != nil {
			return err
		}
	}
	defer resp.Body.Close()
	rest := s.rest(piece)
	w, err := s.dest.writeAt(rest[0])
	if err != nil {
		return err
	}
	defer w.Close()
	out := &sink{w: w, left: rest.length(), count: func(n int64) error { return s.count(piece, n) }}
	_, err = io.Copy(out, resp.Body)
	switch {
	case out.err == errComplete:
		return nil
	case out.err != nil:
		return out.err
	case err == nil && s.rest(piece).length() > 0:
		return &fetch.Error{Code: fetch.ErrTruncated, Retry: true,
			Err: fmt.Errorf("%d bytes of a range are missing", s.rest(piece).length())}
	}
	return err
}

// rest returns the missing range of piece. Its end moves when another worker gets a part of it.
func (s *scheduler) rest(piece *span) span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *piece
}

// count records that n bytes of piece were received. Those beyond its end belong to another worker,
// which receives them too.
func (s *scheduler) count(piece *span, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received += n
	n = min(n, piece.length())
	piece[0] += n
	if err := s.transfer.count(n); err != nil {
		return err
	}
	if piece.length() == 0 {
		return errComplete
	}
	return nil
}

// request requests the missing range of piece. It returns errUnproven unless the response is that
// range of the same version.
func (s *scheduler) request(ctx context.Context, piece *span) (*fetch.Response, error) {
	t := s.transfer
	req := *t.req
	rest := s.rest(piece)
	req.Range = fetch.Range{Offset: rest[0], Length: rest.length()}
	req.IfChanged, req.WantDigest = t.object.Guard(), false
	resp, err := t.client.Do(ctx, &req)
	if fetch.CodeOf(err) == fetch.ErrRange {
		return nil, errUnproven
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	err = t.recordResponse(resp)
	s.mu.Unlock()
	if err == nil && (resp.Range.IsZero() || resp.Range.Offset != rest[0] || !t.object.Same(&resp.Meta)) {
		err = errUnproven
	}
	if err == nil {
		s.mu.Lock()
		err = t.addDigests(resp)
		s.mu.Unlock()
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}
