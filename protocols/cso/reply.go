package cso

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// A Record is one match, found in Entry.Sys.
type Record struct {
	Record int     `fact:"record"` // record number, from 1; 0 if the reply has none
	Fields []Field `fact:"fields"`
}

// EntryFacts implements [fetch.EntryRecord].
func (r Record) EntryFacts() fetch.Facts { return driver.FactsOf("cso", "", r) }

// A Field is a field of a record. Its lines are separated by line feeds.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Error bool   `json:"error,omitempty"` // Value is the reason for a missing value
}

// A reply is a line from the server: "code:text" or, in a record, "code:record:text", with a
// leading minus sign if more lines follow.
type reply struct {
	code   int
	more   bool
	record int // 0 if there is no record number
	text   string
}

var errMalformed = fetch.ErrProtocol.Errorf("malformed reply: not from a CSO name server")

func parseReply(line string) (reply, bool) {
	var r reply
	rest, more := strings.CutPrefix(line, "-")
	code, text, ok := strings.Cut(rest, ":")
	if !ok || len(code) != 3 {
		return r, false
	}
	n, err := strconv.ParseUint(code, 10, 16)
	if err != nil || n < 100 {
		return r, false
	}
	r.code, r.more, r.text = int(n), more, text
	if number, field, ok := strings.Cut(text, ":"); ok {
		if n, err := strconv.ParseUint(number, 10, 31); err == nil {
			r.record, r.text = int(n), field
		}
	}
	return r, true
}

// Reply codes (RFC 2378).
const (
	replyNoMatches = 501 // no matches to query
	replyTooMany   = 502 // too many matches to query
)

func (r reply) preliminary() bool { return r.code < 200 }

func (r reply) final() bool { return !r.more && !r.preliminary() }

func (r reply) err() error {
	e := &fetch.Error{Reply: fetch.Reply{Code: r.code, Text: wire.Text(r.text)}}
	switch {
	case r.code < 400:
		return nil
	case r.code == replyNoMatches:
		e.Code = fetch.ErrNotFound
	case r.code == replyTooMany:
		e.Code = fetch.ErrRefused
		e.Hint = "use a more specific query: a full name, or a field such as email=..."
	case r.code < 500:
		e.Code, e.Retry = fetch.ErrBusy, true
	default:
		e.Code = fetch.ErrRefused
	}
	return e
}

// replies is the body of a response: the replies to one query, verbatim.
type replies struct {
	io.Closer
	r     *wire.Reader
	trace func(sent bool, line string) // nil if there is no trace
	first reply
	rest  []byte // the unread rest of the current line
	end   error  // io.EOF after the final reply, or the error that ended the response
}

func (b *replies) begin(conn *fetch.Conn) error {
	b.Closer, b.r, b.trace = conn, wire.NewReader(conn, maxLine), conn.Line()
	conn.PieceLines()
	var head []byte
	for n := range maxPreliminary {
		rep, err := b.next()
		if err != nil {
			return err
		}
		if n == 0 {
			b.first = rep
		}
		head = append(head, b.rest...)
		if rep.preliminary() {
			continue
		}
		if rep.more && rep.record == 0 && rep.err() != nil {
			return b.readRefusal(rep)
		}
		b.rest = head
		if rep.final() {
			return rep.err()
		}
		return nil
	}
	return fetch.ErrProtocol.Errorf("the server sent too many preliminary replies")
}

// readRefusal reads the replies that explain why a query is refused, one line per cause, up to the
// final reply. It returns them as an error.
func (b *replies) readRefusal(first reply) error {
	reasons := first.text
	for range maxPreliminary {
		rep, err := b.next()
		switch {
		case err != nil:
			return err
		case rep.final():
			e := first.err().(*fetch.Error)
			e.Reply.Text = wire.Text(reasons)
			return e
		case rep.err() != nil:
			reasons += "; " + rep.text
		}
	}
	return fetch.ErrProtocol.Errorf("the server sent too many error replies")
}

// next reads a reply and stores its line in rest.
func (b *replies) next() (reply, error) {
	line, err := b.r.RawLine()
	if err != nil {
		b.end = wire.Unexpected(err)
		return reply{}, b.end
	}
	b.rest = line
	text := strings.TrimRight(string(line), "\r\n")
	if b.trace != nil {
		b.trace(false, text)
	}
	r, ok := parseReply(text)
	if !ok {
		b.rest, b.end = nil, errMalformed
		return reply{}, errMalformed
	}
	if r.final() {
		if b.end = r.err(); b.end == nil {
			b.end = io.EOF
		}
	}
	return r, nil
}

func (b *replies) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.end != nil {
			return 0, b.end
		}
		if _, err := b.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// maxRecord limits the lines of a record, in bytes.
const maxRecord = 256 << 10

// entries returns the records in r. A record ends at the first line of the next.
func entries(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var rec Record
		size := 0
		for line, err := range wire.NewReader(r, maxLine).All() {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			rep, ok := parseReply(string(line))
			if !ok || !rep.more {
				continue
			}
			if rep.record != rec.Record && len(rec.Fields) > 0 {
				if !yield(rec.entry(), nil) {
					return
				}
				rec, size = Record{}, 0
			}
			rec.Record = rep.record
			if size += len(line) + 50; size > maxRecord {
				yield(fetch.Entry{}, fetch.ErrProtocol.Errorf("the record is larger than %d bytes",
					maxRecord))
				return
			}
			rec.add(rep)
		}
		if len(rec.Fields) > 0 {
			yield(rec.entry(), nil)
		}
	}
}

// add adds a line of the record: "name: value", or ": value" to continue the previous field.
func (rec *Record) add(r reply) {
	name, value, _ := strings.Cut(wire.Text(strings.TrimRight(r.text, " ")), ":")
	f := Field{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value), Error: r.err() != nil}
	if last := len(rec.Fields) - 1; f.Name == "" && last >= 0 {
		rec.Fields[last].Value += "\n" + f.Value
		return
	}
	rec.Fields = append(rec.Fields, f)
}

func (rec Record) entry() fetch.Entry {
	e := fetch.Entry{Kind: fetch.EntryError, Size: -1, Sys: rec}
	var parts []string
	for _, f := range rec.Fields {
		parts = append(parts, f.Name+": "+strings.ReplaceAll(f.Value, "\n", ", "))
		if !f.Error {
			e.Kind = fetch.EntryText // an error is not a match
		}
	}
	e.Name = strings.Join(parts, "; ")
	return e
}
