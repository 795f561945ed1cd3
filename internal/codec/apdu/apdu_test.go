package apdu

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
)

// unhex decodes a capture: hexadecimal bytes and text in double quotes.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var b []byte
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		raw, err := hex.DecodeString(strings.Join(strings.Fields(part), ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, raw...)
	}
	return b
}

// The messages below were captured between a client and freeWAIS-sf 2.2.10.
const (
	capturedInit = `00 18 14 03 01 80 04 01 80 05 03 01 86 a0 06 03 01 86 a0 07 05 "probe"`

	capturedInitResponse = `00 4b 15 01 03 01 80 04 01 80 05 03 01 86 a0 06 03 01 86 a0
		08 03 "LS6" 09 24 "University of Dortmund Informatik VI" 0a 0c "2.2.8 string"
		63 06 64 01 00 65 01 00`

	capturedSearch = `00 17 16 00 00 0a 00 00 10 00 00 0f 01 11 00 12 05 "fruit" 14 01 33
		63 0c 6a 04 "pear" 6f 01 01 72 01 28`

	capturedID = `01 12 "wais.example:21001" 02 0d "/srv/db/fruit" 03 16 "0 25 /srv/doc/pear.txt"
		04 12 "wais.example:21001" 05 0d "/srv/db/fruit" 06 16 "0 25 /srv/doc/pear.txt" 07 01 00`

	capturedSearchResponse = `00 0e 17 01 00 00 00 00 00 01 00 00 00 1b 01 00
		63 81 3f 81 16 81 3b 74 79 ` + capturedID + `
		76 02 02 0d 77 01 00 78 01 19 81 03 01 02 81 04 07 81 05 04 "TEXT"
		79 0d "/srv/db/fruit" 7a 01 30 7b 14 "pear.txt   /srv/doc/"`

	capturedRetrieval = `00 2e 16 00 00 0a 00 00 10 00 00 0f 01 11 03 "FOO" 12 05 "fruit" 14 01 31
		13 0f 20 1f "Document Text" 02 01 33
		15 81 60 2c 11 "un re ig ig ig ig" 2d 79 ` + capturedID + `
		2c 11 "wt re ig ig ig ig" 2d 04 "TEXT" 2e 01 61
		2c 11 "wb ro ig ig ig ig" 2d 01 "0" 2e 01 61
		2c 11 "wb rl ig ig ig ig" 2d 05 "10000" 2e 01 61`

	capturedRetrievalResponse = `00 11 17 00 00 00 00 00 00 02 00 00 00 1b 01 00 02 01 33
		63 81 38 81 19 81 19 74 79 ` + capturedID + ` 75 01 00 7f 19 "Pears` + "\n" + `A pear is a fruit.` + "\n" + `"
		1c 00 17 "SF" "Request out of range" 01 1d`

	capturedUnknownDatabase = `00 0e 17 01 00 00 00 00 00 01 00 00 00 1b 01 00
		63 3c 1c 00 38 "S1" "The following database is not available: /srv/db/nodb" 00 1d`
)

func TestRequestsMatchCaptures(t *testing.T) {
	t.Parallel()
	id := unhex(t, capturedID)
	retrieval := Search{Database: "fruit", Document: id, Type: "TEXT", From: 0, To: 10000}.Encode()
	tests := []struct {
		name      string
		got, want []byte
	}{
		{"init", Init{Size: 100000, ID: "probe"}.Encode(), unhex(t, capturedInit)},
		{"search", Search{Database: "fruit", Words: "pear", MaxHits: 40}.Encode(), unhex(t, capturedSearch)},
		{"retrieval", retrieval, unhex(t, capturedRetrieval)},
	}
	for _, tt := range tests {
		if !bytes.Equal(tt.got, tt.want) {
			t.Errorf("%s:\n%swant\n%s", tt.name, hex.Dump(tt.got), hex.Dump(tt.want))
		}
	}
}

func TestPacketHeader(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WritePacket(&b, unhex(t, capturedInit)); err != nil {
		t.Fatal(err)
	}
	if want := "0000000026z2wais        0"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("header %q, want %q", b.String()[:HeaderSize], want)
	}
}

func TestDecodeCapturedResponses(t *testing.T) {
	t.Parallel()
	m, err := DecodeInitResponse(unhex(t, capturedInitResponse))
	if want := (Init{Size: 100000, Accepted: true, ID: "University of Dortmund Informatik VI"}); err != nil || m != want {
		t.Errorf("init response %+v, %v; want %+v", m, err, want)
	}
	tests := []struct {
		name, capture string
		want          Response
	}{
		{"a hit", capturedSearchResponse, Response{Hits: []Hit{{ID: unhex(t, capturedID), Score: 525, Length: 25, Lines: 2,
			Types: []string{"TEXT"}, Date: "0", Headline: "pear.txt   /srv/doc/", Source: "/srv/db/fruit"}}}},
		{"a text and a diagnostic", capturedRetrievalResponse, Response{HasText: true, Text: []byte("Pears\nA pear is a fruit.\n"),
			Diagnostics: []Diagnostic{{"SF", "Request out of range"}}}},
		{"an unknown database", capturedUnknownDatabase, Response{
			Diagnostics: []Diagnostic{{"S1", "The following database is not available: /srv/db/nodb"}}}},
	}
	for _, tt := range tests {
		got, err := DecodeResponse(unhex(t, tt.capture))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestMessageRoundTrip(t *testing.T) {
	t.Parallel()
	search := Search{Database: "d", Words: "a b", MaxHits: 300}
	if got, err := DecodeSearch(search.Encode()); err != nil || !reflect.DeepEqual(got, search) {
		t.Errorf("search %+v, %v", got, err)
	}
	retrieval := Search{Database: "d", Document: []byte("\x01\x00\xff"), Type: "PS", From: 10000, To: 20000}
	if got, err := DecodeSearch(retrieval.Encode()); err != nil || !reflect.DeepEqual(got, retrieval) {
		t.Errorf("retrieval %+v, %v", got, err)
	}
	response := Response{HasText: true, Text: bytes.Repeat([]byte{0, 255}, 9000), Diagnostics: []Diagnostic{{"T2", ""}}}
	if got, err := DecodeResponse(response.Encode()); err != nil || !reflect.DeepEqual(got, response) {
		t.Errorf("response differs, %v", err)
	}
}

func TestCompressedIntegers(t *testing.T) {
	t.Parallel()
	for v, want := range map[uint32]string{0: "00", 127: "7f", 128: "81 00", 150: "81 16", 1<<32 - 1: "8f ff ff ff 7f"} {
		if got := appendInt(nil, v); !bytes.Equal(got, unhex(t, want)) {
			t.Errorf("appendInt(%d) = %x, want %s", v, got, want)
		}
	}
	for in, want := range map[string]uint64{"05": 5, "80 05": 5, "80 80 80 05": 5, "81 16": 150} {
		if r := (&reader{b: unhex(t, in)}); r.compressed() != want || r.err != nil {
			t.Errorf("%s is not read as %d: %v", in, want, r.err)
		}
	}
}

func TestMalformedMessagesAreRejected(t *testing.T) {
	t.Parallel()
	for name, apdu := range map[string]string{
		"nothing":                      ``,
		"a header beyond the end":      `ff ff 17`,
		"another type":                 `00 01 15`,
		"fixed part cut off":           `00 03 17 00 00`,
		"four gigabytes of user data":  `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 8f ff ff ff 7f 00`,
		"a record beyond its group":    `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 03 81 16 7f`,
		"a number that never ends":     `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 81 81 81 81 81 81 81 81 81 81`,
		"a diagnostic beyond its end":  `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 03 1c ff ff`,
		"a diagnostic without code":    `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 05 1c 00 01 00 1d`,
		"another kind of user data":    `00 0b 17 00 00 00 00 00 00 00 00 00 00 15 00`,
		"types of a document cut off":  `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 06 81 16 03 81 04 09`,
		"user data shorter than it is": `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 09 00`,
	} {
		if _, err := DecodeResponse(unhex(t, apdu)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestReadPacket(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		err      error
	}{
		{"an APDU", "0000000003z2wais        0abc", nil},
		{"letters of any case", "0000000003Z2WAIS        0abc", nil},
		{"bytes in front", "\r\nnoise 0000000003z2            0abc", nil},
		{"no content", "0000000000z2wais        0", ErrEmpty},
		{"an acknowledgement", "0000000003a2wais        0abc", ErrMalformed},
		{"compressed", "0000000003z2wais      u 0abc", ErrMalformed},
		{"encoded", "0000000003z2wais       h0abc", ErrMalformed},
		{"a negative length", "0-00000003z2wais        0abc", ErrMalformed},
		{"too long", "0999999999z2wais        0abc", ErrMalformed},
		{"no header at all", strings.Repeat("x", 4096), ErrMalformed},
		{"nothing", "", io.EOF},
		{"cut in front of the header", "xx", io.ErrUnexpectedEOF},
		{"cut in the header", "00000", io.ErrUnexpectedEOF},
		{"cut in the content", "0000000003z2wais        0ab", io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		if _, err := ReadPacket(strings.NewReader(tt.in)); !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
		}
	}
}

func TestHostileLengthAllocatesLittle(t *testing.T) {
	packet := "0000524288z2wais        0" + string(unhex(t, `00 0b 17 00 00 00 00 00 00 00 00 00 00 63 8f ff ff ff 7f`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := ReadPacket(strings.NewReader(packet)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a packet cut off: %v", err)
	}
	if _, err := DecodeResponse([]byte(packet[HeaderSize:])); !errors.Is(err, ErrMalformed) {
		t.Errorf("a value beyond its packet: %v", err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}

func TestIDPath(t *testing.T) {
	t.Parallel()
	const fields = "1=h%3A210;2=d%3Bb;7=%00;"
	id := EncodeID([]uri.WAISField{{Tag: 1, Value: "h:210"}, {Tag: 2, Value: "d;b"}, {Tag: 7, Value: "\x00"}})
	if got := IDPath(id, 25); got != "25/"+fields {
		t.Errorf("IDPath = %q", got)
	}
	for _, path := range []string{fields, "25/" + fields, uri.Escape(string(id))} {
		if got := IDFromURL(uri.WAIS{WPath: path}); !bytes.Equal(got, id) {
			t.Errorf("IDFromURL(%q) = %q", path, got)
		}
	}
	for _, opaque := range []string{"plain", "\x01\x80\x01x", "\xff\xff"} {
		if got := IDFromURL(uri.WAIS{WPath: IDPath([]byte(opaque), -1)}); string(got) != opaque {
			t.Errorf("%q came back as %q", opaque, got)
		}
	}
}

func FuzzDecodeResponse(f *testing.F) {
	for _, c := range []string{capturedSearchResponse, capturedRetrievalResponse, capturedUnknownDatabase} {
		f.Add(unhex(f, c))
	}
	f.Fuzz(func(t *testing.T, apdu []byte) {
		m, err := DecodeResponse(apdu)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("error %v is not ErrMalformed", err)
		}
		if size := len(m.Text) + len(m.Hits) + len(m.Diagnostics); size > len(apdu) {
			t.Errorf("%d bytes gave %d of content", len(apdu), size)
		}
	})
}

func FuzzDecodeRequests(f *testing.F) {
	f.Add(unhex(f, capturedInit))
	f.Add(unhex(f, capturedSearch))
	f.Add(Search{Document: []byte("x"), Type: "TEXT", To: 10}.Encode())
	f.Fuzz(func(t *testing.T, apdu []byte) {
		DecodeInit(apdu)
		DecodeInitResponse(apdu)
		m, err := DecodeSearch(apdu)
		if err != nil || m.Document == nil || m.From < 0 || m.To < 0 {
			return
		}
		second, err := DecodeSearch(m.Encode())
		if err != nil || !bytes.Equal(second.Document, m.Document) || second.From != m.From || second.To != m.To {
			t.Errorf("%+v came back as %+v, %v", m, second, err)
		}
	})
}

func FuzzReadPacket(f *testing.F) {
	f.Add([]byte("0000000003z2wais        0abc"))
	f.Fuzz(func(t *testing.T, in []byte) {
		apdu, err := ReadPacket(bytes.NewReader(in))
		if err == nil && len(apdu) > len(in)-HeaderSize {
			t.Errorf("%d bytes of %d", len(apdu), len(in))
		}
	})
}

func FuzzIDPath(f *testing.F) {
	f.Add([]byte("\x01\x02ab"))
	f.Add(unhex(f, capturedID))
	f.Fuzz(func(t *testing.T, id []byte) {
		path := IDPath(id, -1)
		if got := IDFromURL(uri.WAIS{WPath: path}); !bytes.Equal(got, id) {
			t.Errorf("%q became %q and came back as %q", id, path, got)
		}
	})
}
