package render

import (
	"io"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// An Event is one step of a transfer, as a record. Name and URL are always
// set, the other fields where an event has them and they are known.
type Event struct {
	Name string `json:"event"` // "start", "redirect", "response", "progress", "retry", "saved" or "error"
	URL  string `json:"url"`   // as the user gave it, without a password

	Time        string  `json:"time,omitempty"`         // start: RFC 3339
	From        string  `json:"from,omitempty"`         // redirect
	To          string  `json:"to,omitempty"`           // redirect
	Kind        string  `json:"kind,omitempty"`         // response: "object", "listing" or "session"
	ContentType string  `json:"content_type,omitempty"` // response
	Bytes       *int64  `json:"bytes,omitempty"`        // progress: so far; saved: of the file
	Size        *int64  `json:"size,omitempty"`         // response, progress: of the whole
	ModTime     string  `json:"mtime,omitempty"`        // response: RFC 3339
	ETag        string  `json:"etag,omitempty"`         // response
	Reply       string  `json:"reply,omitempty"`        // response, error: what the server said
	Attempt     int     `json:"attempt,omitempty"`      // retry: the number of the coming attempt
	Wait        float64 `json:"wait,omitempty"`         // retry: seconds until then
	Error       string  `json:"error,omitempty"`        // retry: why
	Path        string  `json:"path,omitempty"`         // saved
	SHA256      string  `json:"sha256,omitempty"`       // saved, in hex
	Seconds     float64 `json:"seconds,omitempty"`      // saved
	Class       string  `json:"class,omitempty"`        // error: the text of its fetch.Code
	Exit        int     `json:"exit,omitempty"`         // error: the exit status it stands for
	Message     string  `json:"message,omitempty"`      // error
}

// Start is the event that work on url begins.
func Start(url string, now time.Time) Event {
	return Event{Name: "start", URL: url, Time: stamp(now)}
}

// Redirect is the event that from leads to another place.
func Redirect(url, from, to string) Event {
	return Event{Name: "redirect", URL: url, From: from, To: to}
}

// Response is the event that a resource is open.
func Response(url string, m *fetch.Meta) Event {
	size := m.Size
	if m.Total > 0 {
		size = m.Total
	}
	return Event{Name: "response", URL: url, Kind: m.Kind.String(), ContentType: m.ContentType,
		Size: known(size), ModTime: stamp(m.ModTime), ETag: m.ETag, Reply: said(m.Reply)}
}

// Progress is the event that bytes of size, -1 if unknown, are there.
func Progress(url string, bytes, size int64) Event {
	return Event{Name: "progress", URL: url, Bytes: known(bytes), Size: known(size)}
}

// Retry is the event that err is followed by another attempt after wait.
func Retry(url string, attempt int, wait time.Duration, err error) Event {
	return Event{Name: "retry", URL: url, Attempt: attempt, Wait: wait.Seconds(), Error: Message(err)}
}

// Saved is the event that a file is complete. sum is its SHA-256 in hex, or
// "".
func Saved(url, path string, bytes int64, sum string, took time.Duration) Event {
	return Event{Name: "saved", URL: url, Path: path, Bytes: known(bytes), SHA256: sum, Seconds: took.Seconds()}
}

// Failed is the event that the work on url ended with err, which stands for
// an exit status.
func Failed(url string, err error, exit int) Event {
	ev := Event{Name: "error", URL: url, Class: string(fetch.CodeOf(err)), Exit: exit, Message: Message(err)}
	if e, ok := asError(err); ok {
		ev.Reply = said(e.Reply)
	}
	return ev
}

// An EventWriter writes events as JSON Lines. It may be used by several
// goroutines at once.
type EventWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewEventWriter returns an EventWriter on w.
func NewEventWriter(w io.Writer) *EventWriter { return &EventWriter{w: w} }

// Write writes ev as one line.
func (w *EventWriter) Write(ev Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return writeLine(w.w, ev)
}
