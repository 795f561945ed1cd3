package render

import (
	"encoding/base64"
	"io"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// An Event is a step of a transfer, or its end; docs/json.md describes the lines. URL is the URL as
// given by the user, without a password.
type Event interface {
	// line returns the record to write at the given time.
	line(now string) any
}

// A Start reports the start of processing a URL.
type Start struct{ URL string }

// A Redirect reports a redirect from one URL to another.
type Redirect struct{ URL, From, To string }

// A Response reports the start of a response.
type Response struct {
	URL  string
	Meta *fetch.Meta
}

// Progress reports the number of bytes; negative numbers are unknown.
type Progress struct {
	URL         string
	Done, Total int64
}

// A Retry reports that a failed attempt is retried.
type Retry struct {
	URL     string
	Attempt int           // number of the next attempt
	Wait    time.Duration // until then
	Err     error         // of the last attempt
}

// A Message reports a message received in a session.
type Message struct {
	URL     string
	Message fetch.Message
}

// A Closed reports the end of a session of messages.
type Closed struct {
	URL     string
	Elapsed time.Duration
}

// A Deleted reports a deleted file that is gone from its server.
type Deleted struct{ URL, Path string }

// An End is the event that ends a job.
type End job.Event

type head struct {
	Event string `json:"event"`
	URL   string `json:"url"`
	Time  string `json:"time"`
}

func (e Start) line(now string) any { return head{"start", e.URL, now} }

func (e Redirect) line(now string) any {
	return struct {
		head
		From string `json:"from,omitempty"`
		To   string `json:"to,omitempty"`
	}{head{"redirect", e.URL, now}, e.From, e.To}
}

func (e Response) line(now string) any {
	m := e.Meta
	size := m.Size
	if m.Total > 0 {
		size = m.Total
	}
	return struct {
		head
		Kind        string `json:"kind,omitempty"`
		ContentType string `json:"content_type,omitempty"`
		Size        *int64 `json:"size,omitempty"`
		ModTime     string `json:"mtime,omitempty"`
		ETag        string `json:"etag,omitempty"`
		Validator   string `json:"validator,omitempty"`
		Reply       string `json:"reply,omitempty"`
	}{
		head{"response", e.URL, now},
		m.Kind.String(), m.ContentType, sizePtr(size), timeText(m.ModTime),
		sentTag(m), derivedTag(m), replyText(m.Reply),
	}
}

func (e Progress) line(now string) any {
	return struct {
		head
		Bytes *int64 `json:"bytes,omitempty"`
		Size  *int64 `json:"size,omitempty"`
	}{head{"progress", e.URL, now}, sizePtr(e.Done), sizePtr(e.Total)}
}

func (e Retry) line(now string) any {
	return struct {
		head
		Attempt int     `json:"attempt,omitempty"`
		Wait    float64 `json:"wait,omitempty"`
		Error   string  `json:"error,omitempty"`
	}{head{"retry", e.URL, now}, e.Attempt, e.Wait.Seconds(), ErrorText(e.Err)}
}

func (e Message) line(now string) any {
	l := struct {
		head
		Text   *string `json:"text,omitempty"`
		Base64 *string `json:"base64,omitempty"`
	}{head: head{"message", e.URL, now}}
	if text := string(e.Message.Data); e.Message.Text {
		l.Text = &text
	} else {
		text = base64.StdEncoding.EncodeToString(e.Message.Data)
		l.Base64 = &text
	}
	return l
}

func (e Closed) line(now string) any {
	return struct {
		head
		Seconds float64 `json:"seconds,omitempty"`
	}{head{"closed", e.URL, now}, e.Elapsed.Seconds()}
}

func (e Deleted) line(now string) any {
	return struct {
		head
		Path string `json:"path,omitempty"`
	}{head{"deleted", e.URL, now}, e.Path}
}

func (e End) line(now string) any {
	e.Time = now
	return e
}

// An EventWriter writes events as JSON Lines. It is safe for concurrent use.
type EventWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewEventWriter returns an EventWriter that writes to w.
func NewEventWriter(w io.Writer) *EventWriter { return &EventWriter{w: w} }

// Write writes ev as one line with the current time.
func (w *EventWriter) Write(ev Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return WriteJSON(w.w, ev.line(timeText(time.Now())))
}
