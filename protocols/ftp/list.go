package ftp

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
	"github.com/urlget/urlget/protocols/ftp/listing"
)

// contentTypes are the media types of listings as they come, by command. There are no registered ones.
var contentTypes = map[string]string{
	"NLST": "text/x-ftp-nlst",
	"LIST": "text/x-ftp-list",
	"MLSD": "text/x-ftp-mlsd",
}

// respond makes the response of a transfer.
func respond(t *task, x *transfer, b *body) *fetch.Response {
	resp := &fetch.Response{Meta: x.meta, URL: t.base, Body: b}
	if t.kind != retrieve {
		resp.Entries = t.entries(b, x.meta.ContentType)
	}
	switch {
	case t.kind == match:
		// What the server lists is not what the URL names: these are only some of it.
		resp.ContentType = "text/uri-list"
		resp.Body = &uriList{body: b, entries: resp.Entries}
	case t.localText:
		resp.Body = newLocalText(b)
	}
	return resp
}

// entries reads the listing that comes in r.
func (t *task) entries(r io.Reader, contentType string) iter.Seq2[fetch.Entry, error] {
	p := listing.NewParser(time.Now())
	parse := p.List
	switch contentType {
	case contentTypes["MLSD"]:
		parse = p.MLSD
	case contentTypes["NLST"]:
		parse = p.NLST
	}
	dir := t.dirURL()
	return func(yield func(fetch.Entry, error) bool) {
		found := false
		for line, err := range lines(r) {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			e, ok := parse(line)
			if !ok || t.kind == match && !t.selects(e) {
				continue
			}
			found = true
			if !yield(t.entry(dir, e), nil) {
				return
			}
		}
		if t.kind == match && !found {
			yield(fetch.Entry{}, &fetch.Error{Code: fetch.ErrNotFound, Err: fmt.Errorf("no name matches %q", t.url.Name)})
		}
	}
}

// selects reports whether the pattern matches an entry.
func (t *task) selects(e listing.Entry) bool {
	return e.Kind != listing.Unparsed && matches(t.pattern, e.Name)
}

// lines iterates over the lines that come in r. One that is too long is cut off, not dropped.
func lines(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		reader := wire.NewReader(r, maxListingLine)
		for {
			line, err := reader.Line()
			switch {
			case err == nil, errors.Is(err, wire.ErrLineTooLong):
				if !yield(string(line), nil) {
					return
				}
			case err == io.EOF:
				return
			case err == io.ErrUnexpectedEOF: // the last line has no end; the transfer is complete
				yield(string(line), nil)
				return
			default:
				yield("", err)
				return
			}
		}
	}
}

// maxListingLine bounds a line of a listing: a name may have some thousand octets.
const maxListingLine = 16 << 10

// entry returns what the caller sees of an entry of a listing of dir.
func (t *task) entry(dir uri.FTP, e listing.Entry) fetch.Entry {
	entry := fetch.Entry{Name: e.Name, Kind: fetch.EntryObject, Rel: "item", Size: e.Size, ModTime: e.ModTime, Sys: e}
	switch e.Kind {
	case listing.Unparsed:
		entry.Kind, entry.Rel = fetch.EntryText, ""
		return entry
	case listing.Directory:
		entry.Kind = fetch.EntryListing
		dir.CWD = append(dir.CWD[:len(dir.CWD):len(dir.CWD)], e.Name)
	default:
		dir.Name = e.Name
		entry.ContentType = fetch.TypeByName(e.Name)
	}
	if t.kind == match {
		entry.Rel = "match"
		if entry.Kind == fetch.EntryObject {
			dir.Type, dir.Form = t.url.Type, t.url.Form
		}
	}
	entry.URL = literal(dir.URI())
	return entry
}

// literal writes the asterisks in the last segment of u in the form in which they are no wildcards.
func literal(u uri.URI) uri.URI {
	text := u.String()
	last := strings.LastIndexByte(text, '/')
	if strings.IndexByte(text[last+1:], '*') < 0 {
		return u
	}
	u, err := uri.Parse(text[:last] + strings.ReplaceAll(text[last:], "*", "%2A"))
	if err != nil {
		return uri.URI{} // it would be too long
	}
	return u
}

// A uriList is the body of a response to a pattern: the URLs that match, one a line (RFC 2483, section
// 5).
type uriList struct {
	body    *body
	entries iter.Seq2[fetch.Entry, error]
	next    func() (fetch.Entry, error, bool) // nil before the first Read
	stop    func()
	buf     []byte
	err     error // sticky
}

func (l *uriList) Read(p []byte) (int, error) {
	if l.next == nil {
		l.next, l.stop = iter.Pull2(l.entries)
	}
	if len(l.buf) == 0 && l.err == nil {
		e, err, ok := l.next()
		switch {
		case !ok:
			l.err = io.EOF
		case err != nil:
			l.err = err
		default:
			l.buf = append(l.buf[:0], e.URL.String()+"\r\n"...)
		}
	}
	if l.err != nil {
		return 0, l.err
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

func (l *uriList) Close() error {
	if l.stop != nil {
		l.stop()
	}
	return l.body.Close()
}
