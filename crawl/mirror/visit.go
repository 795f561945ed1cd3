package mirror

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
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
		p.Memo = memo{To: p.Target.Key(), ToFragment: m.redirectFragment(p)}.bytes()
		if e, ok := errors.AsType[*fetch.Error](err); ok {
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
		return m.read(ctx, p, v)
	}
	return m.get(ctx, p, v)
}

func (m *mirror) read(ctx context.Context, p *crawl.Page, v *visitResult) error {
	err := p.Read(ctx)
	v.Status = p.Reply.Code
	if err == nil && p.Unread != "" {
		m.reportUnread(p, p.Unread, nil)
	}
	return err
}

// reportUnread reports a page that is not read for links, unless nobody expects them. Content may be nil.
func (m *mirror) reportUnread(p *crawl.Page, contentType string, content []byte) {
	t := m.d.Client.Traits(p.URL)
	if m.Unread == nil || !t.Pages || t.Menus || m.Crawl.Scope.SeedsOnly {
		return
	}
	found, _ := links.Sniff(bytes.NewReader(content), "", "")
	if !p.From.IsZero() && (p.Rel != "a" || found != "text/html") {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Unread(p.URL, contentType)
}

// followsLinks reports whether links of the seeds are followed.
func (m *mirror) followsLinks() bool { return !m.Crawl.Scope.SeedsOnly || m.Crawl.Scope.Requisites }

// check visits a page for Options.Spider. It reads the page if that may have links to follow, and
// otherwise checks that the resource exists.
func (m *mirror) check(ctx context.Context, p *crawl.Page, v *visitResult) error {
	v.Outcome = job.Listed
	s, _ := m.d.Client.Scheme(p.URL.Scheme())
	linked := s.Pages || p.From.IsZero()
	if s.Can(fetch.OpStat) && (!m.followsLinks() || p.Kind == fetch.EntryObject && !linked) {
		resp, err := m.d.Client.Stat(ctx, p.Request(ctx))
		if err == nil {
			v.Size, v.Status = resp.Size, resp.Reply.Code
		}
		return err
	}
	return m.readAnchors(ctx, p, v)
}
