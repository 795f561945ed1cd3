package download

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/pace"
)

var (
	// errUnproven ends a connection whose response does not prove that it is a range of the same
	// version.
	errUnproven = errors.New("the server does not send ranges of the same version")
	// errIgnored ends all connections: the end of a range showed that the server ignores the offset, so
	// bytes of other ranges are wrong too.
	errIgnored = errors.New("the server does not begin at the offset of a range")
)

// plan returns the segments for the content that begins in resp. It returns nil for a single stream,
// and one segment if grow may divide it later.
func (t *transfer) plan(resp *fetch.Response) []span {
	auto := t.opts.Segments == AutoSegments
	if t.opts.Segments < 2 && !auto || t.forwardOnly || t.oneStream || t.done > 0 || t.want < 0 {
		return nil
	}
	scheme, _ := t.client.Scheme(resp.URL.Scheme())
	if !resumable(t.req) || !resp.Range.IsZero() || t.object.Guard().IsZero() || !scheme.Ranges {
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
// that begins at the first of them, and cancel aborts it. A range that fails ends only its own
// connection; what no range provides is taken from the first response, or from another one with the
// whole resource.
func (t *transfer) retrieveSegments(ctx context.Context, first *fetch.Response, cancel func()) error {
	if err := t.dest.divide(); err != nil {
		return err
	}
	s := &scheduler{transfer: t, queue: slices.Clone(t.missing), ended: make(chan struct{}),
		proven: map[*span]bool{}, stop: map[*span]func(){}}
	err := s.run(ctx, first, cancel)
	t.undigested = true // the bytes did not arrive in order
	if err == errIgnored {
		t.divide([]span{{s.first, t.want}})
		t.done = s.first
	}
	if err == errIgnored || err == nil && isRefusal(s.failure) && len(t.unfinished()) > 0 {
		err = t.retrieveRest(ctx)
	}
	if err == nil && len(t.unfinished()) > 0 {
		err = s.failure
	}
	if _, last := err.(*lastError); last || err == nil || err == errAgain {
		return err
	}
	return &lastError{err}
}

type scheduler struct {
	transfer *transfer
	mu       sync.Mutex       // guards the fields below, the transfer's progress and the caller's hooks
	queue    []*span          // segments without a worker
	workers  int              // workers that have not ended
	proven   map[*span]bool   // segments whose worker has a response
	stop     map[*span]func() // ends the request for a segment, if it has no response yet
	first    int64            // end of the bytes from the first response
	held     *span            // of which all has arrived, but not the end of its response; see confirm
	failure  error            // that ended a worker; the first one
	received int64            // bytes
	ended    chan struct{}    // closed when the last worker ends
}

func (s *scheduler) run(ctx context.Context, first *fetch.Response, cancel func()) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, cancel)()
	s.workers = min(max(s.transfer.opts.Segments, 1), len(s.queue))
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

func (s *scheduler) workerEnds() {
	if s.workers--; s.workers == 0 {
		close(s.ended)
	}
}

// work retrieves segments until the queue is empty. After a failure, it puts its segment back for the
// other workers.
func (s *scheduler) work(ctx context.Context, piece *span, first *fetch.Response) error {
	retrier := newRetrier(s.transfer.opts.Retry)
	retrier.Report = s.retrying
	ctx = pace.WithWindow(ctx, &retrier.window)
	for ; piece != nil; piece = s.nextSegment() {
		pieceCtx, stop := context.WithCancel(ctx)
		s.begin(piece, stop)
		for before := s.rest(piece); before.length() > 0; before = s.rest(piece) {
			var err error
			if first != nil {
				err = s.continueFirst(piece, first)
			} else {
				err = s.retrieve(pieceCtx, piece)
			}
			first = nil
			rest := s.rest(piece)
			if rest[0] > before[0] {
				retrier.recordProgress()
			}
			if err != nil && err != errIgnored && rest.length() > 0 {
				s.prove(piece, false)
				err = retrier.again(pieceCtx, s.alone(err))
			}
			if err == nil || err != errIgnored && ctx.Err() == nil && s.rest(piece).length() == 0 {
				continue // or the first response has provided the segment
			}
			stop()
			return s.giveUp(ctx, piece, err)
		}
		stop()
	}
	return nil
}

func (s *scheduler) begin(piece *span, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop[piece] = stop
}

// prove records whether the worker of piece has a response.
func (s *scheduler) prove(piece *span, proven bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven[piece] = proven
}

func (s *scheduler) retrying(failed int, wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if report := s.transfer.opts.Retry.Report; report != nil {
		report(failed, wait, err)
	}
}

// alone makes a refusal temporary for the last worker after others have failed, because the server may
// still count their connections.
func (s *scheduler) alone(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := errors.AsType[*fetch.Error](err)
	if s.workers > 1 || s.failure == nil || !ok || e.Code != fetch.ErrBusy && e.Code != fetch.ErrRefused {
		return err
	}
	dup := *e
	dup.Retry = true
	return &dup
}

// giveUp ends a worker. It returns an error only if that ends the transfer.
func (s *scheduler) giveUp(ctx context.Context, piece *span, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workerEnds()
	e, ok := errors.AsType[*fetch.Error](err)
	if err != errUnproven && (!ok || e.Code == fetch.ErrFile || ctx.Err() != nil) {
		return err
	}
	if s.failure == nil || isRefusal(err) {
		s.failure = err
	}
	s.queue = append(s.queue, piece)
	return nil
}

// isRefusal reports whether err, for a range, leaves the hope that the server sends the whole resource.
func isRefusal(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrProtocol, fetch.ErrRange, fetch.ErrChanged, fetch.ErrNotModified,
		fetch.ErrRefused, fetch.ErrServer:
		return true
	}
	return err == errUnproven
}

// continueFirst copies the first response, which begins at piece. It goes on into the segments that
// follow until their workers have a response. The response is closed at the end, because
// other segments may be waiting for its connection.
func (s *scheduler) continueFirst(piece *span, resp *fetch.Response) error {
	defer resp.Body.Close()
	s.prove(piece, true)
	err := s.copy(piece, resp, s.rest(piece)[0], func(n int64) error { return s.countFirst(piece, n) })
	if err == errIgnored { // it began at the beginning, so it has too many bytes
		return &lastError{fetch.ErrProtocol.Errorf("%w", errTooMuch)}
	}
	return err
}

func (s *scheduler) retrieve(ctx context.Context, piece *span) error {
	resp, sent, err := s.request(ctx, piece)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return s.copy(piece, resp, sent[0], func(n int64) error { return s.count(piece, sent[1], n) })
}

// copy copies the rest of piece from the body of resp, which begins at offset.
func (s *scheduler) copy(piece *span, resp *fetch.Response, offset int64, count func(n int64) error) error {
	begin := s.rest(piece)[0]
	w, err := s.transfer.dest.writeAt(begin)
	if err != nil {
		return err
	}
	defer w.Close()
	out := &sink{w: w, skip: begin - offset, left: -1, counter: countFunc(count)}
	_, err = io.Copy(out, resp.Body)
	held, failed := s.confirm(piece, err == nil && out.err == nil)
	switch missing := s.rest(piece).length(); {
	case out.err == errComplete:
		return nil
	case out.err != nil, failed != nil:
		return cmp.Or(out.err, failed)
	case fetch.CodeOf(err) == fetch.ErrRange,
		(held || missing == 0) && fetch.CodeOf(err) == fetch.ErrProtocol:
		return errIgnored
	case err == nil && missing > 0:
		return truncated("%d bytes of a range are missing", missing)
	}
	return err
}

// hold returns n, the number of bytes of piece that have arrived, without the last byte of the resource.
// That byte counts only after the end of its response, which shows that the transfer succeeded and that the
// resource has no more bytes.
func (s *scheduler) hold(piece *span, n int64) int64 {
	if n = min(n, piece.length()); n > 0 && piece[0]+n == s.transfer.want {
		s.held = piece
		n--
	}
	return n
}

// confirm counts the byte of piece that hold has held, if its response ended as it should, and reports
// whether there was one.
func (s *scheduler) confirm(piece *span, ended bool) (held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != piece {
		return false, nil
	}
	s.held = nil
	if ended {
		err = s.advance(piece, 1)
	}
	if err == errComplete {
		err = nil
	}
	return true, err
}

// rest returns the missing range of piece. Its end moves when another worker gets a part of it.
func (s *scheduler) rest(piece *span) span {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *piece
}

// count records that n bytes of piece were received. Those beyond its end belong to another worker,
// which receives them too. A range that ends where piece does is read to its end, because only that may
// show that the server has ignored the offset.
func (s *scheduler) count(piece *span, end, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received += n
	err := s.advance(piece, s.hold(piece, n))
	if err == errComplete && piece[1] == end {
		return nil
	}
	return err
}

func (s *scheduler) countFirst(piece *span, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received += n
	for {
		m := min(n, piece.length())
		n -= m
		err := s.advance(piece, s.hold(piece, m))
		s.first = piece[0]
		if err != errComplete {
			return err
		}
		next := s.following(piece)
		if next == nil {
			return errComplete
		}
		if n == 0 {
			return nil
		}
		m = min(n, next.length())
		piece[1] += m
		next[0] += m
		if next.length() > 0 {
			continue
		}
		s.queue = slices.DeleteFunc(s.queue, func(p *span) bool { return p == next })
		if stop := s.stop[next]; stop != nil {
			stop()
		}
	}
}

// following returns the segment after piece, or nil if its worker has a response.
func (s *scheduler) following(piece *span) *span {
	for _, next := range s.transfer.missing {
		if next != piece && next[0] == piece[1] && next.length() > 0 && !s.proven[next] {
			return next
		}
	}
	return nil
}

func (s *scheduler) advance(piece *span, n int64) error {
	piece[0] += n
	if err := s.transfer.count(n); err != nil {
		return err
	}
	if piece.length() == 0 {
		return errComplete
	}
	return nil
}

// request requests the missing range of piece and returns the response and its range. It
// returns errUnproven unless the response is that range of the same version.
func (s *scheduler) request(ctx context.Context, piece *span) (*fetch.Response, span, error) {
	t := s.transfer
	req := *t.req
	rest := s.rest(piece)
	if rest.length() == 0 {
		return nil, rest, errUnproven
	}
	req.Range = fetch.Range{Offset: rest[0], Length: rest.length()}
	req.IfChanged, req.WantDigest = t.object.Guard(), false
	resp, err := t.client.Do(ctx, &req)
	if err != nil {
		return nil, rest, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = t.recordResponse(resp); err == nil {
		v, _ := t.judge(resp)
		isRest := !resp.Range.IsZero() && resp.Range.Offset == rest[0]
		if v != sameVersion || !isRest || piece.length() == 0 || t.addDigests(resp) != nil {
			err = errUnproven
		}
	}
	if err != nil {
		resp.Body.Close()
		return nil, rest, err
	}
	s.proven[piece] = true
	return resp, span{rest[0], rest[0] + resp.Range.Length}, nil
}

// retrieveRest requests the whole resource and takes the missing ranges from it.
func (t *transfer) retrieveRest(ctx context.Context) error {
	for retrier := newRetrier(t.opts.Retry); ; {
		before := t.done
		err := t.copyRest(ctx)
		if t.done > before {
			retrier.failed = 0
		}
		if err == nil || err == errAgain {
			return err
		}
		if err = retrier.again(ctx, err); err != nil {
			return err
		}
	}
}

func (t *transfer) copyRest(ctx context.Context) error {
	req := *t.req
	req.IfChanged = fetch.Validator{}
	resp, err := t.client.Do(ctx, &req)
	if err != nil {
		code := fetch.CodeOf(err)
		if t.refusesResume(err) && code != fetch.ErrRefused && code != fetch.ErrServer {
			err = t.contradicted(err)
		}
		return err
	}
	defer resp.Body.Close()
	if err := t.recordResponse(resp); err != nil {
		return err
	}
	switch v, reason := t.judge(resp); {
	case v == contradicts:
		return t.contradicted(errors.New(reason))
	case v == newVersion:
		t.oneStream = true
		return t.startOver("the resource has changed", errAgain)
	case v == consistent, !resp.Range.IsZero():
		return t.contradicted(errNoValidator)
	}
	if err := t.addDigests(resp); err != nil {
		return err
	}
	pos := int64(0)
	for _, piece := range t.missing {
		if piece.length() == 0 {
			continue
		}
		w, err := t.dest.writeAt(piece[0])
		if err != nil {
			return err
		}
		end, held := piece[1], int64(0)
		out := &sink{w: w, skip: piece[0] - pos, left: -1, counter: countFunc(func(n int64) error {
			if n == piece.length() && end == t.want { // as in scheduler.hold
				held = 1
			}
			piece[0] += n - held
			return t.count(n - held)
		})}
		source := io.LimitReader(resp.Body, end-pos)
		if end == t.want {
			source = resp.Body
		}
		_, err = io.Copy(out, source)
		w.Close()
		switch {
		case out.err != nil:
			return out.err
		case err == nil && held > 0:
			piece[0]++
			err = t.count(1)
		case held > 0 && fetch.CodeOf(err) == fetch.ErrProtocol:
			return &lastError{err}
		case err == nil && piece.length() > 0:
			err = truncated("%d bytes are missing", piece.length())
		}
		if err != nil {
			return err
		}
		pos = end
	}
	return nil
}
