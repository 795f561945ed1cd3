package z3950

import (
	"cmp"

	"github.com/urlget/urlget/internal/codec/ber"
)

// Values of scanStatus. The other values between them mean that fewer terms follow than requested.
const (
	ScanSuccess  = 0
	ScanPartial5 = 5 // the index has no more terms
	ScanFailure  = 6
)

// A Scan is a ScanRequest: it requests terms of an index, starting at From.
type Scan struct {
	Databases []string
	From      Query // a term
	Count     int64
}

// Encode returns the encoded request.
func (m Scan) Encode() ([]byte, error) {
	term, err := m.From.term()
	oid, oidErr := ber.OIDContent(cmp.Or(m.From.Set, Bib1))
	if err == nil {
		err = oidErr
	}
	return ber.Field(TagScan, databases(tagScanDatabaseNames, m.Databases),
		ber.Bytes(ber.Universal, ber.TagOID, oid), term,
		ber.Int(tagScanStepSize, 0), ber.Int(tagNumberOfTermsRequested, m.Count),
		ber.Int(tagPreferredPositionInResponse, 1)), err
}

// ReadScan decodes the current message.
func ReadScan(r *ber.Reader) (m Scan) {
	for h := range r.Values() {
		switch h.Tag {
		case tagScanDatabaseNames:
			m.Databases = readList(r, readText)
		case tagNumberOfTermsRequested:
			m.Count = r.Int()
		case tagAttributesPlusTerm:
			m.From = readTerm(r)
		}
	}
	return m
}

// A Term is an entry of an index.
type Term struct {
	Text        string
	DisplayTerm string // displayTerm, the text to show to users; or ""
	Count       int64  // number of records; -1 if it is unknown
}

// A ScanResponse is a response to a Scan.
type ScanResponse struct {
	Status      int64 // scanStatus
	Terms       []Term
	Diagnostics []Diagnostic
}

// Encode returns the encoded response.
func (m ScanResponse) Encode() []byte {
	var list, diagnostics [][]byte
	for _, t := range m.Terms {
		list = append(list, ber.Field(tagTermInfo, ber.String(tagGeneralTerm, t.Text),
			ber.Int(tagGlobalOccurrences, t.Count)))
	}
	entries := []byte(nil)
	for _, d := range m.Diagnostics {
		diagnostics = append(diagnostics, ber.Sequence(d.fields()...))
	}
	if diagnostics != nil {
		entries = ber.Field(tagEntries, ber.Field(tagNonsurrogateDiagnostics, diagnostics...))
	} else {
		entries = ber.Field(tagEntries, ber.Field(tagListEntries, list...))
	}
	return ber.Field(TagScanResponse, ber.Int(tagStepSizeUsed, 0), ber.Int(tagScanStatus, m.Status),
		ber.Int(tagNumberOfEntriesReturned, int64(len(m.Terms))), ber.Int(tagPositionOfTerm, 1), entries)
}

// ReadScanResponse decodes the current message. A response with more than most terms is malformed.
func ReadScanResponse(r *ber.Reader, most int) (m ScanResponse) {
	for h := range r.Values() {
		switch h.Tag {
		case tagScanStatus:
			m.Status = r.Int()
		case tagEntries:
			for h := range r.Values() {
				switch h.Tag {
				case tagListEntries:
					m.Terms = readTerms(r, most)
				case tagNonsurrogateDiagnostics:
					m.Diagnostics = readList(r, readDiagnostic)
				}
			}
		}
	}
	return m
}

func readTerms(r *ber.Reader, most int) (terms []Term) {
	for h := range r.Values() {
		if len(terms) == most {
			r.Fail(ber.ErrMalformed)
			break
		}
		if !h.Is(tagTermInfo) {
			continue // a diagnostic instead of a term
		}
		t := Term{Count: -1}
		for h := range r.Values() {
			switch h.Tag {
			case tagDisplayTerm:
				t.DisplayTerm = r.String(maxText)
			case tagGlobalOccurrences:
				t.Count = r.Int()
			case tagGeneralTerm, tagCharacterStringTerm:
				t.Text = r.String(maxText)
			}
		}
		terms = append(terms, t)
	}
	return terms
}
