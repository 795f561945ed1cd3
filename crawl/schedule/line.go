package schedule

import (
	"context"
	"time"

	"github.com/urlget/urlget/fetch"
)

// maxLine is how many tasks one worker has before it for requests to be sent ahead.
const maxLine = 64

// A line is the tasks of one host that one worker does one after the other, so that their requests
// can be sent ahead (see fetch.Client.Pipeline).
type line struct {
	of    *host
	ahead []Task // after the one under way; they still count as waiting
	ctx   context.Context
	end   func()
}

// pipelines reports whether t may be part of a line.
func (s *Scheduler) pipelines(t *Task) bool { return s.opts.Pipeline != nil && t.Request != nil }

// lineFor returns the line that t is done in, which is the one before if that is of the same host;
// nil if there is none to be. The line before has ended if it is not returned.
func (s *Scheduler) lineFor(ctx context.Context, before *line, t *running) *line {
	var l *line
	switch {
	case !s.pipelines(&t.Task):
	case before != nil && before.of == t.of:
		l = before
	default:
		l = &line{of: t.of}
		l.ctx, l.end = s.opts.Pipeline(ctx, func() []*fetch.Request { return s.expected(l) })
	}
	if before != nil && before != l {
		before.end()
	}
	if l == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.released {
		t.line = l
		s.lineUp(l, time.Now())
	}
	return l
}

// expected returns the requests of the tasks that l is to do next.
func (s *Scheduler) expected(l *line) []*fetch.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*fetch.Request, len(l.ahead))
	for i := range l.ahead {
		all[i] = l.ahead[i].Request
	}
	return all
}

// lineUp moves tasks that wait to l: a fair part of them, as others may do them at the same time.
func (s *Scheduler) lineUp(l *line, now time.Time) {
	h := l.of
	if h.name.limits.Delay > 0 || h.at != nil && h.at.limits.Delay > 0 || s.opts.Interval > 0 || len(l.ahead) > maxLine/2 || s.othersWait(h, now) {
		return
	}
	share := len(h.queue)
	if most := h.name.limits.Parallel; most > 1 {
		share /= min(most, s.opts.Parallel)
	}
	n := 0
	for n < min(share, maxLine-len(l.ahead)) && h.queue[n].Request != nil {
		n++
	}
	l.ahead = append(l.ahead, h.queue[:n]...)
	clear(h.queue[:n])
	if h.queue = h.queue[n:]; len(h.queue) == 0 {
		s.leaveRing(h)
	}
}

// giveBack lets any worker do what l had before it.
func (s *state) giveBack(l *line) {
	if l == nil || len(l.ahead) == 0 {
		return
	}
	h := l.of
	h.queue = append(l.ahead, h.queue...)
	l.ahead = nil
	if h.place == nil {
		h.place = s.ring.PushBack(h)
	}
}

// following begins the next task of l, if there is one and nothing speaks against it now.
func (s *state) following(l *line, now time.Time) *running {
	if l == nil || len(l.ahead) == 0 {
		return nil
	}
	at, free := l.of.when()
	if s.running >= s.opts.Parallel || !free || at.After(now) || now.Before(s.next) || s.othersWait(l.of, now) {
		s.giveBack(l)
		return nil
	}
	t := l.ahead[0]
	l.ahead[0] = Task{}
	l.ahead = l.ahead[1:]
	return s.begun(l.of, t, now)
}

// othersWait reports whether tasks of another host could begin now.
func (s *state) othersWait(h *host, now time.Time) bool {
	for e := s.ring.Front(); e != nil; e = e.Next() {
		if other := e.Value.(*host); other != h {
			if at, free := other.when(); free && !at.After(now) {
				return true
			}
		}
	}
	return false
}
