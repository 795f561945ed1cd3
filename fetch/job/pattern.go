package job

import (
	"context"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
)

// readAhead is the number of matches that are read before the first is processed. Most listings are
// shorter: their connection can be reused for the matches, and a failed listing can be retried. For
// longer listings it bounds the memory.
const readAhead = 1 << 14

func (u *run) matches(ctx context.Context, resp *fetch.Response) error {
	u.result.Outcome = Listed
	next, stop := iter.Pull2(u.countEntries(resp.Entries))
	defer stop()
	var (
		waiting []*Job
		failed  error // the first match that failed
		begun   bool  // a match was passed on
	)
	for open := true; ; {
		for open && len(waiting) < readAhead {
			e, err, ok := next()
			switch {
			case err != nil && !begun:
				u.result.Entries = 0
				return download.Again(err)
			case err != nil:
				return err
			case !ok:
				open = false
				resp.Body.Close()
			default:
				waiting = append(waiting, u.matchJob(resp, e))
			}
		}
		if len(waiting) == 0 {
			return failed
		}
		j := waiting[0]
		waiting, begun = waiting[1:], true
		switch {
		case u.Match != nil:
			if err := u.Match(j); err != nil {
				return err
			}
		case j.Op == fetch.OpGet:
			if r := u.Run(ctx, j, &Hooks{Writer: u.Writer}); failed == nil {
				failed = r.Err
			}
		}
		if err := fetch.ContextError(ctx); err != nil {
			return err
		}
	}
}

func (u *run) matchJob(resp *fetch.Response, e fetch.Entry) *Job {
	j := *u.job
	j.URL, j.From, j.IfChanged = e.URL, resp.URL, fetch.Validator{}
	j.Known = &download.Known{Size: e.Size, Validator: fetch.Validator{ModTime: e.ModTime}}
	if e.Kind == fetch.EntryListing {
		j.Op = fetch.OpList
	}
	return &j
}
