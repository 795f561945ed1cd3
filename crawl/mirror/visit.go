package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"mime"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

func (m *mirror) visit(ctx context.Context, p *crawl.Page) error {
	v := &visitResult{Event: Event{Size: -1, Outcome: job.Skipped}, begin: time.Now()}
	p.Result = v
	err := m.process(ctx, p, v)
	if err != nil && m.Delete && p.Kind == fetch.EntryListing && !m.d.Client.Traits(p.URL).HasLinks() {
		if failed := m.recordUnread(p.URL, "the directory could not be read"); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if errors.Is(err, crawl.ErrElsewhere) {
		v.Outcome, v.Path = job.Skipped, ""
		p.Memo = memo{To: p.Target.Key()}.bytes()
		var e *fetch.Error
		if errors.As(err, &e) {
			v.Status = e.Reply.Code
		}
	}
	return err
}

func (m *mirror) process(ctx context.Context, p *crawl.Page, v *visitResult) error {
	if m.Begin != nil {
		var end func()
		ctx, end = m.Begin(ctx, p.URL)
		defer end()
	}
	switch {
	case m.Spider:
		return m.check(ctx, p, v)
	case p.IsDirectory():
		return m.list(ctx, p, v)
	case !p.Save:
		v.Outcome = job.Listed
		return read(ctx, p, v)
	}
	return m.get(ctx, p, v)
}

func read(ctx context.Context, p *crawl.Page, v *visitResult) error {
	err := p.Read(ctx)
	v.Status = p.Reply.Code
	return err
}

// check visits a page for Options.Spider. It reads the page if that may have links, and otherwise
// checks that the resource exists.
func (m *mirror) check(ctx context.Context, p *crawl.Page, v *visitResult) error {
	v.Outcome = job.Listed
	if s, _ := m.d.Client.Scheme(p.URL.Scheme()); !p.From.IsZero() && p.Kind == fetch.EntryObject && s.Can(fetch.OpStat) && !s.Pages {
		resp, err := m.d.Client.Stat(ctx, p.Request(ctx))
		if err == nil {
			v.Size, v.Status = resp.Size, resp.Reply.Code
		}
		return err
	}
	return read(ctx, p, v)
}

func (m *mirror) list(ctx context.Context, p *crawl.Page, v *visitResult) error {
	v.Outcome = job.Listed
	req := p.Request(ctx)
	req.Op = fetch.OpList
	resp, err := m.d.Client.Do(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	v.Status = resp.Reply.Code
	if resp.Entries == nil {
		return &fetch.Error{Op: "list", URL: p.URL.Redacted(), Code: fetch.ErrNotRetrievable, Err: errors.New("not a listing")}
	}
	return m.members(ctx, p, resp)
}

// members reports the members of a listing to the crawl. For Options.Delete, it records that they
// exist and whether the listing is complete.
func (m *mirror) members(ctx context.Context, p *crawl.Page, resp *fetch.Response) error {
	empty, unread := true, ""
	for e, err := range resp.Entries {
		if err != nil {
			return err
		}
		empty = empty && e.Rel == "parent"
		switch {
		case unread != "":
		case e.Kind == fetch.EntryError:
			unread = fetch.Printable(e.Name)
		case e.Kind == fetch.EntryText:
			unread = fmt.Sprintf("a line of the listing was not understood: %.200s", fetch.Printable(e.Name))
		}
		if !e.URL.IsZero() && e.Rel != "parent" && m.Delete {
			var err error
			switch e.Kind {
			case fetch.EntryObject:
				err = m.claimListed(e.URL)
			case fetch.EntryListing:
				_, err = m.state.Claim(seenDirPrefix+serverPaths.Dir(e.URL, m.d.Client.Traits(e.URL)), "")
			}
			if err != nil {
				return err
			}
		}
		if err := p.AddLink(ctx, e); err != nil {
			return err
		}
	}
	if sc := m.Crawl.Scope; empty && len(sc.Accept) == 0 && len(sc.AcceptTypes) == 0 {
		if err := m.makeDir(m.Layout.Dir(resp.URL, m.d.Client.Traits(resp.URL))); err != nil {
			return err
		}
	}
	if resp.Pattern {
		return nil // other members may exist
	}
	return m.recordListing(resp.URL, empty, unread)
}

// recordListing records a listing that was received. Unread is the reason why it may lack members, or
// "".
func (m *mirror) recordListing(u uri.URI, empty bool, unread string) error {
	dir := serverPaths.Dir(u, m.d.Client.Traits(u))
	since, _, err := m.state.Owner(emptyDirPrefix + dir)
	if err != nil {
		return err
	}
	if !empty && since != "" {
		m.state.Disclaim(emptyDirPrefix + dir)
	}
	if !m.Delete {
		return nil
	}
	if unread != "" {
		return m.recordUnread(u, unread)
	}
	if empty && since == "" {
		if _, err := m.state.Claim(emptyDirPrefix+dir, m.runNumber()); err != nil {
			return err
		}
	}
	if why, _, err := m.state.Owner(unreadDirPrefix + dir); err != nil {
		return err
	} else if why != "" {
		m.state.Disclaim(unreadDirPrefix + dir)
	}
	m.state.Disclaim(listedDirPrefix + dir) // the owner may be another
	_, err = m.state.Claim(listedDirPrefix+dir, u.Redacted())
	return err
}

func (m *mirror) recordUnread(u uri.URI, why string) error {
	name := unreadDirPrefix + serverPaths.Dir(u, m.d.Client.Traits(u))
	m.state.Disclaim(name) // the reason may be another
	_, err := m.state.Claim(name, u.Redacted()+"\x00"+why)
	return err
}

func (m *mirror) runNumber() string { return strconv.FormatUint(m.state.Number(), 10) }

func (m *mirror) makeDir(name string) error {
	if _, err := m.prepareParents(name + "/"); err != nil {
		return err
	}
	if err := m.d.Root.MkdirAll(name, 0o777); err != nil {
		return fileError(err)
	}
	return nil
}

// claimListed claims the file of a URL in a listing, so that removeGone keeps it even if it is not
// requested.
func (m *mirror) claimListed(u uri.URI) error {
	key, name := u.Key(), m.Layout.Path(u, m.d.Client.Traits(u))
	if !m.owns(name, key) { // it may have a number
		b, _ := m.state.Memo(u)
		if name = readMemo(b).Path; name == "" || !m.owns(name, key) {
			return nil
		}
	}
	_, err := m.state.Claim(filePrefix+name, key)
	return err
}

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
	a := plan(&m.Options, r.old, r.now, known)
	if a.unchanged {
		return r.unchanged(ctx, r.now.Path)
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

// linkShared links the shared file of an earlier run to the path of the page, as if it had been saved
// there. If that fails, the page is retrieved as a new one.
func (r *retrieval) linkShared() {
	v := r.old
	r.old = memo{}
	original := r.originalOf(v)
	if v.Page && original == "" || r.d.Flush() != nil || r.d.Root.Link(cmp.Or(original, v.Path), r.now.Path) != nil {
		return
	}
	info, err := r.d.Lstat(r.now.Path)
	if err != nil || original == "" && !v.describes(info) {
		r.d.Root.Remove(r.now.Path)
		return
	}
	r.old, r.existing, r.linked = v, info, true
	r.old.Path, r.old.Shared, r.old.Page = r.now.Path, "", false
	r.old.Size, r.old.Saved = info.Size(), info.ModTime()
}

func (r *retrieval) info() pageInfo {
	r.now.Index, r.now.Requested = indexEntryOf(r.p), r.v.begin
	k := pageInfo{listing: listedMeta(r.p)}
	if r.existing != nil {
		r.v.Replaced = true
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
	opts := &download.Options{Exists: a.exists, ResumePart: true, Known: a.known, Content: k.mayLink, Retry: r.Retry,
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
	res, err := r.d.Do(ctx, req, r.now.Path, opts)
	if res != nil {
		r.received(res.Written)
		r.v.Received += res.Written
	}
	if fetch.CodeOf(err) == fetch.ErrNotModified && !a.ifChanged.IsZero() {
		if e := (*fetch.Error)(nil); errors.As(err, &e) {
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
		if entries, ok := links.Entries(resp); ok {
			return cmp.Or(p.AddLinks(ctx, entries), errUnwantedType)
		}
		return errUnwantedType
	}
	r.final, r.now.Type, r.now.Validator, r.parse = resp.URL, resp.ContentType, resp.Validator, resp.Parse
	return nil
}

// unchanged keeps the memo of the page and reads its links from the file name.
func (r *retrieval) unchanged(ctx context.Context, name string) error {
	r.old.Path, r.old.Run = r.now.Path, r.now.Run
	r.v.Outcome, r.v.Size = job.Unchanged, r.old.Size
	r.markForConversion(&r.old, false)
	r.p.Memo = r.old.bytes()
	return r.follow(ctx, r.p, r.old, name, nil, nil)
}

// failed ends an attempt that saved nothing. It returns nil if nothing had to be saved.
func (r *retrieval) failed(err error) error {
	switch {
	case r.linked:
		r.d.Root.Remove(r.now.Path) // the shared file remains
		r.state.Disclaim(filePrefix + r.now.Path)
		r.state.Disclaim(provisionalPrefix + r.p.Key())
		r.linked = false
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
	case fetch.CodeOf(err) == fetch.ErrNotFound && r.Delete && r.owns(r.old.Path, r.p.Key()) && r.d.Client.Traits(r.p.URL).HasLinks():
		// Of a listed file the listing decides.
		r.mu.Lock()
		r.notFound = append(r.notFound, removal{r.old.Path, r.p.URL})
		r.mu.Unlock()
	}
	return err
}

// isDirectory reports whether a URL names a directory as a file.
func isDirectory(err error) bool {
	var e *fetch.Error
	return errors.As(err, &e) && e.Reason.Kind == fetch.ReasonDirectory
}

// unchangedInListing reports whether a listing proves that a file is unchanged. It does not apply
// to files that may have links.
func (m *mirror) unchangedInListing(p *crawl.Page) bool {
	known := listedMeta(p)
	if known == nil || !p.Save || m.d.Client.Traits(p.URL).HasLinks() {
		return false
	}
	old := readMemo(p.Memo)
	if old.Path == "" || old.Page || m.Convert && hasLinks(old.Type) || !m.owns(old.Path, p.Key()) {
		return false
	}
	if exist, err := m.prepareParents(old.Path); !exist || err != nil {
		return false
	}
	info, err := m.d.Lstat(old.Path)
	if err != nil || !old.describes(info) || !known.Suffices(info) {
		return false
	}
	if m.Delete { // for removeGone
		if _, err := m.state.Claim(filePrefix+old.Path, p.Key()); err != nil {
			return false
		}
	}
	p.Result = &visitResult{Event: Event{Outcome: job.Unchanged, Path: old.Path, Size: old.Size, Replaced: true}, begin: time.Now()}
	return true
}

// listedMeta returns the size and time of a page in a listing, or nil if either is unknown.
func listedMeta(p *crawl.Page) *download.Known {
	if p.Size < 0 || p.ModTime.IsZero() {
		return nil
	}
	return &download.Known{Size: p.Size, Validator: fetch.Validator{ModTime: p.ModTime}}
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

// saved stores the memo of a file that was saved or kept, and reads its links.
func (r *retrieval) saved(ctx context.Context, res *download.Result) error {
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
		v.Outcome, v.Proof = job.Saved, res.Proof
		v.FramedByClose = res.Proof == nil && res.Meta.Framing == fetch.FramedByClose
		if err := r.setMetadata(); err != nil {
			return err
		}
	case download.Skipped:
		v.Outcome = job.Skipped
		r.keepMetadata()
		// Nothing was requested.
		r.now.Index, r.now.Requested = r.old.Index, r.old.Requested
		r.now.Type = cmp.Or(r.now.Type, fetch.TypeByName(r.now.Path)) // so that links to missing files are found
	default:
		v.Outcome = job.Unchanged
		r.keepMetadata()
	}
	r.now.Size, r.now.Saved = res.Size, res.ModTime
	if res.Outcome == download.Skipped && r.now.Path == r.old.Path {
		r.now.Size, r.now.Saved = r.old.Size, r.old.Saved // the file may be converted or changed by the user
	}
	if r.p.URL.IsSecure() {
		r.now.Scheme = r.p.URL.Scheme()
	}
	r.p.Memo = r.now.bytes()
	return r.follow(ctx, r.p, r.now, cmp.Or(r.unconverted, r.now.Path), res.Content, r.parse)
}

func (r *retrieval) keepMetadata() {
	if r.now.Type == "" {
		r.now.Type, r.now.Validator = r.old.Type, r.old.Validator
	}
	r.now.Final, r.now.Page = r.old.Final, r.old.Page
}

func (r *retrieval) setMetadata() error {
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
		r.d.Root.Remove(r.now.Path + backup) // that of an older version
	}
	return nil
}

func (m *mirror) extend(u uri.URI, now *memo) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now.Path = m.current(u.Key(), now.Path)
	ext := extension(now.Type, now.Path)
	if ext == "" {
		return nil
	}
	for n := range 1000 {
		name := provisional(now.Path+ext, n)
		owner, err := m.state.Claim(filePrefix+name, u.Key())
		if err != nil {
			return err
		}
		if owner != u.Key() {
			continue
		}
		if n > 0 {
			if _, err := m.state.Claim(provisionalPrefix+u.Key(), now.Path); err != nil {
				return err
			}
		}
		if err := m.d.Root.Rename(now.Path, name); err != nil {
			return fileError(err)
		}
		m.state.Disclaim(filePrefix + now.Path)
		now.Path = name
		break
	}
	return nil
}

// extension returns the extension for a media type, or "" if the name needs none.
func extension(contentType, name string) string {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	ext := map[string]string{"text/html": ".html", "application/xhtml+xml": ".xhtml", "text/css": ".css"}[mediaType]
	if current := strings.ToLower(path.Ext(name)); current == ext || current == ".htm" {
		return ""
	}
	return ext
}

func hasLinks(contentType string) bool {
	_, ok := links.Read(strings.NewReader(""), contentType, uri.URI{})
	return ok
}

// mayLink reports whether a file without stored metadata may be a page with links.
func mayLink(name string) bool {
	contentType := fetch.TypeByName(name)
	return contentType == "" || hasLinks(contentType)
}

// follow reads the links of a saved page. Content is that of the file, or nil if it must be read.
func (m *mirror) follow(ctx context.Context, p *crawl.Page, v memo, name string, content []byte, parse func(io.Reader) iter.Seq2[fetch.Entry, error]) error {
	t := m.d.Client.Traits(p.URL)
	if !t.HasLinks() || parse == nil && !hasLinks(v.Type) && p.Rel != "sitemap" {
		return nil
	}
	if t.Menus && parse == nil {
		return nil // a web page behind a menu item; its links lead to the web
	}
	var page io.Reader = bytes.NewReader(content)
	if content == nil {
		m.mu.Lock()
		file, err := m.d.Root.Open(m.current(p.Key(), name))
		m.mu.Unlock()
		if err != nil {
			return fileError(err)
		}
		defer file.Close()
		page = file
	}
	if parse != nil {
		return p.AddLinks(ctx, parse(page))
	}
	entries, _ := links.Read(page, v.Type, v.base(p.URL))
	return p.AddLinks(ctx, entries)
}

func (v memo) base(u uri.URI) uri.URI {
	if final, err := uri.Parse(v.Final); err == nil && v.Final != "" {
		return final
	}
	return u.WithoutUserinfo()
}
