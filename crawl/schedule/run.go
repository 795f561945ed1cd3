package schedule

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// Run does the tasks of src until there are none and all have ended. It returns the error of the
// source, if it has one.
//
// If ctx ends, no more tasks begin, those that wait are dropped, and Run returns the error of
// fetch.ContextError when those that run have ended, which have contexts made of ctx.
func (s *Scheduler) Run(ctx context.Context, src Source) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{Scheduler: s, src: src, room: make(chan struct{}, 1), ended: make(chan struct{})}
	go r.read(ctx)
	var tasks sync.WaitGroup
	timer := time.NewTimer(0)
	defer timer.Stop()
	ended := r.ended
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
			continue
		case <-ended:
			ended = nil
		case <-s.wake:
		case <-timer.C:
		}
		later := s.start(ctx, &tasks)
		if !later.IsZero() {
			timer.Reset(time.Until(later))
		}
		s.mu.Lock()
		over = ended == nil && s.waiting == 0 && s.undone == 0
		s.mu.Unlock()
		r.look()
	}
	err := fetch.ContextError(ctx)
	cancel(err)
	<-r.ended
	tasks.Wait()
	s.mu.Lock()
	s.drop()
	s.mu.Unlock()
	if err == nil {
		err = r.err
	}
	return err
}

// start begins all tasks that can, and returns when the next one can, if it is known.
func (s *Scheduler) start(ctx context.Context, tasks *sync.WaitGroup) time.Time {
	for {
		s.mu.Lock()
		t, later := s.take(time.Now())
		s.mu.Unlock()
		if t == nil {
			return later
		}
		tasks.Go(func() { s.work(ctx, t) })
	}
}

// work does t and then, as long as there is one, the task that is next: a goroutine of its own for
// each costs more than a small file.
func (s *Scheduler) work(ctx context.Context, t *running) {
	var l *line
	for t != nil {
		within := ctx
		if l = s.lineFor(ctx, l, t); l != nil {
			within = l.ctx
		}
		err := t.Do(context.WithValue(within, taskKey{}, t))
		s.mu.Lock()
		t.end(err)
		t = nil
		if now := time.Now(); ctx.Err() == nil {
			if t = s.following(l, now); t == nil {
				t, _ = s.take(now)
			}
		}
		// The loop has something to do if more can begin, or the source has to be asked.
		if t == nil || s.running < s.opts.Parallel || s.none || s.waiting <= s.opts.Waiting/2 {
			s.changed()
		}
		s.mu.Unlock()
	}
	if l != nil {
		l.end()
	}
}

// A reader asks a source for tasks as long as there is room for them.
type reader struct {
	*Scheduler
	src   Source
	room  chan struct{} // holds a value if there may be room, or a source without tasks have some
	ended chan struct{} // closed when there will be no more
	err   error         // of the source; read after ended is closed
}

// look lets the reader see whether there is something to do.
func (r *reader) look() {
	select {
	case r.room <- struct{}{}:
	default:
	}
}

func (r *reader) read(ctx context.Context) {
	defer close(r.ended)
	for r.wait(ctx, func() bool { return r.waiting < r.opts.Waiting }) {
		r.mu.Lock()
		before := r.events
		r.none = false
		r.mu.Unlock()
		switch t, err := r.src.Next(ctx, r.Scheduler.room); {
		case err == nil:
			r.mu.Lock()
			r.add(t)
			r.mu.Unlock()
			r.changed()
		case err == ErrNone:
			over := false
			if !r.wait(ctx, func() bool {
				r.none = true
				over = r.events == before && r.undone == 0 && r.waiting == 0
				return over || r.events != before
			}) || over {
				return
			}
		default:
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return
		}
	}
}

// wait returns true once cond is, which it asks while it holds the lock, and false if ctx ends.
func (r *reader) wait(ctx context.Context, cond func() bool) bool {
	for ctx.Err() == nil {
		r.mu.Lock()
		met := cond()
		r.mu.Unlock()
		if met {
			return true
		}
		select {
		case <-r.room:
		case <-ctx.Done():
		}
	}
	return false
}
