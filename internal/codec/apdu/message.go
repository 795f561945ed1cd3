package apdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const (
	typeInit           = 20
	typeInitResponse   = 21
	typeSearch         = 22
	typeSearchResponse = 23
)

// Tags of values, from RFC 1625 and from captured messages.
const (
	tagReferenceID   = 2
	tagVersion       = 3
	tagOptions       = 4
	tagPreferredSize = 5
	tagMaxRecord     = 6
	tagID            = 7
	tagImplID        = 8
	tagImplName      = 9
	tagImplVersion   = 10
	tagResultSet     = 17
	tagDatabases     = 18
	tagElements      = 19
	tagQueryType     = 20
	tagQuery         = 21
	tagPresentStatus = 27
	tagDiagnostic    = 28
	tagAttributes    = 44
	tagTerm          = 45
	tagOperator      = 46
	tagUserInfo      = 99
	tagSeedWords     = 106
	tagDateFactor    = 111
	tagMaxDocuments  = 114
	tagSeedUsed      = 115
	tagDocumentID    = 116
	tagScore         = 118
	tagLength        = 120
	tagLines         = 131
	tagTypes         = 132
	tagType          = 133
	tagDate          = 122
	tagHeadline      = 123
	tagCity          = 124
	tagSource        = 121
	tagText          = 127
	tagHeader        = 150
	tagShortHeader   = 151
	tagLongHeader    = 152
	tagDocumentText  = 153
)

// encodeAPDU returns an APDU: the header length, the APDU type, the fixed part and the user
// information.
func encodeAPDU(apduType byte, fixed, user []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(fixed)+1))
	b = append(b, apduType)
	b = append(b, fixed...)
	return append(b, user...)
}

func splitAPDU(apdu []byte, apduType byte) (fixed, user *reader, err error) {
	r := &reader{b: apdu}
	head := &reader{b: r.next(uint64(r.bigEndian(2)))}
	if r.err != nil {
		return nil, nil, r.err
	}
	if got := byte(head.bigEndian(1)); head.err != nil || got != apduType {
		return nil, nil, fmt.Errorf("%w: APDU of type %d instead of %d", ErrMalformed, got, apduType)
	}
	return head, r, nil
}

// An Init is an Init request or response, which begins a session.
type Init struct {
	Size     uint32 // largest record, in bytes
	Accepted bool   // in responses
	// ID identifies the implementation, as free text.
	ID string
}

// Encode encodes m as an Init request. The only option is "search", because servers reject clients
// with other options.
func (m Init) Encode() []byte { return encodeAPDU(typeInit, m.values(tagID), nil) }

// EncodeResponse encodes m as an Init response.
func (m Init) EncodeResponse() []byte {
	result := byte(0)
	if m.Accepted {
		result = 1
	}
	return encodeAPDU(typeInitResponse, append([]byte{result}, m.values(tagImplName)...), nil)
}

func (m Init) values(idTag uint32) []byte {
	b := appendTLV(nil, tagVersion, []byte{0x80})
	b = appendTLV(b, tagOptions, []byte{0x80})
	b = appendNumber(b, tagPreferredSize, m.Size)
	b = appendNumber(b, tagMaxRecord, m.Size)
	if m.ID != "" {
		b = appendString(b, idTag, m.ID)
	}
	return b
}

// DecodeInit decodes an Init request.
func DecodeInit(apdu []byte) (Init, error) {
	fixed, _, err := splitAPDU(apdu, typeInit)
	if err != nil {
		return Init{}, err
	}
	return decodeInit(fixed)
}

// DecodeInitResponse decodes an Init response. Its Size is the limit that both sides support.
func DecodeInitResponse(apdu []byte) (Init, error) {
	fixed, _, err := splitAPDU(apdu, typeInitResponse)
	if err != nil {
		return Init{}, err
	}
	accepted := fixed.bigEndian(1) == 1
	m, err := decodeInit(fixed)
	m.Accepted = accepted
	return m, err
}

func decodeInit(r *reader) (Init, error) {
	var m Init
	for len(r.b) > 0 {
		tag, value := r.tlv()
		switch tag {
		case tagMaxRecord:
			m.Size = uint32(max(number(value), 0))
		case tagID, tagImplName:
			m.ID = string(value)
		}
	}
	return m, r.err
}

// A Search is a search for words (query type 3), or the retrieval of a range of one document (query
// type 1).
type Search struct {
	Database string // "" for the server's directory of databases
	Words    string // for a search
	MaxHits  uint32
	Document []byte // document identifier, for a retrieval
	Type     string // one of Hit.Types, for a retrieval
	From, To int64  // byte range [From, To), for a retrieval
}

// searchBounds are the small-set-upper-bound, large-set-lower-bound, medium-set-present-number and
// replace-indicator of common clients. Servers ignore them.
var searchBounds = []byte{0, 0, 10, 0, 0, 16, 0, 0, 15, 1}

// Encode encodes m as an APDU.
func (m Search) Encode() []byte {
	resultSet, queryType := "", "3"
	if m.Document != nil {
		resultSet, queryType = "FOO", "1" // the result set name of common clients
	}
	fixed := bytes.Clone(searchBounds)
	fixed = appendString(fixed, tagResultSet, resultSet)
	if m.Database != "" {
		fixed = appendString(fixed, tagDatabases, m.Database)
	}
	fixed = appendString(fixed, tagQueryType, queryType)
	if m.Document == nil {
		user := appendString(nil, tagSeedWords, m.Words)
		user = appendNumber(user, tagDateFactor, 1)
		user = appendNumber(user, tagMaxDocuments, m.MaxHits)
		return encodeAPDU(typeSearch, fixed, appendTLV(nil, tagUserInfo, user))
	}
	fixed = appendString(fixed, tagElements, " \x1fDocument Text")
	fixed = appendString(fixed, tagReferenceID, "3")
	// The terms are in reverse Polish notation. The type is required: without it, freeWAIS closes
	// the connection.
	query := appendString(nil, tagAttributes, "un re ig ig ig ig")
	query = appendTLV(query, tagTerm, m.Document)
	addTerm := func(attributes, term string) {
		query = appendString(query, tagAttributes, attributes)
		query = appendString(query, tagTerm, term)
		query = appendString(query, tagOperator, "a")
	}
	addTerm("wt re ig ig ig ig", m.Type)
	addTerm("wb ro ig ig ig ig", strconv.FormatInt(m.From, 10))
	addTerm("wb rl ig ig ig ig", strconv.FormatInt(m.To, 10))
	return encodeAPDU(typeSearch, fixed, appendTLV(nil, tagQuery, query))
}

// DecodeSearch decodes a Search from any client.
func DecodeSearch(apdu []byte) (Search, error) {
	fixed, user, err := splitAPDU(apdu, typeSearch)
	if err != nil {
		return Search{}, err
	}
	var m Search
	fixed.next(uint64(len(searchBounds)))
	for len(fixed.b) > 0 {
		if tag, value := fixed.tlv(); tag == tagDatabases {
			m.Database = string(value)
		}
	}
	if fixed.err != nil {
		return m, fixed.err
	}
	tag, value := user.tlv()
	group := &reader{b: value}
	switch {
	case user.err != nil:
		return m, user.err
	case tag == tagQuery:
		return m, m.decodeTerms(group)
	case tag != tagUserInfo:
		return m, fmt.Errorf("%w: search without a query", ErrMalformed)
	}
	for len(group.b) > 0 {
		switch tag, value := group.tlv(); tag {
		case tagSeedWords:
			m.Words = string(value)
		case tagMaxDocuments:
			m.MaxHits = uint32(max(number(value), 0))
		}
	}
	return m, group.err
}

func (m *Search) decodeTerms(r *reader) error {
	var attributes string
	for len(r.b) > 0 {
		tag, value := r.tlv()
		switch tag {
		case tagAttributes:
			attributes = string(value)
		case tagTerm:
			use, relation, _ := strings.Cut(attributes, " ")
			n, err := strconv.ParseInt(string(value), 10, 64)
			switch {
			case use == "un":
				m.Document = value
			case use == "wt":
				m.Type = string(value)
			case use == "wb" && err != nil:
				r.fail("range is not a number")
			case use == "wb" && strings.HasPrefix(relation, "ro"):
				m.From = n
			case use == "wb" && strings.HasPrefix(relation, "rl"):
				m.To = n
			}
		}
	}
	return r.err
}
