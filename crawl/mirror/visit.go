package mirror

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

// visit does what is to be done with a page of the crawl.
func (m *mirror) visit(ctx context.Context, p *crawl.Page) error {
	v := &visited{Event: Event{Size: -1, Outcome: job.Skipped}, begin: time.Now()}
	p.Result = v
	if m.Begin != nil {
		var end func()
		ctx, end = m.Begin(ctx, p.URL)
		defer end()
	}
	s, _ := m.d.Client.Scheme(p.URL.Scheme())
	switch {
	case m.Spider:
		return m.look(ctx, p, v)
	case p.Kind == fetch.EntryListing && s.Can(fetch.OpList) && p.Rel != "sitemap" && !s.Menus:
		return m.list(ctx, p, v)
	case !p.Save:
		v.Outcome = job.Listed
		return read(ctx, p, v)
	}
	return m.get(ctx, p, v)
}

// read reads the links of a page that is not to be saved.
func read(ctx context.Context, p *crawl.Page, v *visited) error {
	err := p.Read(ctx)
	v.Status = p.Reply.Code
	return err
}

// look is the visit of a spider: it reads links where there may be some, and else sees whether the
// thing is there.
func (m *mirror) look(ctx context.Context, p *crawl.Page, v *visited) error {
	v.Outcome = job.Listed
	if s, _ := m.d.Client.Scheme(p.URL.Scheme()); !p.From.IsZero() && p.Kind == fetch.EntryObject && s.Can(fetch.OpStat) && !s.Pages {
		resp, err := m.d.Client.Stat(ctx, &fetch.Request{URL: p.URL, From: p.From})
		if err == nil {
			v.Size, v.Status = resp.Size, resp.Reply.Code
		}
		return err
	}
	return read(ctx, p, v)
}

// list reads a listing. Its members become pages of the crawl.
func (m *mirror) list(ctx context.Context, p *crawl.Page, v *visited) error {
	v.Outcome = job.Listed
	resp, err := m.d.Client.Do(ctx, &fetch.Request{URL: p.URL, From: p.From, Op: fetch.OpList})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	v.Status = resp.Reply.Code
	if resp.Entries == nil {
		return &fetch.Error{Op: "list", URL: p.URL.Redacted(), Code: fetch.ErrNotRetrievable, Err: errors.New("not a listing")}
	}
	return m.members(p, resp)
}

// members tells the crawl of what a listing has, and remembers that it is there.
func (m *mirror) members(p *crawl.Page, resp *fetch.Response) error {
	for e, err := range resp.Entries {
		if err != nil {
			return err
		}
		if !e.URL.IsZero() && e.Rel != "parent" && m.Delete {
			var err error
			switch e.Kind {
			case fetch.EntryObject:
				err = m.isThere(e.URL)
			case fetch.EntryListing:
				_, err = m.state.Claim(seenDir+places.Dir(e.URL, m.d.Client.Traits(e.URL)), "")
			}
			if err != nil {
				return err
			}
		}
		if err := p.Found(e); err != nil {
			return err
		}
	}
	if m.Delete {
		_, err := m.state.Claim(readDir+places.Dir(resp.URL, m.d.Client.Traits(resp.URL)), "")
		return err
	}
	return nil
}

// isThere keeps the file of a URL that a listing has, also if it is not asked for.
func (m *mirror) isThere(u uri.URI) error {
	key, name := u.Key(), m.Layout.Path(u, m.d.Client.Traits(u))
	if !m.owns(name, key) { // it may have a number
		b, _ := m.state.Memo(u)
		if name = readMemo(b).Path; name == "" || !m.owns(name, key) {
			return nil
		}
	}
	_, err := m.state.Claim(fileName+name, key)
	return err
}

// maxAgain is how often a page is begun again: at another URL, or under another name.
const maxAgain = 5

var (
	errListed = errors.New("it was a listing")
	errMoved  = errors.New("it is elsewhere, or under another name")
	errType   = errors.New("its media type is not wanted")
)

// get saves a document and reads its links.
func (m *mirror) get(ctx context.Context, p *crawl.Page, v *visited) error {
	s, _ := m.d.Client.Scheme(p.URL.Scheme())
	if p.From.IsZero() && strings.HasSuffix(p.URL.URLPath(), "/") && s.Can(fetch.OpList) && !s.HasLinks() {
		return m.list(ctx, p, v)
	}
	for range maxAgain { // once for each redirect that leads to another page
		err := m.getOnce(ctx, p, v)
		if err != errMoved {
			return err
		}
		if !p.Save { // where it is, it is only read
			v.Outcome, v.Path = job.Listed, ""
			return read(ctx, p, v)
		}
	}
	return &fetch.Error{Op: "get", URL: p.URL.Redacted(), Code: fetch.ErrRedirect, Err: errors.New("it redirects to somewhere else each time")}
}

// getOnce saves a page, or finds that it need not. It returns errMoved if the page is to be begun
// again.
func (m *mirror) getOnce(ctx context.Context, p *crawl.Page, v *visited) error {
	r := &retrieval{mirror: m, p: p, v: v, old: readMemo(p.Memo), final: p.URL, before: m.movedAside()}
	if err := r.name(); err != nil {
		return err
	}
	known := r.look()
	a := plan(&m.Options, r.old, r.now, known)
	if a.unchanged {
		return r.unchanged(r.old.Path)
	}
	return r.act(ctx, a, known.same)
}

// A retrieval is one attempt to save a page.
type retrieval struct {
	*mirror
	p        *crawl.Page
	v        *visited
	old, now memo // what is remembered of the page, and what will be
	before   int  // mirror.moved when the attempt began
	// sent is the file with the response that an earlier run saved: without converted links.
	sent string

	// These are of the response.
	final uri.URI
	parse func(io.Reader) iter.Seq2[fetch.Entry, error]
}

// name claims the path for the page: the one it had, if that is still its own.
func (r *retrieval) name() (err error) {
	r.now.Path = r.old.Path
	if r.now.Path == "" || !r.owns(r.now.Path, r.p.Key()) {
		r.now.Path, err = r.claim(r.p.URL, r.p.Key())
	} else {
		err = r.claimAgain(r.now.Path, r.p.Key())
	}
	if err == nil {
		r.v.Path = r.now.Path
	}
	return err
}

// look finds out what is known of the page without a request.
func (r *retrieval) look() knowledge {
	r.now.Told, r.now.Asked = tellsOf(r.p), r.v.begin
	k := knowledge{listing: listed(r.p)}
	if info, err := r.d.Lstat(r.now.Path); err == nil {
		r.v.Replaced = true
		k.same = r.old.describes(info)
		k.original = r.converted(r.old)
	}
	r.sent = cmp.Or(k.original, r.now.Path)
	k.mayLink = r.d.Client.Traits(r.p.URL).HasLinks() && r.mayLink(r.now.Path)
	return k
}

// act requests the page as a says, and saves it. Same says that the file is the one that an earlier
// run saved.
func (r *retrieval) act(ctx context.Context, a action, same bool) error {
	req := &fetch.Request{URL: r.p.URL, From: r.p.From, IfChanged: a.ifChanged}
	opts := &download.Options{Exists: a.exists, Known: a.known, Retry: r.Retry, Response: r.response}
	if a.compare {
		opts.Same = path.Base(r.sent)
	}
	opts.Retry.Report = func(failed int, wait time.Duration, err error) {
		r.p.Busy(err)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.Retrying != nil {
			r.Retrying(ctx, r.p.URL, failed, wait, err)
		}
	}
	if r.Progress != nil {
		opts.Progress = func(done, total int64) { r.Progress(ctx, r.now.Path, done, total) }
	}
	res, err := r.d.Do(ctx, req, r.now.Path, opts)
	if res != nil {
		r.received(res.Written)
		r.v.Received += res.Written
	}
	if fetch.CodeOf(err) == fetch.ErrNotModified && !a.ifChanged.IsZero() {
		if e := (*fetch.Error)(nil); errors.As(err, &e) {
			r.v.Status = e.Reply.Code
		}
		r.old.Told, r.old.Asked = r.now.Told, r.now.Asked
		return r.unchanged(r.sent)
	}
	if err != nil {
		return r.failed(err)
	}
	if res.Outcome == download.Saved {
		r.sent = ""
	}
	if same && res.Outcome == download.Unchanged && r.now.Path == r.old.Path {
		r.toConvert(&r.old, r.parse != nil)
	}
	return r.saved(res)
}

// response looks at a response before its body is saved. It returns an error if the body is not to
// be saved, or not as this page.
func (r *retrieval) response(resp *fetch.Response) error {
	p, v := r.p, r.v
	p.Answered(resp.Kind)
	v.Status = resp.Reply.Code
	if resp.Kind == fetch.KindListing && !r.d.Client.Traits(resp.URL).Menus && resp.Entries != nil {
		v.Outcome, v.Path = job.Listed, ""
		if err := r.members(p, resp); err != nil {
			return err
		}
		return errListed
	}
	if resp.URL.Key() != p.Key() {
		to := resp.URL
		p.Trail = memo{To: to.Key()}.bytes()
		if err := p.Move(to); err != nil {
			return err
		}
		return errMoved
	}
	if !r.Crawl.Scope.KeepsType(resp.ContentType) {
		if entries, ok := links.Entries(resp); ok {
			if err := r.found(p, entries); err != nil {
				return err
			}
		}
		return errType
	}
	r.final, r.now.Type, r.now.Validator, r.parse = resp.URL, resp.ContentType, resp.Validator, nil
	if resp.Entries != nil {
		r.parse = resp.EntriesIn
	}
	return nil
}

// unchanged keeps what is remembered of the page, and reads its links from the file name.
func (r *retrieval) unchanged(name string) error {
	r.v.Outcome, r.v.Size = job.Unchanged, r.old.Size
	r.toConvert(&r.old, false)
	r.p.Memo = r.old.bytes()
	return r.follow(r.p, r.old, name, nil)
}

// failed ends an attempt that has saved nothing. It returns nil if nothing was to be saved.
func (r *retrieval) failed(err error) error {
	switch {
	case errors.Is(err, errListed):
		r.state.Disclaim(fileName + r.now.Path)
		return nil
	case errors.Is(err, errMoved):
		r.unclaim(r.old, r.now.Path)
		return errMoved
	case errors.Is(err, crawl.ErrElsewhere):
		r.unclaim(r.old, r.now.Path)
		r.v.Outcome, r.v.Path = job.Skipped, ""
		r.p.Memo = r.p.Trail
		return nil
	case errors.Is(err, errType):
		r.unclaim(r.old, r.now.Path)
		r.v.Outcome, r.v.Path = job.Skipped, ""
		return nil
	case fetch.CodeOf(err) == fetch.ErrFile && r.inTheWay(r.now.Path, r.before):
		return errMoved
	case fetch.CodeOf(err) == fetch.ErrNotFound && r.Delete && r.old.Path != "" && r.v.Replaced:
		return errors.Join(err, r.remove(r.old.Path, r.p.URL))
	}
	return err
}

// spare reports whether a listing proves that a file is still what was saved. Nothing leads on from
// such a file.
func (m *mirror) spare(p *crawl.Page) bool {
	known := listed(p)
	if known == nil || !p.Save || m.d.Client.Traits(p.URL).HasLinks() {
		return false
	}
	old := readMemo(p.Memo)
	if old.Path == "" || old.Page || m.Convert && hasLinks(old.Type) || !m.owns(old.Path, p.Key()) {
		return false
	}
	if there, err := m.makeWayTo(old.Path); !there || err != nil {
		return false
	}
	info, err := m.d.Lstat(old.Path)
	if err != nil || !old.describes(info) || !known.Suffices(info) {
		return false
	}
	if m.Delete { // for removeGone
		if _, err := m.state.Claim(fileName+old.Path, p.Key()); err != nil {
			return false
		}
	}
	p.Result = &visited{Event: Event{Outcome: job.Unchanged, Path: old.Path, Size: old.Size, Replaced: true}, begin: time.Now()}
	return true
}

// listed returns what a listing told of a file, nil if that was not its size and time.
func listed(p *crawl.Page) *download.Known {
	if p.Size < 0 || p.ModTime.IsZero() {
		return nil
	}
	return &download.Known{Size: p.Size, Validator: fetch.Validator{ModTime: p.ModTime}}
}

// inTheWay reports whether a file could not be saved because a directory took its name meanwhile,
// or a file that of its directory. The page is then begun again under another name. moved is what
// m.moved was before the page was begun: another visit may have moved that file aside since.
func (m *mirror) inTheWay(name string, moved int) bool {
	if info, err := m.d.Root.Lstat(name); err == nil && info.IsDir() {
		for _, left := range []string{".part", ".part.json"} {
			m.d.Root.Remove(name + left)
		}
		m.state.Disclaim(fileName + name)
		return true
	}
	if m.movedAside() > moved {
		return true
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := m.d.Root.Lstat(dir); err == nil {
			return info.Mode().IsRegular()
		}
	}
	return false
}

// movedAside returns how many files were moved out of the way of directories so far.
func (m *mirror) movedAside() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved
}

// unclaim gives a path back that nothing was saved under.
func (m *mirror) unclaim(old memo, name string) {
	if old.Path != name {
		m.state.Disclaim(fileName + name)
	}
}

// claimAgain keeps the path that a URL had. That it is in use in this crawl too is noted for removeGone
// alone.
func (m *mirror) claimAgain(name, key string) error {
	if m.Delete {
		if _, err := m.state.Claim(fileName+name, key); err != nil {
			return err
		}
	}
	_, err := m.makeWay(name)
	return err
}

func (m *mirror) owns(name, key string) bool {
	owner, _, err := m.state.Owner(fileName + name)
	return err == nil && owner == key
}

// saved remembers the file that was saved, or left, and reads its links.
func (r *retrieval) saved(res *download.Result) error {
	v := r.v
	v.Size = res.Size
	if !res.Meta.Reply.IsZero() {
		v.Status = res.Meta.Reply.Code
	}
	switch res.Outcome {
	case download.NoContent:
		v.Outcome, v.Path = job.NoContent, ""
		return nil
	case download.Saved:
		v.Outcome = job.Saved
		if err := r.replaced(); err != nil {
			return err
		}
	case download.Skipped:
		v.Outcome = job.Skipped
		r.left()
		// Nothing was requested.
		r.now.Told, r.now.Asked = r.old.Told, r.old.Asked
		r.now.Type = cmp.Or(r.now.Type, driver.TypeByName(r.now.Path)) // whose links may lead to what is not there
	default:
		v.Outcome = job.Unchanged
		r.left()
	}
	r.mu.Lock()
	info, err := r.d.Lstat(r.current(r.p.Key(), r.now.Path))
	r.mu.Unlock()
	if res.Outcome == download.Skipped && r.now.Path == r.old.Path {
		r.now.Size, r.now.Saved = r.old.Size, r.old.Saved // what is there may be somebody else's, or converted
	} else if err == nil {
		r.now.Size, r.now.Saved = info.Size(), info.ModTime()
	}
	if r.p.URL.IsSecure() {
		r.now.Scheme = r.p.URL.Scheme()
	}
	r.p.Memo = r.now.bytes()
	return r.follow(r.p, r.now, cmp.Or(r.sent, r.now.Path), r.parse)
}

// left remembers what is known of a file that was left alone.
func (r *retrieval) left() {
	if r.now.Type == "" {
		r.now.Type, r.now.Validator = r.old.Type, r.old.Validator
	}
	r.now.Final, r.now.Page = r.old.Final, r.old.Page
}

// replaced remembers what is known of a new file, and gives it its extension.
func (r *retrieval) replaced() error {
	if r.Extend {
		if err := r.extend(r.p.URL, &r.now); err != nil {
			return err
		}
		r.v.Path = r.now.Path
	}
	if r.final.String() != r.p.URL.String() {
		r.now.Final = r.final.WithoutUserinfo().String()
	}
	if r.Convert {
		r.now.Page = r.parse != nil || hasLinks(r.now.Type)
	}
	if r.Convert || r.old.Page {
		r.d.Root.Remove(r.now.Path + backup) // it is of an older version
	}
	return nil
}

// extend gives a page the extension that says what it is.
func (m *mirror) extend(u uri.URI, now *memo) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now.Path = m.current(u.Key(), now.Path)
	mediaType, _, _ := mime.ParseMediaType(now.Type)
	ext := map[string]string{"text/html": ".html", "application/xhtml+xml": ".xhtml", "text/css": ".css"}[mediaType]
	if have := strings.ToLower(path.Ext(now.Path)); ext == "" || have == ext || have == ".htm" {
		return nil
	}
	for n := range 1000 {
		name := now.Path + ext
		if n > 0 {
			name = now.Path + "%00" + strings.Repeat("0", n-1) + ext
		}
		owner, err := m.state.Claim(fileName+name, u.Key())
		if err != nil {
			return err
		}
		if owner != u.Key() {
			continue
		}
		if err := m.d.Root.Rename(now.Path, name); err != nil {
			return fileError(err)
		}
		m.state.Disclaim(fileName + now.Path)
		now.Path = name
		break
	}
	return nil
}

// hasLinks reports whether documents of a media type may lead to something.
func hasLinks(contentType string) bool {
	_, ok := links.Read(strings.NewReader(""), contentType, uri.URI{})
	return ok
}

// mayLink reports whether a file of which nothing is remembered may be a page with links.
func (m *mirror) mayLink(name string) bool {
	contentType := driver.TypeByName(name)
	return contentType == "" || hasLinks(contentType)
}

// follow reads the links of the file that a page was saved in.
func (m *mirror) follow(p *crawl.Page, v memo, name string, parse func(io.Reader) iter.Seq2[fetch.Entry, error]) error {
	t := m.d.Client.Traits(p.URL)
	if !t.HasLinks() || parse == nil && !hasLinks(v.Type) && p.Rel != "sitemap" {
		return nil
	}
	if t.Menus && parse == nil {
		return nil // pages of the web, whose links lead there
	}
	m.mu.Lock()
	file, err := m.d.Root.Open(m.current(p.Key(), name))
	m.mu.Unlock()
	if err != nil {
		return fileError(err)
	}
	defer file.Close()
	if parse != nil {
		return m.found(p, parse(file))
	}
	entries, _ := links.Read(file, v.Type, v.base(p.URL))
	return m.found(p, entries)
}

// base returns the URL that links are relative to.
func (v memo) base(u uri.URI) uri.URI {
	if final, err := uri.Parse(v.Final); err == nil && v.Final != "" {
		return final
	}
	return u.WithoutUserinfo()
}

func (m *mirror) found(p *crawl.Page, entries iter.Seq2[fetch.Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := p.Found(e); err != nil {
			return err
		}
	}
	return nil
}
