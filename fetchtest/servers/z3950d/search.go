package z3950d

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/urlget/urlget/internal/codec/z3950"
)

// A record is a record of a result set.
type record struct {
	database, id string
	content      []byte
}

// manyDatabase is the database of Options.Synthetic.
const manyDatabase = "many"

// explainDatabase describes the other databases.
const explainDatabase = "IR-Explain-1"

// search creates a result set.
func (c *session) search(m z3950.Search) z3950.SearchResponse {
	c.result = nil
	for _, database := range m.Databases {
		all, ok := c.s.records(database)
		if !ok {
			return refusal(z3950.NoDatabase, database)
		}
		for _, rec := range all {
			ok, d := c.s.matches(m.Query, rec)
			if d != nil {
				return z3950.SearchResponse{Diagnostics: []z3950.Diagnostic{*d}}
			}
			if ok {
				c.result = append(c.result, rec)
			}
		}
		if len(all) == 0 {
			if _, d := c.s.matches(m.Query, record{}); d != nil {
				return z3950.SearchResponse{Diagnostics: []z3950.Diagnostic{*d}}
			}
		}
	}
	return z3950.SearchResponse{Count: int64(len(c.result)), OK: true}
}

func refusal(code int64, info string) z3950.SearchResponse {
	return z3950.SearchResponse{Diagnostics: []z3950.Diagnostic{diagnostic(code, info)}}
}

func diagnostic(code int64, info string) z3950.Diagnostic {
	return z3950.Diagnostic{Set: z3950.DiagBib1, Code: code, AddInfo: info}
}

// records returns all records of a database.
func (s *Server) records(database string) (list []record, ok bool) {
	switch {
	case database == manyDatabase && s.opts.Synthetic > 0:
		for i := range s.opts.Synthetic {
			list = append(list,
				record{manyDatabase, fmt.Sprint(i + 1), fmt.Appendf(nil, "record %d of many\n", i+1)})
		}
		return list, true
	case database == explainDatabase && s.opts.Explain:
		for _, name := range s.databases() {
			list = append(list, record{explainDatabase, name, nil})
		}
		return list, true
	case s.opts.Tree == nil || !fs.ValidPath(database):
		return nil, false
	}
	entries, err := fs.ReadDir(s.opts.Tree, database)
	if err != nil {
		return nil, false
	}
	for _, e := range entries {
		if !e.IsDir() {
			list = append(list, record{database: database, id: e.Name()})
		}
	}
	return list, true
}

// databases returns the names of the directories of the tree.
func (s *Server) databases() (names []string) {
	if s.opts.Tree == nil {
		return nil
	}
	fs.WalkDir(s.opts.Tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// content reads a record.
func (s *Server) content(rec record) []byte {
	if rec.content != nil || rec.database == explainDatabase || s.opts.Tree == nil {
		return rec.content
	}
	content, _ := fs.ReadFile(s.opts.Tree, path.Join(rec.database, rec.id))
	return content
}

// matches reports whether a record matches a query, or returns a diagnostic.
func (s *Server) matches(q z3950.Query, rec record) (bool, *z3950.Diagnostic) {
	if q.Left != nil {
		left, d := s.matches(*q.Left, rec)
		if d != nil {
			return false, d
		}
		right, d := s.matches(*q.Right, rec)
		switch q.Op {
		case z3950.And:
			return left && right, d
		case z3950.Or:
			return left || right, d
		}
		return left && !right, d
	}
	use := int64(0)
	for _, a := range q.Attributes {
		switch {
		case a.Type == z3950.AttrRelation && a.Value == z3950.RelationAlwaysMatches:
			return true, nil
		case a.Type == z3950.AttrUse:
			use = a.Value
		}
	}
	if no := s.opts.NoUse; use != 0 && no != 0 && use != no {
		d := diagnostic(z3950.BadUse, fmt.Sprint(use))
		return false, &d
	}
	switch {
	case rec.database == "":
		return false, nil
	case rec.database == explainDatabase:
		return true, nil
	case use == z3950.UseDocID || use == z3950.UseLocalNumber:
		return rec.id == q.Term, nil
	}
	text := strings.ToLower(q.Term)
	return strings.Contains(strings.ToLower(rec.id), text) ||
		bytes.Contains(bytes.ToLower(s.content(rec)), []byte(text)), nil
}

// scan returns identifiers of records as terms.
func (c *session) scan(m z3950.Scan) z3950.ScanResponse {
	var words []string
	for _, database := range m.Databases {
		all, ok := c.s.records(database)
		if !ok {
			return z3950.ScanResponse{Status: z3950.ScanFailure,
				Diagnostics: []z3950.Diagnostic{diagnostic(z3950.NoDatabase, database)}}
		}
		if _, d := c.s.matches(m.From, record{}); d != nil {
			return z3950.ScanResponse{Status: z3950.ScanFailure, Diagnostics: []z3950.Diagnostic{*d}}
		}
		for _, rec := range all {
			words = append(words, rec.id)
		}
	}
	slices.Sort(words)
	at, _ := slices.BinarySearch(words, m.From.Term)
	words = words[at:]
	response := z3950.ScanResponse{}
	if int64(len(words)) < m.Count {
		response.Status = z3950.ScanPartial5
	} else {
		words = words[:max(m.Count, 0)]
	}
	for _, w := range words {
		response.Terms = append(response.Terms, z3950.Term{Text: w, Count: 1})
	}
	return response
}

// formatQuery formats a query for the log.
func formatQuery(q z3950.Query) string {
	if q.Left != nil {
		return fmt.Sprintf("(%s %d %s)", formatQuery(*q.Left), q.Op, formatQuery(*q.Right))
	}
	text := ""
	for _, a := range q.Attributes {
		text += fmt.Sprintf("%d=%d%s ", a.Type, a.Value, a.Name)
	}
	return fmt.Sprintf("%s%q", text, q.Term)
}
