package servers_test

import (
	"bytes"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/internal/codec/apdu"
)

var waisLibrary = fstest.MapFS{
	"fruit/pear.txt":      {Data: []byte("Pears\nA pear is a fruit.\n")},
	"fruit/old/apple.txt": {Data: []byte("An apple is one, too.\n")},
	"fruit/long.txt":      {Data: bytes.Repeat([]byte("0123456789"), 2500)},
}

// waisAsk sends one request and returns the response.
func waisAsk(t *testing.T, s *waisd.Server, m apdu.Search) apdu.Response {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	if err := apdu.WritePacket(conn, m.Encode()); err != nil {
		t.Fatal(err)
	}
	packet, err := apdu.ReadPacket(conn)
	if err != nil {
		t.Fatal(err)
	}
	r, err := apdu.DecodeResponse(packet)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waisDocumentOf returns the identifier and the length in a URL of a document.
func waisDocumentOf(t *testing.T, url string) (id []byte, length int64) {
	t.Helper()
	w, err := uri.ParseWAIS(uri.MustParse(url))
	if err != nil {
		t.Fatal(err)
	}
	_, length, _ = w.RawFields()
	return apdu.IDFromURL(w), length
}

func TestWAISFreeWAISIdentifiers(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: waisLibrary, FreeWAIS: true})
	found := waisAsk(t, s, apdu.Search{Database: "fruit", Words: "pear", MaxHits: 10})
	if len(found.Hits) != 1 || found.Seed != "pear" {
		t.Fatalf("found %+v", found)
	}
	h := found.Hits[0]
	fields, _, _ := uri.WAIS{WPath: apdu.IDPath(h.ID, -1)}.RawFields()
	var got []string
	for _, f := range fields {
		got = append(got, f.Value)
	}
	file := "0 25 /srv/doc/fruit/pear.txt"
	if want := []string{s.Addr, "/srv/db/fruit", file, s.Addr, "/srv/db/fruit", file, "\x00"}; !slices.Equal(got, want) {
		t.Errorf("fields of the identifier %q, want %q", got, want)
	}
	if h.Headline != "pear.txt   /srv/doc/fruit/" || h.Source != "/srv/db/fruit" || h.Date != "0" {
		t.Errorf("hit %+v", h)
	}
	id, length := waisDocumentOf(t, s.Document("fruit", "old/apple.txt"))
	if length != 22 {
		t.Errorf("length %d in the URL", length)
	}
	r := waisAsk(t, s, apdu.Search{Database: "fruit", Document: id, Type: "TEXT", To: 10000})
	if string(r.Text) != "An apple is one, too.\n" || len(r.Diagnostics) != 1 {
		t.Errorf("%q, %v", r.Text, r.Diagnostics)
	}
}

func TestWAISRemovedDocument(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: waisLibrary, FreeWAIS: true, Gone: []string{"fruit/pear.txt"}})
	found := waisAsk(t, s, apdu.Search{Database: "fruit", Words: "pear", MaxHits: 10})
	if len(found.Hits) != 1 || found.Hits[0].Length != 25 {
		t.Fatalf("found %+v", found)
	}
	r := waisAsk(t, s, apdu.Search{Database: "fruit", Document: found.Hits[0].ID, Type: "TEXT", To: 10000})
	want := apdu.Response{Seed: "pear.txt", Diagnostics: []apdu.Diagnostic{{Code: apdu.OutOfRange, Text: "Request out of range"}}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("response %+v, want %+v", r, want)
	}
}

func TestWAISPacketsInTwoWrites(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: waisLibrary, Nagle: true})
	id, _ := waisDocumentOf(t, s.Document("fruit", "long.txt"))
	var got bytes.Buffer
	for from := int64(0); ; from += 10000 {
		r := waisAsk(t, s, apdu.Search{Database: "fruit", Document: id, Type: "TEXT", From: from, To: from + 10000})
		got.Write(r.Text)
		if len(r.Diagnostics) > 0 {
			break
		}
	}
	if got.String() != strings.Repeat("0123456789", 2500) {
		t.Errorf("%d bytes", got.Len())
	}
}
