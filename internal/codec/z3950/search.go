package z3950

import "github.com/urlget/urlget/internal/codec/ber"

// A Search is a SearchRequest. Its result set is called "default" and replaces the previous one. A
// Present returns the records.
type Search struct {
	Databases []string
	Query     Query
}

// resultSet is the name of the only result set of a session.
const resultSet = "default"

func databases(tag uint32, names []string) []byte {
	var list [][]byte
	for _, name := range names {
		list = append(list, ber.String(tagDatabaseName, name))
	}
	return ber.Field(tag, list...)
}

// Encode returns the encoded request. It fails if the query has an invalid attribute set.
func (m Search) Encode() ([]byte, error) {
	q, err := m.Query.encode()
	if err != nil {
		return nil, err
	}
	return ber.Field(TagSearch, ber.Int(tagSmallSetUpperBound, 0), ber.Int(tagLargeSetLowerBound, 1),
		ber.Int(tagMediumSetPresentNumber, 0), ber.Bool(tagReplaceIndicator, true),
		ber.String(tagResultSetName, resultSet),
		databases(tagDatabaseNames, m.Databases), ber.Field(tagQuery, ber.Field(tagType1Query, q...))), nil
}

// ReadSearch decodes the current message.
func ReadSearch(r *ber.Reader) (m Search) {
	for h := range r.Values() {
		switch h.Tag {
		case tagDatabaseNames:
			m.Databases = readList(r, readText)
		case tagQuery:
			r.Enter()
			if r.Next() && r.Header().Is(tagType1Query) {
				m.Query = readQuery(r)
			} else {
				r.Fail(ber.ErrMalformed)
			}
			r.Leave()
		}
	}
	return m
}

// A SearchResponse is a response to a Search.
type SearchResponse struct {
	Count       int64
	OK          bool // searchStatus: the search succeeded
	Diagnostics []Diagnostic
}

// Encode returns the encoded response.
func (m SearchResponse) Encode() []byte {
	records := []byte(nil)
	if len(m.Diagnostics) > 0 {
		records = ber.Field(tagNonSurrogateDiagnostic, m.Diagnostics[0].fields()...)
	}
	return ber.Field(TagSearchResponse, ber.Int(tagResultCount, m.Count),
		ber.Int(TagNumberOfRecordsReturned, 0),
		ber.Int(TagNextResultSetPosition, 1), ber.Bool(tagSearchStatus, m.OK), records)
}

// ReadSearchResponse decodes the current message.
func ReadSearchResponse(r *ber.Reader) (m SearchResponse) {
	for h := range r.Values() {
		switch h.Tag {
		case tagSearchStatus:
			m.OK = r.Bool()
		case tagResultCount:
			m.Count = r.Int()
		default:
			m.Diagnostics = append(m.Diagnostics, readDiagnostics(r)...)
		}
	}
	if r.Err() == nil && m.Count < 0 {
		r.Fail(ber.ErrMalformed)
	}
	return m
}

// readDiagnostics decodes the current value if it holds diagnostics instead of records.
func readDiagnostics(r *ber.Reader) []Diagnostic {
	switch r.Header().Tag {
	case tagNonSurrogateDiagnostic:
		return []Diagnostic{readDefaultDiagnostic(r)}
	case tagMultipleNonSurDiagnostics:
		return readList(r, readDiagnostic)
	}
	return nil
}
