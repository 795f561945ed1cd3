package ldap

import (
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// An Entry names an entry of a directory. It is the Sys of the entries of a
// listing.
type Entry struct {
	DN string `json:"dn"`
}

// A body is the records that a search finds, as LDIF.
type body struct {
	*session
	query query

	rest  []byte  // of the LDIF
	ahead *record // the first, which was read before it is wanted
	end   error   // io.EOF after the result, or why it did not come
}

// begin asks, and reads up to the first record.
func (b *body) begin() error {
	if err := b.send(b.query.packet(), b.query.String()); err != nil {
		return err
	}
	b.rest = []byte(header)
	rec, err := b.receiveRecord()
	switch {
	case err == io.EOF && !b.query.list:
		return &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("no entry matches")}
	case err == io.EOF:
		b.end = err
	case err != nil:
		return err
	default:
		b.ahead = &rec
	}
	return nil
}

// next returns the next record. After the last it returns io.EOF.
func (b *body) next() (record, error) {
	if rec := b.ahead; rec != nil {
		b.ahead = nil
		return *rec, nil
	}
	if b.end != nil {
		return record{}, b.end
	}
	rec, err := b.receiveRecord()
	var away *referral
	switch {
	case errors.As(err, &away):
		err = violation("a referral came after entries")
	case err == nil:
		return rec, nil
	}
	b.end = err
	return record{}, err
}

// receiveRecord reads the next record. The error is io.EOF if the server said
// that there are no more.
func (b *body) receiveRecord() (record, error) {
	for {
		op, err := b.receive()
		if err != nil {
			return record{}, unexpected(err)
		}
		switch op.tag {
		case tagEntry:
			return parseEntry(op.content)
		case tagReference:
			urls, err := parseReferences(op.content)
			return record{references: urls}, err
		case tagIntermediate:
			continue
		case tagDone:
			r, err := parseResult(op.content)
			if err != nil {
				return record{}, err
			}
			b.trace(false, r.String())
			if err := r.err(); err != nil {
				return record{}, err
			}
			return record{}, io.EOF
		}
		return record{}, violation("an answer of kind %#x does not belong to a search", op.tag)
	}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		rec, err := b.next()
		if err != nil {
			return 0, err
		}
		b.rest = appendRecord(b.rest, rec)
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// entries yields an entry for each record.
func (b *body) entries(base uri.URI) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for {
			rec, err := b.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			for _, e := range b.describe(base, rec) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// describe returns the entries for a record.
func (b *body) describe(base uri.URI, rec record) []fetch.Entry {
	var list []fetch.Entry
	for _, text := range rec.references {
		e := fetch.Entry{Name: text, Kind: fetch.EntryText, Size: -1}
		if u, err := uri.Parse(text); err == nil && u.IsAbs() {
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

// kind tells whether there are entries below. If the server did not tell, there
// may be.
func (r record) kind() fetch.EntryKind {
	for _, a := range r.attributes {
		if strings.EqualFold(a.name, "hasSubordinates") && len(a.values) == 1 && strings.EqualFold(string(a.values[0]), "FALSE") {
			return fetch.EntryObject
		}
	}
	return fetch.EntryListing
}

// member describes the entry dn, which is named without what it shares with
// the entry above.
func member(base uri.URI, dn, above string, kind fetch.EntryKind) fetch.Entry {
	e := fetch.Entry{Name: dn, Kind: kind, Rel: "item", ContentType: "text/x-ldif", Size: -1, Sys: Entry{DN: dn}}
	if n := len(dn) - len(above) - 1; above != "" && n > 0 && dn[n] == ',' && strings.EqualFold(dn[n+1:], above) {
		e.Name = dn[:n]
	}
	if ref, err := uri.Parse("/" + uri.Escape(dn)); err == nil {
		e.URL = base.Resolve(ref)
	}
	return e
}
