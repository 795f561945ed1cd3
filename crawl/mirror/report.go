package mirror

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

// An Event reports the outcome of one URL.
type Event struct {
	URL, From uri.URI
	Target    uri.URI // where URL redirects to, with the outcome Skipped; or zero
	// Outcome is Saved, Unchanged, Skipped (a file existed, nothing had to be saved or it redirects),
	// Listed (the page was only read or checked), NoContent, Failed or Deleted.
	Outcome download.Outcome
	Path    string // of the file, relative to the root; or ""
	// Former is the path in an earlier Event of this run if the file was renamed since, to make way
	// for a directory or for another URL.
	Former   string
	Size     int64 // of the file in bytes; -1 if unknown
	Received int64 // bytes received for the file
	Status   int   // code of the last reply; 0 if there was no request or no code
	// ErrorPage is true if the URL failed and the content of the response was saved at Path.
	ErrorPage bool
	// Proof is the digest that a saved file was verified with (see download.Result), or nil.
	Proof *fetch.Digest
	// FramedByClose is that of job.Result.
	FramedByClose bool
	Elapsed       time.Duration
	Err           error // the reason of a failure, or of Skipped for a link to a directory
}

// visitResult holds the result of a visit until the crawl calls Ended.
type visitResult struct {
	Event
	begin  time.Time
	reread bool // only for the links of a page that was reported
}

func (m *mirror) ended(p *crawl.Page, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, _ := p.Result.(*visitResult)
	if v == nil {
		v = &visitResult{Event: Event{Size: -1}, begin: time.Now()}
	}
	if v.reread && err == nil {
		return
	}
	e := v.Event
	e.URL, e.From, e.Target, e.Elapsed = p.URL, p.From, p.Target, time.Since(v.begin)
	if err != nil {
		e.Outcome, e.Err = job.Failed, err
		if p.From.IsZero() {
			m.failedSeeds[p.SeedIndex()] = true
		}
		if fetch.CodeOf(err) != fetch.ErrNotFound && m.d.Client.Traits(p.URL).HasLinks() {
			m.unreadPages[p.SeedIndex()] = p.URL.Redacted()
		}
	}
	switch e.Outcome {
	case job.Saved:
		m.report.Saved++
	case job.Unchanged:
		m.report.Unchanged++
	case job.Listed:
		m.report.Listed++
	}
	if e.Path != "" && !m.isFinal(p, e.Path) {
		if e.Outcome == job.Failed {
			e.Path = ""
		} else {
			m.waiting[p.Key()] = e
			return
		}
	}
	m.emit(e)
}

func (m *mirror) received(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Received += n
}

func (m *mirror) emit(e Event) {
	if m.Options.Ended != nil {
		m.Options.Ended(e)
	}
}

// isFinal reports whether a visited page keeps its path at the end of the run, unless that becomes a
// directory. The path of a web page of a directory goes to the URL that ends in a slash, see contender.
func (m *mirror) isFinal(p *crawl.Page, name string) bool {
	page, _, _ := strings.Cut(name, "?")
	switch _, renamed := m.former[p.Key()]; {
	case renamed, isProvisional(name):
		return false
	case !m.mayShare(p.URL, page) || strings.HasSuffix("/"+p.URL.URLPath(), "/"):
		return true
	}
	return readMemo(p.Memo).Run != m.state.Number()
}

// recordFormer records the path of a file that is renamed. m.mu must be held.
func (m *mirror) recordFormer(key, name string) {
	if _, renamed := m.former[key]; !renamed && m.former != nil && !isProvisional(name) {
		m.former[key] = name
	}
}

func (m *mirror) reportNamed(v move, now memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.former == nil {
		return // the names of an earlier run
	}
	m.recordFormer(v.key, v.from)
	e, waits := m.waiting[v.key]
	if !waits {
		e = Event{URL: now.url(v.key), Outcome: job.Saved, Size: now.Size, Former: m.former[v.key]}
	}
	e.Path = now.Path
	delete(m.waiting, v.key)
	delete(m.former, v.key)
	if e.Path != e.Former && !e.URL.IsZero() && now.ErrorRun == 0 {
		m.emit(e)
	}
}

// reportWaiting reports the files that keep their paths. If the run was interrupted, the others are
// reported by the run that names them.
func (m *mirror) reportWaiting() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.waiting)) {
		e := m.waiting[key]
		if _, renamed := m.former[key]; !renamed && !isProvisional(e.Path) {
			m.emit(e)
		}
	}
	clear(m.waiting)
}
