package schedule

import (
	"context"
	"time"

	"github.com/urlget/urlget/fetch"
)

// maxLine limits the tasks that one worker takes ahead for pipelining.
const maxLine = 64

// A line is a sequence of tasks of one host that one worker runs one after another, so that their
// requests can be pipelined (see fetch.Client.Pipeline).
type line struct {
	of            *host
	upcomingTasks []Task // tasks after the active one; they still count as waiting
	ctx           context.Context
	end           func()
}

// pipelines reports whether t may be part of a line.
func (s *Scheduler) pipelines(t *Task) bool { return s.opts.Pipeline != nil && t.Request != nil }

// lineFor returns the line for t, or nil if t is not pipelined. That is previous if it has the same
// host; otherwise previous is ended.
func (s *Scheduler) lineFor(ctx context.Context, previous *line, t *running) *line {
	var l *line
	switch {
	case !s.pipelines(&t.Task):
	case previous != nil && previous.of == t.of:
		l = previous
	default:
		l = &line{of: t.of}
		l.ctx, l.end = s.opts.Pipeline(ctx, func() []*fetch.Request { return s.upcoming(l) })
	}
	if previous != nil && previous != l {
		previous.end()
	}
	if l == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.released {
		t.line = l
		s.fillLine(l, time.Now())
	}
	return l
}

func (s *Scheduler) upcoming(l *line) []*fetch.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*fetch.Request, len(l.upcomingTasks))
	for i := range l.upcomingTasks {
		all[i] = l.upcomingTasks[i].Request
	}
	return all
}

// fillLine moves waiting tasks to l. It takes only a share, because other workers may run tasks of
// the host at the same time.
func (s *Scheduler) fillLine(l *line, now time.Time) {
	h := l.of
	if h.name.limits.Delay > 0 || h.address != nil && h.address.limits.Delay > 0 ||
		len(l.upcomingTasks) > maxLine/2 || s.otherHostReady(h, now) {
		return
	}
	share := len(h.queue)
	if most := h.name.limits.Grow; most > 1 {
		share /= min(most, s.opts.Grow)
	}
	n := 0
	for n < min(share, maxLine-len(l.upcomingTasks)) && h.queue[n].Request != nil {
		n++
	}
	l.upcomingTasks = append(l.upcomingTasks, h.queue[:n]...)
	clear(h.queue[:n])
	if h.queue = h.queue[n:]; len(h.queue) == 0 {
		s.removeFromRing(h)
	}
}

// returnTasks returns the tasks ahead in l to the queue of their host.
func (s *state) returnTasks(l *line) {
	if l == nil || len(l.upcomingTasks) == 0 {
		return
	}
	h := l.of
	h.queue = append(l.upcomingTasks, h.queue...)
	l.upcomingTasks = nil
	if h.elem == nil {
		h.elem = s.ring.PushBack(h)
	}
}

// nextInLine starts the next task of l, if there is one and the limits allow it now.
func (s *state) nextInLine(l *line, now time.Time) *running {
	if l == nil || len(l.upcomingTasks) == 0 {
		return nil
	}
	at, free := l.of.nextStart()
	if s.running >= s.parallel || !free || at.After(now) || s.otherHostReady(l.of, now) {
		s.returnTasks(l)
		return nil
	}
	t := l.upcomingTasks[0]
	l.upcomingTasks[0] = Task{}
	l.upcomingTasks = l.upcomingTasks[1:]
	return s.markRunning(l.of, t, now)
}

// otherHostReady reports whether tasks of another host could start now.
func (s *state) otherHostReady(h *host, now time.Time) bool {
	for e := s.ring.Front(); e != nil; e = e.Next() {
		if other := e.Value.(*host); other != h {
			if at, free := other.nextStart(); free && !at.After(now) {
				return true
			}
		}
	}
	return false
}
