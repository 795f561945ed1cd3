package wais_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/internal/codec/apdu"
	"github.com/urlget/urlget/protocols/wais"
)

var accepted = apdu.Init{Size: 100000, Accepted: true}.EncodeResponse()

// TestHostileHits lists hits whose texts are not fit for a line, a name or a URL.
func TestHostileHits(t *testing.T) {
	t.Parallel()
	var hits []apdu.Hit
	texts := []string{"..", "", "a\r\nhttp://evil.example/", "a\x00b", "\x1b[2J", "/etc/passwd", strings.Repeat("x", 3000)}
	for _, text := range texts {
		hits = append(hits, apdu.Hit{ID: []byte("\x03\x01x"), Score: 1000, Types: []string{text}, Headline: text, Date: text, Source: text})
	}
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, wais.Load)
	server := serveOnce(t, accepted, apdu.Response{Hits: hits}.Encode())
	body, err := drive.Get(t, c, "wais://"+server+"/db?words")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if line = strings.TrimRight(line, "\r\n"); !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "wais://"+server+"/db/") ||
			strings.ContainsAny(line, "\x00\r\x1b") {
			t.Errorf("line %q", line)
		}
	}
}

// TestHostileDiagnostics checks that the texts of a server stay within one line of errors and of the trace.
func TestHostileDiagnostics(t *testing.T) {
	t.Parallel()
	found := apdu.Response{Diagnostics: []apdu.Diagnostic{{Code: "S1", Text: "bad\r\n> INIT forged \x1b[2J\x00"}}}.Encode()
	hello := apdu.Init{Size: 100000, Accepted: true, ID: "one\ntwo\x1b[2J"}.EncodeResponse()
	var rec fetchtest.Recording
	c := drive.Client(t, &fetch.Options{Recorder: &rec}, wais.Load)
	_, err := drive.Get(t, c, "wais://"+serveOnce(t, hello, found)+"/db?words")
	if !errors.Is(err, fetch.ErrServer) || !strings.Contains(err.Error(), `bad\r\n> INIT forged \x1b[2J\x00`) {
		t.Errorf("error %q", err)
	}
	var lines []string
	for _, x := range rec.Exchanges() {
		lines = append(lines, x.Lines...)
	}
	if len(lines) != 4 || slices.ContainsFunc(lines, func(l string) bool { return strings.ContainsAny(l, "\r\n\x00\x1b") }) {
		t.Errorf("trace %q", lines)
	}
}

// TestHostileLengths sends announced lengths and counts without the data.
func TestHostileLengths(t *testing.T) {
	t.Parallel()
	for name, packet := range map[string]string{
		"a record of 4 GB":         "\x00\x0b\x17\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x63\x8f\xff\xff\xff\x7f",
		"a number of 80 bits":      "\x00\x0b\x17\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"a header beyond the end":  "\xff\xff\x17",
		"a diagnostic without end": "\x00\x0b\x17\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x63\x03\x1c\xff\xff",
	} {
		_, err := drive.List(t, drive.Client(t, nil, wais.Load), "wais://"+serveOnce(t, accepted, []byte(packet))+"/db?words")
		if !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := make([]apdu.Hit, 50_000)
	for i := range many {
		many[i] = apdu.Hit{ID: fmt.Appendf(nil, "%d", i)}
	}
	if list, err := drive.List(t, drive.Client(t, nil, wais.Load), "wais://"+serveOnce(t, accepted, apdu.Response{Hits: many}.Encode())+"/db?words"); !errors.Is(err, fetch.ErrProtocol) {
		t.Errorf("%d hits, more than a packet holds: %v", len(list), err)
	}
}
