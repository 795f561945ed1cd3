package z3950

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/internal/codec/ber"
	codec "github.com/urlget/urlget/internal/codec/z3950"
)

func (l *lease) find(t *target) error {
	key := t.resultKey()
	if l.result == key {
		return nil
	}
	words, document, err := t.searches()
	if err != nil {
		return err
	}
	err = l.searchFirst(t.databases, words)
	switch {
	case words == nil:
		err = l.searchFirst(t.databases, document)
	case err == nil && l.count == 0 && document != nil:
		// A session URL may name a document (RFC 2056, section 3). If the server does not support a
		// search for one, the result is empty.
		if err = l.searchFirst(t.databases, document); isAttributeError(err) {
			err, l.count = nil, 0
		}
	}
	if err == nil {
		l.result = key
	}
	return err
}

// searchFirst performs the first of the queries whose attributes the server supports.
func (l *lease) searchFirst(databases []string, queries []codec.Query) error {
	var refusal error
	for _, q := range queries {
		err := l.search(codec.Search{Databases: databases, Query: q})
		if !isAttributeError(err) {
			return err
		}
		if refusal == nil {
			refusal = err
		}
	}
	return refusal
}

func (l *lease) search(m codec.Search) error {
	message, err := m.Encode()
	if err != nil {
		return err
	}
	l.result, l.count, l.next, l.diagnostic = "", 0, 0, ""
	var found codec.SearchResponse
	err = l.ask(message, describeSearch(m), codec.TagSearchResponse, maxMessage, func(r *ber.Reader) {
		found = codec.ReadSearchResponse(r)
	})
	if err != nil {
		return err
	}
	l.trace(false, "FOUND %d records%s", found.Count, describeDiagnostics(found.Diagnostics))
	switch {
	case found.OK && len(found.Diagnostics) > 0:
		l.diagnostic = l.maskText(wire.Text(found.Diagnostics[0].String()))
	case found.OK:
	case len(found.Diagnostics) > 0:
		return diagnosticsError(found.Diagnostics)
	default:
		return fetch.ErrServer.Errorf("the search failed without a diagnostic")
	}
	l.count = found.Count
	return nil
}

// present requests records and reads the response up to the first one. The caller must read all
// records before sending another request. The error may be a diagnostic.
func (l *lease) present(m codec.Present) (*codec.PresentResponse, error) {
	message, err := m.Encode()
	if err != nil {
		return nil, err
	}
	limit := int64(maxMessage)
	if m.Count == 1 {
		limit = recordSize + overhead
	}
	var (
		p         *codec.PresentResponse
		hasRecord bool
		refusal   *codec.Diagnostic // instead of the only record
	)
	err = l.ask(message, describePresent(m), codec.TagPresentResponse, limit, func(r *ber.Reader) {
		p = codec.ReadPresentResponse(r)
		hasRecord = p.Next()
		if refusal = p.Record.Diagnostic; refusal != nil && m.Count == 1 {
			p.Next()
		}
	})
	if err != nil {
		return nil, err
	}
	l.trace(false, "RECORDS %d, status %d%s", p.Returned, p.Status, describeDiagnostics(p.Diagnostics))
	switch end := m.Start + p.Returned; {
	case p.Returned == 0:
	case p.NextPosition == end:
		l.next = end
	case p.NextPosition == l.next && l.next > 0:
		return nil, l.markBroken(fetch.ErrProtocol.Errorf("received the records of an earlier request"))
	default:
		l.next = 0 // the server is wrong about it
	}
	switch {
	case refusal != nil && m.Count == 1:
		return nil, diagnosticsError([]codec.Diagnostic{*refusal})
	case hasRecord:
		return p, nil
	case len(p.Diagnostics) == 0:
		return nil, l.markBroken(fetch.ErrProtocol.Errorf("received neither records nor a diagnostic"))
	}
	err = diagnosticsError(p.Diagnostics)
	if code := diagnosticOf(err); l.Reused && (code == codec.ResultSetDeleted || code == codec.NoResultSet) {
		err = l.markBroken(errors.New("the result set is gone")) // a new session searches again
	}
	return nil, err
}

func (l *lease) skipRecords(p *codec.PresentResponse) error {
	defer l.conn.Piece()()
	for p.Next() {
	}
	return l.decodeError()
}

// presentAny tries the forms of c in order. It returns the request that succeeded.
func (l *lease) presentAny(start, count int64, c formChoices) (*codec.PresentResponse, codec.Present, error) {
	var first error
	for _, syntax := range c.syntaxes {
		for _, elements := range c.elements {
			m := codec.Present{Start: start, Count: count, Syntax: syntax, ElementSet: elements}
			p, err := l.present(m)
			switch {
			case err == nil && count > 1 && p.Record.Diagnostic != nil && len(c.syntaxes)+len(c.elements) > 2:
				err = diagnosticsError([]codec.Diagnostic{*p.Record.Diagnostic})
				if !isSyntaxError(err) && !isElementSetError(err) {
					return p, m, nil
				}
				if err := l.skipRecords(p); err != nil { // the remaining records are refused, too
					return nil, m, err
				}
			case err == nil:
				return p, m, nil
			}
			if first == nil {
				first = err
			}
			if isSyntaxError(err) {
				break
			}
			if !isElementSetError(err) {
				return nil, m, err
			}
		}
	}
	return nil, codec.Present{}, first
}

func describeSearch(m codec.Search) string {
	return fmt.Sprintf("SEARCH %s for %s", describeDatabases(m.Databases), describeQuery(m.Query))
}

func describeDatabases(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, strconv.Quote(name))
	}
	return strings.Join(quoted, ", ")
}

func describeQuery(q codec.Query) string {
	if q.Left != nil {
		operator := [...]string{"@and ", "@or ", "@not "}[min(q.Op, 2)]
		return operator + describeQuery(*q.Left) + " " + describeQuery(*q.Right)
	}
	var b strings.Builder
	for _, a := range q.Attributes {
		value := strconv.FormatInt(a.Value, 10)
		if a.Name != "" {
			value = fetch.Printable(a.Name)
		}
		fmt.Fprintf(&b, "@attr %d=%s ", a.Type, value)
	}
	return b.String() + strconv.Quote(q.Term)
}

func describePresent(m codec.Present) string {
	text := fmt.Sprintf("PRESENT %d from %d", m.Count, m.Start)
	if m.Syntax != "" {
		text += ", syntax " + syntaxName(m.Syntax)
	}
	if m.ElementSet != "" {
		text += ", element set " + strconv.Quote(m.ElementSet)
	}
	return text
}

func describeDiagnostics(list []codec.Diagnostic) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString(", " + fetch.Printable(wire.Text(d.String())))
	}
	return b.String()
}
