package ldap

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"iter"
	"strings"

	"github.com/go-ldap/ldap/v3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// An Entry is the DN of a directory entry. It is the Sys of an entry in a listing.
type Entry struct {
	DN string `fact:"dn"`
}

// EntryFacts implements [fetch.EntryRecord].
func (e Entry) EntryFacts() fetch.Facts { return driver.FactsOf("ldap", "", e) }

type records struct {
	*session
	query query
	pages pager
	// missing has the values to request for the record that was returned last, over side, a
	// connection that dial opens.
	missing []valueRange
	side    *records
	dial    func() (*session, error)

	first  *record // the first record, read by begin
	result error   // set at the end: io.EOF if the search succeeded
}

func (b *records) begin() error {
	b.pages = pager{single: b.query.scope == ldap.ScopeBaseObject, seen: make(map[uint64]bool),
		seed: maphash.MakeSeed()}
	if err := b.request(); err != nil {
		return err
	}
	rec, err := b.receiveRecord()
	if b.pages.refused(err) {
		if err := b.request(); err != nil {
			return err
		}
		rec, err = b.receiveRecord()
	}
	switch {
	case err == io.EOF && !b.query.list:
		return fetch.ErrNotFound.Errorf("no matching entry")
	case err == io.EOF:
		b.result = err
	case err != nil:
		return err
	default:
		b.takeRanges(&rec)
		b.first = &rec
	}
	return nil
}

func (b *records) request() error {
	return b.send(b.query.request(), b.query.String(), b.pages.controls())
}

func (b *records) next() (record, error) {
	if rec := b.first; rec != nil {
		b.first = nil
		return *rec, nil
	}
	if b.result != nil {
		return record{}, b.result
	}
	if len(b.missing) > 0 {
		rec, err := b.nextRange()
		b.result = err
		return rec, err
	}
	done := b.conn.Piece() // only records count as progress
	rec, err := b.receiveRecord()
	done()
	var ref *referral
	switch {
	case errors.As(err, &ref):
		err = fetch.ErrProtocol.Errorf("received a referral after entries")
	case err == nil:
		b.takeRanges(&rec)
		return rec, nil
	}
	b.result = err
	return record{}, err
}

// receiveRecord reads the next record, if necessary from the next page. The error is io.EOF if the
// search is done and succeeded.
func (b *records) receiveRecord() (record, error) {
	for silent := 0; silent < maxIntermediate; silent++ {
		op, err := b.receive()
		if err != nil {
			return record{}, wire.Unexpected(err)
		}
		switch op.tag {
		case tagEntry, tagReference:
			rec, err := b.parse(op)
			if err != nil {
				return record{}, err
			}
			again, err := b.pages.received(rec.dn + strings.Join(rec.references, " "))
			if !again || err != nil {
				return rec, err
			}
			silent = 0 // the number of repeated records is limited
		case tagIntermediate:
			b.trace(false, "intermediate response")
		case tagDone:
			if err := b.endPage(op.content); err != nil {
				return record{}, err
			}
			if silent+1 == maxIntermediate {
				continue // nobody would read the next page
			}
			if err := b.request(); err != nil {
				return record{}, err
			}
		default:
			return record{}, fetch.ErrProtocol.Errorf("unexpected response with tag %#x to a search", op.tag)
		}
	}
	return record{}, fetch.ErrProtocol.Errorf("received %d messages without a record", maxIntermediate)
}

func (b *records) parse(op element) (rec record, err error) {
	if op.tag == tagReference {
		rec.references, err = parseReferences(op.content)
		b.trace(false, "reference to %q", rec.references)
		return rec, err
	}
	rec, err = parseEntry(op.content)
	if b.conn.Line() != nil {
		b.trace(false, "entry %q with %d attributes", rec.dn, len(rec.attributes))
	}
	return rec, err
}

// endPage prepares the next page. Without one, it returns io.EOF or the error of the search.
func (b *records) endPage(content []byte) error {
	r, err := parseResult(content)
	if err != nil {
		return err
	}
	b.trace(false, "%v", r)
	switch err := r.err(); {
	case err == nil:
		if more, err := b.pages.next(b.controls); err != nil || !more {
			return cmp.Or(err, io.EOF)
		}
	case b.pages.reduce(r.code, err):
	case b.pages.records == 0 && b.pages.cookie == "":
		return cmp.Or(b.pages.limit, err)
	default:
		return err
	}
	return nil
}

func (b *records) parts(base uri.URI) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		if !yield(driver.Part{Text: []byte(header)}, nil) {
			return
		}
		for {
			rec, err := b.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(driver.Part{}, err)
				return
			}
			part := driver.Part{Entries: b.describe(base, rec)}
			for part.Text = range rec.ldif {
				if !yield(part, nil) {
					return
				}
				part.Entries = nil
			}
		}
	}
}

func (b *records) describe(base uri.URI, rec record) []fetch.Entry {
	var list []fetch.Entry
	for _, text := range rec.references {
		e := fetch.Entry{Name: text, Kind: fetch.EntryText, Size: -1}
		if u, err := uri.ParseRef(text); err == nil && u.IsAbs() {
			e.URL, e.Kind, e.Rel = u, fetch.EntryListing, "item"
		}
		list = append(list, e)
	}
	switch {
	case rec.references != nil:
	case b.query.roots:
		for _, a := range rec.attributes {
			for _, dn := range a.values {
				list = append(list, member(base, string(dn), "", fetch.EntryListing))
			}
		}
	default:
		list = append(list, member(base, rec.dn, b.query.dn, rec.kind()))
	}
	return list
}

// kind is EntryObject if the server reports that r has no subordinates.
func (r record) kind() fetch.EntryKind {
	for _, a := range r.attributes {
		if strings.EqualFold(a.name, "hasSubordinates") && len(a.values) == 1 &&
			strings.EqualFold(string(a.values[0]), "FALSE") {
			return fetch.EntryObject
		}
	}
	return fetch.EntryListing
}

// member returns the listing entry for dn. Its name omits the DN of the parent entry.
func member(base uri.URI, dn, parent string, kind fetch.EntryKind) fetch.Entry {
	e := fetch.Entry{Name: dn, Kind: kind, Rel: "item", ContentType: "text/x-ldif", Size: -1,
		Sys: Entry{DN: dn}}
	if n := len(dn) - len(parent) - 1; parent != "" && n > 0 && dn[n] == ',' &&
		strings.EqualFold(dn[n+1:], parent) {
		e.Name = dn[:n]
	}
	if ref, err := uri.Parse("/" + uri.Escape(dn)); err == nil {
		e.URL = base.Resolve(ref)
	}
	return e
}
