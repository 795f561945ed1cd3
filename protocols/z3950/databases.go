package z3950

import (
	"context"
	"encoding/xml"
	"io"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

// Servers describe themselves in the Explain database (Z39.50, section 3.2.10).
const explainDatabase = "IR-Explain-1"

// A Database is a database of a server. It is the Sys of an entry in a listing.
type Database struct {
	Name string `fact:"name"`
}

// EntryFacts implements [fetch.EntryRecord].
func (d Database) EntryFacts() fetch.Facts { return driver.FactsOf("z3950", "", d) }

var explainSearch = codec.Search{Databases: []string{explainDatabase}, Query: codec.Query{
	Set: codec.Exp1, Term: "DatabaseInfo", Attributes: []codec.Attribute{{Type: 1, Value: 1}},
}}

func (d *opener) openDatabases(ctx context.Context, req *fetch.Request,
	t *target) (*fetch.Response, error) {
	forms := formChoices{syntaxes: []string{codec.SyntaxExplain, codec.SyntaxXML},
		elements: []string{"B", ""}}
	h := &hits{t: t, next: 1, forms: forms}
	l, err := d.with(ctx, t, func(l *lease) (err error) {
		if err := l.search(explainSearch); err != nil || l.count == 0 {
			return err
		}
		h.p, err = h.request(l)
		return err
	})
	if e := withExplanation(err, "the server does not list its databases"); e != nil &&
		e.Code != fetch.ErrBusy {
		e.Code = fetch.ErrNotRetrievable
		e.Hint = "use z39.50s://" + t.url.Host() + "/DATABASE?WORDS"
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	h.l, h.count = l, l.count
	resp := listing(t)
	if req.Op == fetch.OpStat {
		l.Discard()
		return resp, nil
	}
	l.list(resp, h.databases)
	return resp, nil
}

func (h *hits) databases(yield func(driver.Part, error) bool) {
	h.each(yield, func() (driver.Part, bool, error) {
		name, err := h.databaseName()
		return h.t.databasePart(name), name != "", err
	})
}

// databaseName returns the name in an Explain record, or "" for records of other types. In a
// DatabaseInfo both the record and its name have the tag 1. Zebra sends Explain records as XML.
func (h *hits) databaseName() (name string, err error) {
	defer h.l.conn.Piece()()
	rec := &h.p.Record
	switch {
	case rec.Diagnostic != nil:
	case rec.Structured() && rec.Syntax == codec.SyntaxExplain:
		r := rec.Reader()
		if !r.Header().Is(1) {
			return "", nil
		}
		r.Enter()
		for name == "" && r.Next() {
			if r.Header().Is(1) {
				name = wire.Text(r.String(maxURL))
			}
		}
		r.Leave()
	case rec.Syntax == codec.SyntaxXML:
		content := rec.Content(maxBrief)
		text, err := io.ReadAll(io.LimitReader(content, maxBrief))
		if err == nil {
			_, err = io.Copy(io.Discard, content)
		}
		if err != nil {
			return "", err
		}
		var explain struct {
			Name string `xml:"databaseInfo>name"`
		}
		if xml.Unmarshal(text, &explain) == nil { // otherwise it is not a DatabaseInfo
			name = strings.TrimSpace(explain.Name)
		}
	}
	return name, h.l.r.Err()
}

func (t *target) databasePart(name string) driver.Part {
	e := fetch.Entry{Name: name, Kind: fetch.EntrySearch, Rel: "item", Size: -1, Sys: Database{Name: name}}
	u, err := t.sibling("/"+uri.Escape(name), "", 0)
	if err != nil {
		e.Kind = fetch.EntryText
	}
	e.URL = u
	return driver.URIListPart(name, e)
}
