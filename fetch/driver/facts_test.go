package driver

import (
	"reflect"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
)

func TestFactsOfTags(t *testing.T) {
	t.Parallel()
	type word string
	type record struct {
		Name   word    `fact:"name"`
		Size   int     `fact:"size,optional"`
		Port   uint16  `fact:"port"`
		ID     *uint32 `fact:"id"`
		Group  *uint32 `fact:"group"`
		Other  string
		Time   time.Time `fact:"time"`
		Lines  []string  `fact:"lines,optional"`
		hidden int
	}
	id, at := uint32(7), time.Unix(1, 0)
	got := FactsOf("x", "thing", record{Name: "a", Size: 1, Port: 2, ID: &id, Other: "b", Time: at, hidden: 1})
	want := fetch.Facts{Driver: "x", Word: "thing", List: []fetch.Fact{
		{Name: "name", Value: "a"}, {Name: "size", Value: int64(1), Optional: true},
		{Name: "port", Value: uint64(2)}, {Name: "id", Value: uint64(7)}, {Name: "group"},
		{Name: "time", Value: at}, {Name: "lines", Value: []string(nil), Optional: true}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
