package download

import (
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
)

const (
	// minSegment is the size below which a segment is not worth a connection.
	minSegment = 1 << 20
	// saveEvery is how much time passes between two records of a transfer in
	// segments. A killed one loses what came since.
	saveEvery = 5 * time.Second
)

// errUnproven ends a transfer in segments when an answer does not show that it
// is a range of the same object.
var errUnproven = errors.New("unproven")

// segments are the ranges of one file that are retrieved at the same time.
type segments struct {
	*saving
	mu      sync.Mutex // for all below, the transfer's counters and the caller's hooks
	missing []*span    // whose start moves as octets come; some may be empty
	queue   []*span    // those that nobody works on
	workers int        // that will still look into the queue
	company bool       // the last worker has not tried alone
	saved   time.Time
}

// split returns s in n spans of about the same size, or in fewer if they would
// get too small.
func (s span) split(n int) []span {
	n = int(min(int64(n), s.length()/minSegment))
	if n < 2 {
		return []span{s}
	}
	all := make([]span, n)
	for i := range all {
		all[i] = span{s[0] + s.length()*int64(i)/int64(n), s[0] + s.length()*int64(i+1)/int64(n)}
	}
	return all
}

func newSegments(s *saving, missing []span) *segments {
	g := &segments{saving: s, saved: time.Now()}
	for _, m := range missing {
		g.missing = append(g.missing, &m)
	}
	g.queue = slices.Clone(g.missing)
	return g
}

// divide decides whether resp, which has all of the content, is to be the
// first of several segments.
func (s *saving) divide(resp *fetch.Response) bool {
	if s.single || s.opts.Segments < 2 || !resp.Range.IsZero() || s.done > 0 || s.want < 0 || !s.object.resumable() || !s.req.Range.IsZero() ||
		!slices.ContainsFunc(s.client.Schemes(), func(sch fetch.Scheme) bool {
			return sch.Name == resp.URL.Scheme() && sch.Ranges
		}) {
		return false
	}
	if spans := (span{0, s.want}).split(s.opts.Segments); len(spans) > 1 {
		s.segments = newSegments(s, spans)
		return true
	}
	return false
}

// retrieve brings all segments. If first is not nil, it is a response that
// starts where the first segment does, and cancel ends it.
func (g *segments) retrieve(ctx context.Context, first *fetch.Response, cancel func()) error {
	if g.part.written {
		// The old record would take the holes for content.
		if err := g.part.save(g.record()); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	defer context.AfterFunc(groupCtx, cancel)()
	g.workers = min(max(g.opts.Segments, 1), len(g.queue))
	g.company = g.workers > 1
	for range g.workers {
		resp := first
		first = nil
		piece := g.take()
		group.Go(func() error { return g.work(groupCtx, piece, resp) })
	}
	err := group.Wait()
	if err == errUnproven {
		g.segments, g.single = nil, true
		return g.startOver("the server does not send ranges of the same object", errAgain)
	}
	if err != nil {
		return err
	}
	return g.digest(ctx)
}

// take returns a segment that nobody works on. If there is none, it returns
// nil and the worker must end: nothing can be left to it any more.
func (g *segments) take() *span {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.workers--
		return nil
	}
	piece := g.queue[0]
	g.queue = g.queue[1:]
	return piece
}

// work retrieves segments until none is left. If the server does not want so
// many connections, it leaves its segment to the other workers.
func (g *segments) work(ctx context.Context, piece *span, resp *fetch.Response) error {
	retrier := newRetrier(g.opts)
	retrier.report = func(failed int, wait time.Duration, err error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.opts.Retry != nil {
			g.opts.Retry(failed, wait, err)
		}
	}
	for ; piece != nil; piece = g.take() {
		for piece.length() > 0 {
			before := piece.length()
			err := g.fetch(ctx, piece, resp)
			resp = nil
			if piece.length() < before {
				retrier.failed = 0
			}
			if err == nil {
				continue
			}
			if err := retrier.again(ctx, err); err != nil {
				switch {
				case g.leaveTo(piece, err):
					return nil
				case g.alone(err):
					continue
				}
				return err
			}
		}
	}
	return nil
}

// leaveTo gives piece back after a final error, and reports whether somebody
// else is there to take it.
func (g *segments) leaveTo(piece *span, err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !tooMany(err) || g.workers == 1 {
		return false
	}
	g.workers--
	g.queue = append(g.queue, piece)
	return true
}

// alone reports whether the last worker, which was refused too, may try once
// more now that the others are gone: the server may have minded them.
func (g *segments) alone(err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	code := fetch.CodeOf(err)
	if code != fetch.ErrBusy && code != fetch.ErrRefused || g.workers > 1 || !g.company {
		return false
	}
	g.company = false
	return true
}

// tooMany reports whether err may come of too many connections at once.
func tooMany(err error) bool {
	switch fetch.CodeOf(err) {
	case fetch.ErrBusy, fetch.ErrRefused, fetch.ErrNetwork, fetch.ErrServer, fetch.ErrTruncated:
		return true
	}
	return false
}

// fetch makes one exchange for what piece lacks. If resp is not nil, that is
// it. When fetch returns the response is closed: other segments may wait for
// its connection.
func (g *segments) fetch(ctx context.Context, piece *span, resp *fetch.Response) error {
	if resp == nil {
		var err error
		if resp, err = g.askFor(ctx, piece); err != nil {
			return err
		}
	}
	defer resp.Body.Close()
	f, err := g.d.Root.OpenFile(g.part.names.part, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if !g.part.names.is(g.d.Root, f) {
		return fmt.Errorf("%s was replaced", g.part.names.part)
	}
	if _, err := f.Seek(piece[0], io.SeekStart); err != nil {
		return err
	}
	out := &sink{w: f, left: piece.length()}
	out.count = func(n int64) error {
		g.mu.Lock()
		defer g.mu.Unlock()
		piece[0] += n
		return g.count(n)
	}
	_, err = io.Copy(out, resp.Body)
	if out.err == errEnough {
		return nil
	}
	if out.err != nil {
		return out.err
	}
	if err == nil && piece.length() > 0 {
		err = &fetch.Error{Code: fetch.ErrTruncated, Retry: true,
			Err: fmt.Errorf("%d octets of a range are missing", piece.length())}
	}
	return err
}

// askFor requests what piece lacks, and returns an answer that shows to be that.
func (g *segments) askFor(ctx context.Context, piece *span) (*fetch.Response, error) {
	req := *g.req
	req.Range = fetch.Range{Offset: piece[0], Length: piece.length()}
	req.IfChanged = g.object.guard()
	resp, err := g.client.Do(ctx, &req)
	if fetch.CodeOf(err) == fetch.ErrRange {
		return nil, errUnproven
	}
	if err != nil {
		return nil, err
	}
	err = g.saw(resp)
	if err == nil && (resp.Range.IsZero() || resp.Range.Offset != piece[0] || !g.object.same(&resp.Meta)) {
		err = errUnproven
	}
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func (g *segments) saw(resp *fetch.Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.transfer.saw(resp)
}

// note writes the record from time to time. The lock is held.
func (g *segments) note() error {
	if g.done < recordAfter || g.part.written && time.Since(g.saved) < saveEvery {
		return nil
	}
	g.saved = time.Now()
	return g.part.save(g.record())
}

// unfinished returns what is missing.
func (g *segments) unfinished() []span {
	var all []span
	for _, m := range g.missing {
		if m.length() > 0 {
			all = append(all, *m)
		}
	}
	return all
}

// digest reads the finished file for the sums, as its octets did not come in
// order.
func (g *segments) digest(ctx context.Context) error {
	if g.out.sums == nil {
		return nil
	}
	g.out.sums.reset()
	_, err := io.Copy(g.out.sums, &contextReader{ctx, io.NewSectionReader(g.part.file, 0, g.want)})
	return err
}
