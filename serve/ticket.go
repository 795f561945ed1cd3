package serve

import (
	"sync"
	"time"
)

const (
	// maxTickets limits the number of unused tickets of a kind.
	maxTickets = 16
	// ticketLife is the validity of a ticket.
	ticketLife = time.Minute
)

// A tickets value holds values for a later request of a page, such as a session to open or a form
// to send. Each ticket can be taken once, within ticketLife.
type tickets[T any] struct {
	mu   sync.Mutex
	list []ticket[T]
}

type ticket[T any] struct {
	id    string
	value T
	at    time.Time
}

// add stores a value and returns its random ticket. It removes the oldest ticket if there are too
// many.
func (t *tickets[T]) add(value T) string {
	id := newID()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) >= maxTickets {
		t.list = t.list[1:]
	}
	t.list = append(t.list, ticket[T]{id, value, time.Now()})
	return id
}

func (t *tickets[T]) take(id string) (value T, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, entry := range t.list {
		if entry.id == id {
			t.list = append(t.list[:i:i], t.list[i+1:]...)
			return entry.value, time.Since(entry.at) < ticketLife
		}
	}
	return value, false
}
