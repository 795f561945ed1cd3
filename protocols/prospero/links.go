package prospero

import (
	"cmp"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	codec "github.com/urlget/urlget/internal/codec/prospero"
)

// A Link is a member of a directory as described by the server. It is the Sys of an entry.
type Link struct {
	Target     string              `fact:"target"` // FILE, DIRECTORY, EXTERNAL, …
	Union      bool                `fact:"union,optional"`
	Name       string              `fact:"name"`
	Host       string              `fact:"host"` // as sent: "PFS.EXAMPLE(1525)"
	HSOName    string              `fact:"hsoname"`
	Version    string              `fact:"version,optional"`
	Attributes map[string][]string `fact:"attributes,optional"`
	// Access lists the access methods of the object, as sent.
	Access [][]string `fact:"access,optional"`

	weight int // approximate size of attributes and access methods in memory, in bytes
}

// EntryFacts implements [fetch.EntryRecord].
func (l Link) EntryFacts() fetch.Facts { return driver.FactsOf("prospero", "", l) }

// maxLink limits the attributes and access methods of a link, in bytes.
const maxLink = 256 << 10

// setLocation parses the fields that name an object: host-type, host, hsoname-type, hsoname and
// version.
func (l *Link) setLocation(fields codec.Line) {
	l.Host, l.HSOName = fields.At(1), fields.At(3)
	if v := fields.At(4); v != "0" {
		l.Version = v
	}
}

// parseLink parses "LINK U|L target name", followed by the fields that name an object.
func parseLink(l codec.Line) Link {
	link := Link{Union: l.At(1) == "U", Target: l.At(2), Name: l.At(3)}
	if len(l) > 4 {
		link.setLocation(l[4:])
	}
	// Version 1 puts the access method into the target: EXTERNAL(AFTP,BINARY).
	if target, method, ok := strings.Cut(link.Target, "("); ok {
		parts := strings.Split(strings.TrimSuffix(method, ")"), ",")
		link.Target = target
		link.Access = append(link.Access, append([]string{parts[0], "", "", "", ""}, parts[1:]...))
	}
	return link
}

// add adds an ATTRIBUTE line, or a LINK-INFO line of version 1. Except for FIELD attributes, the
// value is preceded by its type.
func (l *Link) add(a codec.Line) error {
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
		return nil
	}
	l.weight += 100 + len(name)
	for _, v := range value {
		l.weight += 20 + len(v)
	}
	if l.weight > maxLink {
		return fetch.ErrProtocol.Errorf("the attributes of an object exceed %d bytes", maxLink)
	}
	if name == "ACCESS-METHOD" {
		l.Access = append(l.Access, value)
		return nil
	}
	if l.Attributes == nil {
		l.Attributes = make(map[string][]string)
	}
	l.Attributes[name] = value
	return nil
}

// attribute returns a value as text, such as "116 bytes".
func (l *Link) attribute(name string) string {
	return strings.TrimSpace(strings.Join(l.Attributes[name], " "))
}

func (l *Link) size() int64 {
	number, _, _ := strings.Cut(l.attribute("SIZE"), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

func (l *Link) modTime() time.Time {
	t, _ := time.Parse("20060102150405Z", l.attribute("LAST-MODIFIED"))
	return t
}

func (l *Link) entry() fetch.Entry {
	e := fetch.Entry{Name: wire.Text(l.Name), Kind: fetch.EntryObject, Rel: "item",
		Size: l.size(), ModTime: l.modTime(), URL: l.url(), Sys: *l}
	switch {
	case e.URL.IsZero() && strings.ContainsAny(l.HSOName, "\r\n\x00"): // which URLs do not encode
		e.Kind = fetch.EntryError
	case e.URL.IsZero():
		e.Kind = fetch.EntryText
	case strings.HasPrefix(l.Target, "DIRECTORY"):
		e.Kind = fetch.EntryListing
	case e.URL.Scheme() == "telnet":
		e.Kind = fetch.EntrySession
	default:
		e.ContentType = fetch.TypeByName(l.Name)
	}
	return e
}

// url returns the location of the object: a prospero URL if possible, otherwise the URL of the first
// supported access method.
func (l *Link) url() uri.URI {
	stored := len(l.Access) == 0 ||
		slices.ContainsFunc(l.Access, func(a []string) bool { return a[0] == "PROSPERO-CONTENTS" })
	if all := l.access(); len(all) > 0 && (l.Target == "EXTERNAL" || !stored) {
		return all[0]
	}
	if l.Target == "EXTERNAL" {
		return uri.URI{}
	}
	return l.prospero()
}

// prospero returns the prospero URL of the object, or the zero URI if there is none, for instance
// because the host in the link is invalid.
func (l *Link) prospero() uri.URI {
	host, p := hostPort(l.Host, port)
	u := uri.Prospero{Host: host, Port: p, HSOName: l.HSOName}
	if l.Version != "" {
		u.Fields = []uri.ProsperoField{{Name: uri.ObjectVersion, Value: l.Version}}
	}
	return orZero(u.URI())
}

// hostPort parses "PFS.EXAMPLE(1525)".
func hostPort(s string, def uint16) (string, uint16) {
	host, number, ok := strings.Cut(s, "(")
	if n, err := strconv.ParseUint(strings.TrimSuffix(number, ")"), 10, 16); ok && err == nil && n != 0 {
		return strings.ToLower(host), uint16(n)
	}
	return strings.ToLower(host), def
}

// access returns the URLs of the access methods for other protocols, in the server's order. A
// method consists of its name, host-type, host, hsoname-type, hsoname, and further arguments. Empty
// fields default to those of the link.
func (l *Link) access() []uri.URI {
	var all []uri.URI
	for _, a := range l.Access {
		m := codec.Line(a)
		host, name := cmp.Or(m.At(2), l.Host), cmp.Or(m.At(4), l.HSOName)
		if u := accessURL(m.At(0), host, name, m.At(5)); !u.IsZero() {
			all = append(all, u)
		}
	}
	return all
}

// The result is zero if the method is unknown or its arguments are invalid.
func accessURL(method, host, name, extra string) uri.URI {
	switch method {
	case "AFTP", "FTP":
		host, p := hostPort(host, 21)
		path := strings.Split(strings.TrimPrefix(name, "/"), "/")
		if method == "FTP" { // an absolute path, not relative to the login directory
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
		return orZero(f.URI())
	case "GOPHER":
		host, p := hostPort(host, 70)
		itemType, selector := extra, name
		if itemType == "" && name != "" {
			itemType, selector = name[:1], name[1:]
		}
		if itemType == "" {
			return uri.URI{}
		}
		return orZero(uri.Gopher{Host: host, Port: p, Type: itemType[0], Selector: selector}.URI())
	case "WAIS":
		host, p := hostPort(host, 210)
		return orZero(uri.WAIS{Host: host, Port: p, Database: strings.TrimPrefix(name, "/")}.URI())
	case "TELNET":
		host, p := hostPort(host, 23)
		return orZero(uri.Parts{Scheme: "telnet", Host: host, Port: p, Path: "/"}.URI())
	case "NFS", "AFS":
		host, _ := hostPort(host, 0)
		return orZero(uri.Parts{Scheme: strings.ToLower(method), Host: host,
			Path: "/" + escapePath(strings.TrimPrefix(name, "/"))}.URI())
	}
	return uri.URI{}
}

func orZero(u uri.URI, err error) uri.URI {
	if err != nil {
		return uri.URI{}
	}
	return u
}

func escapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = uri.Escape(s)
	}
	return strings.Join(segments, "/")
}

// entries yields the links in a message. An ATTRIBUTE line belongs to the link before it.
func entries(s *codec.Scanner) iter.Seq2[fetch.Entry, error] {
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
				yield(fetch.Entry{}, driverError(err))
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
				if link == nil {
					continue
				}
				if err := link.add(l); err != nil {
					yield(fetch.Entry{}, err)
					return
				}
			}
		}
		if link != nil {
			yield(link.entry(), nil)
		}
	}
}
