package smallnet

import (
	"cmp"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/gemtext"
)

// A Page is a document with links.
type Page struct {
	Base    uri.URI         // base of relative links
	Schemes *fetch.Registry // decides which links lead to directories
	// Plain is set for directories of Nex, which have link lines and no other markup.
	Plain bool
	// Prompts is set for pages of Spartan. A line with "=:" is then a link that accepts text: an
	// entry of kind fetch.EntrySearch.
	Prompts bool
}

// Links yields an entry for each link line. A malformed link is an entry of kind fetch.EntryError.
func (p Page) Links(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for line, err := range gemtext.Lines(r, p.Plain) {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			prompt := p.Prompts && line.Kind == gemtext.Prompt
			isLink := (prompt || line.Kind == gemtext.Link) && (line.Cut || len(line.Text) > 0)
			if isLink && !yield(p.link(line, prompt), nil) {
				return
			}
		}
	}
}

func (p Page) link(line gemtext.Line, prompt bool) fetch.Entry {
	if line.Cut {
		return fetch.Entry{Kind: fetch.EntryError, Name: "link too long", Size: -1}
	}
	target := wire.Text(line.Target)
	e := fetch.Entry{Name: cmp.Or(wire.Text(line.Name), target), Rel: "a", Size: -1}
	ref, err := uri.ParseRef(target)
	if err == nil {
		e.URL = p.Base.Resolve(ref)
	}
	if err != nil || !e.URL.IsAbs() {
		return fetch.Entry{Name: wire.Text(string(line.Text)), Kind: fetch.EntryError, Size: -1}
	}
	switch {
	case isSession(e.URL):
		e.Kind = fetch.EntrySession
	case prompt:
		e.Kind = fetch.EntrySearch
	case p.isDirectory(e.URL):
		e.Kind = fetch.EntryListing
		if p.isAbove(e.URL) {
			e.Rel = "parent"
		}
	}
	return e
}

func isSession(u uri.URI) bool {
	switch u.Scheme() {
	case "telnet", "tn3270", "rlogin", "ssh":
		return true
	}
	return false
}

// isDirectory reports whether u is a directory that can be listed. An HTTP URL is a document.
func (p Page) isDirectory(u uri.URI) bool {
	s, _ := p.Schemes.Lookup(u.Scheme())
	return s.Tree && !s.HTML && u.IsDirectory()
}

func (p Page) isAbove(u uri.URI) bool {
	if u.Origin() != p.Base.Origin() {
		return false
	}
	own := p.Base.Path()
	own = own[:strings.LastIndexByte(own, '/')+1]
	return len(u.Path()) < len(own) && strings.HasPrefix(own, u.Path())
}
