package fetchtest

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// list walks from "pub" and "names" by the entries alone, and compares what
// it finds with the tree. Files are known by their content.
func list(e *exam) {
	c := e.client(nil)
	w := &walk{exam: e, client: c, ctx: e.context(), byContent: e.contents(), found: map[string]bool{}}
	for _, dir := range []string{"pub", "names"} {
		rawURL := e.url(dir)
		if !e.scheme(c, rawURL).Can(fetch.OpList) {
			e.Skip("the scheme has no OpList")
		}
		w.list(rawURL, dir, 0)
	}
	for content, name := range w.byContent {
		if w.found[name] || strings.HasPrefix(path.Base(name), ".") { // servers may hide those
			continue
		}
		e.Errorf("no entry leads to %q, which holds %.40q...", name, content)
	}
	e.listingBody(c)
}

// listingBody checks that Get of a directory, if the protocol has that, tells
// that it is a listing.
func (e *exam) listingBody(c *fetch.Client) {
	e.Helper()
	resp, err := c.Get(e.context(), e.url("pub"))
	if err != nil || resp.Kind != fetch.KindListing {
		if err == nil {
			resp.Body.Close()
		}
		return
	}
	defer resp.Body.Close()
	if resp.Entries == nil {
		e.Error("Get of a directory: a listing without Entries")
	}
	if n, err := io.Copy(io.Discard, resp.Body); n == 0 || err != nil {
		e.Errorf("Get of a directory: the body has %d octets and error %v", n, err)
	}
}

// contents maps the contents of the files below pub and names to their names,
// as far as they can be named.
func (e *exam) contents() map[string]string {
	e.Helper()
	m := map[string]string{}
	for _, dir := range []string{"pub", "names"} {
		err := fs.WalkDir(e.tree, dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && e.site.URL(name) != "" {
				m[string(e.content(name))] = name
			}
			return err
		})
		if err != nil {
			e.Fatal(err)
		}
	}
	return m
}

// A walk follows the entries of listings.
type walk struct {
	*exam
	client    *fetch.Client
	ctx       context.Context
	byContent map[string]string
	found     map[string]bool
}

// maxDepth is deeper than the tree, and ends walks that go in circles.
const maxDepth = 6

// list reads one listing, which is that of the directory dir.
func (w *walk) list(rawURL, dir string, depth int) {
	w.Helper()
	if depth > maxDepth {
		w.Fatalf("the listings go deeper than the tree: %s", rawURL)
	}
	var entries []fetch.Entry
	for entry, err := range w.client.List(w.ctx, rawURL) {
		if err != nil {
			w.Errorf("List %s: %v", rawURL, err)
			return
		}
		entries = append(entries, entry)
	}
	for _, entry := range entries {
		if entry.Rel == "parent" {
			continue
		}
		switch entry.Kind {
		case fetch.EntryText, fetch.EntryError, fetch.EntrySearch, fetch.EntrySession:
			continue
		}
		if !entry.URL.IsAbs() {
			w.Errorf("List %s: the URL of entry %q is %q, which is not absolute", rawURL, entry.Name, entry.URL)
			continue
		}
		if entry.Kind == fetch.EntryListing {
			if name := strings.TrimSuffix(entry.Name, "/"); name != "." && name != ".." {
				w.list(entry.URL.String(), path.Join(dir, name), depth+1)
				continue
			}
			w.Errorf("List %s: entry %q should be left out or have Rel \"parent\"", rawURL, entry.Name)
			continue
		}
		w.fetch(entry, dir)
	}
}

// fetch gets what an entry names. It must be a file of the directory.
func (w *walk) fetch(entry fetch.Entry, dir string) {
	w.Helper()
	resp, err := w.client.Get(w.ctx, entry.URL.String())
	if err != nil {
		w.Errorf("entry %q: %v", entry.Name, err)
		return
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(resp.Body); err != nil {
		w.Errorf("entry %q: reading the body: %v", entry.Name, err)
		return
	}
	if entry.Size >= 0 && entry.Size != int64(got.Len()) {
		w.Errorf("entry %q: %d octets came, the listing says %d", entry.Name, got.Len(), entry.Size)
	}
	name, ok := w.byContent[got.String()]
	switch {
	case !ok:
		w.Errorf("entry %q of %q leads to no file of the tree, but to %.40q", entry.Name, dir, got.String())
	case w.found[name]:
		w.Errorf("entry %q of %q leads to %q, as an earlier one did", entry.Name, dir, name)
	case path.Base(path.Dir(name)) != path.Base(dir) && path.Dir(name) != dir:
		w.Errorf("entry %q of %q leads to %q, in another directory", entry.Name, dir, name)
	}
	w.found[name] = true
}

// listBreak leaves a listing at its first entry.
func listBreak(e *exam) {
	rawURL := e.url("names")
	c := e.client(nil)
	if !e.scheme(c, rawURL).Can(fetch.OpList) {
		e.Skip("the scheme has no OpList")
	}
	e.within("a listing left at its first entry", func() {
		n := 0
		for _, err := range c.List(e.context(), rawURL) {
			if err != nil {
				e.Errorf("List: %v", err)
			}
			n++
			break
		}
		if n == 0 {
			e.Error("the listing is empty")
		}
	})
	e.recovers(c)
}
