package mirror

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"mime"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
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
	case p.Kind == fetch.EntryListing && s.Can(fetch.OpList) && p.Rel != "sitemap" && crawl.Family(p.URL) != "gopher":
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
	if s, _ := m.d.Client.Scheme(p.URL.Scheme()); !p.From.IsZero() && p.Kind == fetch.EntryObject && s.Can(fetch.OpStat) && !isWeb(p.URL) {
		resp, err := m.d.Client.Describe(ctx, &fetch.Request{URL: p.URL, From: p.From, Op: fetch.OpStat})
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
				_, err = m.state.Claim(seenDir+places.Dir(e.URL), "")
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
		_, err := m.state.Claim(readDir+places.Dir(resp.URL), "")
		return err
	}
	return nil
}

// isThere keeps the file of a URL that a listing has, also if it is not asked for.
func (m *mirror) isThere(u uri.URI) error {
	key, name := crawl.Key(u), m.Layout.Path(u)
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
	if p.From.IsZero() && strings.HasSuffix(p.URL.URLPath(), "/") && s.Can(fetch.OpList) && crawl.Family(p.URL) != "gopher" && !isWeb(p.URL) {
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

func (m *mirror) getOnce(ctx context.Context, p *crawl.Page, v *visited) error {
	old := readMemo(p.Memo)
	now := memo{Path: old.Path}
	moved := m.movedAside()
	var err error
	if now.Path == "" || !m.owns(now.Path, p.Key()) {
		if now.Path, err = m.claim(p.URL, p.Key()); err != nil {
			return err
		}
	} else if err := m.claimAgain(now.Path, p.Key()); err != nil {
		return err
	}
	v.Path = now.Path
	before, errBefore := m.d.Lstat(now.Path)
	v.Replaced = errBefore == nil
	req := &fetch.Request{URL: p.URL, From: p.From}
	opts := &download.Options{Exists: m.exists(), Retry: m.Retry}
	// What an earlier run saved, and nobody changed since, is asked for with the validator that the
	// server gave it; what a listing tells of needs no request.
	same := errBefore == nil && old.describes(before)
	converted := ""
	if errBefore == nil { // the original alone is not the page
		converted = m.converted(old)
	}
	now.Told, now.Asked = tellsOf(p), v.begin
	sent := cmp.Or(converted, now.Path) // what the server sent the last time
	if m.Newer && now.Path == old.Path {
		opts.Same = path.Base(sent)
	}
	switch {
	case m.Keep:
	case old.Page && converted == "":
		opts.Exists = download.Overwrite
	case m.Newer && same && old.stillTold(now.Told):
		v.Outcome, v.Size = job.Unchanged, old.Size
		m.toConvert(&old, false)
		p.Memo = old.bytes()
		return m.follow(p, old, old.Path, nil)
	case m.Newer && old.toldSize(now.Told):
		opts.Exists = download.Overwrite // whatever the server makes of times
	case m.Newer && now.Told == (told{}) && !old.Page && listed(p) != nil:
		opts.Known = listed(p)
	case m.Newer && (same || old.Page) && !old.Validator.IsZero():
		opts.Exists, req.IfChanged = download.Overwrite, old.Validator
	case m.Newer && (old.Page || old.Type == "" && slices.Contains(linked, crawl.Family(p.URL)) && m.mayLink(now.Path)):
		opts.Exists = download.Overwrite // its links would not be known
	}
	var parse func(io.Reader) iter.Seq2[fetch.Entry, error]
	final := p.URL
	opts.Response = func(resp *fetch.Response) error {
		p.Answered(resp.Kind)
		v.Status = resp.Reply.Code
		if resp.Kind == fetch.KindListing && crawl.Family(resp.URL) != "gopher" && resp.Entries != nil {
			v.Outcome, v.Path = job.Listed, ""
			if err := m.members(p, resp); err != nil {
				return err
			}
			return errListed
		}
		if crawl.Key(resp.URL) != p.Key() {
			to := resp.URL
			p.Trail = memo{To: crawl.Key(to)}.bytes()
			if err := p.Move(to); err != nil {
				return err
			}
			return errMoved
		}
		if !m.Crawl.Scope.KeepsType(resp.ContentType) {
			if entries, ok := links.Entries(resp); ok {
				if err := m.found(p, entries); err != nil {
					return err
				}
			}
			return errType
		}
		final, now.Type, now.Validator, parse = resp.URL, resp.ContentType, resp.Validator, resp.Parse
		return nil
	}
	opts.Retry.Report = func(failed int, wait time.Duration, err error) {
		p.Busy(err)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.Retrying != nil {
			m.Retrying(ctx, p.URL, failed, wait, err)
		}
	}
	if m.Progress != nil {
		opts.Progress = func(done, total int64) { m.Progress(ctx, now.Path, done, total) }
	}
	res, err := m.d.Do(ctx, req, now.Path, opts)
	if res != nil {
		m.received(res.Written)
		v.Received += res.Written
	}
	switch {
	case errors.Is(err, errListed):
		m.state.Disclaim(fileName + now.Path)
		return nil
	case errors.Is(err, errMoved):
		m.unclaim(old, now.Path)
		return errMoved
	case errors.Is(err, crawl.ErrElsewhere):
		m.unclaim(old, now.Path)
		v.Outcome, v.Path = job.Skipped, ""
		p.Memo = p.Trail
		return nil
	case errors.Is(err, errType):
		m.unclaim(old, now.Path)
		v.Outcome, v.Path = job.Skipped, ""
		return nil
	case fetch.CodeOf(err) == fetch.ErrNotModified && !req.IfChanged.IsZero():
		v.Outcome, v.Size = job.Unchanged, old.Size
		if e := (*fetch.Error)(nil); errors.As(err, &e) {
			v.Status = e.Reply.Code
		}
		old.Told, old.Asked = now.Told, now.Asked
		m.toConvert(&old, false)
		p.Memo = old.bytes()
		return m.follow(p, old, sent, nil)
	case err != nil:
		if fetch.CodeOf(err) == fetch.ErrFile && m.inTheWay(now.Path, moved) {
			return errMoved
		}
		if fetch.CodeOf(err) == fetch.ErrNotFound && m.Delete && old.Path != "" && v.Replaced {
			return errors.Join(err, m.remove(old.Path, p.URL))
		}
		return err
	}
	if res.Outcome == download.Saved {
		sent = ""
	}
	if same && res.Outcome == download.NotModified && now.Path == old.Path {
		m.toConvert(&old, parse != nil)
	}
	return m.saved(p, v, res, old, now, final, sent, parse)
}

// spare reports whether a listing proves that a file is still what was saved. Nothing leads on from
// such a file.
func (m *mirror) spare(p *crawl.Page) bool {
	known := listed(p)
	if known == nil || !p.Save || slices.Contains(linked, crawl.Family(p.URL)) {
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

func (m *mirror) exists() download.Exists {
	switch {
	case m.Keep:
		return download.Skip
	case m.Newer:
		return download.Newer
	}
	return download.Overwrite
}

// saved remembers what was saved, or left, and reads its links: those of sent, or "" of what was
// saved.
func (m *mirror) saved(p *crawl.Page, v *visited, res *download.Result, old, now memo, final uri.URI, sent string,
	parse func(io.Reader) iter.Seq2[fetch.Entry, error]) error {
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
	case download.Existed:
		v.Outcome = job.Skipped
	default:
		v.Outcome = job.Unchanged
	}
	if res.Outcome != download.Saved {
		if now.Type == "" {
			now.Type, now.Validator = old.Type, old.Validator
		}
		if res.Outcome == download.Existed { // and nobody was asked
			now.Told, now.Asked = old.Told, old.Asked
			now.Type = cmp.Or(now.Type, fetch.TypeByName(now.Path)) // whose links may lead to what is not there
		}
		now.Final = old.Final
		now.Page = old.Page
	} else {
		if m.Extend {
			if err := m.extend(p.URL, &now); err != nil {
				return err
			}
			v.Path = now.Path
		}
		if final.String() != p.URL.String() {
			now.Final = final.WithoutUserinfo().String()
		}
		if m.Convert {
			now.Page = parse != nil || hasLinks(now.Type)
		}
		if m.Convert || old.Page {
			m.d.Root.Remove(now.Path + backup) // it is of an older version
		}
	}
	if res.Outcome == download.Existed && now.Path == old.Path {
		now.Size, now.Saved = old.Size, old.Saved // what is there may be somebody else's, or converted
	} else if info, err := m.d.Lstat(now.Path); err == nil {
		now.Size, now.Saved = info.Size(), info.ModTime()
	}
	if scheme := p.URL.Scheme(); scheme != crawl.Family(p.URL) {
		now.Scheme = scheme
	}
	p.Memo = now.bytes()
	return m.follow(p, now, cmp.Or(sent, now.Path), parse)
}

// extend gives a page the extension that says what it is.
func (m *mirror) extend(u uri.URI, now *memo) error {
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
		owner, err := m.state.Claim(fileName+name, crawl.Key(u))
		if err != nil {
			return err
		}
		if owner != crawl.Key(u) {
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
	contentType := fetch.TypeByName(name)
	return contentType == "" || hasLinks(contentType)
}

// linked are the families of schemes whose documents are read for links. In the others, the tree is
// what the listings say.
var linked = []string{"http", "gemini", "spartan", "nex", "gopher"}

// isWeb reports whether directories are pages with links, which are files of a tree themselves.
func isWeb(u uri.URI) bool {
	return crawl.Family(u) != "gopher" && slices.Contains(linked, crawl.Family(u))
}

// follow reads the links of the file that a page was saved in.
func (m *mirror) follow(p *crawl.Page, v memo, name string, parse func(io.Reader) iter.Seq2[fetch.Entry, error]) error {
	if !slices.Contains(linked, crawl.Family(p.URL)) || parse == nil && !hasLinks(v.Type) && p.Rel != "sitemap" {
		return nil
	}
	if crawl.Family(p.URL) == "gopher" && parse == nil {
		return nil // pages of the web, whose links lead there
	}
	file, err := m.d.Root.Open(name)
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
