// Package warc reads and writes WARC files (ISO 28500): records of what was retrieved, with the
// conversations in which it was, one after the other.
//
// The reader takes versions 0.18 to 1.1, plain, compressed by gzip or by zstd, and goes on behind
// what is damaged. The writer writes version 1.1. Neither knows protocols: package capture makes
// records of what a client does.
package warc

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The types of records (WARC/1.1, section 6).
const (
	Info         = "warcinfo"
	Response     = "response"
	Resource     = "resource"
	Request      = "request"
	Metadata     = "metadata"
	Revisit      = "revisit"
	Conversion   = "conversion"
	Continuation = "continuation"
)

// A Field is one named field of a record's header.
type Field struct{ Name, Value string }

// A Header holds the named fields of a record, in their order. Names are compared without regard to
// case, and may stand there several times.
type Header []Field

// Get returns the value of the first field with that name, or "".
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all fields with that name.
func (h Header) Values(name string) []string {
	var all []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
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

// Type returns the record's type, one of the constants or an extension.
func (h Header) Type() string { return strings.ToLower(h.Get("WARC-Type")) }

// ID returns the record's identifier, a URI without the angle brackets.
func (h Header) ID() string { return unbracket(h.Get("WARC-Record-ID")) }

// TargetURI returns what the record is about, as its writer had it. Version 1.0 put it in angle
// brackets, which are taken off.
func (h Header) TargetURI() string { return unbracket(h.Get("WARC-Target-URI")) }

// Refers returns the URI in a field that names one, such as WARC-Concurrent-To, without the angle
// brackets.
func (h Header) Refers(name string) string { return unbracket(h.Get(name)) }

func unbracket(uri string) string {
	if strings.HasPrefix(uri, "<") && strings.HasSuffix(uri, ">") {
		return uri[1 : len(uri)-1]
	}
	return uri
}

// ContentType returns the media type of the block, with its parameters.
func (h Header) ContentType() string { return h.Get("Content-Type") }

// Date returns WARC-Date, zero if it cannot be read.
func (h Header) Date() time.Time { return ParseDate(h.Get("WARC-Date")) }

// ParseDate reads a date as records have it, in any of the precisions that W3C's profile of ISO
// 8601 knows, or with 14 digits as some writers and all old indexes have it. It is zero if text is
// neither.
func ParseDate(text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02", "2006-01", "2006", "20060102150405"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// FormatDate writes a date for WARC-Date, to the microsecond.
func FormatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// contentLength returns the length of the block in bytes.
func (h Header) contentLength() (int64, error) {
	text := h.Get("Content-Length")
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, fmt.Errorf("Content-Length is %q", clip(text))
	}
	return int64(n), nil
}

// clip bounds what a message quotes.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// NewID returns an identifier for a new record.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id := append(make([]byte, 0, 45), "urn:uuid:"...)
	for i, end := range []int{4, 6, 8, 10, 16} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, b[[]int{0, 4, 6, 8, 10}[i]:end])
	}
	return string(id)
}
