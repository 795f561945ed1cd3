package rsync

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/internal/codec/rsync"
	"github.com/urlget/urlget/protocols/internal/remotefile"
)

// Sys is the additional information about an entry of a listing.
type Sys struct {
	Mode string `fact:"mode,optional"` // as shown by ls: "-rw-r--r--"; "" for a module
	// Target is that of a symbolic link, whose size and time are not those of the file that it leads to.
	Target  string `fact:"target,optional"`
	Comment string `fact:"comment,optional"` // of a module
}

// EntryFacts implements [fetch.EntryRecord].
func (s Sys) EntryFacts() fetch.Facts { return driver.FactsOf("rsync", "", s) }

// lookup returns the only item of the file list for the path of t.
func (s *session) lookup(t *target) (rsync.Item, error) {
	defer s.replyTimeout()()
	if err := s.start(followLinks, t.path(false)); err != nil {
		return rsync.Item{}, err
	}
	list := rsync.NewList(s.in, false)
	item, ok, err := list.Next()
	if err == nil && ok {
		var more bool
		if _, more, err = list.Next(); err == nil && (more || item.Name != t.name()) {
			err = fetch.ErrProtocol.Errorf("the file list has more than the requested file")
		}
	}
	switch s.errors |= list.Errors; {
	case err != nil:
		return item, s.fail(err)
	case !ok:
		return item, s.missing()
	}
	return item, nil
}

// missing returns the error for an empty list, after which servers close the connection. The message with
// the reason may follow the list.
func (s *session) missing() error {
	if s.complaint == "" {
		s.in.Byte()
	}
	switch err := s.in.Err(); {
	case s.complaint != "":
		return s.complaintError()
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return s.fail(err)
	}
	return fetch.ErrNotFound.Errorf("the file list is empty")
}

func (d *opener) directory(ctx context.Context, t *target) (*fetch.Response, error) {
	s, err := d.connect(ctx, t)
	if err != nil {
		return nil, err
	}
	l := &listing{session: s, base: t.Directory()}
	itself, err := l.begin(t)
	if err != nil {
		s.close()
		return nil, err
	}
	resp, read := remotefile.Listing(t.req, remotefile.Member(l.base, "", false), t.name(), itself.ModTime)
	if !read {
		s.close()
		return resp, nil
	}
	driver.SetParts(resp, l.parts, func() error { s.close(); return nil })
	return resp, nil
}

type listing struct {
	*session
	base string
	list *rsync.List
}

// begin reads the first item, the directory itself.
func (l *listing) begin(t *target) (rsync.Item, error) {
	defer l.replyTimeout()()
	if err := l.start(showLinks, t.path(true)); err != nil {
		return rsync.Item{}, err
	}
	l.list = rsync.NewList(l.in, true)
	item, ok, err := l.list.Next()
	switch {
	case err != nil:
		return item, l.fail(err)
	case !ok:
		return item, l.missing()
	case item.Name != "." || !item.IsDir():
		return item, fetch.ErrProtocol.Errorf("the file list of a directory begins with %.100q", item.Name)
	}
	return item, nil
}

func (l *listing) parts(yield func(driver.Part, error) bool) {
	defer l.close()
	for {
		e, ok, err := l.next()
		switch {
		case err != nil:
			yield(driver.Part{}, err)
			return
		case !ok:
			return
		case e.URL.IsZero() && e.Kind != fetch.EntryText:
			continue // too long for a URL
		case !yield(driver.URIListPart("", e), nil):
			return
		}
	}
}

// next returns the next entry. Ok is false at the end.
func (l *listing) next() (e fetch.Entry, ok bool, err error) {
	done := l.conn.Piece()
	item, ok, err := l.list.Next()
	done()
	switch {
	case err != nil:
		return e, false, remotefile.CutListing(l.fail(err))
	case !ok:
		return e, false, l.end()
	case !remotefile.IsName(item.Name) || item.Name == "." || item.Name == "..":
		return e, false, fetch.ErrProtocol.Errorf("invalid file name %.100q in the file list", item.Name)
	case strings.ContainsAny(item.Name, "\r\n"): // cannot be requested
		return fetch.Entry{Kind: fetch.EntryText, Name: item.Name, Size: -1}, true, nil
	}
	sys := Sys{Mode: item.FileMode().String(), Target: item.Target}
	u := remotefile.Member(l.base, item.Name, item.IsDir())
	switch {
	case item.IsDir():
		return remotefile.Directory(u, item.Name, item.ModTime, sys), true, nil
	case item.IsFile():
		return remotefile.File(u, item.Name, item.Size, item.ModTime, sys), true, nil
	}
	return remotefile.File(u, item.Name, -1, time.Time{}, sys), true, nil
}

// end ends the session. A list is incomplete if the server could not read all of the directory.
func (l *listing) end() error {
	l.leave()
	if l.errors |= l.list.Errors; l.errors&^rsync.ErrorVanished == 0 {
		return nil
	}
	e := l.complaintError()
	e.Err = errIncomplete
	return e
}

// modules lists the modules. The message of the day precedes them, without a mark in between. It ends
// with an empty line, or at least its lines do not have the form of a module.
func (d *opener) modules(ctx context.Context, t *target) (*fetch.Response, error) {
	s, err := d.dial(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.close()
	defer s.replyTimeout()()
	if err := s.send("#list", "#list"); err != nil {
		return nil, err
	}
	var entries []fetch.Entry
	for size := 0; size < maxModules; {
		line, err := s.line()
		size += len(line) + minLine
		switch {
		case err != nil:
			return nil, remotefile.CutListing(err)
		case line == "@RSYNCD: EXIT":
			return remotefile.Directories(t.req, t.Base, "", entries), nil
		case line == "":
			entries = nil
		}
		if e, ok := moduleEntry(t, line); ok {
			entries = append(entries, e)
		}
	}
	return nil, fetch.ErrProtocol.Errorf("the list of modules has more than %d bytes", maxModules)
}

const (
	// maxModules limits the list of modules with the message of the day, in bytes.
	maxModules = 1 << 20
	// minLine is counted for each line in addition to its bytes, because entries take memory.
	minLine = 64
)

// moduleWidth is the width of a name in the list of modules.
const moduleWidth = 15

func moduleEntry(t *target, line string) (e fetch.Entry, ok bool) {
	name, comment, ok := strings.Cut(line, "\t")
	if !ok || len(name) < moduleWidth {
		return e, false
	}
	name = strings.TrimRight(name, " ")
	if name == "" || !isModule(name) {
		return e, false
	}
	u := remotefile.Member(t.Base, name, true)
	return remotefile.Directory(u, name, time.Time{}, Sys{Comment: comment}), !u.IsZero()
}
