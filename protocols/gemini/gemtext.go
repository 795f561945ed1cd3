package gemini

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

// maxLink bounds link lines, in bytes. Other lines are paragraphs and may be longer.
const maxLink = 16 << 10

// A page is a gemtext document.
type page struct{ base uri.URI }

// links yields an entry for each link line: "=>", a URL and an optional name. Lines between two
// that begin with "```" are preformatted text. A malformed link is an entry of kind
// fetch.EntryError.
func (p page) links(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		in := wire.NewReader(r, maxLink)
		verbatim := false
		for {
			line, err := in.Line()
			long := wire.IsLineCut(err)
			switch {
			case err == io.EOF:
				return
			case err != nil && err != io.ErrUnexpectedEOF && !long: // the last line may lack its end
				yield(fetch.Entry{}, err)
				return
			}
			isLink := bytes.HasPrefix(line, []byte("=>"))
			entry := fetch.Entry{Kind: fetch.EntryError, Name: "a link of more bytes than a URL has", Size: -1}
			switch {
			case bytes.HasPrefix(line, []byte("```")):
				verbatim, isLink = !verbatim, false
			case verbatim:
				isLink = false
			case isLink && !long:
				entry, isLink = p.link(wire.Text(string(line[2:])))
			}
			if isLink && !yield(entry, nil) {
				return
			}
		}
	}
}

// isAbove reports whether u is a directory that the page is in, but not the one that it is the page
// of or lies in itself.
func (p page) isAbove(u uri.URI) bool {
	if u.Origin() != p.base.Origin() {
		return false
	}
	own := p.base.Path()
	own = own[:strings.LastIndexByte(own, '/')+1]
	return len(u.Path()) < len(own) && strings.HasPrefix(own, u.Path())
}

// link makes an entry of what follows "=>". It returns false if nothing does.
func (p page) link(text string) (fetch.Entry, bool) {
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
		e.URL = p.base.Resolve(ref)
	}
	if err != nil || !e.URL.IsAbs() {
		return fetch.Entry{Name: text, Kind: fetch.EntryError, Size: -1}, true
	}
	switch scheme := e.URL.Scheme(); {
	case scheme == "telnet" || scheme == "tn3270" || scheme == "rlogin" || scheme == "ssh":
		e.Kind = fetch.EntrySession
	case scheme == "gemini" && strings.HasSuffix(e.URL.Path(), "/"):
		e.Kind = fetch.EntryListing // the page of a directory
		if p.isAbove(e.URL) {
			e.Rel = "parent"
		}
	}
	return e, true
}
