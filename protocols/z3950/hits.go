package z3950

import (
	"context"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

const (
	// recordsPerRequest is the number of records to request at once for a listing.
	recordsPerRequest = 50
	// maxBrief limits the part of a record that is searched for its title, in bytes.
	maxBrief = 64 << 10
)

// A Hit describes a record of a search result. It is the Sys of an entry in a listing.
type Hit struct {
	Position int64  `fact:"position"` // in the result set, from 1
	Database string `fact:"database,optional"`
	Syntax   string `fact:"syntax,optional"` // the record syntax: a name used in URLs, or an object identifier
	Author   string `fact:"author,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (h Hit) EntryFacts() fetch.Facts { return driver.FactsOf("z3950", "", h) }

func (d *opener) openHits(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	forms, err := t.choose(req, "B", "F", "")
	if err != nil {
		return nil, err
	}
	h := &hits{t: t, next: 1, forms: forms}
	resp := listing(t)
	l, err := d.with(ctx, t, func(l *lease) (err error) {
		if err := l.find(t); err != nil || l.count == 0 || req.Op == fetch.OpStat {
			return err
		}
		// Request the first records before returning a response, so that a refusal is an error of Open.
		h.p, err = h.request(l)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.l, h.count = l, l.count
	resp.Header = textproto.MIMEHeader{"Hits": {strconv.FormatInt(l.count, 10)}}
	if l.diagnostic != "" {
		resp.Header.Set("Diagnostic", fetch.Printable(l.diagnostic))
	}
	if req.Op == fetch.OpStat || l.count == 0 {
		l.Put()
		if req.Op != fetch.OpStat {
			driver.SetParts(resp, func(func(driver.Part, error) bool) {}, nil)
		}
		return resp, nil
	}
	h.l.list(resp, h.parts)
	return resp, nil
}

func listing(t *target) *fetch.Response {
	return &fetch.Response{URL: t.url, Body: fetch.NoBody,
		Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/uri-list", Size: -1}}
}

// The lease ends with the last part or when the body is closed.
func (l *lease) list(resp *fetch.Response, parts func(yield func(driver.Part, error) bool)) {
	var once sync.Once
	driver.SetParts(resp, func(yield func(driver.Part, error) bool) {
		defer func() { once.Do(l.Put) }()
		parts(yield)
	}, func() error {
		once.Do(l.Discard)
		return nil
	})
}

type hits struct {
	t     *target
	l     *lease
	count int64
	next  int64                  // the position of the next record
	left  int64                  // number of requested records that have not been read
	p     *codec.PresentResponse // the message that is being read; nil if none
	forms formChoices            // the requested forms of the records
}

func (h *hits) request(l *lease) (*codec.PresentResponse, error) {
	h.left = min(recordsPerRequest, l.count-h.next+1)
	p, m, err := l.presentAny(h.next, h.left, h.forms)
	if err == nil { // request the remaining records in the same form
		h.forms = formChoices{syntaxes: []string{m.Syntax}, elements: []string{m.ElementSet}}
	}
	return p, err
}

func (h *hits) each(yield func(driver.Part, error) bool, part func() (p driver.Part, ok bool, err error)) {
	for h.next <= h.count {
		if h.p == nil {
			var err error
			if h.p, err = h.request(h.l); err != nil {
				yield(driver.Part{}, err)
				return
			}
		}
		for more := true; more; {
			p, ok, err := part()
			if ok && err == nil && !yield(p, nil) {
				return
			}
			if err == nil {
				more, err = h.advance()
			}
			if err != nil {
				yield(driver.Part{}, h.l.markBroken(contentError(err)))
				return
			}
		}
		h.p = nil
	}
}

func (h *hits) parts(yield func(driver.Part, error) bool) {
	h.each(yield, func() (driver.Part, bool, error) {
		part, err := h.part()
		return part, true, err
	})
}

func (h *hits) advance() (more bool, err error) {
	defer h.l.conn.Piece()()
	h.next++
	h.left--
	more = h.p.Next()
	if err := h.l.r.Err(); err != nil {
		return false, wire.Unexpected(err)
	}
	if more && h.left == 0 {
		return false, fetch.ErrProtocol.Errorf("received more records than requested")
	}
	if !more && len(h.p.Diagnostics) > 0 {
		return false, diagnosticsError(h.p.Diagnostics)
	}
	return more, nil
}

func (h *hits) part() (driver.Part, error) {
	defer h.l.conn.Piece()()
	rec := &h.p.Record
	hit := Hit{Position: h.next, Database: wire.Text(rec.Database)}
	if d := rec.Diagnostic; d != nil {
		if err := diagnosticsError([]codec.Diagnostic{*d}); isSyntaxError(err) || isElementSetError(err) {
			return h.entry(description{}, "", hit) // available in another form
		}
		text := h.l.maskText(wire.Text(d.String()))
		e := fetch.Entry{Name: text, Kind: fetch.EntryError, Size: -1, Sys: hit}
		return driver.URIListPart(text, e), nil
	}
	content := rec.Content(maxStructured)
	brief, err := io.ReadAll(io.LimitReader(content, maxBrief))
	if err == nil {
		_, err = io.Copy(io.Discard, content)
	}
	if err != nil {
		return driver.Part{}, err
	}
	a := describeRecord(rec.Syntax, brief)
	media, _ := mediaType(rec.Syntax)
	hit.Syntax, hit.Author = syntaxName(rec.Syntax), a.author
	return h.entry(a, media, hit)
}

func (h *hits) entry(a description, media string, hit Hit) (driver.Part, error) {
	if a.title == "" {
		a.title = fmt.Sprintf("record %d", hit.Position)
	}
	u, err := h.t.recordURL(hit.Position)
	if err != nil {
		return driver.Part{}, err
	}
	return driver.URIListPart(a.title, fetch.Entry{URL: u, Name: a.title, Kind: fetch.EntryObject,
		Rel: "item", ContentType: media, Size: -1, Sys: hit}), nil
}
