package cso

import (
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/wire"
)

// A Field is a line of a record: what Entry.Sys holds.
type Field struct {
	Record int `json:"record"` // which of the matches it belongs to, from 1
	// Name is the name of the field. The further lines of a field have the
	// name of the first, and Continued set.
	Name      string `json:"name"`
	Value     string `json:"value"`
	Continued bool   `json:"continued,omitempty"`
}

// A reply is a line from the server: "code:text" or, in a record,
// "code:record:text", with a minus in front if more lines follow.
type reply struct {
	code   int
	more   bool
	record int // 0 if there is none
	text   string
}

var errMalformed = &fetch.Error{Code: fetch.ErrProtocol, Err: errors.New("the server sent what is no reply of a CSO name server")}

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

// preliminary reports whether r only says what is about to come.
func (r reply) preliminary() bool { return r.code < 200 }

// final reports whether r is the last reply to a command.
func (r reply) final() bool { return !r.more && !r.preliminary() }

// err returns what r says has gone wrong, or nil.
func (r reply) err() error {
	e := &fetch.Error{Reply: fetch.Reply{Code: r.code, Text: wire.Text(r.text)}}
	switch {
	case r.code < 400:
		return nil
	case r.code == 501:
		e.Code = fetch.ErrNotFound
	case r.code == 502:
		e.Code, e.Hint = fetch.ErrRefused, "ask for less: a full name, or another field such as name=... email=..."
	case r.code < 500:
		e.Code, e.Retry = fetch.ErrBusy, true
	default:
		e.Code = fetch.ErrRefused
	}
	return e
}

// A body is the replies to one query, as they were sent.
type body struct {
	conn    *wire.Conn
	release func() bool
	r       *wire.Reader
	trace   func(sent bool, line string)
	rest    []byte // of the last line
	end     error  // io.EOF after the final reply, or why it did not come
}

// next reads a reply and leaves its line in rest.
func (b *body) next() (reply, error) {
	line, err := b.r.RawLine()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		b.end = err
		return reply{}, err
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

func (b *body) Read(p []byte) (int, error) {
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

// Close closes the connection without waiting for the server.
func (b *body) Close() error {
	b.release()
	b.conn.Close()
	return nil
}

// entries returns the lines of the records in r.
func entries(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		lr := wire.NewReader(r, maxLine)
		var last Field
		for {
			line, err := lr.Line()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			rep, ok := parseReply(string(line))
			if !ok || !rep.more {
				continue
			}
			if !yield(entry(rep, &last), nil) {
				return
			}
		}
	}
}

// entry returns the entry for a reply before the final one. Last is the field
// before, and then this one.
func entry(r reply, last *Field) fetch.Entry {
	text := wire.Text(strings.TrimRight(r.text, " "))
	e := fetch.Entry{Name: text, Kind: fetch.EntryText, Size: -1}
	if r.err() != nil {
		e.Kind = fetch.EntryError
	}
	name, value, _ := strings.Cut(text, ":")
	f := Field{Record: r.record, Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
	if f.Name == "" && f.Record == last.Record {
		f.Name, f.Continued = last.Name, true
	}
	*last = f
	e.Sys = f
	return e
}
