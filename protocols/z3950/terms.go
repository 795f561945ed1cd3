package z3950

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
	"github.com/urlget/urlget/internal/quoted"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// A Term is an entry in the index of a database. It is the Sys of an entry in a listing.
type Term struct {
	Records int64 `fact:"records"` // number of records with the term; -1 if it is unknown
}

// EntryFacts implements [fetch.EntryRecord].
func (t Term) EntryFacts() fetch.Facts { return driver.FactsOf("z3950", "", t) }

const termsPerRequest = 100

func (d *opener) openTerms(ctx context.Context, t *target) (*fetch.Response, error) {
	s := &terms{t: t}
	l, err := d.with(ctx, t, func(l *lease) error {
		if l.options&(1<<codec.OptionScan) == 0 {
			return &fetch.Error{Code: fetch.ErrNotRetrievable,
				Err: fmt.Errorf("the server does not list the terms of its databases: %w",
					errors.ErrUnsupported),
				Hint: "add a question mark and words to search for"}
		}
		return s.begin(l)
	})
	if err != nil {
		return nil, err
	}
	s.l = l
	resp := listing(t)
	l.list(resp, s.parts)
	return resp, nil
}

type terms struct {
	t          *target
	l          *lease
	attributes []codec.Attribute
	terms      []codec.Term // the last response
	last       string       // the last term of the previous response
	end        bool         // there are no more terms
	cycle      remotefile.Cycle[string]
}

func (s *terms) begin(l *lease) error {
	var first error
	for _, use := range []int64{codec.UseAny, codec.UseTitle, 0} {
		s.attributes = nil
		if use != 0 {
			s.attributes = []codec.Attribute{{Type: codec.AttrUse, Value: use}}
		}
		err := s.request(l)
		if !isAttributeError(err) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (s *terms) request(l *lease) error {
	m := codec.Scan{Databases: s.t.databases, Count: termsPerRequest,
		From: codec.Query{Term: s.last, Attributes: s.attributes}}
	message, err := m.Encode()
	if err != nil {
		return err
	}
	var got codec.ScanResponse
	err = l.ask(message, describeScan(m), codec.TagScanResponse, maxMessage, func(r *ber.Reader) {
		got = codec.ReadScanResponse(r, termsPerRequest)
	})
	if err != nil {
		return err
	}
	l.trace(false, "TERMS %d, status %d%s", len(got.Terms), got.Status, describeDiagnostics(got.Diagnostics))
	s.terms = got.Terms
	s.end = got.Status == codec.ScanPartial5 || len(got.Terms) < termsPerRequest
	if len(got.Terms) > 0 || len(got.Diagnostics) == 0 {
		return nil
	}
	if err := diagnosticsError(got.Diagnostics); diagnosticOf(err) != codec.EndOfTerms {
		return err
	}
	return nil
}

func describeScan(m codec.Scan) string {
	return fmt.Sprintf("SCAN %s for %d terms from %s", describeDatabases(m.Databases), m.Count,
		describeQuery(m.From))
}

func (s *terms) parts(yield func(driver.Part, error) bool) {
	for begun := false; ; begun = true {
		if begun {
			if err := s.request(s.l); err != nil {
				yield(driver.Part{}, err)
				return
			}
			if len(s.terms) > 0 && s.terms[0].Text == s.last {
				s.terms = s.terms[1:]
			}
		}
		for _, term := range s.terms {
			part, err := s.part(term)
			if !yield(part, err) || err != nil {
				return
			}
		}
		if s.end || len(s.terms) == 0 {
			return
		}
		if s.last = s.terms[len(s.terms)-1].Text; s.cycle.Closes(s.last) {
			yield(driver.Part{}, s.l.markBroken(fetch.ErrProtocol.Errorf("the list of terms repeats")))
			return
		}
	}
}

// part returns the entry for a term. Its URL is a search for the term.
func (s *terms) part(term codec.Term) (driver.Part, error) {
	text := wire.Text(term.Text)
	if strings.ContainsAny(text, " \t\"@") {
		text = quoted.String(text)
	}
	name := wire.Text(cmp.Or(term.DisplayTerm, term.Text))
	e := fetch.Entry{Name: name, Kind: fetch.EntryListing, Rel: "item", Size: -1,
		Sys: Term{Records: term.Count}}
	u, err := s.t.sibling(s.t.path, uri.Escape(text), 0)
	if err != nil || strings.ContainsAny(text, "\r\n\x00") || text == "" {
		e.Kind = fetch.EntryText // the term cannot be part of a URL
		return driver.URIListPart(name, e), nil
	}
	e.URL = u
	return driver.URIListPart(name, e), nil
}
