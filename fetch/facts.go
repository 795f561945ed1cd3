package fetch

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// An EntryRecord is a driver's own record of an entry, such as a struct with the fields of an
// article overview. Callers that know the driver use its type; others use its facts.
type EntryRecord interface {
	EntryFacts() Facts
}

// Facts are facts about an entry that [Entry] has no fields for. They are encoded as a JSON object
// with the facts in order.
type Facts struct {
	Driver string // the label under which programs show them, such as "nntp"
	Word   string // the protocol's word for the kind of the entry, such as "article", or ""
	List   []Fact
	JSON   json.RawMessage // List as stored in an archive; otherwise nil
}

// A Fact is a named value.
type Fact struct {
	Name string
	// Value is a string, int64, uint64 or []string, or any other value that encoding/json encodes.
	// A nil Value is unknown and omitted from JSON.
	Value    any
	Optional bool // also omitted from JSON if Value is zero or has no elements
}

// Facts returns the facts of e.Sys, or none if it is nil.
func (e Entry) Facts() Facts {
	if e.Sys == nil {
		return Facts{}
	}
	return e.Sys.EntryFacts()
}

// Value returns the value of the fact with the given name, or nil.
func (f Facts) Value(name string) any {
	for _, fact := range f.List {
		if fact.Name == name {
			return fact.Value
		}
	}
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (f Facts) MarshalJSON() ([]byte, error) {
	if f.JSON != nil {
		return f.JSON, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // left to the caller's encoder
	b.WriteByte('{')
	for _, fact := range f.List {
		if fact.Value == nil || fact.Optional && isEmpty(fact.Value) {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		if err := enc.Encode(fact.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(fact.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func isEmpty(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}
