package z3950

import (
	"io"

	"github.com/urlget/urlget/internal/codec/ber"
)

// Values of presentStatus. The values between them mean that only a part of the records follows.
const (
	PresentSuccess  = 0
	PresentPartial2 = 2 // the records do not fit into the message
	PresentFailure  = 5
)

// A Present is a PresentRequest: it requests records of the result set.
type Present struct {
	Start, Count int64  // Start counts from 1
	ElementSet   string // "" for the server's choice
	Syntax       string // an object identifier; "" for the server's choice
}

// Encode returns the encoded request. It fails if Syntax is not an object identifier.
func (m Present) Encode() ([]byte, error) {
	var elements, syntax []byte
	if m.ElementSet != "" {
		elements = ber.Field(tagSimpleComposition, ber.String(tagGenericElementSetName, m.ElementSet))
	}
	if m.Syntax != "" {
		oid, err := ber.OIDContent(m.Syntax)
		if err != nil {
			return nil, err
		}
		syntax = ber.Bytes(ber.Context, tagPreferredRecordSyntax, oid)
	}
	return ber.Field(TagPresent, ber.String(tagResultSetID, resultSet),
		ber.Int(tagResultSetStartPoint, m.Start),
		ber.Int(tagNumberOfRecordsRequested, m.Count), elements, syntax), nil
}

// ReadPresent decodes the current message, a PresentRequest.
func ReadPresent(r *ber.Reader) (m Present) {
	for h := range r.Values() {
		switch h.Tag {
		case tagSimpleComposition:
			for h := range r.Values() {
				if h.Is(tagGenericElementSetName) {
					m.ElementSet = r.String(maxText)
				}
			}
		case tagNumberOfRecordsRequested:
			m.Count = r.Int()
		case tagResultSetStartPoint:
			m.Start = r.Int()
		case tagPreferredRecordSyntax:
			m.Syntax = r.OID()
		}
	}
	return m
}

// A PresentResponse is a response to a Present. It is decoded while it arrives:
//
//	p := ReadRecords(r)
//	for p.Next() {
//		... p.Record
//	}
//
// Status, Following and Returned are set from the beginning if the server sends the fields in the
// standard's order. Otherwise they are set after the last record.
type PresentResponse struct {
	Status       int64 // presentStatus
	NextPosition int64 // the position after the last record
	Returned     int64
	Diagnostics  []Diagnostic // sent instead of records

	Record Record // the current record

	r         *ber.Reader
	inRecords bool // the list of records is entered
}

// A Record is a record of a result set.
type Record struct {
	Database   string
	Syntax     string      // its object identifier
	Diagnostic *Diagnostic // sent instead of the record

	r             *ber.Reader
	depth         int // number of values entered to reach the content
	stringContent bool
}

// ReadPresentResponse decodes the current message, a PresentResponse, up to its records.
func ReadPresentResponse(r *ber.Reader) *PresentResponse {
	p := &PresentResponse{r: r}
	r.Enter()
	p.readFields()
	return p
}

// readFields decodes the fields up to the list of records, or to the end of the message.
func (p *PresentResponse) readFields() {
	for p.r.Next() {
		switch p.r.Header().Tag {
		case TagNumberOfRecordsReturned:
			p.Returned = p.r.Int()
		case TagNextResultSetPosition:
			p.NextPosition = p.r.Int()
		case TagPresentStatus:
			p.Status = p.r.Int()
		case TagResponseRecords:
			p.r.Enter()
			p.inRecords = true
			return
		default:
			p.Diagnostics = append(p.Diagnostics, readDiagnostics(p.r)...)
		}
	}
	p.r.Leave()
}

// Next advances to the next record. It reports false at the end of the message.
func (p *PresentResponse) Next() bool {
	if !p.inRecords {
		return false
	}
	p.Record.leave()
	if !p.r.Next() {
		p.inRecords = false
		p.r.Leave()
		p.readFields()
		return false
	}
	p.Record = readRecord(p.r)
	return p.r.Err() == nil
}

// readRecord decodes the current value, a NamePlusRecord, up to its content.
func readRecord(r *ber.Reader) (rec Record) {
	rec.r = r
	enter := func() {
		r.Enter()
		rec.depth++
	}
	malformed := func() Record {
		r.Fail(ber.ErrMalformed)
		return rec
	}
	enter()
	for r.Next() && r.Header().Is(tagName) {
		rec.Database = r.String(maxText)
	}
	if r.Err() != nil || !r.Header().Is(tagRecord) {
		return malformed()
	}
	enter()
	if !r.Next() {
		return malformed()
	}
	switch h := r.Header(); {
	case h.Is(tagSurrogateDiagnostic):
		enter()
		d := Diagnostic{}
		if r.Next() {
			d = readDiagnostic(r)
		}
		rec.Diagnostic = &d
		return rec
	case !h.Is(tagRetrievalRecord):
		return malformed()
	}
	enter()
	if !r.Next() || !r.Header().IsUniversal(ber.TagExternal) {
		return malformed()
	}
	enter()
	for r.Next() {
		switch h := r.Header(); {
		case h.IsUniversal(ber.TagOID):
			rec.Syntax = r.OID()
		case h.Is(tagSingleASN1Type):
			enter()
			if !r.Next() {
				r.Fail(ber.ErrMalformed)
			}
			rec.stringContent = isString(r.Header())
			return rec
		case h.Is(tagOctetAligned):
			rec.stringContent = true
			return rec
		}
	}
	return malformed()
}

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

// Size returns the size of the content in bytes, or -1 if it is unknown.
func (rec *Record) Size() int64 {
	if h := rec.r.Header(); rec.stringContent && !h.Constructed {
		return h.Length
	}
	return -1
}

// Structured reports whether the content is an ASN.1 value other than a string.
func (rec *Record) Structured() bool { return !rec.stringContent }

// Content returns a reader of the content. It must be read to EOF before anything else is read. An
// ASN.1 value larger than most bytes is an error; strings are not limited.
func (rec *Record) Content(most int) io.Reader {
	if rec.stringContent {
		return rec.r.Content()
	}
	return &raw{r: rec.r, most: most}
}

type raw struct {
	r       *ber.Reader
	most    int
	started bool
	rest    []byte
}

func (x *raw) Read(p []byte) (int, error) {
	if !x.started {
		x.started = true
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

// Reader returns the Reader that decodes the ASN.1 value of the content.
func (rec *Record) Reader() *ber.Reader { return rec.r }

func (rec *Record) leave() {
	for ; rec.depth > 0; rec.depth-- {
		rec.r.Leave()
	}
}

// A NamePlusRecord is a record of a PresentResponse, for encoding.
type NamePlusRecord struct {
	Database, Syntax string
	Content          []byte
	Structured       bool // Content is an ASN.1 value
	Diagnostic       *Diagnostic
}

// Encode returns a NamePlusRecord in the form that YAZ sends: SUTRS as a GeneralString, other content
// as octet-aligned.
func (s NamePlusRecord) Encode() []byte {
	name := ber.String(tagName, s.Database)
	if s.Diagnostic != nil {
		return ber.Sequence(name, ber.Field(tagRecord,
			ber.Field(tagSurrogateDiagnostic, ber.Sequence(s.Diagnostic.fields()...))))
	}
	content := ber.Bytes(ber.Context, tagOctetAligned, s.Content)
	if s.Structured {
		content = ber.Field(tagSingleASN1Type, s.Content)
	} else if s.Syntax == SyntaxSUTRS {
		content = ber.Field(tagSingleASN1Type, ber.Bytes(ber.Universal, ber.TagGeneralString, s.Content))
	}
	oid := ber.Bytes(ber.Universal, ber.TagOID, ber.MustOID(s.Syntax))
	return ber.Sequence(name, ber.Field(tagRecord,
		ber.Field(tagRetrievalRecord, ber.Group(ber.Universal, ber.TagExternal, oid, content))))
}

// EncodePresentResponse returns a PresentResponse with records that are already encoded.
func EncodePresentResponse(status, following int64, records [][]byte) []byte {
	return ber.Field(TagPresentResponse, ber.Int(TagNumberOfRecordsReturned, int64(len(records))),
		ber.Int(TagNextResultSetPosition, following), ber.Int(TagPresentStatus, status),
		ber.Field(TagResponseRecords, records...))
}

// EncodePresentDiagnostic returns a PresentResponse with a diagnostic instead of records.
func EncodePresentDiagnostic(d Diagnostic) []byte {
	return ber.Field(TagPresentResponse, ber.Int(TagNumberOfRecordsReturned, 0),
		ber.Int(TagNextResultSetPosition, 1),
		ber.Int(TagPresentStatus, PresentFailure), ber.Field(tagNonSurrogateDiagnostic, d.fields()...))
}
