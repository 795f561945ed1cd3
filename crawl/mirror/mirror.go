// Package mirror saves trees of files from servers, over every protocol with listings or links.
//
// A mirror is a crawl that saves pages (see package crawl). A Layout maps each URL to a path. A
// state file lets an interrupted mirror resume, and lets the next run request only files that have
// changed.
package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/retry"
	"github.com/urlget/urlget/fetch/uri"
)

// Options configure a mirror. A nil *Options means the defaults.
type Options struct {
	// Crawl configures the crawl. State, Visit, Sync, Ended and, with Newer, Skip are set by the
	// mirror.
	Crawl  crawl.Options
	Layout Layout
	// State is the state file. If it is "", the file is in the directory .urlget below the root and
	// has the name of the first seed's server. Run resumes an unfinished mirror only if it is of
	// the same kind and all its seeds are among those of Run. It does not change other unfinished
	// states.
	State string
	// Newer skips files that have not changed on the server. Files that a listing shows as
	// unchanged are not requested; the others are requested conditionally. Newer and Convert keep the
	// state file for the next run; otherwise it is removed at the end, unless URLs contended for a path.
	Newer bool
	// Keep does not overwrite existing files. It reads their links, and requests converted pages without
	// an original for theirs.
	Keep bool
	// Delete removes files of earlier runs that no longer exist on the server: those missing from
	// the listing of their directory, and linked ones that the server reports as not found. At the
	// end of a complete run, it asks the server for files that pages no longer link to. See
	// Report.Kept for the exceptions. It removes nothing if that would be more than ten files and
	// more than DeleteShare percent of those that earlier runs saved of a start URL (0 means 50).
	// The error of Run then wraps ErrTooManyGone.
	Delete      bool
	DeleteShare int
	// Spider checks links and saves nothing. It uses a separate state file, which is removed at the
	// end.
	Spider bool
	// Convert rewrites the links in pages, style sheets and Gopher menus at the end, so that they
	// refer to the saved files. Originals keeps the unconverted file as NAME.orig. Without
	// Originals, the next run retrieves converted pages again, because there is no original to
	// compare.
	Convert, Originals bool
	// Extend adds ".html", ".xhtml" or ".css" to the names of documents of these types that lack
	// it.
	Extend bool
	// ErrorPages saves the content of error responses in place of the pages.
	ErrorPages bool

	// Retry is the policy of download.Options. Retrying replaces Retry.Report.
	Retry retry.Policy

	// Begin is called when a visit begins. It returns the context that is passed to the functions
	// below, and a function to call when the visit ends. Calls may overlap.
	Begin func(ctx context.Context, u uri.URI) (context.Context, func())
	// Progress is called while a file is received, with its path relative to the root. The numbers
	// are those of download.Options. Calls may overlap.
	Progress func(ctx context.Context, path string, done, total int64)
	// Ended is called for each visited URL and each removed file. If the name of a file is not yet
	// final, because several URLs want it, Ended is called at the end of the run, or of the next one
	// if it is interrupted. Calls do not overlap.
	Ended func(Event)
	// Unread is called for start pages of schemes with links, and for pages that begin as HTML, that are
	// not read for links because of their content type. Calls do not overlap.
	Unread func(u uri.URI, contentType string)
	// NoAnchor is called at the end of a run with Spider for each fragment of a link that refers to no part
	// of a page, with the first page that links to it. Calls do not overlap.
	NoAnchor func(link, page uri.URI)
	// Retrying is called before each pause between attempts, like Retry.Report. Calls do not
	// overlap.
	Retrying func(ctx context.Context, u uri.URI, failed int, wait time.Duration, err error)
}

// Deleted is the outcome of a file that Options.Delete removed.
const Deleted download.Outcome = "deleted"

// A Report counts the results of a mirror in this process.
type Report struct {
	Saved, Unchanged, Listed, Deleted, Failed, Left int64
	// Received is the number of bytes received for files, including interrupted and failed ones.
	Received int64
	// Continued is true if Run resumed an unfinished mirror.
	Continued bool
	// Kept lists the start URLs, directories and pages because of which Options.Delete removed less.
	Kept []Kept
}

// Run mirrors the seeds and their links below the root of d. An error means that the mirror is
// incomplete and can be resumed by the same call: ctx was canceled, the file system failed, or
// another process uses the state (crawl.ErrInUse). Failures of single URLs are reported to
// Options.Ended and counted.
func Run(ctx context.Context, d *download.Downloader, seeds []uri.URI, opts *Options) (*Report, error) {
	m := &mirror{d: d, checked: map[string]bool{}, renames: map[string]rename{}, waiting: map[string]Event{},
		failedSeeds: map[int]bool{}, unreadPages: map[int]string{}}
	if opts != nil {
		m.Options = *opts
	}
	if err := m.openState(seeds); err != nil {
		return &m.report, err
	}
	defer m.state.Close()
	m.report.Continued = m.state.Continues()
	if !m.Spider {
		if err := m.prepareNames(); err != nil {
			return &m.report, err
		}
	}
	m.former, m.started = map[string]string{}, time.Now()
	c := m.Crawl
	c.State, c.Visit, c.Sync = m.state, m.visit, d.Flush
	c.Ended, c.StateRemoved = m.ended, m.removesState()
	if m.Newer && !m.Keep && !m.Spider {
		c.Skip = m.unchangedInListing
	}
	r, err := crawl.Run(ctx, d.Client, seeds, &c)
	m.report.Left, m.report.Failed = r.Left, r.Failed
	if err = errors.Join(err, m.updateRenamedMemos()); err != nil {
		m.reportWaiting()
		return &m.report, errors.Join(err, d.Flush())
	}
	if !m.Spider && !m.state.Continues() {
		if err := m.settle(); err != nil {
			return &m.report, err
		}
	}
	m.reportWaiting()
	if m.Spider {
		if err := m.checkFragments(); err != nil {
			return &m.report, err
		}
	}
	if m.Convert && !m.Spider {
		if err := m.convert(ctx); err != nil {
			return &m.report, err
		}
	}
	if m.Delete && !m.Spider {
		if err := m.removeGone(ctx, seeds); err != nil {
			return &m.report, errors.Join(err, d.Flush())
		}
	}
	if err := d.Flush(); err != nil {
		return &m.report, err
	}
	if c.StateRemoved && m.removesState() {
		m.state.Remove()
		d.Root.Remove(stateDir) // fails if it is not empty
	}
	return &m.report, nil
}

// A mirror is the state of one call of Run.
type mirror struct {
	Options
	d     *download.Downloader
	state *crawl.State
	// file is the state file. before is its FileInfo when it was opened, or nil if it is new.
	file    string
	before  fs.FileInfo
	started time.Time // of the crawl

	mu      sync.Mutex // protects the fields below, and serializes calls of Ended and Retrying
	checked map[string]bool
	moved   int // number of files renamed to make way for directories
	// renames has the files that were renamed before their visit ended, by URL key.
	renames map[string]rename
	report  Report
	// waiting has the events of files whose names are not final, and former the reported names of
	// files that were renamed since, by URL key. Former is nil until the run begins.
	waiting map[string]Event
	former  map[string]string
	// For Delete: the start URLs that failed and a page of each that could not be read, by
	// crawl.Page.SeedIndex, and saved files that were not found.
	failedSeeds map[int]bool
	unreadPages map[int]string
	notFound    []removal
}

func fileError(err error) error { return fetch.ErrFile.Wrap("mirror", err) }

// A memo is the stored state of a URL (crawl.Page.Memo).
type memo struct {
	Path      string          `json:"path,omitempty"`
	Type      string          `json:"type,omitempty"`
	Validator fetch.Validator `json:"validator,omitzero"`
	Size      int64           `json:"size,omitempty"` // of the saved file
	Saved     time.Time       `json:"saved,omitzero"` // modification time of the saved file
	// Index is the entry in a directory index when the file was last requested, at Asked.
	Index     indexEntry `json:"told,omitzero"`
	Requested time.Time  `json:"asked,omitzero"`
	Page      bool       `json:"page,omitempty"` // it may be converted
	To        string     `json:"to,omitempty"`   // the key of a redirect's target
	// ToFragment is the fragment that the redirect names, after a "#", or "". It replaces that of a link.
	ToFragment string `json:"to#,omitempty"`
	// Anchors is true if the state has all anchors of the page.
	Anchors bool   `json:"anchors,omitempty"`
	Final   string `json:"final,omitempty"` // the base URL of links
	Run     uint64 `json:"run,omitempty"`   // crawl.State.Number of the run that chose Path
	// ErrorRun is the number of the run that saved an error page instead of the content.
	ErrorRun uint64 `json:"errorRun,omitempty"`
	// Shared is the key of the URL whose file this URL shares, because the content is the same.
	Shared string `json:"shared,omitempty"`
	// Scheme is the scheme of the URL if it is not that of the key (see uri.URI.Key).
	Scheme string `json:"scheme,omitempty"`
}

func readMemo(b []byte) (v memo) {
	if len(b) > 0 {
		json.Unmarshal(b, &v) // a damaged memo counts as missing
	}
	return v
}

// names returns the names in the state with a prefix, without it: the first ones, up to a limit, or all
// if that is negative.
func (m *mirror) names(prefix string, limit int) (list []string) {
	for name := range m.state.Names(prefix) {
		if list = append(list, strings.TrimPrefix(name, prefix)); len(list) == limit {
			break
		}
	}
	return list
}

// memoOf returns the memo of a URL, and whether a visit succeeded in this run.
func (m *mirror) memoOf(u uri.URI) (v memo, now bool) {
	b, now := m.state.Memo(u)
	return readMemo(b), now
}

// updateMemo replaces the memo of a URL by the result of f, whose arguments are those of memoOf.
func (m *mirror) updateMemo(u uri.URI, f func(v memo, now bool) memo) error {
	return m.state.UpdateMemo(u, func(b []byte, now bool) []byte { return f(readMemo(b), now).bytes() })
}

func (v memo) bytes() []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// url returns the URL whose key is key, or zero if that is damaged.
func (v memo) url(key string) uri.URI {
	u, err := uri.Parse(key)
	if err != nil || v.Scheme == "" {
		return u
	}
	if secure, err := uri.Parse(v.Scheme + strings.TrimPrefix(key, u.Scheme())); err == nil {
		return secure
	}
	return u
}

// describes reports whether a file is unchanged since it was saved.
func (v memo) describes(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == v.Size && info.ModTime().Equal(v.Saved)
}

// claim returns the path for u, whose key is key. It is the path of the layout, unless another URL
// owns that or a directory or file is in the way, as with "/a" and "/a/b". In that case it is a
// provisional one until the end of the run, see settle. The FileInfo is that of the file at the
// path, or nil.
func (m *mirror) claim(u uri.URI, key string) (string, fs.FileInfo, error) {
	want := m.Layout.Path(u, m.d.Client.Traits(u))
	for n := range 10_000 {
		name := provisional(want, n)
		if n > 0 && !m.owns(name, key) {
			m.removeUnowned(name)
		}
		owner, err := m.state.Claim(filePrefix+name, key)
		if err != nil {
			return "", nil, err
		}
		if owner != key {
			continue
		}
		old, err := m.preparePath(name)
		if err != nil {
			return "", nil, err
		}
		if old == nil || !old.IsDir() {
			if n > 0 {
				_, err = m.state.Claim(provisionalPrefix+key, want)
			}
			return name, old, err
		}
		m.state.Disclaim(filePrefix + name)
		m.removePart(name)
	}
	return "", nil, fileError(&fs.PathError{Op: "name", Path: want, Err: fs.ErrExist})
}

// Prefixes of names in the state: files, directories that were listed completely, directories that
// were found in a listing, those that could not be read (with the URL and the reason), and those
// that are empty (with the number of the first run that found them so). Directories are named in the
// layout serverPaths.
const (
	filePrefix      = "f:"
	listedDirPrefix = "d:"
	seenDirPrefix   = "s:"
	unreadDirPrefix = "u:"
	emptyDirPrefix  = "e:"
)

// preparePath checks that a file can be saved as name, and renames a file of the mirror that
// occupies the path of a parent directory. It returns the FileInfo of the file or directory at
// name, or nil. Symbolic links in the path are rejected.
func (m *mirror) preparePath(name string) (old fs.FileInfo, err error) {
	if exist, err := m.prepareParents(name); !exist {
		return nil, err
	}
	if old, err = m.d.Lstat(name); err != nil {
		return nil, nil // there is none, or saving it will fail for the same reason
	}
	return old, nil
}

// prepareParents checks the parent directories of name like preparePath and reports whether all of
// them exist.
func (m *mirror) prepareParents(name string) (exist bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range len(name) {
		if name[i] != '/' || m.checked[name[:i]] {
			continue
		}
		dir := name[:i]
		info, err := m.d.Root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return false, nil
		case err != nil:
			return false, fileError(err)
		case info.Mode().IsRegular():
			return false, m.renameBlockingFile(dir)
		case !info.IsDir():
			return false, fileError(&fs.PathError{Op: "write", Path: dir,
				Err: errors.New("not a directory, and symbolic links are not followed")})
		}
		if len(m.checked) > 1000 {
			clear(m.checked)
		}
		m.checked[dir] = true
	}
	return true, nil
}

// A rename records that a file was renamed while its visit still uses the old path.
type rename struct{ from, to string }

// current returns the present path of a file that the visit of a URL knows as name. m.mu must be
// held.
func (m *mirror) current(key, name string) string {
	if r, ok := m.renames[key]; ok && r.from == name {
		return r.to
	}
	return name
}

// updateRenamedMemos corrects the memos of visits whose files were renamed during the visit.
func (m *mirror) updateRenamedMemos() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.renames {
		u, err := uri.Parse(key)
		if err != nil {
			return err
		}
		err = m.updateMemo(u, func(v memo, _ bool) memo {
			v.Path = m.current(key, v.Path)
			return v
		})
		if err != nil {
			return err
		}
		m.state.Disclaim(movePrefix + key)
	}
	return nil
}

// renamedOwner returns the key of a URL that has saved its file again under a name from which it
// was renamed, or "".
func (m *mirror) renamedOwner(name string) string {
	for key, r := range m.renames {
		if r.from == name {
			return key
		}
	}
	return ""
}

// renameBlockingFile renames a file that occupies the path of a directory. m.mu must be held.
func (m *mirror) renameBlockingFile(name string) error {
	owner, _, err := m.state.Owner(filePrefix + name)
	if err != nil {
		return err
	}
	if owner == "" {
		owner = m.renamedOwner(name)
	}
	if owner == "" {
		return fileError(&fs.PathError{Op: "make directory", Path: name,
			Err: errors.New("file exists and was not saved by the mirror")})
	}
	u, err := uri.Parse(owner)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		free := provisional(name, n)
		holder, err := m.state.Claim(filePrefix+free, owner)
		if err != nil {
			return err
		}
		if holder != owner {
			continue
		}
		if err := m.d.Flush(); err != nil { // a pending rename must not lose its file
			return err
		}
		if _, err := m.state.Claim(provisionalPrefix+owner, name); err != nil {
			return err
		}
		if _, err := m.state.Claim(movePrefix+owner, move{owner, name, free, ""}.String()); err != nil {
			return err
		}
		if _, err := m.recordedMoves(); err != nil { // for its write: a crash must not lose the file
			return err
		}
		if err := m.d.Root.Rename(name, free); err != nil {
			return fileError(err)
		}
		if err := m.d.Root.Rename(name+backup, free+backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err)
		}
		m.state.Disclaim(filePrefix + name)
		m.moved++
		m.recordFormer(owner, name)
		visited := false
		err = m.updateMemo(u, func(v memo, over bool) memo {
			visited, v.Path = over, free
			return v
		})
		if visited {
			m.state.Disclaim(movePrefix + owner)
		} else { // until updateRenamedMemos
			m.renames[owner] = rename{name, free}
		}
		return err
	}
}
