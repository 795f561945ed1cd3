package mirror

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// contents are buffers for the contents of pages, which are read for links after they were saved.
var contents = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// maxRestarts limits how often a page is started again under another name.
const maxRestarts = 5

var (
	errListed       = errors.New("response is a listing")
	errPathBlocked  = errors.New("path blocked")
	errUnwantedType = errors.New("media type not accepted")
)

func (m *mirror) get(ctx context.Context, p *crawl.Page, v *visitResult) error {
	s, _ := m.d.Client.Scheme(p.URL.Scheme())
	if p.From.IsZero() && strings.HasSuffix(p.URL.URLPath(), "/") && s.Can(fetch.OpList) && !s.HasLinks() {
		return m.list(ctx, p, v)
	}
	var err error
	for range maxRestarts {
		if err = m.getOnce(ctx, p, v); !errors.Is(err, errPathBlocked) {
			return err
		}
	}
	return fileError(&fs.PathError{Op: "save", Path: v.Path, Err: err})
}

// getOnce saves a page or finds it unchanged. It returns errPathBlocked if the page must be started
// again.
func (m *mirror) getOnce(ctx context.Context, p *crawl.Page, v *visitResult) error {
	r := &retrieval{mirror: m, p: p, v: v, old: readMemo(p.Memo), final: p.URL, before: m.movedCount()}
	if err := r.name(); err != nil {
		return err
	}
	known := r.info()
	if v.reread = known.same && r.savedInThisRun(); v.reread {
		return r.unchanged(ctx, r.now.Path)
	}
	if m.Keep && r.existing != nil && r.old.Page && known.original == "" {
		return r.readConverted(ctx)
	}
	a := plan(&m.Options, r.old, r.now, known)
	if a.unchanged {
		return r.unchanged(ctx, r.unconverted)
	}
	return r.act(ctx, a, known)
}

type retrieval struct {
	*mirror
	p        *crawl.Page
	v        *visitResult
	old, now memo        // the stored memo and the new one
	before   int         // mirror.moved at the start of the attempt
	linked   bool        // the file at the path is a link to a shared one; see linkShared
	existing fs.FileInfo // of the file at the path before the attempt, or nil
	// unconverted is the path of the saved response of an earlier run, without converted links.
	unconverted string

	// The fields below are set from the response.
	final uri.URI
	parse func(io.Reader) iter.Seq2[fetch.Entry, error]
}

// name claims the path for the page and sets existing. It keeps the previous path if the page still
// owns it. A page that shared the file of another one gets a path of its own, in case one of them
// changes.
func (r *retrieval) name() (err error) {
	r.now.Path, r.now.Run = r.old.Path, r.old.Run
	if r.now.Path == "" || r.old.Shared != "" || !r.owns(r.now.Path, r.p.Key()) {
		r.now.Path, r.existing, err = r.claim(r.p.URL, r.p.Key())
		r.now.Run = r.state.Number()
		if err == nil && r.old.Shared != "" {
			r.linkShared()
		}
	} else {
		r.existing, err = r.keepPath(r.now.Path, r.p.Key())
	}
	if err == nil {
		r.v.Path = r.now.Path
	}
	return err
}

// savedInThisRun reports whether an earlier visit of this run has saved the page. It is visited again
// only because it has become nearer, so the links in its file suffice.
func (r *retrieval) savedInThisRun() bool {
	return !r.old.Requested.Before(r.started) && links.Readable(r.old.Type) &&
		!r.d.Client.Traits(r.p.URL).Menus
}

// linkShared links the shared file of an earlier run to the path of the page, as if it had been saved
// there. If that fails, the page is retrieved as a new one.
func (r *retrieval) linkShared() {
	v := r.old
	r.old = memo{}
	original := r.originalOf(v)
	converted := v.Page && original == ""
	if converted && !r.Keep || r.d.Flush() != nil ||
		r.d.Root.Link(cmp.Or(original, v.Path), r.now.Path) != nil {
		return
	}
	info, err := r.d.Lstat(r.now.Path)
	if err != nil || original == "" && !converted && !v.describes(info) {
		r.d.Root.Remove(r.now.Path)
		return
	}
	r.old, r.existing, r.linked = v, info, true
	r.old.Path, r.old.Shared, r.old.Page = r.now.Path, "", converted
	r.old.Size, r.old.Saved = info.Size(), info.ModTime()
}

func (r *retrieval) info() pageInfo {
	r.now.Index, r.now.Requested = indexEntryOf(r.p), r.v.begin
	k := pageInfo{listing: listedMeta(r.p)}
	if r.existing != nil {
		k.same = r.old.describes(r.existing)
		k.original = r.originalOf(r.old)
	}
	r.unconverted = cmp.Or(k.original, r.now.Path)
	k.mayLink = r.d.Client.Traits(r.p.URL).HasLinks() && mayLink(r.now.Path)
	return k
}

func (r *retrieval) act(ctx context.Context, a action, k pageInfo) error {
	req := r.p.Request(ctx)
	req.IfChanged = a.ifChanged
	opts := &download.Options{Exists: a.exists, ResumePart: true, Known: a.known, Content: k.mayLink,
		Absent: r.existing == nil, Retry: r.Retry,
		Response: func(resp *fetch.Response) error { return r.response(ctx, resp) }}
	if a.compare {
		opts.Same = path.Base(r.unconverted)
	}
	opts.Retry.Report = func(failed int, wait time.Duration, err error) {
		r.p.AttemptFailed(err)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Retrying != nil {
			r.Retrying(ctx, r.p.URL, failed, wait, err)
		}
	}
	if r.Progress != nil {
		name := withoutNumber(r.now.Path)
		opts.Progress = func(done, total int64) { r.Progress(ctx, name, done, total) }
	}
	var buffer *[]byte
	if k.mayLink {
		buffer = contents.Get().(*[]byte)
		defer contents.Put(buffer)
		opts.ContentBuffer = *buffer
	}
	res, err := r.d.Do(ctx, req, r.now.Path, opts)
	if buffer != nil && res != nil && res.Content != nil {
		*buffer = res.Content // it may have grown
	}
	if res != nil {
		r.received(res.Written)
		r.v.Received += res.Written
	}
	if fetch.CodeOf(err) == fetch.ErrNotModified && !a.ifChanged.IsZero() {
		if e, ok := errors.AsType[*fetch.Error](err); ok {
			r.v.Status = e.Reply.Code
		}
		r.old.Index, r.old.Requested = r.now.Index, r.now.Requested
		return r.unchanged(ctx, r.unconverted)
	}
	if err != nil {
		return r.failed(err)
	}
	if res.Outcome == download.Saved {
		r.unconverted = ""
	}
	if k.same && res.Outcome == download.Unchanged && r.now.Path == r.old.Path {
		r.markForConversion(&r.old, r.parse != nil)
	}
	return r.saved(ctx, res)
}

// response checks a response before its body is saved. It returns an error if the body must not be
// saved, or not as this page.
func (r *retrieval) response(ctx context.Context, resp *fetch.Response) error {
	p, v := r.p, r.v
	v.Status = resp.Reply.Code
	if err := p.Receive(ctx, resp); err != nil {
		return err
	}
	if resp.Kind == fetch.KindListing && !r.d.Client.Traits(resp.URL).Menus && resp.Entries != nil {
		v.Outcome, v.Path = job.Listed, ""
		if err := r.members(ctx, p, resp); err != nil {
			return err
		}
		return errListed
	}
	if !r.Crawl.Scope.KeepsType(resp.ContentType) {
		if entries, ok := links.Entries(resp, p.Rel); ok {
			return cmp.Or(p.AddLinks(ctx, entries), errUnwantedType)
		}
		return errUnwantedType
	}
	r.final, r.now.Type, r.now.Validator, r.parse = resp.URL, resp.ContentType, resp.Validator, resp.Parse
	for range links.Fields(resp) {
		r.now.Validator = fetch.Validator{} // an unchanged page would lack its header
	}
	return nil
}

func (r *retrieval) unchanged(ctx context.Context, name string) error {
	r.old.Path, r.old.Run = r.now.Path, r.now.Run
	r.v.Outcome, r.v.Size = job.Unchanged, r.old.Size
	r.markForConversion(&r.old, false)
	r.p.Memo = r.old.bytes()
	return r.follow(ctx, r.p, r.old, name, nil, nil)
}

// readConverted keeps a converted file and requests the page for its links, because those in the file
// lead to other files.
func (r *retrieval) readConverted(ctx context.Context) error {
	r.old.Path, r.old.Run = r.now.Path, r.now.Run
	r.p.Memo = r.old.bytes()
	err := r.read(ctx, r.p, r.v)
	r.v.Size = r.existing.Size()
	if err != nil && r.linked {
		r.unlinkShared()
	}
	return err
}

// unlinkShared removes the link of linkShared. The shared file remains.
func (r *retrieval) unlinkShared() {
	r.d.Root.Remove(r.now.Path)
	r.state.Disclaim(filePrefix + r.now.Path)
	r.state.Disclaim(provisionalPrefix + r.p.Key())
	r.linked = false
}

// failed ends an attempt that saved nothing. It returns nil if nothing had to be saved.
func (r *retrieval) failed(err error) error {
	switch {
	case r.linked:
		r.unlinkShared()
		return r.failed(err)
	case errors.Is(err, errListed):
		r.state.Disclaim(filePrefix + r.now.Path)
		return nil
	case errors.Is(err, crawl.ErrElsewhere):
		r.releasePath()
		return err
	case errors.Is(err, errUnwantedType):
		r.releasePath()
		r.v.Outcome, r.v.Path = job.Skipped, ""
		return nil
	case r.p.Depth > 0 && r.p.Rel == "item" && isDirectory(err):
		// A symbolic link in a listing does not show what it leads to. A directory in the tree is
		// mirrored under its own name, and one above it would be mirrored without end.
		r.releasePath()
		r.v.Outcome, r.v.Path, r.v.Err = job.Skipped, "", err
		return nil
	case fetch.CodeOf(err) == fetch.ErrFile && r.isPathBlocked(r.now.Path, r.before):
		return errPathBlocked
	case fetch.CodeOf(err) == fetch.ErrNotFound && r.Delete && r.owns(r.old.Path, r.p.Key()) &&
		r.old.ErrorRun == 0 && r.d.Client.Traits(r.p.URL).HasLinks():
		// Of a listed file the listing decides.
		r.mu.Lock()
		r.notFound = append(r.notFound, removal{r.old.Path, r.p.URL})
		r.mu.Unlock()
	case r.ErrorPages:
		return r.saveErrorPage(err)
	}
	return err
}

func isDirectory(err error) bool {
	e, ok := errors.AsType[*fetch.Error](err)
	return ok && e.Reason.Kind == fetch.ReasonDirectory
}

// isPathBlocked reports whether a file could not be saved because name is a directory, or because
// the path of a parent directory is a file. The page is then started again under another name.
// moved is m.moved at the start of the attempt: another visit may have renamed that file since.
func (m *mirror) isPathBlocked(name string, moved int) bool {
	if info, err := m.d.Root.Lstat(name); err == nil && info.IsDir() {
		m.removePart(name)
		m.state.Disclaim(filePrefix + name)
		return true
	}
	if m.movedCount() > moved {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := m.d.Root.Lstat(dir); err == nil {
			return info.Mode().IsRegular()
		}
	}
	return false
}

func (m *mirror) movedCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved
}

func (r *retrieval) releasePath() {
	if r.old.Path != r.now.Path {
		r.state.Disclaim(filePrefix + r.now.Path)
		r.state.Disclaim(provisionalPrefix + r.p.Key())
		r.removeUnowned(r.now.Path)
	}
}

// keepPath keeps the previous path of a URL. Only removeGone needs a new claim.
func (m *mirror) keepPath(name, key string) (old fs.FileInfo, err error) {
	if m.Delete {
		if _, err := m.state.Claim(filePrefix+name, key); err != nil {
			return nil, err
		}
	}
	return m.preparePath(name)
}

func (m *mirror) owns(name, key string) bool {
	owner, _, err := m.state.Owner(filePrefix + name)
	return err == nil && owner == key
}
