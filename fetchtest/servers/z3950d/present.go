package z3950d

import (
	"path"
	"slices"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/ber"
	"github.com/urlget/urlget/internal/codec/z3950"
)

// syntaxOf returns the record syntax of a record by its extension.
func syntaxOf(rec record) string {
	switch {
	case rec.database == explainDatabase:
		return z3950.SyntaxExplain
	case path.Ext(rec.id) == ".mrc":
		return z3950.SyntaxUSMARC
	case path.Ext(rec.id) == ".xml":
		return z3950.SyntaxXML
	}
	return z3950.SyntaxSUTRS
}

// present sends records or a diagnostic, and reports whether to continue.
func (c *session) present(m z3950.Present) bool {
	if m.Start < 1 || m.Count < 0 || m.Start-1+m.Count > int64(len(c.result)) {
		return c.send(z3950.EncodePresentDiagnostic(diagnostic(z3950.OutOfRange, "")))
	}
	count := m.Count
	status := int64(z3950.PresentSuccess)
	if n := int64(c.s.opts.Brief); n > 0 && n < count {
		count, status = n, z3950.PresentPartial2
	}
	var records [][]byte
	content := false
	for _, rec := range c.result[m.Start-1 : m.Start-1+count] {
		s := c.sent(rec, m)
		content = content || s.Diagnostic == nil
		records = append(records, s.Encode())
	}
	head, list := c.message(status, m.Start+count, records)
	if !content {
		return c.send(slices.Concat(head, list))
	}
	f := c.Take()
	if f.Fault == servers.Endless {
		head, list = open(m.Start, records)
	}
	b, ok := c.ContentWith(f, int64(len(list)))
	if !ok {
		return true
	}
	if _, err := c.Write(head); err != nil {
		return false
	}
	if _, err := b.Write(list); err != nil {
		return false
	}
	_, err := b.End()
	return err == nil
}

// sent returns a record in the requested form.
func (c *session) sent(rec record, m z3950.Present) z3950.NamePlusRecord {
	s := z3950.NamePlusRecord{Database: rec.database, Syntax: syntaxOf(rec), Content: c.s.content(rec)}
	switch {
	case s.Syntax == z3950.SyntaxExplain:
		s.Structured = true
		s.Content = ber.Field(1, ber.Field(0), ber.String(1, rec.id))
	case m.Syntax == s.Syntax, m.Syntax == "" && !c.s.opts.Syntax:
	default:
		d := diagnostic(z3950.NotInSyntax, s.Syntax)
		s.Diagnostic = &d
	}
	return s
}

// message returns a present response in two parts: the fields before the records, and the records
// with the fields after them.
func (c *session) message(status, following int64, records [][]byte) (head, list []byte) {
	all := slices.Concat(records...)
	if c.s.opts.Indefinite {
		head, _ := open(following-int64(len(records)), records)
		return head, append(all, 0, 0, 0, 0)
	}
	whole := z3950.EncodePresentResponse(status, following, records)
	return whole[:len(whole)-len(all)], all
}

// open returns a response without its end mark.
func open(start int64, records [][]byte) (head, list []byte) {
	head = slices.Concat([]byte{0xa0 | z3950.TagPresentResponse, 0x80},
		ber.Int(z3950.TagNumberOfRecordsReturned, int64(len(records))),
		ber.Int(z3950.TagNextResultSetPosition, start+int64(len(records))), ber.Int(z3950.TagPresentStatus,
			z3950.PresentSuccess),
		[]byte{0xa0 | z3950.TagResponseRecords, 0x80})
	return head, slices.Concat(records...)
}
