package serve

import (
	"sync"
	"time"
)

const (
	// maxTickets is how many things of a kind may be about to begin.
	maxTickets = 16
	// ticketLife is how long a page may take to begin one.
	ticketLife = time.Minute
)

// Tickets are for what a page is about to begin: a session, or the sending of a form. Each is good
// once, and for a short time.
type tickets[T any] struct {
	mu   sync.Mutex
	list []ticket[T]
}

type ticket[T any] struct {
	id   string
	what T
	at   time.Time
}

// add returns a ticket, whose name nobody can guess. The oldest make room for others.
func (t *tickets[T]) add(what T) string {
	id := newID()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTickets {
		t.list = t.list[1:]
	}
	t.list = append(t.list, ticket[T]{id, what, time.Now()})
	return id
}

// take returns what a ticket is for, once.
func (t *tickets[T]) take(id string) (what T, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, known := range t.list {
		if known.id == id {
			t.list = append(t.list[:i:i], t.list[i+1:]...)
			return known.what, time.Since(known.at) < ticketLife
		}
	}
	return what, false
}
