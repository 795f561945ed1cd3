package mirror

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"iter"
	"mime"
	"path"
	"strings"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
)

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
		if err := r.setMetadata(res.Content); err != nil {
			return err
		}
	case download.Skipped:
		v.Outcome = job.Skipped
		r.keepMetadata()
		// Nothing was requested.
		r.now.Index, r.now.Requested = r.old.Index, r.old.Requested
		if err := r.guessType(); err != nil {
			return err
		}
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

// guessType sets the type of a kept page that the state does not have, so that links to missing files are
// found.
func (r *retrieval) guessType() error {
	if r.now.Type != "" {
		return nil
	}
	byName := fetch.TypeByName(r.now.Path)
	if links.Readable(byName) {
		r.now.Type = byName
	}
	err := r.sniff(nil)
	r.now.Type = cmp.Or(r.now.Type, byName)
	return err
}

func (r *retrieval) setMetadata(content []byte) error {
	if err := r.sniff(content); err != nil {
		return err
	}
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
		r.now.Page = r.parse != nil || isConvertible(r.now.Type)
	}
	if r.Convert || r.old.Page {
		r.d.Root.Remove(r.now.Path + backup) // that of an older version
	}
	return nil
}

// sniff sets the type of a page by its content, if it is unknown. Content may be nil.
func (r *retrieval) sniff(content []byte) error {
	t := r.d.Client.Traits(r.p.URL)
	if !t.HTML || t.Menus || r.parse != nil || r.p.Rel != "manifest" && !links.IsUnknown(r.now.Type) {
		return nil
	}
	page, err := r.openPage(r.p, cmp.Or(r.unconverted, r.now.Path), content)
	if err != nil {
		return err
	}
	defer page.Close()
	r.now.Type, _ = links.Sniff(page, r.now.Type, r.p.Rel)
	return nil
}

func (m *mirror) extend(u uri.URI, now *memo) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now.Path = m.current(u.Key(), now.Path)
	ext := extension(now.Type, now.Path)
	want, _, err := m.state.Owner(provisionalPrefix + u.Key())
	if ext == "" || err != nil {
		return err
	}
	want = cmp.Or(want, now.Path)
	for n := range 1000 {
		name := provisional(want+ext, n)
		owner, err := m.state.Claim(filePrefix+name, u.Key())
		if err != nil {
			return err
		}
		if owner != u.Key() {
			continue
		}
		if n > 0 {
			if _, err := m.state.Claim(provisionalPrefix+u.Key(), want); err != nil {
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
	ext := map[string]string{"text/html": ".html", "application/xhtml+xml": ".xhtml",
		"text/css": ".css"}[mediaType]
	if current := strings.ToLower(path.Ext(name)); current == ext || current == ".htm" {
		return ""
	}
	return ext
}

// isConvertible reports whether the references in a document can be converted.
func isConvertible(contentType string) bool {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	return mediaType == "text/html" || mediaType == "application/xhtml+xml" || mediaType == "image/svg+xml" ||
		mediaType == "text/css"
}

func mayLink(name string) bool {
	contentType := fetch.TypeByName(name)
	return contentType == "" || links.Readable(contentType)
}

// follow reads the file if content is nil.
func (m *mirror) follow(ctx context.Context, p *crawl.Page, v memo, name string, content []byte,
	parse func(io.Reader) iter.Seq2[fetch.Entry, error]) error {
	t := m.d.Client.Traits(p.URL)
	if !t.HasLinks() || parse == nil && !links.Readable(v.Type) && p.Rel != "sitemap" {
		m.reportUnread(p, cmp.Or(v.Type, crawl.UnknownType), content)
		return nil
	}
	if t.Menus && parse == nil {
		return nil // a web page behind a menu item; its links lead to the web
	}
	page, err := m.openPage(p, name, content)
	if err != nil {
		return err
	}
	defer page.Close()
	if parse != nil {
		return p.AddLinks(ctx, parse(page))
	}
	if p.Rel == "sitemap" {
		return p.AddLinks(ctx, links.Sitemap(page, v.base(p.URL)))
	}
	entries, _ := links.Read(page, v.Type, v.base(p.URL))
	return p.AddLinks(ctx, entries)
}

type received struct{ bytes.Reader }

func (*received) Close() error { return nil }

// openPage returns the content of a page, from its file if content is nil.
func (m *mirror) openPage(p *crawl.Page, name string, content []byte) (io.ReadCloser, error) {
	if content != nil {
		page := new(received)
		page.Reset(content)
		return page, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	file, err := m.d.Root.Open(m.current(p.Key(), name))
	if err != nil {
		return nil, fileError(err)
	}
	return file, nil
}

func (v memo) base(u uri.URI) uri.URI {
	if final, err := uri.Parse(v.Final); err == nil && v.Final != "" {
		return final
	}
	return u.WithoutUserinfo()
}
