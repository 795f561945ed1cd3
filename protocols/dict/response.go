package dict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

// A Definition identifies the source of a definition. It is the Sys of entries of a define URL.
type Definition struct {
	Word        string `fact:"word"` // as spelled in the database
	Database    string `fact:"database"`
	Description string `fact:"description"` // human-readable name of the database
}

// EntryFacts implements [fetch.EntryRecord].
func (d Definition) EntryFacts() fetch.Facts { return driver.FactsOf("dict", "", d) }

// A Match is a word in a database. It is the Sys of entries of a match URL.
type Match struct {
	Database string `fact:"database"`
	Word     string `fact:"word"`
}

// EntryFacts implements [fetch.EntryRecord].
func (m Match) EntryFacts() fetch.Facts { return driver.FactsOf("dict", "", m) }

// A Database describes a database of a server. It is the Sys of entries of a URL without a path.
type Database struct {
	Name        string `fact:"name"`
	Description string `fact:"description"`
}

// EntryFacts implements [fetch.EntryRecord].
func (d Database) EntryFacts() fetch.Facts { return driver.FactsOf("dict", "", d) }

// A response is the response to a query: blocks of text, followed by a final reply.
type response struct {
	io.Closer
	lines        *wire.Lines
	replyTimeout func() (done func()) // applies the reply timeout until done is called
	query        query
	status       wire.Reply // the first reply to the query

	head  []byte     // text before the block
	block io.Reader  // the current block; nil if there is none
	def   Definition // the definition in the block
	count int        // definitions, or lines of a list, so far
	// announced is the number of definitions or lines in the first reply; 0 if it is missing.
	announced int
	nth       int // position of def among the definitions in its database
	// pending holds the definitions not yet yielded, if the response is listed.
	pending []fetch.Entry
	listed  bool
	base    uri.URI
	end     error // io.EOF after the final reply, or the error that ended the response
}

func (a *response) begin() error {
	reply, err := a.lines.Reply()
	if err != nil {
		return err
	}
	a.status = reply
	fmt.Sscanf(reply.Text(), "%d ", &a.announced) // RFC 2229, section 3; stays 0 if missing
	switch {
	case a.query.verb == define && reply.Code == replyDefinitions:
		if err := a.nextDefinition(); err != io.EOF {
			return err
		}
		a.end = io.EOF
		return nil
	case a.query.verb == databases && reply.Code == replyNoDatabases:
		a.end = io.EOF
		return nil
	case a.query.verb == databases && reply.Code == replyDatabases,
		a.query.verb == match && reply.Code == replyMatches:
		a.block = a.dot()
		if a.query.n > 0 {
			return a.pick(a.query.n)
		}
		return nil
	}
	return failure(reply, a.query)
}

// dot returns a reader for the next block. Servers do not always double leading dots, although RFC
// 2229, section 2.4.1, requires it.
func (a *response) dot() io.Reader {
	return a.lines.Reader().Dot(wire.DotOptions{Unstuff: wire.UnstuffDouble})
}

func (a *response) pick(n int) error {
	r := wire.NewReader(a.block, maxLine)
	for range n {
		line, err := r.RawLine()
		if err == io.EOF {
			return a.errNoSuch()
		}
		if err != nil {
			return err
		}
		a.head = line
	}
	a.end = io.EOF
	return nil
}

func (a *response) errNoSuch() error {
	return &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("there is no result number %d", a.query.n),
		Reply: fetch.Reply{Code: a.status.Code, Text: wire.Text(a.status.Text())}}
}

// nextDefinition returns io.EOF after the last requested definition.
func (a *response) nextDefinition() error {
	if a.query.n > 0 && a.count == a.query.n {
		return io.EOF
	}
	for {
		reply, err := a.lines.Reply()
		switch {
		case err != nil:
			return wire.Unexpected(err)
		case reply.Code == replyOK && a.count < a.query.n:
			return a.errNoSuch()
		case reply.Code == replyOK && a.count < a.announced:
			return fetch.ErrProtocol.Errorf("received %d of %d definitions", a.count, a.announced)
		case reply.Code == replyOK:
			return io.EOF
		case reply.Code != replyDefinition:
			return failure(reply, a.query)
		case a.announced > 0 && a.count == a.announced: // RFC 2229, section 3.2
			return fetch.ErrProtocol.Errorf("received more than %d definitions", a.announced)
		}
		parts, err := fields(reply.Text())
		if err != nil || len(parts) < 2 {
			return &fetch.Error{Code: fetch.ErrProtocol,
				Err:   errors.New("the server sent a definition without its database"),
				Reply: fetch.Reply{Code: reply.Code, Text: wire.Text(reply.Text())}}
		}
		if a.count == 0 || parts[1] != a.def.Database {
			a.nth = 0
		}
		a.def = Definition{Word: wire.Text(parts[0]), Database: parts[1]}
		if len(parts) > 2 {
			a.def.Description = wire.Text(parts[2])
		}
		a.count++
		a.nth++
		a.block = a.dot()
		if a.count >= a.query.n {
			if a.listed {
				a.pending = append(a.pending, a.definition(a.base))
			}
			a.head = []byte("From " + a.def.Description + " [" + a.def.Database + "]:\r\n\r\n")
			return nil
		}
		if _, err := io.Copy(io.Discard, a.block); err != nil {
			return err
		}
	}
}

func (a *response) next() error {
	if a.query.verb == define {
		return a.nextDefinition()
	}
	reply, err := a.lines.Reply()
	switch {
	case err != nil:
		return wire.Unexpected(err)
	case reply.Code != replyOK:
		return failure(reply, a.query)
	case a.count < a.announced:
		return fetch.ErrProtocol.Errorf("received %d of %d lines", a.count, a.announced)
	}
	return io.EOF
}

func (a *response) Read(p []byte) (int, error) {
	for {
		if len(a.head) > 0 {
			n := copy(p, a.head)
			a.head = a.head[n:]
			return n, nil
		}
		if a.end != nil {
			return 0, a.end
		}
		n, err := a.block.Read(p)
		if a.query.verb != define {
			a.count += bytes.Count(p[:n], []byte("\n"))
		}
		switch err {
		case nil:
		case io.EOF:
			done := a.replyTimeout()
			a.end = a.next()
			done()
		default:
			a.end = err
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
}

func (a *response) definition(base uri.URI) fetch.Entry {
	return fetch.Entry{
		URL: locate(base, definitionPath(a.query.word, a.def.Database, a.nth)), Name: a.def.Word,
		Rel: "item", ContentType: "text/plain; charset=utf-8", Size: -1, Sys: a.def,
	}
}

// r must read from a.
func (a *response) definitions(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return driver.EntriesAlong(r, func() []fetch.Entry {
		entries := a.pending
		a.pending = nil
		return entries
	})
}

func (q query) members(base uri.URI, r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		for line, err := range wire.NewReader(r, maxLine).All() {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			if !yield(q.member(base, string(line)), nil) {
				return
			}
		}
	}
}

// member parses a line of a list: the name of a database, followed by a word in it or its
// description.
func (q query) member(base uri.URI, line string) fetch.Entry {
	parts, err := fields(line)
	if err != nil || len(parts) < 2 {
		return fetch.Entry{Name: wire.Text(line), Kind: fetch.EntryText, Size: -1}
	}
	database, text := parts[0], parts[1]
	if q.verb == match {
		return fetch.Entry{
			URL: locate(base, definitionPath(text, database, 0)), Name: wire.Text(text), Rel: "item",
			ContentType: "text/plain; charset=utf-8", Size: -1,
			Sys: Match{Database: database, Word: wire.Text(text)},
		}
	}
	return fetch.Entry{
		URL: locate(base, definitionPath("", database, 0)), Name: database, Rel: "item",
		Kind: fetch.EntrySearch, Size: -1,
		Sys: Database{Name: database, Description: wire.Text(text)},
	}
}

func locate(base uri.URI, path string) uri.URI {
	ref, err := uri.Parse(path)
	if err != nil {
		return uri.URI{}
	}
	return base.Resolve(ref)
}
