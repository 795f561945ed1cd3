package z3950

import (
	"io"

	"github.com/urlget/urlget/internal/codec/ber"
)

// A Present asks for records of the result set.
type Present struct {
	Start, Count int64  // from 1
	ElementSet   string // "" for the server's choice
	Syntax       string // an object identifier; "" for the server's choice
}

// Encode returns m as a request. It fails if Syntax is no object identifier.
func (m Present) Encode() ([]byte, error) {
	var elements, syntax []byte
	if m.ElementSet != "" {
		elements = ber.Field(19, ber.String(0, m.ElementSet))
	}
	if m.Syntax != "" {
		oid, err := ber.OIDContent(m.Syntax)
		if err != nil {
			return nil, err
		}
		syntax = ber.Bytes(ber.Context, 104, oid)
	}
	return ber.Field(TagPresent, ber.String(31, resultSet), ber.Int(30, m.Start), ber.Int(29, m.Count), elements, syntax), nil
}

// ReadPresent reads the current message, a request.
func ReadPresent(r *ber.Reader) (m Present) {
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 19:
			r.Enter()
			if r.Next() && r.Header().Is(0) {
				m.ElementSet = r.String(maxText)
			}
			r.Leave()
		case 29:
			m.Count = r.Int()
		case 30:
			m.Start = r.Int()
		case 104:
			m.Syntax = r.OID()
		}
	}
	r.Leave()
	return m
}

// Records are the response to a Present, which is read as it comes:
//
//	p := ReadRecords(r)
//	for p.Next() {
//		... p.Record
//	}
//
// Status, Next and Returned are known from the beginning if the server keeps to the order of the
// standard, and else at the end.
type Records struct {
	Status      int64 // 0: all that was asked for; 5: none
	Following   int64 // the position after the last record
	Returned    int64
	Diagnostics []Diagnostic // in place of records

	Record Record // the current one

	r  *ber.Reader
	in bool // the list of records was entered
}

// A Record is one of a result set.
type Record struct {
	Database string
	Syntax   string      // its object identifier
	Refusal  *Diagnostic // in place of the record

	r     *ber.Reader
	depth int // of values that were entered to get to the content
	plain bool
}

// ReadRecords reads the current message, a response to a Present, up to its records.
func ReadRecords(r *ber.Reader) *Records {
	p := &Records{r: r}
	r.Enter()
	p.head()
	return p
}

// head reads fields of the message up to the list of records, or to the end.
func (p *Records) head() {
	for p.r.Next() {
		switch p.r.Header().Tag {
		case 24:
			p.Returned = p.r.Int()
		case 25:
			p.Following = p.r.Int()
		case 27:
			p.Status = p.r.Int()
		case 28:
			p.r.Enter()
			p.in = true
			return
		default:
			p.Diagnostics = append(p.Diagnostics, readRefusal(p.r)...)
		}
	}
	p.r.Leave()
}

// Next goes to the next record. It reports false at the end of the message.
func (p *Records) Next() bool {
	if !p.in {
		return false
	}
	p.Record.leave()
	if !p.r.Next() {
		p.in = false
		p.r.Leave()
		p.head()
		return false
	}
	p.Record = readRecord(p.r)
	return p.r.Err() == nil
}

// readRecord reads the current value, a NamePlusRecord, up to its content.
func readRecord(r *ber.Reader) (rec Record) {
	rec.r = r
	enter := func() {
		r.Enter()
		rec.depth++
	}
	enter()
	for r.Next() && r.Header().Is(0) {
		rec.Database = r.String(maxText)
	}
	if r.Err() != nil || !r.Header().Is(1) {
		r.Fail(ber.ErrMalformed)
		return rec
	}
	enter()
	if !r.Next() {
		r.Fail(ber.ErrMalformed)
		return rec
	}
	switch h := r.Header(); {
	case h.Is(2):
		enter()
		d := Diagnostic{}
		if r.Next() {
			d = readDiagnostic(r)
		}
		rec.Refusal = &d
		return rec
	case !h.Is(1):
		r.Fail(ber.ErrMalformed)
		return rec
	}
	enter()
	if !r.Next() || !r.Header().IsUniversal(ber.TagExternal) {
		r.Fail(ber.ErrMalformed)
		return rec
	}
	enter()
	for r.Next() {
		switch h := r.Header(); {
		case h.IsUniversal(ber.TagOID):
			rec.Syntax = r.OID()
		case h.Is(0): // a value of ASN.1
			enter()
			if !r.Next() {
				r.Fail(ber.ErrMalformed)
			}
			rec.plain = isString(r.Header())
			return rec
		case h.Is(1): // bytes
			rec.plain = true
			return rec
		}
	}
	r.Fail(ber.ErrMalformed)
	return rec
}

// isString reports whether h is the header of a string of characters.
func isString(h ber.Header) bool {
	if h.Class != ber.Universal {
		return false
	}
	switch h.Tag {
	case ber.TagBytes, 12, 18, 19, 20, 22, 25, ber.TagVisible, ber.TagGeneralString:
		return true
	}
	return false
}

// Size returns the size of the content in bytes, or -1 if it is not known.
func (rec *Record) Size() int64 {
	if h := rec.r.Header(); rec.plain && !h.Constructed {
		return h.Length
	}
	return -1
}

// Structured reports whether the content is no string but a value of ASN.1.
func (rec *Record) Structured() bool { return !rec.plain }

// Content returns a reader of the content, which must be read to its end before anything else. A
// value of ASN.1 of more than most bytes is an error; strings have no such bound.
func (rec *Record) Content(most int) io.Reader {
	if rec.plain {
		return rec.r.Content()
	}
	return &raw{r: rec.r, most: most}
}

// raw reads a value of ASN.1 as it is.
type raw struct {
	r     *ber.Reader
	most  int
	begun bool
	rest  []byte
}

// Read implements io.Reader.
func (x *raw) Read(p []byte) (int, error) {
	if !x.begun {
		x.begun = true
		x.rest = x.r.Raw(x.most)
	}
	if err := x.r.Err(); err != nil {
		return 0, err
	}
	if len(x.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

// Reader returns what reads a content of ASN.1 value by value.
func (rec *Record) Reader() *ber.Reader { return rec.r }

// leave skips what is left of the record.
func (rec *Record) leave() {
	for ; rec.depth > 0; rec.depth-- {
		rec.r.Leave()
	}
}

// A Sent is a record of a response to be encoded.
type Sent struct {
	Database, Syntax string
	Content          []byte
	Structured       bool // Content is a value of ASN.1
	Refusal          *Diagnostic
}

// Encode returns a NamePlusRecord. Text has the form that YAZ sends: SUTRS as a string of
// characters, everything else as bytes.
func (s Sent) Encode() []byte {
	name := ber.String(0, s.Database)
	if s.Refusal != nil {
		return ber.Sequence(name, ber.Field(1, ber.Field(2, ber.Sequence(s.Refusal.fields()...))))
	}
	content := ber.Bytes(ber.Context, 1, s.Content)
	if s.Structured {
		content = ber.Field(0, s.Content)
	} else if s.Syntax == SyntaxSUTRS {
		content = ber.Field(0, ber.Bytes(ber.Universal, ber.TagGeneralString, s.Content))
	}
	oid := ber.Bytes(ber.Universal, ber.TagOID, ber.MustOID(s.Syntax))
	return ber.Sequence(name, ber.Field(1, ber.Field(1, ber.Group(ber.Universal, ber.TagExternal, oid, content))))
}

// EncodeRecords returns a response to a Present. The records are encoded.
func EncodeRecords(status, following int64, records [][]byte) []byte {
	return ber.Field(TagPresentResponse, ber.Int(24, int64(len(records))), ber.Int(25, following), ber.Int(27, status), ber.Field(28, records...))
}

// EncodeRefusal returns a response to a Present without records.
func EncodeRefusal(d Diagnostic) []byte {
	return ber.Field(TagPresentResponse, ber.Int(24, 0), ber.Int(25, 1), ber.Int(27, 5), ber.Field(130, d.fields()...))
}
