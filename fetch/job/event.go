package job

import (
	"math"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// Event returns the event that ends the job, by which programs learn of it (docs/json.md). path is
// where its file is, as they know it. For fetch.OpStat and for Taken there is none.
func (r *Result) Event(path string) render.Event {
	ev := render.Event{Name: string(r.Outcome), URL: r.URL, Path: path, Seconds: r.Elapsed.Seconds(), FinalURL: r.FinalURL, Status: r.Status}
	switch r.Outcome {
	case Saved:
		if size := r.Size; size >= 0 {
			ev.Bytes = &size
		}
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
		return render.Failed(r.URL, r.Err, ExitStatus(fetch.CodeOf(r.Err)))
	default:
		return render.Event{FinalURL: r.FinalURL, Status: r.Status}
	}
	return ev
}
