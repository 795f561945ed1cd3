package waisd_test

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/internal/codec/apdu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var library = fstest.MapFS{
	"fruit/pear.txt":      {Data: []byte("Pears\nA pear is a fruit.\n")},
	"fruit/old/apple.txt": {Data: []byte("An apple is one, too.\n")},
	"fruit/long.txt":      {Data: bytes.Repeat([]byte("0123456789"), 2500)},
}

// ask sends one request and returns the response.
func ask(t *testing.T, s *waisd.Server, m apdu.Search) apdu.Response {
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

// documentOf returns the identifier and the length in a URL of a document.
func documentOf(t *testing.T, url string) (id []byte, length int64) {
	t.Helper()
	w, err := uri.ParseWAIS(uri.MustParse(url))
	if err != nil {
		t.Fatal(err)
	}
	_, length, _ = w.RawFields()
	return apdu.IDFromURL(w), length
}

func TestFreeWAISIdentifiers(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: library, FreeWAIS: true})
	found := ask(t, s, apdu.Search{Database: "fruit", Words: "pear", MaxHits: 10})
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
	if d := cmp.Diff([]string{s.Addr, "/srv/db/fruit", file, s.Addr, "/srv/db/fruit", file, "\x00"}, got); d != "" {
		t.Errorf("fields of the identifier, -want +got\n%s", d)
	}
	if h.Headline != "pear.txt   /srv/doc/fruit/" || h.Source != "/srv/db/fruit" || h.Date != "0" {
		t.Errorf("hit %+v", h)
	}
	id, length := documentOf(t, s.Document("fruit", "old/apple.txt"))
	if length != 22 {
		t.Errorf("length %d in the URL", length)
	}
	r := ask(t, s, apdu.Search{Database: "fruit", Document: id, Type: "TEXT", To: 10000})
	if string(r.Text) != "An apple is one, too.\n" || len(r.Diagnostics) != 1 {
		t.Errorf("%q, %v", r.Text, r.Diagnostics)
	}
}

func TestRemovedDocument(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: library, FreeWAIS: true, Gone: []string{"fruit/pear.txt"}})
	found := ask(t, s, apdu.Search{Database: "fruit", Words: "pear", MaxHits: 10})
	if len(found.Hits) != 1 || found.Hits[0].Length != 25 {
		t.Fatalf("found %+v", found)
	}
	r := ask(t, s, apdu.Search{Database: "fruit", Document: found.Hits[0].ID, Type: "TEXT", To: 10000})
	want := apdu.Response{Seed: "pear.txt", Diagnostics: []apdu.Diagnostic{{Code: apdu.OutOfRange, Text: "Request out of range"}}}
	if d := cmp.Diff(want, r); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestPacketsInTwoWrites(t *testing.T) {
	t.Parallel()
	s := waisd.Start(t, waisd.Options{Tree: library, Nagle: true})
	id, _ := documentOf(t, s.Document("fruit", "long.txt"))
	var got bytes.Buffer
	for from := int64(0); ; from += 10000 {
		r := ask(t, s, apdu.Search{Database: "fruit", Document: id, Type: "TEXT", From: from, To: from + 10000})
		got.Write(r.Text)
		if len(r.Diagnostics) > 0 {
			break
		}
	}
	if got.String() != strings.Repeat("0123456789", 2500) {
		t.Errorf("%d bytes", got.Len())
	}
}
