package apdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// The types of APDUs.
const (
	typeInit           = 20
	typeInitResponse   = 21
	typeSearch         = 22
	typeSearchResponse = 23
)

// The tags of values, from RFC 1625 and what servers send.
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

// seal puts the header length and the APDU type in front of fixed, and the user information behind.
func seal(apduType byte, fixed, user []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(fixed)+1))
	b = append(b, apduType)
	b = append(b, fixed...)
	return append(b, user...)
}

// open splits an APDU into its fixed part and its user information.
func open(apdu []byte, want byte) (fixed, user *reader, err error) {
	r := &reader{b: apdu}
	head := &reader{b: r.take(uint64(r.fixed(2)))}
	if r.err != nil {
		return nil, nil, r.err
	}
	if got := byte(head.fixed(1)); head.err != nil || got != want {
		return nil, nil, fmt.Errorf("%w: APDU of type %d where %d was due", ErrMalformed, got, want)
	}
	return head, r, nil
}

// An Init is the proposal or the agreement that begins a session.
type Init struct {
	Size     uint32 // largest record, in bytes
	Accepted bool   // in responses
	// ID says who speaks: free text.
	ID string
}

// Encode encodes a proposal. The options say "search" and nothing else: servers reject a client
// that wants more.
func (m Init) Encode() []byte { return seal(typeInit, m.values(tagID), nil) }

// EncodeResponse encodes a response.
func (m Init) EncodeResponse() []byte {
	result := byte(0)
	if m.Accepted {
		result = 1
	}
	return seal(typeInitResponse, append([]byte{result}, m.values(tagImplName)...), nil)
}

func (m Init) values(idTag uint32) []byte {
	b := AppendTLV(nil, tagVersion, []byte{0x80})
	b = AppendTLV(b, tagOptions, []byte{0x80})
	b = AppendNumber(b, tagPreferredSize, m.Size)
	b = AppendNumber(b, tagMaxRecord, m.Size)
	if m.ID != "" {
		b = AppendString(b, idTag, m.ID)
	}
	return b
}

// DecodeInit reads a proposal.
func DecodeInit(apdu []byte) (Init, error) {
	fixed, _, err := open(apdu, typeInit)
	if err != nil {
		return Init{}, err
	}
	return decodeInit(fixed)
}

// DecodeInitResponse reads a response. Size is what both sides can do.
func DecodeInitResponse(apdu []byte) (Init, error) {
	fixed, _, err := open(apdu, typeInitResponse)
	if err != nil {
		return Init{}, err
	}
	accepted := fixed.fixed(1) == 1
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

// A Search asks for documents by words (query type 3), or for bytes of one document (query type 1),
// which is how WAIS retrieves.
type Search struct {
	Database string // "" for the server's directory of databases
	Words    string // for a search
	MaxHits  uint32
	Document []byte // identifier, for a retrieval
	Type     string // one type of the document
	From, To int64  // bytes wanted, half open
}

// searchBounds are small-set-upper-bound, large-set-lower-bound, medium-set-present-number and the
// replace indicator, as clients send them; servers ignore them.
var searchBounds = []byte{0, 0, 10, 0, 0, 16, 0, 0, 15, 1}

// Encode encodes m as an APDU.
func (m Search) Encode() []byte {
	resultSet, queryType := "", "3"
	if m.Document != nil {
		resultSet, queryType = "FOO", "1" // the name that clients always gave
	}
	fixed := bytes.Clone(searchBounds)
	fixed = AppendString(fixed, tagResultSet, resultSet)
	if m.Database != "" {
		fixed = AppendString(fixed, tagDatabases, m.Database)
	}
	fixed = AppendString(fixed, tagQueryType, queryType)
	if m.Document == nil {
		user := AppendString(nil, tagSeedWords, m.Words)
		user = AppendNumber(user, tagDateFactor, 1)
		user = AppendNumber(user, tagMaxDocuments, m.MaxHits)
		return seal(typeSearch, fixed, AppendTLV(nil, tagUserInfo, user))
	}
	fixed = AppendString(fixed, tagElements, " \x1fDocument Text")
	fixed = AppendString(fixed, tagReferenceID, "3")
	// Terms in reverse Polish order. The type must be there: without it freeWAIS ends the
	// connection.
	query := AppendString(nil, tagAttributes, "un re ig ig ig ig")
	query = AppendTLV(query, tagTerm, m.Document)
	and := func(attributes, term string) {
		query = AppendString(query, tagAttributes, attributes)
		query = AppendString(query, tagTerm, term)
		query = AppendString(query, tagOperator, "a")
	}
	and("wt re ig ig ig ig", m.Type)
	and("wb ro ig ig ig ig", strconv.FormatInt(m.From, 10))
	and("wb rl ig ig ig ig", strconv.FormatInt(m.To, 10))
	return seal(typeSearch, fixed, AppendTLV(nil, tagQuery, query))
}

// DecodeSearch reads an APDU that Encode or another client wrote.
func DecodeSearch(apdu []byte) (Search, error) {
	fixed, user, err := open(apdu, typeSearch)
	if err != nil {
		return Search{}, err
	}
	var m Search
	fixed.take(uint64(len(searchBounds)))
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
