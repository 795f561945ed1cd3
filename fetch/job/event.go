package job

import (
	"errors"
	"math"

	"github.com/urlget/urlget/fetch"
)

// An Event is the machine-readable outcome of a job (docs/json.md). Absent fields are unknown or do
// not belong to the event.
type Event struct {
	Name string `json:"event"` // "saved", "unchanged", "skipped", "listed" or "failed"
	URL  string `json:"url"`   // as the user entered it, without a password
	Time string `json:"time"`  // RFC 3339; set by the writer of the event

	FinalURL string         `json:"final_url,omitempty"` // after redirects
	Status   int            `json:"status,omitempty"`
	Bytes    *int64         `json:"bytes,omitempty"` // saved: size of the file
	Reply    string         `json:"reply,omitempty"` // failed
	Path     string         `json:"path,omitempty"`  // saved, unchanged, skipped
	SHA256   string         `json:"sha256,omitempty"`
	Entries  int64          `json:"entries,omitempty"` // listed
	Seconds  float64        `json:"seconds,omitempty"`
	Rate     float64        `json:"rate,omitempty"`            // saved: received bytes per second
	Proof    *fetch.Digest  `json:"proof,omitempty"`           // saved: see Result.Proof
	Closed   bool           `json:"framed_by_close,omitempty"` // saved: see Result.FramedByClose
	Capture  *fetch.Capture `json:"capture,omitempty"`         // of the archive that the content comes from
	// Reason of skipped: "exists", "no_content" or, in trees, "not_wanted" or "moved".
	Reason string `json:"reason,omitempty"`

	// These are set if Name is "failed".
	Class   string      `json:"class,omitempty"` // a fetch.Code
	Exit    int         `json:"exit,omitempty"`  // exit status, see ExitStatus
	Message string      `json:"message,omitempty"`
	Hint    string      `json:"hint,omitempty"`
	Form    *fetch.Form `json:"form,omitempty"` // the form to fill in
}

// Event returns the event for r. Path is the file name to report. The outcomes Described and Taken
// have no event; Name is then empty.
func (r *Result) Event(path string) Event {
	ev := Event{Name: string(r.Outcome), URL: r.URL, Path: path, Seconds: r.Elapsed.Seconds(),
		FinalURL: r.FinalURL, Status: r.Status, Capture: r.Capture}
	switch r.Outcome {
	case Saved:
		if size := r.Size; size >= 0 {
			ev.Bytes = &size
		}
		ev.Proof, ev.Closed = r.Proof, r.FramedByClose
		if ev.SHA256 = r.SHA256; r.Elapsed > 0 {
			ev.Rate = math.Round(float64(r.Received) / r.Elapsed.Seconds())
		}
	case Unchanged:
	case Skipped:
		ev.Reason = "exists"
	case NoContent:
		ev.Name, ev.Path, ev.Reason = string(Skipped), "", "no_content"
	case Listed:
		ev.Path, ev.Entries = "", r.Entries
	case Failed:
		return failure(r.URL, r.Err)
	default:
		return Event{FinalURL: r.FinalURL, Status: r.Status}
	}
	return ev
}

func failure(url string, err error) Event {
	r := Result{URL: url}
	r.end(err)
	ev := Event{Name: string(Failed), URL: url, FinalURL: r.FinalURL, Status: r.Status, Reply: r.Reply,
		Class: string(r.Class), Exit: ExitStatus(r.Class), Message: r.Message, Hint: r.Hint}
	if formErr, ok := errors.AsType[*fetch.FormError](err); ok {
		ev.Form = &formErr.Form
	}
	return ev
}
