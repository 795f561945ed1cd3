package main

import (
	"context"
	"sync"
)

// maxPending limits the number of finished tasks that wait for earlier ones.
const maxPending = 10_000

// An outputQueue prints messages of tasks as tasks finish or, if ordered is set, in the order of the
// tasks.
type outputQueue struct {
	ordered bool
	mu      sync.Mutex
	next    int
	waiting map[int]func()
	moved   chan struct{} // closed when next changes; nil if no goroutine waits for it
}

// add calls print after the print functions of tasks with lower numbers, possibly in the goroutine of
// another task.
func (q *outputQueue) add(number int, print func()) {
	if !q.ordered {
		print()
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = make(map[int]func())
	}
	q.waiting[number] = print
	for print := q.waiting[q.next]; print != nil; print = q.waiting[q.next] {
		delete(q.waiting, q.next)
		print()
		q.next++
	}
	if q.moved != nil {
		close(q.moved)
		q.moved = nil
	}
}

// wait blocks while the task is more than maxPending ahead of the last printed one.
func (q *outputQueue) wait(ctx context.Context, number int) error {
	for q.ordered {
		q.mu.Lock()
		if number-q.next < maxPending {
			q.mu.Unlock()
			break
		}
		if q.moved == nil {
			q.moved = make(chan struct{})
		}
		moved := q.moved
		q.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
