package schedule

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/stack"
)

// Run runs the tasks that next returns until there are no more and all have ended.
//
// The error of next is io.EOF if the source has no more tasks, or ErrNone if it has none at the
// moment. After ErrNone, next is called again when a task has started, ended or been released. Run
// returns any other error after the tasks before it have ended. Calls of next do not overlap. next
// may block, but must return when its context is done. A source that can choose should not return
// tasks of hosts for which room returns false, because enough of them are queued already.
//
// If ctx is done, no more tasks start and queued tasks are dropped. Run then waits for active
// tasks, whose contexts derive from ctx, and returns the error of fetch.ContextError.
func (s *Scheduler) Run(ctx context.Context,
	next func(ctx context.Context, room func(host string) bool) (Task, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &reader{Scheduler: s, next: next, room: make(chan struct{}, 1), ended: make(chan struct{})}
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
		nextDue := s.start(ctx, &tasks)
		if !nextDue.IsZero() {
			timer.Reset(time.Until(nextDue))
		}
		s.mu.Lock()
		over = ended == nil && s.waiting == 0 && s.active == 0
		s.mu.Unlock()
		r.wakeReader()
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

// start starts all tasks that are due and returns when the next one is, or the zero time if that is
// unknown.
func (s *Scheduler) start(ctx context.Context, tasks *sync.WaitGroup) time.Time {
	for {
		s.mu.Lock()
		t, nextDue := s.take(time.Now())
		s.mu.Unlock()
		if t == nil {
			return nextDue
		}
		tasks.Go(func() {
			stack.Grow()
			s.work(ctx, t)
		})
	}
}

// work runs t and then further due tasks. A new goroutine for each task costs more than a small
// file.
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
			if t = s.nextInLine(l, now); t == nil {
				t, _ = s.take(now)
			}
		}
		// Wake the loop if more tasks may start or the source may be read.
		if t == nil || s.running < s.parallel || s.sourceEmpty || s.waiting <= s.opts.Waiting/2 {
			s.wakeLoop()
		}
		s.mu.Unlock()
	}
	if l != nil {
		l.end()
	}
}

// A reader reads tasks from the source while there is room for them.
type reader struct {
	*Scheduler
	next  func(ctx context.Context, room func(host string) bool) (Task, error)
	room  chan struct{} // holds a value if there may be room, or new tasks
	ended chan struct{} // closed when the source has no more tasks
	err   error         // of the source; read after ended is closed
}

func (r *reader) wakeReader() {
	select {
	case r.room <- struct{}{}:
	default:
	}
}

func (r *reader) read(ctx context.Context) {
	defer close(r.ended)
	room := r.Scheduler.room
	for r.wait(ctx, func() bool { return r.waiting < r.opts.Waiting }) {
		r.mu.Lock()
		before := r.events
		r.sourceEmpty = false
		r.mu.Unlock()
		switch t, err := r.next(ctx, room); {
		case err == nil:
			r.mu.Lock()
			r.add(t)
			r.mu.Unlock()
			r.wakeLoop()
		case err == ErrNone:
			over := false
			if !r.wait(ctx, func() bool {
				r.sourceEmpty = true
				over = r.events == before && r.active == 0 && r.waiting == 0
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

// wait returns true as soon as cond, called with the lock held, returns true. It returns false if
// ctx is done first.
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
