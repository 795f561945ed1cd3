package z3950

import "github.com/urlget/urlget/internal/codec/ber"

// A Scan is a ScanRequest: it requests terms of an index, starting at From.
type Scan struct {
	Databases []string
	From      Query // a term
	Count     int64
}

// Encode returns the encoded request.
func (m Scan) Encode() ([]byte, error) {
	term, err := m.From.term()
	set := m.From.Set
	if set == "" {
		set = Bib1
	}
	oid, oidErr := ber.OIDContent(set)
	if err == nil {
		err = oidErr
	}
	return ber.Field(TagScan, databases(3, m.Databases), ber.Bytes(ber.Universal, ber.TagOID, oid), term,
		ber.Int(5, 0), ber.Int(6, m.Count), ber.Int(7, 1)), err
}

// ReadScan decodes the current message.
func ReadScan(r *ber.Reader) (m Scan) {
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 3:
			m.Databases = readDatabases(r)
		case 6:
			m.Count = r.Int()
		case 102:
			m.From = readTerm(r)
		}
	}
	r.Leave()
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
	Status      int64 // scanStatus: 0 success, 1 to 5 fewer terms (5: the index ends), 6 failure
	Terms       []Term
	Diagnostics []Diagnostic
}

// Encode returns the encoded response.
func (m ScanResponse) Encode() []byte {
	var list, diagnostics [][]byte
	for _, t := range m.Terms {
		list = append(list, ber.Field(1, ber.String(45, t.Text), ber.Int(2, t.Count)))
	}
	entries := []byte(nil)
	for _, d := range m.Diagnostics {
		diagnostics = append(diagnostics, ber.Sequence(d.fields()...))
	}
	if diagnostics != nil {
		entries = ber.Field(7, ber.Field(2, diagnostics...))
	} else {
		entries = ber.Field(7, ber.Field(1, list...))
	}
	return ber.Field(TagScanResponse, ber.Int(3, 0), ber.Int(4, m.Status), ber.Int(5, int64(len(m.Terms))), ber.Int(6, 1), entries)
}

// ReadScanResponse decodes the current message. A response with more than most terms is malformed.
func ReadScanResponse(r *ber.Reader, most int) (m ScanResponse) {
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 4:
			m.Status = r.Int()
		case 7:
			r.Enter()
			for r.Next() {
				switch r.Header().Tag {
				case 1:
					m.Terms = readTerms(r, most)
				case 2:
					r.Enter()
					for len(m.Diagnostics) < maxList && r.Next() {
						m.Diagnostics = append(m.Diagnostics, readDiagnostic(r))
					}
					r.Leave()
				}
			}
			r.Leave()
		}
	}
	r.Leave()
	return m
}

func readTerms(r *ber.Reader, most int) (terms []Term) {
	r.Enter()
	for r.Next() {
		if len(terms) == most {
			r.Fail(ber.ErrMalformed)
			break
		}
		if !r.Header().Is(1) {
			continue // a diagnostic instead of a term
		}
		t := Term{Count: -1}
		r.Enter()
		for r.Next() {
			switch r.Header().Tag {
			case 0:
				t.DisplayTerm = r.String(maxText)
			case 2:
				t.Count = r.Int()
			case 45, 216:
				t.Text = r.String(maxText)
			}
		}
		r.Leave()
		terms = append(terms, t)
	}
	r.Leave()
	return terms
}
