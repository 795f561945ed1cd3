// Package z3950 encodes and decodes the messages of Z39.50, versions 2 and 3 (ISO 23950), as far as
// its driver and its test server need them: Init, Search with queries of type 1, Present, Scan and
// Close.
package z3950

import (
	"fmt"

	"github.com/urlget/urlget/internal/codec/ber"
)

// The tags of messages.
const (
	TagInit            = 20
	TagInitResponse    = 21
	TagSearch          = 22
	TagSearchResponse  = 23
	TagPresent         = 24
	TagPresentResponse = 25
	TagScan            = 35
	TagScanResponse    = 36
	TagClose           = 48
)

// Object identifiers.
const (
	Bib1       = "1.2.840.10003.3.1" // the attribute set for searches
	Exp1       = "1.2.840.10003.3.2" // the one for searches of Explain
	DiagBib1   = "1.2.840.10003.4.1" // the codes of diagnostics
	syntaxRoot = "1.2.840.10003.5."

	SyntaxUSMARC  = syntaxRoot + "10"
	SyntaxExplain = syntaxRoot + "100"
	SyntaxSUTRS   = syntaxRoot + "101"
	SyntaxOPAC    = syntaxRoot + "102"
	SyntaxGRS1    = syntaxRoot + "105"
	SyntaxHTML    = syntaxRoot + "109.3"
	SyntaxXML     = syntaxRoot + "109.10"
)

const (
	// maxText bounds names, terms and texts of diagnostics, in bytes.
	maxText = 64 << 10
	// maxList bounds the members of lists in a message, such as diagnostics.
	maxList = 1000
)

// A Diagnostic says why something was not done.
type Diagnostic struct {
	Set     string // the object identifier of the set that Code is of; "" if the diagnostic has another form
	Code    int64
	AddInfo string // what the server has to add
}

// String returns the meaning of d, with its code and what the server adds.
func (d Diagnostic) String() string {
	text := "diagnostic"
	if d.Set != "" && d.Set != DiagBib1 {
		text += " of set " + d.Set
	} else if meaning := meanings[d.Code]; meaning != "" {
		text = meaning
	}
	if d.AddInfo != "" {
		text += ": " + d.AddInfo
	}
	return fmt.Sprintf("%s [%d]", text, d.Code)
}

// readDiagnostic reads the current value, a DiagRec.
func readDiagnostic(r *ber.Reader) (d Diagnostic) {
	if !r.Header().IsUniversal(ber.TagSequence) {
		return d // defined elsewhere
	}
	r.Enter()
	readDiagnosticFields(r, &d)
	r.Leave()
	return d
}

// readDiagnosticFields reads the members of a DefaultDiagFormat.
func readDiagnosticFields(r *ber.Reader, d *Diagnostic) {
	for r.Next() {
		switch h := r.Header(); {
		case h.IsUniversal(ber.TagOID):
			d.Set = r.OID()
		case h.IsUniversal(ber.TagInteger):
			d.Code = r.Int()
		case h.IsUniversal(ber.TagVisible), h.IsUniversal(ber.TagGeneralString):
			d.AddInfo = r.String(maxText)
		}
	}
}

// fields returns the members of a DefaultDiagFormat.
func (d Diagnostic) fields() [][]byte {
	return [][]byte{ber.Bytes(ber.Universal, ber.TagOID, ber.MustOID(d.Set)),
		ber.Bytes(ber.Universal, ber.TagInteger, ber.IntContent(d.Code)),
		ber.Bytes(ber.Universal, ber.TagGeneralString, d.AddInfo)}
}
