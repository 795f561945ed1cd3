package render

import (
	"encoding/base64"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

// An Event is one step of a transfer, as a record; docs/json.md describes them all. Name, URL and
// Time are always set, the other fields where an event has them and they are known.
type Event struct {
	// Name is "start", "redirect", "response", "progress", "retry" or, at the end of every transfer,
	// exactly one of "saved", "unchanged", "skipped", "listed", "closed" and "failed".
	Name string `json:"event"`
	URL  string `json:"url"`  // as the user gave it, without a password
	Time string `json:"time"` // RFC 3339; EventWriter sets it if it is ""

	From        string  `json:"from,omitempty"`         // redirect
	To          string  `json:"to,omitempty"`           // redirect
	FinalURL    string  `json:"final_url,omitempty"`    // at the end: where redirects led
	Status      int     `json:"status,omitempty"`       // at the end: the number of the server's reply
	Kind        string  `json:"kind,omitempty"`         // response: "object", "listing" or "session"
	ContentType string  `json:"content_type,omitempty"` // response
	Bytes       *int64  `json:"bytes,omitempty"`        // progress: so far; saved: of the file
	Size        *int64  `json:"size,omitempty"`         // response, progress: of the whole
	ModTime     string  `json:"mtime,omitempty"`        // response: RFC 3339
	ETag        string  `json:"etag,omitempty"`         // response: what the server sent
	Validator   string  `json:"validator,omitempty"`    // response: what takes its place in other protocols
	Reply       string  `json:"reply,omitempty"`        // response, failed: what the server said
	Attempt     int     `json:"attempt,omitempty"`      // retry: the number of the coming attempt
	Wait        float64 `json:"wait,omitempty"`         // retry: seconds until then
	Error       string  `json:"error,omitempty"`        // retry: why
	Path        string  `json:"path,omitempty"`         // saved, unchanged, skipped
	SHA256      string  `json:"sha256,omitempty"`       // saved, in hex
	Entries     int64   `json:"entries,omitempty"`      // listed: how many
	Seconds     float64 `json:"seconds,omitempty"`      // at the end: how long it took
	Rate        float64 `json:"rate,omitempty"`         // saved: bytes a second, of those that came now
	Reason      string  `json:"reason,omitempty"`       // skipped: "exists" or "no_content"
	Class       string  `json:"class,omitempty"`        // failed: the fetch.Code
	Exit        int     `json:"exit,omitempty"`         // failed: the exit status it stands for
	Message     string  `json:"message,omitempty"`      // failed
	Hint        string  `json:"hint,omitempty"`         // failed: what can be done about it

	Text   *string `json:"text,omitempty"`   // message: of text
	Base64 *string `json:"base64,omitempty"` // message: if it is binary

	Form *fetch.Form `json:"form,omitempty"` // failed: the form that wants to be answered
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
		Size: known(size), ModTime: stamp(m.ModTime), ETag: sentTag(m), Validator: madeTag(m), Reply: said(m.Reply)}
}

// Received is the event that a message of a session has come.
func Received(url string, m fetch.Message) Event {
	ev := Event{Name: "message", URL: url}
	if text := string(m.Data); m.Text {
		ev.Text = &text
	} else {
		text = base64.StdEncoding.EncodeToString(m.Data)
		ev.Base64 = &text
	}
	return ev
}

// Closed is the event that a session of messages is over.
func Closed(url string, took time.Duration) Event {
	return Event{Name: "closed", URL: url, Seconds: took.Seconds()}
}

// Progress is the event that bytes of size, -1 if unknown, are there.
func Progress(url string, bytes, size int64) Event {
	return Event{Name: "progress", URL: url, Bytes: known(bytes), Size: known(size)}
}

// Retry is the event that err is followed by another attempt after wait.
func Retry(url string, attempt int, wait time.Duration, err error) Event {
	return Event{Name: "retry", URL: url, Attempt: attempt, Wait: wait.Seconds(), Error: Message(err)}
}

// Failed is the event that the work on url ended with err, which stands for an exit status.
func Failed(url string, err error, exit int) Event {
	ev := Event{Name: "failed", URL: url, Class: string(fetch.CodeOf(err)), Exit: exit, Message: Message(err)}
	if e, ok := asError(err); ok {
		ev.Reply, ev.Status, ev.Hint = said(e.Reply), e.Reply.Code, e.Hint
		if e.URL != url {
			ev.FinalURL = e.URL
		}
	}
	if wanted := (*fetch.FormError)(nil); errors.As(err, &wanted) {
		ev.Form = &wanted.Form
	}
	return ev
}

// An EventWriter writes events as JSON Lines. It may be used by several goroutines at once.
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
	if ev.Time == "" {
		ev.Time = stamp(time.Now())
	}
	return WriteJSON(w.w, ev)
}
