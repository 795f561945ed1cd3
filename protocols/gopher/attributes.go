package gopher

import (
	"io"
	"iter"
	"net/textproto"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
)

// maxAttributes limits the Gopher+ attributes of one item, in bytes.
const maxAttributes = 256 << 10

// An Attribute is a Gopher+ attribute block: "+NAME: value", and lines below it that begin with a
// space. Its strings are UTF-8.
type Attribute struct {
	Name  string   `json:"name"`            // without the plus
	Value string   `json:"value,omitempty"` // after the colon
	Lines []string `json:"lines,omitempty"` // without the space
}

var errAttributes = fetch.ErrProtocol.Errorf("the attributes of an item are too long")

type attributes struct {
	list []Attribute
	size int
}

// add adds a line. Lines before the first block are ignored.
func (a *attributes) add(line string) error {
	if a.size += len(line) + 2; a.size > maxAttributes {
		return errAttributes
	}
	line = wire.Text(line)
	if name, ok := strings.CutPrefix(line, "+"); ok {
		name, value, ok := strings.Cut(name, ":")
		if !ok { // some servers omit the colon
			name, value, _ = strings.Cut(name, " ")
		}
		a.list = append(a.list, Attribute{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)})
	} else if n := len(a.list); n > 0 {
		a.list[n-1].Lines = append(a.list[n-1].Lines, strings.TrimPrefix(line, " "))
	}
	return nil
}

func parseAttributes(r io.Reader) ([]Attribute, error) {
	var a attributes
	for line, err := range lines(r) {
		if err != nil {
			return nil, err
		}
		if err := a.add(string(line)); err != nil {
			return nil, err
		}
	}
	return a.list, nil
}

// entriesWithAttributes returns the entries of a menu with the attributes of its items. Each item
// begins with a block INFO, which contains its menu line.
func (m *menu) entriesWithAttributes(r io.Reader) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var (
			info  string
			found attributes
		)
		item := func() fetch.Entry { return m.entryWithAttributes(info, found.list) }
		for line, err := range lines(r) {
			next, isInfo := strings.CutPrefix(string(line), "+INFO:")
			if err == nil && !isInfo {
				err = found.add(string(line))
			}
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			if isInfo {
				if info != "" && !yield(item(), nil) {
					return
				}
				info, found = strings.TrimPrefix(next, " "), attributes{}
			}
		}
		if info != "" {
			yield(item(), nil)
		}
	}
}

func (m *menu) entryWithAttributes(info string, list []Attribute) fetch.Entry {
	e := m.entry(info)
	item := e.Sys.(Item)
	item.Attributes = list
	e.Sys = item
	e.ModTime = modTime(list)
	if v := views(list); len(v) > 0 && !e.URL.IsZero() {
		e.ContentType = v[0].media
	}
	return e
}

// attribute compares names with their case.
func attribute(list []Attribute, name string) (Attribute, bool) {
	for _, a := range list {
		if a.Name == name {
			return a, true
		}
	}
	return Attribute{}, false
}

// fields returns attributes as header fields: each line of an attribute is one value. The lines of
// ADMIN are fields of their own, such as Mod-Date.
func fields(list []Attribute) textproto.MIMEHeader {
	h := make(textproto.MIMEHeader)
	for _, a := range list {
		for _, line := range a.Lines {
			if key, value, ok := strings.Cut(line, ":"); ok && a.Name == "ADMIN" {
				h.Add(strings.TrimSpace(key), strings.TrimSpace(value))
			} else {
				h.Add(a.Name, line)
			}
		}
		if len(a.Lines) == 0 {
			h.Add(a.Name, a.Value)
		}
	}
	return h
}

// modTime returns the time in the field Mod-Date of ADMIN, which ends with "<YYYYMMDDhhmmss>". It
// is local time in an unknown zone, taken to be UTC. That suffices to detect changes.
func modTime(list []Attribute) time.Time {
	admin, _ := attribute(list, "ADMIN")
	for _, line := range admin.Lines {
		date, ok := strings.CutPrefix(line, "Mod-Date:")
		if !ok {
			continue
		}
		date = date[strings.LastIndexByte(date, '<')+1:]
		if t, err := time.Parse("20060102150405>", strings.TrimSpace(date)); err == nil {
			return t
		}
	}
	return time.Time{}
}
