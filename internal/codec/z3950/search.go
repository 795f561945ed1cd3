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

// databases encodes a list of database names.
func databases(tag uint32, names []string) []byte {
	var list [][]byte
	for _, name := range names {
		list = append(list, ber.String(105, name))
	}
	return ber.Field(tag, list...)
}

func readDatabases(r *ber.Reader) (names []string) {
	r.Enter()
	for r.Next() && len(names) < maxList {
		names = append(names, r.String(maxText))
	}
	r.Leave()
	return names
}

// Encode returns the encoded request. It fails if the query has an invalid attribute set.
func (m Search) Encode() ([]byte, error) {
	q, err := m.Query.encode()
	if err != nil {
		return nil, err
	}
	return ber.Field(TagSearch, ber.Int(13, 0), ber.Int(14, 1), ber.Int(15, 0), ber.Bool(16, true),
		ber.String(17, resultSet), databases(18, m.Databases), ber.Field(21, ber.Field(1, q...))), nil
}

// ReadSearch decodes the current message.
func ReadSearch(r *ber.Reader) (m Search) {
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 18:
			m.Databases = readDatabases(r)
		case 21:
			r.Enter()
			if r.Next() && r.Header().Is(1) {
				m.Query = readQuery(r)
			} else {
				r.Fail(ber.ErrMalformed)
			}
			r.Leave()
		}
	}
	r.Leave()
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
		records = ber.Field(130, m.Diagnostics[0].fields()...)
	}
	return ber.Field(TagSearchResponse, ber.Int(23, m.Count), ber.Int(24, 0), ber.Int(25, 1), ber.Bool(22, m.OK), records)
}

// ReadSearchResponse decodes the current message.
func ReadSearchResponse(r *ber.Reader) (m SearchResponse) {
	r.Enter()
	for r.Next() {
		switch r.Header().Tag {
		case 22:
			m.OK = r.Bool()
		case 23:
			m.Count = r.Int()
		default:
			m.Diagnostics = append(m.Diagnostics, readDiagnostics(r)...)
		}
	}
	r.Leave()
	if r.Err() == nil && m.Count < 0 {
		r.Fail(ber.ErrMalformed)
	}
	return m
}

// readDiagnostics decodes the current value if it holds diagnostics instead of records.
func readDiagnostics(r *ber.Reader) (list []Diagnostic) {
	switch r.Header().Tag {
	case 130:
		var d Diagnostic
		r.Enter()
		readDiagnosticFields(r, &d)
		r.Leave()
		return []Diagnostic{d}
	case 205:
		r.Enter()
		for len(list) < maxList && r.Next() {
			list = append(list, readDiagnostic(r))
		}
		r.Leave()
	}
	return list
}
