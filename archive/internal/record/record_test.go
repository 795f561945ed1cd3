package record

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
)

// groupRecord is the entry record of a driver.
type groupRecord struct{ group string }

func (r groupRecord) EntryFacts() fetch.Facts {
	return fetch.Facts{Driver: "nntp", Word: "group", List: []fetch.Fact{{Name: "group", Value: r.group}}}
}

func TestEntryWords(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(NewEntry(fetch.Entry{Name: "a", Size: -1, Sys: groupRecord{"a.b"}}))
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{"group": "group", "": "", "Group": "", "a b": "", "\\u001b[31m": "", strings.Repeat("a", 17): ""} {
		var line Entry
		if err := json.Unmarshal([]byte(strings.Replace(string(text), `"word":"group"`, `"word":"`+word+`"`, 1)), &line); err != nil {
			t.Fatal(err)
		}
		e, err := line.Entry()
		if err != nil {
			t.Fatal(err)
		}
		got := e.Facts().Word
		facts, err := json.Marshal(e.Facts())
		if got != want || string(facts) != `{"group":"a.b"}` || err != nil || e.Facts().Driver != "nntp" {
			t.Errorf("%q: %q, %s, %v", word, got, facts, err)
		}
	}
}

// Facts read from an archive have the types that drivers use.
// Facts are replayed as live ones are written, also from archives that escape "<", ">" and "&".
func TestFactsWithoutHTMLEscapes(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{
		`{"a":"\u003cb\u003e \u0026 c"}`: `{"a":"<b> & c"}`,
		`{"a":"\\u003c"}`:                `{"a":"\\u003c"}`,
		`{"a":"\\\u003c"}`:               `{"a":"\\<"}`,
		`{"a":"\u0000\u2028\n"}`:         `{"a":"\u0000\u2028\n"}`,
		`{"a":"<"}`:                      `{"a":"<"}`,
	} {
		e, err := (&Entry{Driver: "x", Sys: json.RawMessage(stored)}).Entry()
		if got := string(e.Facts().JSON); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", stored, got, err, want)
		}
	}
}

func TestFactsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]fetch.Fact{
		`{"s":"<a>","n":1,"d":-1,"l":["+"],"b":true,"f":1.5,"m":[1],"o":{"a":1},"z":null}`: {{Name: "s", Value: "<a>"},
			{Name: "n", Value: uint64(1)}, {Name: "d", Value: int64(-1)}, {Name: "l", Value: []string{"+"}},
			{Name: "b", Value: json.RawMessage("true")}, {Name: "f", Value: json.RawMessage("1.5")},
			{Name: "m", Value: json.RawMessage("[1]")}, {Name: "o", Value: json.RawMessage(`{"a":1}`)},
			{Name: "z", Value: json.RawMessage("null")}},
		`{}`: nil, `null`: nil, `[1]`: nil, `"a"`: nil,
	} {
		line := Entry{Driver: "x", Sys: json.RawMessage(text)}
		e, err := line.Entry()
		if err != nil {
			t.Fatal(err)
		}
		facts := fetch.Facts{Driver: "x", List: want, JSON: json.RawMessage(text)}
		if got := e.Facts(); !reflect.DeepEqual(got, facts) {
			t.Errorf("%s: %+v, want %+v", text, got, facts)
		}
		if facts, err := json.Marshal(e.Facts()); want != nil && string(facts) != strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(text) {
			t.Errorf("%s, %v", facts, err)
		}
	}
}
