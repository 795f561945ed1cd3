package z3950

import (
	"cmp"

	"github.com/urlget/urlget/internal/codec/ber"
)

// Attribute types and values of attribute set Bib-1.
const (
	AttrUse       = 1
	AttrRelation  = 2
	AttrStructure = 4

	UseTitle       = 4
	UseLocalNumber = 12
	UseAny         = 1016
	UseDocID       = 1032

	RelationAlwaysMatches = 103
	StructureURx          = 104
)

// An Operator combines the results of two queries.
type Operator uint8

// The operators.
const (
	And Operator = iota
	Or
	AndNot
)

// An Attribute qualifies a term.
type Attribute struct {
	Set   string // an object identifier; "" for the set of the query
	Type  int64
	Value int64
	Name  string // replaces Value unless it is ""
}

// A Query is a type-1 query: a term, or two queries and an operator.
type Query struct {
	Set         string // root only: the object identifier of the attribute set; "" for Bib-1
	Attributes  []Attribute
	Term        string
	Op          Operator
	Left, Right *Query // nil for a term
}

// MaxQuery limits the depth of a query.
const MaxQuery = 50

func (q Query) encode() ([][]byte, error) {
	oid, err := ber.OIDContent(cmp.Or(q.Set, Bib1))
	if err != nil {
		return nil, err
	}
	rpn, err := q.structure()
	return [][]byte{ber.Bytes(ber.Universal, ber.TagOID, oid), rpn}, err
}

// structure encodes q as an RPNStructure.
func (q Query) structure() ([]byte, error) {
	if q.Left == nil {
		term, err := q.term()
		return ber.Field(tagOp, term), err
	}
	left, err := q.Left.structure()
	if err != nil {
		return nil, err
	}
	right, err := q.Right.structure()
	return ber.Field(tagRPNRPNOp, left, right, ber.Field(tagOperator, ber.String(uint32(q.Op), ""))), err
}

// term encodes q as an AttributesPlusTerm.
func (q Query) term() ([]byte, error) {
	var list [][]byte
	for _, a := range q.Attributes {
		var fields [][]byte
		if a.Set != "" {
			oid, err := ber.OIDContent(a.Set)
			if err != nil {
				return nil, err
			}
			fields = append(fields, ber.Bytes(ber.Context, tagAttributeSet, oid))
		}
		value := ber.Int(tagNumericAttribute, a.Value)
		if a.Name != "" {
			value = ber.Field(tagComplexAttribute,
				ber.Field(tagComplexList, ber.String(tagStringAttribute, a.Name)))
		}
		list = append(list, ber.Sequence(append(fields, ber.Int(tagAttributeType, a.Type), value)...))
	}
	return ber.Field(tagAttributesPlusTerm, ber.Field(tagAttributeList, list...),
		ber.String(tagGeneralTerm, q.Term)), nil
}

// readQuery decodes the current value, an RPNQuery.
func readQuery(r *ber.Reader) (q Query) {
	for h := range r.Values() {
		switch {
		case h.IsUniversal(ber.TagOID):
			q.Set = r.OID()
		default:
			set := q.Set
			q = readStructure(r, 0)
			q.Set = set
		}
	}
	return q
}

func readStructure(r *ber.Reader, depth int) (q Query) {
	if depth > MaxQuery || !r.Header().Is(tagOp) && !r.Header().Is(tagRPNRPNOp) {
		r.Fail(ber.ErrMalformed)
		return q
	}
	leaf := r.Header().Is(tagOp)
	for h := range r.Values() {
		switch {
		case leaf && h.Is(tagAttributesPlusTerm):
			q = readTerm(r)
		case leaf:
			r.Fail(ber.ErrMalformed) // a result set
		case h.Is(tagOperator):
			r.Enter()
			if r.Next() {
				q.Op = Operator(r.Header().Tag)
			}
			r.Leave()
		case q.Left == nil:
			sub := readStructure(r, depth+1)
			q.Left = &sub
		default:
			sub := readStructure(r, depth+1)
			q.Right = &sub
		}
	}
	if !leaf && (q.Left == nil || q.Right == nil) {
		r.Fail(ber.ErrMalformed)
	}
	return q
}

// readTerm decodes the current value, an AttributesPlusTerm.
func readTerm(r *ber.Reader) (q Query) {
	for h := range r.Values() {
		switch h.Tag {
		case tagAttributeList:
			q.Attributes = readList(r, readAttribute)
		case tagGeneralTerm, tagCharacterStringTerm:
			q.Term = r.String(maxText)
		}
	}
	return q
}

func readAttribute(r *ber.Reader) (a Attribute) {
	for h := range r.Values() {
		switch h.Tag {
		case tagAttributeSet:
			a.Set = r.OID()
		case tagAttributeType:
			a.Type = r.Int()
		case tagNumericAttribute:
			a.Value = r.Int()
		case tagComplexAttribute:
			r.Enter()
			if r.Next() {
				r.Enter()
				if r.Next() {
					a.Name = r.String(maxText)
				}
				r.Leave()
			}
			r.Leave()
		}
	}
	return a
}
