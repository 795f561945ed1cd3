package apdu

import (
	"encoding/binary"
	"fmt"
)

// A Response is the response to a Search of either kind. It omits the status byte, whose meaning
// differs between servers.
type Response struct {
	Seed        string // the words as interpreted by the server; often missing
	Hits        []Hit
	Text        []byte // of a retrieval
	HasText     bool   // the response has a Text, which may be empty
	Diagnostics []Diagnostic
}

// A Hit describes a document that matched. Unknown numbers are -1.
type Hit struct {
	ID       []byte
	Score    int64 // 0 to 1000
	Length   int64 // bytes
	Lines    int64
	Types    []string // "TEXT", "WSRC", …
	Date     string   // yymmdd or "0"
	Headline string
	Source   string
	City     string
}

// A Diagnostic is an error report from a server. Codes include "S1" (permanent system error), "T2"
// (access) and "SF" (out of range).
type Diagnostic struct{ Code, Text string }

// String returns the code and the text.
func (d Diagnostic) String() string { return d.Code + " " + d.Text }

// OutOfRange is the diagnostic code for a range after the end of the document.
const OutOfRange = "SF"

// Encode encodes m as an APDU like freeWAIS: the status is 1 for a search and 0 for a retrieval, and
// the result count is always 0.
func (m Response) Encode() []byte {
	records := len(m.Hits) + len(m.Diagnostics)
	status := byte(1)
	if m.HasText {
		records++
		status = 0
	}
	fixed := []byte{status, 0, 0, 0, 0, byte(records >> 8), byte(records), 0, 0, 0}
	fixed = appendTLV(fixed, tagPresentStatus, []byte{0})
	var user []byte
	if m.Seed != "" {
		user = appendString(user, tagSeedUsed, m.Seed)
	}
	for _, h := range m.Hits {
		user = appendTLV(user, tagHeader, h.encode())
	}
	if m.HasText {
		text := appendTLV(nil, tagDocumentID, nil)
		user = appendTLV(user, tagDocumentText, appendTLV(text, tagText, m.Text))
	}
	for _, d := range m.Diagnostics {
		body := append([]byte(d.Code), d.Text...)
		body = append(body, 0)
		user = append(user, tagDiagnostic)
		user = binary.BigEndian.AppendUint16(user, uint16(len(body)))
		user = append(append(user, body...), tagDiagnostic+1)
	}
	return encodeAPDU(typeSearchResponse, fixed, appendTLV(nil, tagUserInfo, user))
}

func (h Hit) encode() []byte {
	b := appendTLV(nil, tagDocumentID, h.ID)
	b = appendNumber(b, tagScore, uint32(h.Score))
	b = appendNumber(b, tagLength, uint32(h.Length))
	b = appendNumber(b, tagLines, uint32(h.Lines))
	var types []byte
	for _, t := range h.Types {
		types = appendString(types, tagType, t)
	}
	b = appendTLV(b, tagTypes, types)
	b = appendString(b, tagSource, h.Source)
	b = appendString(b, tagDate, h.Date)
	return appendString(b, tagHeadline, h.Headline)
}

// DecodeResponse decodes the response to a Search.
func DecodeResponse(apdu []byte) (Response, error) {
	fixed, user, err := splitAPDU(apdu, typeSearchResponse)
	if err != nil {
		return Response{}, err
	}
	if fixed.next(10) == nil {
		return Response{}, fixed.err
	}
	var m Response
	if len(user.b) == 0 {
		return m, nil
	}
	tag, value := user.tlv()
	switch {
	case user.err != nil:
		return m, user.err
	case tag != tagUserInfo:
		return m, fmt.Errorf("%w: user information with tag %d", ErrMalformed, tag)
	}
	group := &reader{b: value}
	for len(group.b) > 0 {
		if group.b[0] == tagDiagnostic {
			m.Diagnostics = append(m.Diagnostics, group.diagnostic())
			continue
		}
		tag, value := group.tlv()
		record := &reader{b: value}
		switch tag {
		case tagHeader, tagShortHeader, tagLongHeader:
			m.Hits = append(m.Hits, record.hit())
		case tagDocumentText:
			m.text(record)
		case tagSeedUsed:
			m.Seed = string(value)
		}
		if record.err != nil {
			return m, record.err
		}
	}
	return m, group.err
}

func (m *Response) text(r *reader) {
	m.HasText = true
	for len(r.b) > 0 {
		if tag, value := r.tlv(); tag == tagText {
			m.Text = append(m.Text, value...)
		}
	}
}

func (r *reader) hit() Hit {
	h := Hit{Score: -1, Length: -1, Lines: -1}
	for len(r.b) > 0 {
		tag, value := r.tlv()
		switch tag {
		case tagDocumentID:
			h.ID = value
		case tagScore:
			h.Score = number(value)
		case tagLength:
			h.Length = number(value)
		case tagLines:
			h.Lines = number(value)
		case tagTypes:
			types := &reader{b: value}
			for len(types.b) > 0 {
				if tag, value := types.tlv(); tag == tagType {
					h.Types = append(h.Types, string(value))
				}
			}
			if types.err != nil {
				r.fail("invalid document types")
			}
		case tagDate:
			h.Date = string(value)
		case tagHeadline:
			h.Headline = string(value)
		case tagSource:
			h.Source = string(value)
		case tagCity:
			h.City = string(value)
		}
	}
	return h
}

// diagnostic reads a diagnostic record, which is not a tagged value: a tag, a two-byte length, a body
// of that length (code, text, surrogate flag), and one more byte.
func (r *reader) diagnostic() Diagnostic {
	r.next(1)
	body := r.next(uint64(r.bigEndian(2)))
	r.next(1)
	if r.err == nil && len(body) < 3 {
		r.fail("truncated diagnostic")
	}
	if r.err != nil {
		return Diagnostic{}
	}
	return Diagnostic{Code: string(body[:2]), Text: string(body[2 : len(body)-1])}
}
