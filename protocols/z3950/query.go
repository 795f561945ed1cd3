package z3950

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	codec "github.com/urlget/urlget/internal/codec/z3950"
	"github.com/urlget/urlget/internal/quoted"
)

const maxTokens = 500

func attributeSet(name string) string {
	return map[string]string{
		"bib-1": codec.Bib1, "bib1": codec.Bib1, "exp-1": codec.Exp1, "exp1": codec.Exp1,
		"gils": "1.2.840.10003.3.5", "xd-1": "1.2.840.10003.3.12",
	}[name]
}

type token struct {
	text   string
	quoted bool
}

func badQuery(format string, args ...any) error {
	return fetch.ErrURL.Errorf("invalid query: "+format, args...)
}

// tokens splits a query at blanks outside of quotation marks.
func tokens(s string) (list []token, err error) {
	for s = strings.TrimLeft(s, " \t"); s != ""; s = strings.TrimLeft(s, " \t") {
		if len(list) == maxTokens {
			return nil, badQuery("more than %d words", maxTokens)
		}
		if s[0] != '"' {
			n := strings.IndexAny(s, " \t")
			if n < 0 {
				n = len(s)
			}
			list = append(list, token{text: s[:n]})
			s = s[n:]
			continue
		}
		text, rest, ok := quoted.Cut(s)
		if !ok {
			return nil, badQuery("unclosed quotation mark")
		}
		list, s = append(list, token{text, true}), rest
	}
	return list, nil
}

// parseWords returns a query for records that contain all words of s. Quoted text is a phrase.
func parseWords(s string, attributes []codec.Attribute) (codec.Query, error) {
	list, err := tokens(s)
	switch {
	case err != nil:
		return codec.Query{}, err
	case len(list) == 0:
		return codec.Query{}, &fetch.Error{Code: fetch.ErrNeedSearch}
	case len(list) > codec.MaxQuery:
		return codec.Query{}, badQuery("more than %d words", codec.MaxQuery)
	}
	var q codec.Query
	for i, word := range list {
		term := codec.Query{Term: word.text, Attributes: attributes}
		if i == 0 {
			q = term
			continue
		}
		left := q
		q = codec.Query{Left: &left, Right: &term}
	}
	return q, nil
}

// The prefix notation of YAZ (PQF) starts with an operator or an attribute.
func isPrefixQuery(s string) bool { return strings.HasPrefix(strings.TrimLeft(s, " "), "@") }

// A prefixParser parses the prefix notation:
//
//	query = [@attrset SET] expr
//	expr  = (@and | @or | @not) expr expr | @attr [SET] TYPE=VALUE expr | term
type prefixParser struct{ rest []token }

func parsePrefix(s string) (q codec.Query, err error) {
	list, err := tokens(s)
	if err != nil {
		return q, err
	}
	p := &prefixParser{list}
	set := ""
	if p.at("@attrset") {
		p.rest = p.rest[1:]
		if set, err = p.set(); err != nil {
			return q, err
		}
	}
	if q, err = p.expr(nil, 0); err != nil {
		return q, err
	}
	if len(p.rest) > 0 {
		return q, badQuery("unexpected %q at the end", p.rest[0].text)
	}
	q.Set = set
	return q, nil
}

func (p *prefixParser) at(word string) bool {
	return len(p.rest) > 0 && !p.rest[0].quoted && p.rest[0].text == word
}

func (p *prefixParser) set() (string, error) {
	if len(p.rest) == 0 {
		return "", badQuery("missing attribute set")
	}
	name := p.rest[0].text
	p.rest = p.rest[1:]
	if oid := attributeSet(strings.ToLower(name)); oid != "" {
		return oid, nil
	}
	if !isOID(name) {
		return "", badQuery("unknown attribute set %q", name)
	}
	return name, nil
}

func (p *prefixParser) expr(attributes []codec.Attribute, depth int) (q codec.Query, err error) {
	if depth > codec.MaxQuery {
		return q, badQuery("nesting exceeds %d levels", codec.MaxQuery)
	}
	if len(p.rest) == 0 {
		return q, badQuery("missing term")
	}
	t := p.rest[0]
	p.rest = p.rest[1:]
	if t.quoted || !strings.HasPrefix(t.text, "@") {
		return codec.Query{Term: t.text, Attributes: attributes}, nil
	}
	switch t.text {
	case "@and", "@or", "@not":
		left, err := p.expr(attributes, depth+1)
		if err != nil {
			return q, err
		}
		right, err := p.expr(attributes, depth+1)
		op := map[string]codec.Operator{"@and": codec.And, "@or": codec.Or, "@not": codec.AndNot}[t.text]
		return codec.Query{Op: op, Left: &left, Right: &right}, err
	case "@attr":
		a, err := p.attribute()
		if err != nil {
			return q, err
		}
		return p.expr(append(slices.Clip(attributes), a), depth+1)
	}
	return q, badQuery("unknown operator %s: must be @and, @or, @not, @attr or @attrset",
		fetch.Printable(t.text))
}

func (p *prefixParser) attribute() (a codec.Attribute, err error) {
	if len(p.rest) > 0 && !strings.Contains(p.rest[0].text, "=") {
		if a.Set, err = p.set(); err != nil {
			return a, err
		}
	}
	if len(p.rest) == 0 {
		return a, badQuery("missing attribute")
	}
	name, value, _ := strings.Cut(p.rest[0].text, "=")
	p.rest = p.rest[1:]
	if a.Type, err = strconv.ParseInt(name, 10, 32); err != nil || a.Type < 1 || value == "" {
		return a, badQuery("an attribute must have the form TYPE=VALUE, such as 1=4")
	}
	if a.Value, err = strconv.ParseInt(value, 10, 32); err != nil {
		a.Value, a.Name = 0, value
	}
	return a, nil
}
