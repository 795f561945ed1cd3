package z3950

import (
	"context"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"

	"github.com/urlget/urlget/fetch"
	codec "github.com/urlget/urlget/internal/codec/z3950"
	"github.com/urlget/urlget/internal/wire"
)

const (
	// window is how many records are asked for at once for a list.
	window = 50
	// maxBrief is how much of a record is looked at for its title, in bytes.
	maxBrief = 64 << 10
)

// A Hit is what a server says about a record that it found. It is the Sys of an entry.
type Hit struct {
	Position int64  `json:"position"` // in the result, from 1
	Database string `json:"database,omitempty"`
	Syntax   string `json:"syntax,omitempty"` // as in URLs, or an object identifier
	Author   string `json:"author,omitempty"`
}

// openHits lists what a search finds.
func (d *driver) openHits(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	form, err := t.choose(req, "B", "F", "")
	if err != nil {
		return nil, err
	}
	h := &hits{t: t, next: 1, form: form}
	resp := listing(t)
	l, err := d.with(ctx, t, func(l *lease) (err error) {
		if err := l.find(t); err != nil || l.count == 0 || req.Op == fetch.OpStat {
			return err
		}
		// The first records come before the response: a server that has none to show refuses now.
		h.p, err = h.ask(l)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.l, h.count = l, l.count
	resp.Header = textproto.MIMEHeader{"Hits": {strconv.FormatInt(l.count, 10)}}
	if l.told != "" {
		resp.Header.Set("Diagnostic", fetch.Printable(l.told))
	}
	if req.Op == fetch.OpStat || l.count == 0 {
		l.Put()
		if req.Op != fetch.OpStat {
			resp.Body, resp.Parse = fetch.NewListing(func(func(fetch.Part, error) bool) {}, nil)
		}
		return resp, nil
	}
	resp.Body, resp.Parse = h.l.list(h.parts)
	return resp, nil
}

// listing returns a response that lists, without its content.
func listing(t *target) *fetch.Response {
	return &fetch.Response{URL: t.url, Body: fetch.NoBody, Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/uri-list", Size: -1}}
}

// list makes a listing of parts that come by l, which it ends.
func (l *lease) list(parts func(yield func(fetch.Part, error) bool)) (io.ReadCloser, listingParser) {
	var once sync.Once
	return fetch.NewListing(func(yield func(fetch.Part, error) bool) {
		defer func() { once.Do(l.Put) }()
		parts(yield)
	}, func() error {
		once.Do(l.Discard)
		return nil
	})
}

// hits are the records of a result, on their way.
type hits struct {
	t     *target
	l     *lease
	count int64
	next  int64          // the position of the next record
	left  int64          // how many the message may still have
	p     *codec.Records // those of the message that is being read; nil before it
	form  choices        // in which the records are asked for
}

// ask asks for the next records.
func (h *hits) ask(l *lease) (*codec.Records, error) {
	h.left = min(window, l.count-h.next+1)
	p, m, err := l.any(h.next, h.left, h.form)
	if err == nil { // the others come in the same form
		h.form = choices{syntaxes: []string{m.Syntax}, elements: []string{m.ElementSet}}
	}
	return p, err
}

// parts yields the records.
func (h *hits) parts(yield func(fetch.Part, error) bool) {
	for h.next <= h.count {
		if h.p == nil {
			var err error
			if h.p, err = h.ask(h.l); err != nil {
				yield(fetch.Part{}, err)
				return
			}
		}
		for more := true; more; {
			part, err := h.part()
			if err != nil {
				yield(fetch.Part{}, h.l.breaks(cutOff(err)))
				return
			}
			if !yield(part, nil) {
				return
			}
			if more, err = h.following(); err != nil {
				yield(fetch.Part{}, h.l.breaks(cutOff(err)))
				return
			}
		}
		h.p = nil
	}
}

// following goes to the next record of the message.
func (h *hits) following() (more bool, err error) {
	defer h.l.conn.Piece()()
	h.next++
	h.left--
	more = h.p.Next()
	if err := h.l.r.Err(); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return false, err
	}
	if more && h.left == 0 {
		return false, violation("more records came than were asked for")
	}
	if !more && len(h.p.Diagnostics) > 0 {
		return false, refusal(h.p.Diagnostics)
	}
	return more, nil
}

// part reads the current record.
func (h *hits) part() (fetch.Part, error) {
	defer h.l.conn.Piece()()
	rec := &h.p.Record
	if d := rec.Refusal; d != nil {
		if err := refusal([]codec.Diagnostic{*d}); aboutSyntax(err) || aboutElements(err) {
			return h.entry(about{}, "", Hit{Position: h.next, Database: wire.Text(rec.Database)}) // it can be had in another form
		}
		text := wire.Text(d.String())
		e := fetch.Entry{Name: text, Kind: fetch.EntryError, Size: -1, Sys: Hit{Position: h.next, Database: wire.Text(rec.Database)}}
		return fetch.URIListPart(text, e), nil
	}
	content := rec.Content(maxStructured)
	brief, err := io.ReadAll(io.LimitReader(content, maxBrief))
	if err == nil {
		_, err = io.Copy(io.Discard, content)
	}
	if err != nil {
		return fetch.Part{}, err
	}
	a := aboutOf(rec.Syntax, brief)
	media, _ := mediaType(rec.Syntax)
	return h.entry(a, media, Hit{Position: h.next, Database: wire.Text(rec.Database), Syntax: syntaxName(rec.Syntax), Author: a.author})
}

// entry returns the entry for a record.
func (h *hits) entry(a about, media string, hit Hit) (fetch.Part, error) {
	if a.title == "" {
		a.title = fmt.Sprintf("record %d", hit.Position)
	}
	u, err := h.t.recordURL(hit.Position)
	if err != nil {
		return fetch.Part{}, err
	}
	return fetch.URIListPart(a.title, fetch.Entry{URL: u, Name: a.title, Kind: fetch.EntryObject, Rel: "item", ContentType: media, Size: -1, Sys: hit}), nil
}
