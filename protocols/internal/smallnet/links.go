// Package smallnet reads what Gemini and Spartan have in common: answers that begin with a status,
// and the links in pages of gemtext, their hypertext. The directories of Nex have lines of the same
// form.
package smallnet

import (
	"bytes"
	"cmp"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
)

// MaxLink bounds link lines, in bytes. Other lines are paragraphs and may be longer.
const MaxLink = 16 << 10

// A Page is a document with links.
type Page struct {
	Base uri.URI // what links are relative to
	// Plain is set for directories of Nex, which have lines of links and no other markup.
	Plain bool
	// Prompts is set for pages of Spartan, in which "=:" begins a link to where text can be sent: an
	// entry of kind fetch.EntrySearch.
	Prompts bool
}

// Links yields an entry for each link line: "=>", a URL and an optional name. Lines between two
// that begin with "```" are preformatted text. A malformed link is an entry of kind
// fetch.EntryError.
func (p Page) Links(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		verbatim := false
		for line, err := range wire.NewReader(r, MaxLink).All() {
			long := wire.IsLineCut(err)
			if err != nil && !long {
				yield(fetch.Entry{}, err)
				return
			}
			if !p.Plain && bytes.HasPrefix(line, []byte("```")) {
				verbatim = !verbatim
				continue
			}
			prompt := p.Prompts && bytes.HasPrefix(line, []byte("=:"))
			isLink := !verbatim && (prompt || bytes.HasPrefix(line, []byte("=>")))
			entry := fetch.Entry{Kind: fetch.EntryError, Name: "a link of more bytes than a URL has", Size: -1}
			if isLink && !long {
				entry, isLink = p.link(wire.Text(string(line[2:])), prompt)
			}
			if isLink && !yield(entry, nil) {
				return
			}
		}
	}
}

// link makes an entry of what follows "=>" or "=:". It returns false if nothing does.
func (p Page) link(text string, prompt bool) (fetch.Entry, bool) {
	text = strings.Trim(text, " \t")
	if text == "" {
		return fetch.Entry{}, false
	}
	target, name := text, ""
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		target, name = text[:i], strings.Trim(text[i:], " \t")
	}
	e := fetch.Entry{Name: cmp.Or(name, target), Rel: "a", Size: -1}
	ref, err := uri.ParseRef(target)
	if err == nil {
		e.URL = p.Base.Resolve(ref)
	}
	if err != nil || !e.URL.IsAbs() {
		return fetch.Entry{Name: text, Kind: fetch.EntryError, Size: -1}, true
	}
	switch {
	case isSession(e.URL):
		e.Kind = fetch.EntrySession
	case prompt:
		e.Kind = fetch.EntrySearch
	case isDirectory(e.URL):
		e.Kind = fetch.EntryListing
		if p.isAbove(e.URL) {
			e.Rel = "parent"
		}
	}
	return e, true
}

func isSession(u uri.URI) bool {
	switch u.Scheme() {
	case "telnet", "tn3270", "rlogin", "ssh":
		return true
	}
	return false
}

// isDirectory reports whether u is the page of a directory.
func isDirectory(u uri.URI) bool {
	switch u.Scheme() {
	case "gemini", "spartan":
		return strings.HasSuffix(u.Path(), "/")
	case "nex": // where it is always one, and the path may be empty
		return u.Path() == "" || strings.HasSuffix(u.Path(), "/")
	}
	return false
}

// isAbove reports whether u is a directory that the page is in, but not the one that it is the page
// of or lies in itself.
func (p Page) isAbove(u uri.URI) bool {
	if u.Origin() != p.Base.Origin() {
		return false
	}
	own := p.Base.Path()
	own = own[:strings.LastIndexByte(own, '/')+1]
	return len(u.Path()) < len(own) && strings.HasPrefix(own, u.Path())
}
