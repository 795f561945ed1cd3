package z3950

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/urlget/urlget/internal/codec/ber"
)

// readerAt returns a Reader positioned at the first message of b.
func readerAt(t testing.TB, b []byte) *ber.Reader {
	t.Helper()
	r := ber.NewReader(bufio.NewReader(bytes.NewReader(b)))
	if !r.Message(1 << 20) {
		t.Fatal(r.Err())
	}
	return r
}

// checkRoundTrip decodes a message and compares it with want.
func checkRoundTrip[T any](t *testing.T, encoded []byte, read func(*ber.Reader) T, want T) {
	t.Helper()
	r := readerAt(t, encoded)
	got := read(r)
	if !reflect.DeepEqual(got, want) || !r.Complete() {
		t.Errorf("%+v, %v; want %+v", got, r.Err(), want)
	}
}

func must(t *testing.T) func(b []byte, err error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	bib := Diagnostic{Set: DiagBib1, Code: 109, AddInfo: "db"}
	init := Init{Version: 3, Options: []int{0, 1, 7}, PreferredMessageSize: 1 << 20, ExceptionalRecordSize: 1 << 28, ID: "a", Name: "b", Release: "c", Login: &IDPass{"g", "u", "p"}}
	read := init
	read.Options, read.OptionBits = nil, 1|2|1<<7
	checkRoundTrip(t, init.Encode(false), ReadInit, read)
	read.Login = &IDPass{"g", "u", "****"}
	checkRoundTrip(t, init.Encode(true), ReadInit, read)
	read.Login, read.Accepted, init.Accepted = nil, true, true
	checkRoundTrip(t, init.EncodeResponse(), ReadInit, read)
	checkRoundTrip(t, Init{Version: 2, Options: []int{0}}.EncodeResponse(), ReadInit, Init{Version: 2, OptionBits: 1})

	q := Query{Set: Bib1, Op: AndNot,
		Left:  &Query{Term: "x y", Attributes: []Attribute{{Type: 1, Value: 4}, {Set: Exp1, Type: 2, Name: "title"}}},
		Right: &Query{Op: Or, Left: &Query{Term: ""}, Right: &Query{Term: "\xff"}}}
	search := Search{Databases: []string{"a", "b c"}, Query: q}
	checkRoundTrip(t, must(t)(search.Encode()), ReadSearch, search)
	checkRoundTrip(t, SearchResponse{Count: 1 << 40, OK: true}.Encode(), ReadSearchResponse, SearchResponse{Count: 1 << 40, OK: true})
	checkRoundTrip(t, SearchResponse{Diagnostics: []Diagnostic{bib}}.Encode(), ReadSearchResponse, SearchResponse{Diagnostics: []Diagnostic{bib}})

	present := Present{Start: 1000, Count: 50, ElementSet: "F", Syntax: SyntaxXML}
	checkRoundTrip(t, must(t)(present.Encode()), ReadPresent, present)
	checkRoundTrip(t, must(t)(Present{Start: 1, Count: 1}.Encode()), ReadPresent, Present{Start: 1, Count: 1})

	scan := Scan{Databases: []string{"a"}, From: Query{Term: "x", Attributes: []Attribute{{Type: 1, Value: 4}}}, Count: 100}
	checkRoundTrip(t, must(t)(scan.Encode()), ReadScan, scan)
	terms := ScanResponse{Status: ScanPartial5, Terms: []Term{{Text: "x", Count: 3}, {Text: "y", Count: 0}}}
	checkRoundTrip(t, terms.Encode(), func(r *ber.Reader) ScanResponse { return ReadScanResponse(r, 2) }, terms)
	checkRoundTrip(t, ScanResponse{Status: ScanFailure, Diagnostics: []Diagnostic{bib}}.Encode(), func(r *ber.Reader) ScanResponse { return ReadScanResponse(r, 2) }, ScanResponse{Status: ScanFailure, Diagnostics: []Diagnostic{bib}})
	checkRoundTrip(t, Close{Reason: 5, Text: "x"}.Encode(), ReadClose, Close{Reason: 5, Text: "x"})

	for _, wrong := range []func() ([]byte, error){
		func() ([]byte, error) { return Present{Syntax: "x"}.Encode() },
		func() ([]byte, error) { return Search{Query: Query{Set: "x"}}.Encode() },
		func() ([]byte, error) { return Search{Query: Query{Attributes: []Attribute{{Set: "9"}}}}.Encode() },
		func() ([]byte, error) { return Scan{From: Query{Set: "1"}}.Encode() },
	} {
		if b, err := wrong(); !strings.Contains(fmt.Sprint(err), "not an object identifier") {
			t.Errorf("% x, %v", b, err)
		}
	}
}

func TestTooManyTerms(t *testing.T) {
	t.Parallel()
	r := readerAt(t, ScanResponse{Terms: make([]Term, 3)}.Encode())
	if ReadScanResponse(r, 2); !errors.Is(r.Err(), ber.ErrMalformed) {
		t.Error(r.Err())
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	bib := Diagnostic{Set: DiagBib1, Code: 238}
	b := EncodePresentResponse(2, 8, [][]byte{
		NamePlusRecord{Database: "a", Syntax: SyntaxXML, Content: []byte("<x/>")}.Encode(),
		NamePlusRecord{Database: "b", Diagnostic: &bib}.Encode(),
		NamePlusRecord{Database: "c", Syntax: SyntaxSUTRS, Content: []byte("text")}.Encode(),
		NamePlusRecord{Database: "d", Syntax: SyntaxGRS1, Structured: true, Content: ber.Sequence(ber.Int(1, 2))}.Encode(),
	})
	r := readerAt(t, b)
	p := ReadPresentResponse(r)
	if p.Status != 2 || p.NextPosition != 8 || p.Returned != 4 {
		t.Errorf("%+v", p)
	}
	var got []string
	for p.Next() {
		if p.Record.Diagnostic != nil {
			got = append(got, p.Record.Database+p.Record.Diagnostic.String())
			continue
		}
		size := p.Record.Size()
		content, err := io.ReadAll(p.Record.Content(100))
		if err != nil || size >= 0 && size != int64(len(content)) {
			t.Errorf("%q, %v, size %d", content, err, size)
		}
		got = append(got, p.Record.Database+p.Record.Syntax[len(syntaxRoot):]+string(content))
	}
	want := []string{"a109.10<x/>", "brecord not available in the record syntax [238]", "c101text", "d105\x30\x03\x81\x01\x02"}
	if !reflect.DeepEqual(got, want) || !r.Complete() {
		t.Errorf("%+v, %v; want %+v", got, r.Err(), want)
	}
	r = readerAt(t, EncodePresentDiagnostic(bib))
	if p := ReadPresentResponse(r); p.Next() || len(p.Diagnostics) != 1 || p.Status != 5 || !r.Complete() {
		t.Errorf("%+v, %v", p, r.Err())
	}
	r = readerAt(t, b) // unread records are skipped
	for p := ReadPresentResponse(r); p.Next(); {
	}
	if !r.Complete() {
		t.Error(r.Err())
	}
}

// FuzzMessages decodes arbitrary input as every type of message.
func FuzzMessages(f *testing.F) {
	encoded := func(b []byte, err error) []byte {
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	f.Add(Init{Version: 3, Options: []int{0}, Login: &IDPass{"g", "u", "p"}}.Encode(false))
	f.Add(encoded(Search{Databases: []string{"a"}, Query: Query{Left: &Query{Term: "x"}, Right: &Query{Term: "y"}}}.Encode()))
	f.Add(SearchResponse{Diagnostics: []Diagnostic{{Set: DiagBib1, Code: 1}}}.Encode())
	f.Add(encoded(Present{Start: 1, Count: 2, Syntax: SyntaxXML, ElementSet: "F"}.Encode()))
	f.Add(EncodePresentResponse(0, 2, [][]byte{NamePlusRecord{Syntax: SyntaxXML, Content: []byte("<x/>")}.Encode()}))
	f.Add(EncodePresentDiagnostic(Diagnostic{Set: DiagBib1, Code: 13}))
	f.Add(encoded(Scan{Databases: []string{"a"}, From: Query{Term: "x"}}.Encode()))
	f.Add(ScanResponse{Terms: []Term{{Text: "x"}}}.Encode())
	f.Add(Close{Reason: 1, Text: "x"}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		r := ber.NewReader(bufio.NewReader(bytes.NewReader(b)))
		for r.Message(1<<12) && r.Header().Constructed {
			switch r.Header().Tag {
			case TagInit, TagInitResponse:
				ReadInit(r)
			case TagSearch:
				ReadSearch(r)
			case TagSearchResponse:
				if m := ReadSearchResponse(r); r.Err() == nil && m.Count < 0 {
					t.Error("negative count")
				}
			case TagPresent:
				ReadPresent(r)
			case TagPresentResponse:
				for p := ReadPresentResponse(r); p.Next(); {
					if p.Record.Diagnostic == nil {
						io.Copy(io.Discard, p.Record.Content(100))
					}
				}
			case TagScan:
				ReadScan(r)
			case TagScanResponse:
				if m := ReadScanResponse(r, 10); len(m.Terms) > 10 {
					t.Error("too many terms")
				}
			case TagClose:
				_ = ReadClose(r).String()
			}
		}
	})
}
