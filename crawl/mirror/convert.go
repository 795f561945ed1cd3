package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/links"
	"github.com/urlget/urlget/fetch/uri"
	"golang.org/x/sync/errgroup"
)

// backup is the suffix of the unconverted original of a converted page.
const backup = ".orig"

// originalOf returns the path of the unconverted original of a page, or "" if there is none.
func (m *mirror) originalOf(v memo) string {
	if !v.Page || v.Path == "" {
		return ""
	}
	name := v.Path + backup
	info, err := m.d.Root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	// A converted page has the time of its original, but not if a run without this state has replaced it.
	if page, err := m.d.Root.Lstat(v.Path); err == nil && !page.ModTime().Equal(info.ModTime()) {
		return ""
	}
	return name
}

// markForConversion marks a freshly saved page for conversion, if it was not marked before.
func (m *mirror) markForConversion(v *memo, isPage bool) {
	if m.Convert && !m.Keep && !v.Page && (isPage || isConvertible(v.Type)) {
		v.Page = true
		m.d.Root.Remove(v.Path + backup) // that of an older version
	}
}

// maxConversions limits the pages that are converted at once. Most of the time is the wait for the disk.
const maxConversions = 16

func (m *mirror) convert(ctx context.Context) error {
	group, working := errgroup.WithContext(ctx)
	temps := make(chan string, maxConversions) // names of temporary files
	for i := range maxConversions {
		temps <- fmt.Sprintf(".urlget-convert-%d.new", i)
	}
	for key, b := range m.state.Visited() {
		v := readMemo(b)
		if !v.Page || v.Path == "" || v.Shared != "" {
			continue
		}
		u, err := uri.Parse(key)
		if err != nil {
			continue
		}
		temp := <-temps
		if working.Err() != nil {
			break
		}
		group.Go(func() error {
			defer func() { temps <- temp }()
			return m.convertPage(v.base(u), v, path.Join(path.Dir(v.Path), temp))
		})
	}
	return cmp.Or(group.Wait(), fetch.ContextError(ctx))
}

// convertPage writes the converted page to a temporary file and renames it.
func (m *mirror) convertPage(base uri.URI, v memo, temp string) error {
	root := m.d.Root
	source := m.originalOf(v)
	if source == "" {
		source = v.Path
	}
	in, err := root.Open(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError(err)
	}
	defer in.Close()
	info, err := root.Lstat(v.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // not requested in this crawl, and removed by the user
	case err != nil || !info.Mode().IsRegular():
		return fileError(err)
	}
	if source == v.Path && !v.describes(info) {
		return nil // converted by an earlier run and not retrieved in this one, or changed by the user
	}
	err = m.writeNew(temp, info.Mode().Perm(), func(w io.Writer) error { return m.rewrite(w, in, base, v) })
	if err == nil && m.Originals && source == v.Path {
		err = root.Link(v.Path, v.Path+backup)
	}
	if err == nil {
		err = root.Chtimes(temp, info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = root.Rename(temp, v.Path)
	}
	if err != nil {
		root.Remove(temp)
		if fetch.CodeOf(err) == fetch.ErrTooLarge || fetch.CodeOf(err) == fetch.ErrProtocol {
			return nil // the page stays unconverted
		}
		return fileError(err)
	}
	return nil
}

func (m *mirror) rewrite(w io.Writer, r io.Reader, base uri.URI, v memo) error {
	convert := func(e fetch.Entry) (string, bool) { return m.reference(base, v.Path, e) }
	mediaType, _, _ := mime.ParseMediaType(v.Type)
	switch {
	case m.d.Client.Traits(base).Menus:
		return m.rewriteMenu(w, r, base, v.Path)
	case mediaType == "text/css":
		return links.RewriteCSS(w, r, v.Type, base, convert)
	case mediaType == "text/html", mediaType == "application/xhtml+xml", mediaType == "image/svg+xml":
		return links.RewriteHTML(w, r, v.Type, base, convert)
	}
	_, err := io.Copy(w, r)
	return err
}

// maxHops limits the redirects of a link that are followed in the state, unless the crawl allows more.
const maxHops = 100

// followRedirects returns the page that a URL led to in this run, its memo, and the fragment of the last
// redirect that names one, after a "#". It returns false if the URL led to no page.
func (m *mirror) followRedirects(u uri.URI) (final uri.URI, v memo, fragment string, ok bool) {
	for range max(maxHops, m.Crawl.MaxRedirects) {
		v, now := m.memoOf(u)
		if !now && (v.ErrorRun == 0 || v.ErrorRun != m.state.Number()) {
			break
		}
		if v.To == "" {
			return u, v, fragment, true
		}
		next, err := uri.Parse(v.To)
		if err != nil {
			break
		}
		u, fragment = next, cmp.Or(v.ToFragment, fragment)
	}
	return u, memo{}, "", false
}

// reference returns the new text of a link in the file name: a relative path or the complete URL.
// It returns false if the link must not be changed.
func (m *mirror) reference(base uri.URI, name string, e fetch.Entry) (string, bool) {
	if e.Kind == fetch.EntryError || e.URL.IsData() {
		return "", false
	}
	fragment, hasFragment := e.URL.Fragment()
	if hasFragment {
		fragment = "#" + fragment
	}
	if e.URL.Key() == base.Key() {
		if hasFragment {
			return fragment, true
		}
		return escapePath(path.Base(name)), true
	}
	if _, v, named, ok := m.followRedirects(e.URL); ok && v.Path != "" {
		return escapePath(relative(name, v.Path)) + cmp.Or(named, fragment), true
	}
	return e.URL.String(), true
}

func relative(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	if a[0] == "." {
		a = nil
	}
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}

func escapePath(p string) string {
	names := strings.Split(p, "/")
	for i, name := range names {
		if name != ".." {
			names[i] = url.PathEscape(name)
		}
	}
	s := strings.Join(names, "/")
	if strings.Contains(names[0], ":") {
		s = "./" + s
	}
	return s
}
