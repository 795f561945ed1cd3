package job

import (
	"math"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/render"
)

// Event returns the event that ends the job, by which programs learn of it (docs/json.md). path is
// where its file is, as they know it. For fetch.OpStat and for Taken there is none.
func (r *Result) Event(path string) render.Event {
	var ev render.Event
	switch r.Outcome {
	case Saved:
		ev = render.Saved(r.URL, path, r.Size, r.SHA256, r.Elapsed)
		if r.Elapsed > 0 {
			ev.Rate = math.Round(float64(r.Received) / r.Elapsed.Seconds())
		}
	case Unchanged:
		ev = render.Unchanged(r.URL, path, r.Elapsed)
	case Skipped:
		ev = render.Skipped(r.URL, path, "exists", r.Elapsed)
	case NoContent:
		ev = render.Skipped(r.URL, "", "no_content", r.Elapsed)
	case Listed:
		ev = render.Listed(r.URL, r.Entries, r.Elapsed)
	case Failed:
		ev = render.Failed(r.URL, r.Err, ExitStatus(fetch.CodeOf(r.Err)))
		return ev
	}
	ev.FinalURL, ev.Status = r.FinalURL, r.Status
	return ev
}
