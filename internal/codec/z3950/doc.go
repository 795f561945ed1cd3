// Package z3950 encodes and decodes messages of Z39.50, versions 2 and 3 (ISO 23950). It supports the
// messages that the driver and the test server use: Init, Search with type-1 queries, Present, Scan
// and Close.
package z3950

import (
	"fmt"

	"github.com/urlget/urlget/internal/codec/ber"
)

// Tags of messages (PDU).
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
	Bib1       = "1.2.840.10003.3.1" // attribute set Bib-1
	Exp1       = "1.2.840.10003.3.2" // attribute set Exp-1, for the Explain database
	DiagBib1   = "1.2.840.10003.4.1" // diagnostic set Bib-1
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
	// maxText limits names, terms and texts of diagnostics, in bytes.
	maxText = 64 << 10
	// maxList limits the length of lists in a message, such as diagnostics.
	maxList = 1000
)

// A Diagnostic is the reason for which the server did not perform an operation.
type Diagnostic struct {
	Set     string // the object identifier of the diagnostic set; "" if the diagnostic has another format
	Code    int64
	AddInfo string // additional information from the server
}

// String returns the meaning of d, the server's additional information and the code.
func (d Diagnostic) String() string {
	text := "diagnostic"
	if d.Set != "" && d.Set != DiagBib1 {
		text += " of set " + d.Set
	} else if known := meaning(d.Code); known != "" {
		text = known
	}
	if d.AddInfo != "" {
		text += ": " + d.AddInfo
	}
	return fmt.Sprintf("%s [%d]", text, d.Code)
}

// readDiagnostic decodes the current value, a DiagRec.
func readDiagnostic(r *ber.Reader) (d Diagnostic) {
	if !r.Header().IsUniversal(ber.TagSequence) {
		return d // externallyDefined
	}
	return readDefaultDiagnostic(r)
}

// readDefaultDiagnostic decodes the current value, which has the members of a DefaultDiagFormat.
func readDefaultDiagnostic(r *ber.Reader) (d Diagnostic) {
	for h := range r.Values() {
		switch {
		case h.IsUniversal(ber.TagOID):
			d.Set = r.OID()
		case h.IsUniversal(ber.TagInteger):
			d.Code = r.Int()
		case h.IsUniversal(ber.TagVisible), h.IsUniversal(ber.TagGeneralString):
			d.AddInfo = r.String(maxText)
		}
	}
	return d
}

// readList decodes the current value with read, which decodes one member, up to maxList members.
func readList[T any](r *ber.Reader, read func(*ber.Reader) T) (list []T) {
	for range r.Values() {
		if list = append(list, read(r)); len(list) == maxList {
			break
		}
	}
	return list
}

func readText(r *ber.Reader) string { return r.String(maxText) }

// fields encodes the members of a DefaultDiagFormat.
func (d Diagnostic) fields() [][]byte {
	return [][]byte{ber.Bytes(ber.Universal, ber.TagOID, ber.MustOID(d.Set)),
		ber.Bytes(ber.Universal, ber.TagInteger, ber.IntContent(d.Code)),
		ber.Bytes(ber.Universal, ber.TagGeneralString, d.AddInfo)}
}
