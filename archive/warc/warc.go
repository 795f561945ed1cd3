// Package warc reads and writes WARC files (ISO 28500), which contain records of retrieved
// resources and of the requests and responses.
//
// The reader accepts versions 0.18 to 1.1 and ARC files, plain or compressed with gzip or zstd, and
// skips damaged parts. The writer writes version 1.1. The package has no knowledge of protocols except HTTP;
// package capture creates the records of a client's exchanges.
package warc

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The record types that this module writes (WARC/1.1, section 6).
const (
	Info     = "warcinfo"
	Response = "response"
	Resource = "resource"
	Request  = "request"
	Metadata = "metadata"
	Revisit  = "revisit"

	conversion = "conversion" // indexed but never written
)

// A Field is a named field of a record header.
type Field struct{ Name, Value string }

// is reports whether the field has that name. Comparing lengths first makes look-ups fast.
func (f Field) is(name string) bool {
	return len(f.Name) == len(name) && strings.EqualFold(f.Name, name)
}

// A Header holds the named fields of a record in order. Names are case-insensitive and may be
// repeated.
type Header []Field

// NewHeader returns the header of a record of a type, such as Resource, with a new ID.
func NewHeader(kind, contentType, target string, at time.Time) Header {
	h := make(Header, 0, usualFields)
	text := string(appendDate(appendID(make([]byte, 0, 2*idLength)), at)) // in one allocation
	h.Add("WARC-Type", kind)
	h.Add("WARC-Record-ID", text[:idLength])
	h.Add("WARC-Date", text[idLength:])
	h.Add("WARC-Target-URI", target)
	h.Add("Content-Type", contentType)
	return h
}

// Get returns the value of the first field with that name, or "".
func (h Header) Get(name string) string {
	for _, f := range h {
		if f.is(name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields with that name.
func (h Header) Values(name string) []string {
	var all []string
	for _, f := range h {
		if f.is(name) {
			all = append(all, f.Value)
		}
	}
	return all
}

// Add appends a field, unless value is empty.
func (h *Header) Add(name, value string) {
	if value != "" {
		*h = append(*h, Field{name, value})
	}
}

// Type returns the record type, one of the constants or an extension.
func (h Header) Type() string { return strings.ToLower(h.Get("WARC-Type")) }

// ID returns the record's identifier, a URI without the angle brackets.
func (h Header) ID() string { return unbracket(h.Get("WARC-Record-ID")) }

// TargetURI returns the URI of the resource as written in the record. Angle brackets, which version
// 1.0 requires, are removed.
func (h Header) TargetURI() string { return unbracket(h.Get("WARC-Target-URI")) }

// Refers returns the URI in a field such as WARC-Concurrent-To, without the angle brackets.
func (h Header) Refers(name string) string { return unbracket(h.Get(name)) }

// IsRecordID reports whether URIs of a scheme identify records (urn:uuid:...) instead of resources.
func IsRecordID(scheme string) bool { return scheme == "urn" }

func unbracket(uri string) string {
	if strings.HasPrefix(uri, "<") && strings.HasSuffix(uri, ">") {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// Incomplete returns the reason why the block is incomplete, or "" if it is complete. A segment of a
// record (WARC/1.1, section 7) is incomplete, because segments are not joined. A revisit is complete:
// the standard marks the content that it omits by "WARC-Truncated: length" (section 6.7.2).
func (h Header) Incomplete() string {
	switch {
	case h.Type() == Revisit:
		return ""
	case h.Get("WARC-Segment-Number") != "":
		return "segmented record"
	}
	return h.Get("WARC-Truncated")
}

// IsHTTP reports whether the block is an HTTP message.
func (h Header) IsHTTP() bool {
	kind := strings.ToLower(strings.ReplaceAll(h.ContentType(), " ", ""))
	return strings.HasPrefix(kind, "application/http")
}

// ContentType returns the content type of the block, with its parameters.
func (h Header) ContentType() string { return h.Get("Content-Type") }

// Date returns WARC-Date, or the zero time if it is invalid.
func (h Header) Date() time.Time { return h.Time("WARC-Date") }

// Time returns the time in a field, or the zero time if it is invalid.
func (h Header) Time(name string) time.Time { return parseDate(h.Get(name)) }

// AddTime appends a field with a time in microseconds.
func (h *Header) AddTime(name string, t time.Time) { h.Add(name, formatDate(t)) }

// parseDate parses a date in any precision of W3C's profile of ISO 8601, or with 14 digits, as some
// writers and old indexes have it. Otherwise it returns the zero time.
func parseDate(text string) time.Time {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02", "2006-01", "2006", "20060102150405",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

const dateLayout = "2006-01-02T15:04:05.000000Z"

func formatDate(t time.Time) string { return t.UTC().Format(dateLayout) }

func appendDate(b []byte, t time.Time) []byte { return t.UTC().AppendFormat(b, dateLayout) }

func (h Header) contentLength() (int64, error) {
	text := h.Get("Content-Length")
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, fmt.Errorf("invalid Content-Length %q", shorten(text))
	}
	return int64(n), nil
}

func shorten(s string) string {
	const limit = 40
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}

const idLength = len("<urn:uuid:00000000-0000-4000-8000-000000000000>")

// appendID appends a new value of WARC-Record-ID.
func appendID(id []byte) []byte {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id = append(id, "<urn:uuid:"...)
	for i, end := range []int{4, 6, 8, 10, 16} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, b[[]int{0, 4, 6, 8, 10}[i]:end])
	}
	return append(id, '>')
}
