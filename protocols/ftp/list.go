package ftp

import (
	"io"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/protocols/ftp/listing"
)

// contentType returns the media type of a listing. The types are not registered.
func contentType(verb string) string { return "text/x-ftp-" + strings.ToLower(verb) }

func respond(t *task, x *transfer, b *transferBody) *fetch.Response {
	resp := &fetch.Response{Meta: x.meta, URL: t.base, Body: b}
	switch {
	case t.kind == match:
		// The server lists more than the URL matches.
		resp.ContentType, resp.Pattern = "text/uri-list", true
		driver.SetParts(resp, t.matches(b, x.meta.ContentType), b.Close)
	case t.kind != retrieve:
		resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] {
			return withNotice(t.entries(r, x.meta.ContentType), &b.cut)
		}
	default:
		resp.Text = t.isText()
	}
	return resp
}

// cutListing is a notice in a listing that may lack entries: anybody on the path can end a connection
// without close_notify (RFC 8446, section 6.1).
const cutListing = "the data connection ended without the TLS close_notify, so entries may be missing"

func withNotice(entries iter.Seq2[fetch.Entry, error], cut *atomic.Bool) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for e, err := range entries {
			if !yield(e, err) || err != nil {
				return
			}
		}
		if cut.Load() {
			yield(fetch.Entry{Name: cutListing, Kind: fetch.EntryError, Size: -1}, nil)
		}
	}
}

// matches yields the URLs that match a pattern, one per line (RFC 2483, section 5).
func (t *task) matches(r io.Reader, contentType string) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		for e, err := range t.entries(r, contentType) {
			if err != nil {
				yield(driver.Part{}, err)
				return
			}
			if !yield(driver.URIListPart("", e), nil) {
				return
			}
		}
	}
}

func (t *task) entries(r io.Reader, kind string) iter.Seq2[fetch.Entry, error] {
	p := listing.NewParser(time.Now())
	parse := p.List
	switch kind {
	case contentType("MLSD"):
		parse = p.MLSD
	case contentType("NLST"):
		parse = p.NLST
	}
	dir := t.dirURL()
	return func(yield func(fetch.Entry, error) bool) {
		found := false
		var failed error
		for line, err := range wire.NewReader(r, maxListingLine).All() {
			if err != nil && !wire.IsLineCut(err) {
				yield(fetch.Entry{}, err)
				return
			}
			e, ok := parse(string(line))
			if ok && e.Kind == listing.Failure && failed == nil {
				failed = notRead(e.Name)
			}
			if !ok || t.kind == match && !t.selects(e) {
				continue
			}
			found = true
			if !yield(t.entry(dir, e), nil) {
				return
			}
		}
		switch {
		case failed != nil:
			yield(fetch.Entry{}, failed)
		case t.kind == match && !found:
			yield(fetch.Entry{}, fetch.ErrNotFound.Errorf("no name matches %q", t.url.Name))
		}
	}
}

func notRead(line string) error {
	e := fetch.ErrServer.Errorf("the directory was not read completely: %s", line)
	if contains(strings.ToLower(line), []string{"denied", "not permitted"}) {
		e.Code = fetch.ErrRefused
	}
	return e
}

func (t *task) selects(e listing.Entry) bool {
	return e.Kind != listing.Unparsed && e.Kind != listing.Failure && matches(t.pattern, e.Name)
}

// maxListingLine limits a line of a listing, in bytes. Names may have several thousand. The rest of
// a longer line is skipped.
const maxListingLine = 16 << 10

func (t *task) entry(dir uri.FTP, e listing.Entry) fetch.Entry {
	entry := fetch.Entry{Name: e.Name, Kind: fetch.EntryObject, Rel: "item",
		Size: e.Size, ModTime: e.ModTime, Sys: e}
	switch e.Kind {
	case listing.Unparsed:
		entry.Kind, entry.Rel = fetch.EntryText, ""
		return entry
	case listing.Failure:
		entry.Kind, entry.Rel = fetch.EntryError, ""
		return entry
	case listing.Directory:
		entry.Kind = fetch.EntryListing
		dir.CWD = append(dir.CWD[:len(dir.CWD):len(dir.CWD)], e.Name)
	default:
		dir.Name = e.Name
		entry.ContentType = fetch.TypeByName(e.Name)
	}
	if t.kind == match {
		entry.Rel = "match"
		if entry.Kind == fetch.EntryObject {
			dir.Type, dir.Form = t.url.Type, t.url.Form
		}
	}
	u, err := dir.URI()
	if err != nil {
		entry.Kind = fetch.EntryText // the URL would be too long
	}
	entry.URL = u
	return entry
}
