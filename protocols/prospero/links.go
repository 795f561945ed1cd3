package prospero

import (
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
	"github.com/urlget/urlget/protocols/prospero/message"
)

// A Link is a member of a directory as the server described it: the Sys of an
// entry.
type Link struct {
	Target     string              `json:"target"` // FILE, DIRECTORY, EXTERNAL, …
	Union      bool                `json:"union,omitempty"`
	Name       string              `json:"name"`
	Host       string              `json:"host"` // as sent: "PFS.EXAMPLE(1525)"
	HSOName    string              `json:"hsoname"`
	Version    string              `json:"version,omitempty"`
	Attributes map[string][]string `json:"attributes,omitempty"`
	// Access lists the ways to the object, as sent.
	Access [][]string `json:"access,omitempty"`
}

// place reads the fields that name an object: host-type, host, hsoname-type,
// hsoname and version.
func (l *Link) place(fields message.Line) {
	l.Host, l.HSOName = fields.At(1), fields.At(3)
	if v := fields.At(4); v != "0" {
		l.Version = v
	}
}

// parseLink reads LINK U|L target name and a place.
func parseLink(l message.Line) Link {
	link := Link{Union: l.At(1) == "U", Target: l.At(2), Name: l.At(3)}
	if len(l) > 4 {
		link.place(l[4:])
	}
	// Version 1 put the access method into the target: EXTERNAL(AFTP,BINARY).
	if target, method, ok := strings.Cut(link.Target, "("); ok {
		parts := strings.Split(strings.TrimSuffix(method, ")"), ",")
		link.Target = target
		link.Access = append(link.Access, append([]string{parts[0], "", "", "", ""}, parts[1:]...))
	}
	return link
}

// add takes an ATTRIBUTE line, or LINK-INFO of version 1. FIELD attributes
// have no type in front of their value, the others do.
func (l *Link) add(a message.Line) {
	var name string
	var value []string
	switch {
	case a[0] == "LINK-INFO" && len(a) > 4:
		name, value = a[2], a[4:]
	case a[0] == "ATTRIBUTE" && a.At(2) == "FIELD" && len(a) > 4:
		name, value = a[3], a[4:]
	case a[0] == "ATTRIBUTE" && len(a) > 5:
		name, value = a[3], a[5:]
	default:
		return
	}
	if name == "ACCESS-METHOD" {
		l.Access = append(l.Access, value)
		return
	}
	if l.Attributes == nil {
		l.Attributes = make(map[string][]string)
	}
	l.Attributes[name] = value
}

// attribute returns a value as text: "116 bytes".
func (l *Link) attribute(name string) string {
	return strings.TrimSpace(strings.Join(l.Attributes[name], " "))
}

// size is the size in octets, -1 if unknown.
func (l *Link) size() int64 {
	number, _, _ := strings.Cut(l.attribute("SIZE"), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (l *Link) modTime() time.Time {
	t, err := time.Parse("20060102150405Z", l.attribute("LAST-MODIFIED"))
	if err != nil {
		return time.Time{}
	}
	return t
}

// entry describes the link to a caller.
func (l *Link) entry() fetch.Entry {
	e := fetch.Entry{Name: wire.Text(l.Name), Kind: fetch.EntryObject, Rel: "item",
		Size: l.size(), ModTime: l.modTime(), URL: l.url(), Sys: *l}
	switch {
	case e.URL.IsZero():
		e.Kind = fetch.EntryText
	case strings.HasPrefix(l.Target, "DIRECTORY"):
		e.Kind = fetch.EntryListing
	default:
		e.ContentType = fetch.TypeByName(l.Name)
	}
	return e
}

// url is where the object is to be had: from Prospero itself if that is
// possible, else by the first access method we know.
func (l *Link) url() uri.URI {
	if l.Target != "EXTERNAL" {
		known := len(l.Access) == 0
		for _, a := range l.Access {
			known = known || a[0] == "PROSPERO-CONTENTS"
		}
		if known {
			return l.prospero()
		}
	}
	if all := l.access(); len(all) > 0 {
		return all[0]
	}
	if l.Target != "EXTERNAL" {
		return l.prospero()
	}
	return uri.URI{}
}

func (l *Link) prospero() uri.URI {
	host, p := hostPort(l.Host, port)
	u := uri.Prospero{Host: host, Port: p, HSOName: l.HSOName}
	if l.Version != "" {
		u.Fields = []uri.ProsperoField{{Name: uri.ObjectVersion, Value: l.Version}}
	}
	return u.URI()
}

// hostPort reads "PFS.EXAMPLE(1525)".
func hostPort(s string, def uint16) (string, uint16) {
	host, number, ok := strings.Cut(s, "(")
	if n, err := strconv.ParseUint(strings.TrimSuffix(number, ")"), 10, 16); ok && err == nil && n != 0 {
		return strings.ToLower(host), uint16(n)
	}
	return strings.ToLower(host), def
}

// access returns the URLs of the access methods that lead elsewhere, in the
// server's order. A method is its name, host-type, host, hsoname-type,
// hsoname and what else it needs; an empty value is that of the link.
func (l *Link) access() []uri.URI {
	var all []uri.URI
	for _, a := range l.Access {
		m := message.Line(a)
		host, name := m.At(2), m.At(4)
		if host == "" {
			host = l.Host
		}
		if name == "" {
			name = l.HSOName
		}
		if u := accessURL(m.At(0), host, name, m.At(5)); !u.IsZero() {
			all = append(all, u)
		}
	}
	return all
}

func accessURL(method, host, name, extra string) uri.URI {
	switch method {
	case "AFTP", "FTP":
		host, p := hostPort(host, 21)
		path := strings.Split(strings.TrimPrefix(name, "/"), "/")
		if method == "FTP" { // a full path, not one below the login directory
			path[0] = "/" + path[0]
		}
		last := len(path) - 1
		f := uri.FTP{Host: host, Port: p, CWD: path[:last], Name: path[last]}
		switch extra {
		case "BINARY":
			f.Type = 'i'
		case "TEXT":
			f.Type = 'a'
		}
		return f.URI()
	case "GOPHER":
		host, p := hostPort(host, 70)
		itemType, selector := extra, name
		if itemType == "" && name != "" {
			itemType, selector = name[:1], name[1:]
		}
		if itemType == "" {
			return uri.URI{}
		}
		return uri.Gopher{Host: host, Port: p, Type: itemType[0], Selector: selector}.URI()
	case "WAIS":
		host, p := hostPort(host, 210)
		return uri.WAIS{Host: host, Port: p, Database: strings.TrimPrefix(name, "/")}.URI()
	case "NFS", "AFS":
		host, _ := hostPort(host, 0)
		u, err := uri.Parse(strings.ToLower(method) + "://" + host + "/" + escapePath(strings.TrimPrefix(name, "/")))
		if err != nil {
			return uri.URI{}
		}
		return u
	}
	return uri.URI{}
}

func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = uri.Escape(s)
	}
	return strings.Join(segments, "/")
}

// entries yields the links of a message. An ATTRIBUTE line belongs to the
// link before it.
func entries(s *message.Scanner) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		var link *Link
		for {
			l, err := s.Line()
			if err == io.EOF {
				break
			}
			if err == nil {
				err = failure(l)
			}
			if err != nil {
				yield(fetch.Entry{}, asFetch(err))
				return
			}
			switch l[0] {
			case "LINK":
				if link != nil && !yield(link.entry(), nil) {
					return
				}
				next := parseLink(l)
				link = &next
			case "ATTRIBUTE", "LINK-INFO":
				if link != nil {
					link.add(l)
				}
			}
		}
		if link != nil {
			yield(link.entry(), nil)
		}
	}
}
