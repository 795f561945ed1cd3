package fetch

import (
	"fmt"
	"io"
	"iter"
	"net/textproto"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// A Response is an open resource.
type Response struct {
	Meta
	URL uri.URI   // final; the base for relative references
	Via []uri.URI // the URLs that led here by redirect or gateway, oldest first
	// Location says where to go instead, best first. Drivers set it, the
	// client follows it: callers of Client never see it.
	Location []uri.URI
	// Body is the content, never nil. Read returns io.EOF only if the
	// protocol confirmed the end or Framing is FramedByClose. Close aborts
	// what is unread, does not wait for the server and may be called twice.
	//
	// A Body that implements io.WriterTo is faster read that way: io.Copy does.
	Body io.ReadCloser
	// Entries, for listings, yields what Body lists by consuming it: use
	// one of the two. It may be ranged over once. After an error it ends.
	Entries iter.Seq2[Entry, error]
}

// Meta describes a resource. Unknown fields are zero, except Size.
type Meta struct {
	Kind        Kind
	ContentType string // media type with parameters
	Size        int64  // of Body, in octets; -1 if unknown
	Range       Range  // what Body covers, if a Range was honored
	// Total is the size of the whole resource if Body is only a part of it
	// and the server told; else 0.
	Total int64
	Validator
	Name    string // one safe path element suggested by the server, or ""
	Framing Framing
	Reply   Reply                // status as the server sent it
	Header  textproto.MIMEHeader // protocol-native fields
}

// A Reply is a server's status: "226 Transfer complete", "200 OK". Code is 0
// in protocols without numbers.
type Reply struct {
	Code int
	Text string
}

// IsZero reports whether the server said nothing.
func (r Reply) IsZero() bool { return r == Reply{} }

// String returns the reply as one line, control characters escaped.
func (r Reply) String() string {
	text := Printable(strings.TrimSpace(r.Text))
	switch {
	case r.Code == 0:
		return text
	case text == "":
		return fmt.Sprintf("%03d", r.Code)
	}
	return fmt.Sprintf("%03d %s", r.Code, text)
}

// A Kind tells what sort of thing a Response is.
type Kind uint8

// The kinds of responses.
const (
	KindObject  Kind = iota // a document
	KindListing             // a directory, menu, newsgroup or index
	KindSession             // an interactive connection
)

// String returns "object", "listing" or "session".
func (k Kind) String() string {
	switch k {
	case KindListing:
		return "listing"
	case KindSession:
		return "session"
	}
	return "object"
}

// A Framing tells how the end of Body is known.
type Framing uint8

const (
	// FramedByProtocol means that the protocol told the end, by a length, a
	// terminator or a final reply: io.EOF means that all is there.
	FramedByProtocol Framing = iota
	// FramedByClose means that the server marks the end by closing the
	// connection, so that a truncation cannot be told from the end.
	FramedByClose
)

// An Entry is one member or link: a file, menu item, article or anchor.
type Entry struct {
	URL  uri.URI // absolute; zero for EntryText and EntryError
	Name string  // for people, as the server gave it; not safe as a file name
	Kind EntryKind
	// Rel says how the entry belongs to the listing: "item", "parent",
	// "article", "a", "img", "stylesheet", or "match" for what a pattern in
	// the URL stands for.
	Rel         string
	ContentType string
	Size        int64 // -1 if unknown
	ModTime     time.Time
	// Sys is the driver's own record, for callers that know the driver. It
	// is a struct with JSON tags, or nil.
	Sys any
}

// An EntryKind tells what an Entry leads to.
type EntryKind uint8

// The kinds of entries.
const (
	EntryObject  EntryKind = iota // a document
	EntryListing                  // a directory, menu or group
	EntrySearch                   // an index that wants search words
	EntrySession                  // an interactive service
	EntryText                     // text for people, no link
	EntryError                    // an error that the server put into the listing
)

// String returns "object", "listing", "search", "session", "text" or "error".
func (k EntryKind) String() string {
	switch k {
	case EntryListing:
		return "listing"
	case EntrySearch:
		return "search"
	case EntrySession:
		return "session"
	case EntryText:
		return "text"
	case EntryError:
		return "error"
	}
	return "object"
}

// A Session is an interactive connection. User and Password are the URL's
// advice (RFC 1738, section 3.8); they have not been sent.
type Session struct {
	io.ReadWriteCloser
	User, Password string
	// Meta describes the service, as far as it told.
	Meta Meta
}

// A Terminal is a Session that can be told of the caller's screen. The
// ReadWriteCloser in a Session implements it if its protocol can.
type Terminal interface {
	Resize(columns, rows int) error // passes a new window size on
	Break() error                   // sends the protocol's break or interrupt
	Status() string                 // one line on what was negotiated, for people
}

// NoBody is a Body without content, for OpStat and empty resources.
var NoBody io.ReadCloser = noBody{}

type noBody struct{}

func (noBody) Read([]byte) (int, error)         { return 0, io.EOF }
func (noBody) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (noBody) Close() error                     { return nil }
