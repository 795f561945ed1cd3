package mirror

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

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
		return &fetch.Error{Op: "list", URL: p.URL.Redacted(), Code: fetch.ErrNotRetrievable,
			Err: errors.New("not a listing")}
	}
	return m.members(ctx, p, resp)
}

// members reports the members of a listing to the crawl. For Options.Delete, it records that they
// exist and whether the listing is complete.
func (m *mirror) members(ctx context.Context, p *crawl.Page, resp *fetch.Response) error {
	empty, unread, missing := true, "", ""
	for e, err := range resp.Entries {
		if err != nil {
			return err
		}
		empty = empty && e.Rel == "parent"
		if e.Rel == "item" && e.URL.IsZero() && missing == "" {
			missing = fetch.Printable(e.Name)
		}
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
	var err error
	if !resp.Pattern { // else other members may exist
		err = m.recordListing(resp.URL, empty, unread)
	}
	if missing != "" && err == nil {
		err = &fetch.Error{Op: "list", URL: resp.URL.Redacted(), Code: fetch.ErrNotRetrievable,
			Err: fmt.Errorf("a member of the directory cannot be retrieved: %.200s", missing)}
	}
	return err
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
		v, _ := m.memoOf(u)
		if name = v.Path; name == "" || !m.owns(name, key) {
			return nil
		}
	}
	_, err := m.state.Claim(filePrefix+name, key)
	return err
}

// unchangedInListing reports whether a listing proves that a file is unchanged. It does not apply
// to files that may have links.
func (m *mirror) unchangedInListing(p *crawl.Page) bool {
	known := listedMeta(p)
	if known == nil || !p.Save || m.d.Client.Traits(p.URL).HasLinks() {
		return false
	}
	old := readMemo(p.Memo)
	if old.Path == "" || old.Page || m.Convert && isConvertible(old.Type) || !m.owns(old.Path, p.Key()) {
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
	p.Result = &visitResult{Event: Event{Outcome: job.Unchanged, Path: old.Path, Size: old.Size},
		begin: time.Now()}
	return true
}

func listedMeta(p *crawl.Page) *download.Known {
	if p.Size < 0 || p.ModTime.IsZero() {
		return nil
	}
	return &download.Known{Size: p.Size, Validator: fetch.Validator{ModTime: p.ModTime}}
}
