package fetch

import (
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// Meta describes a resource. Unknown fields are zero, except Size.
type Meta struct {
	Kind        Kind
	ContentType string // media type with parameters
	Size        int64  // of Body, in bytes; -1 if unknown
	Range       Range  // the range of Body, if a Range was honored
	// Total is the size of the whole resource if Body is a part of it and the server sent the size;
	// otherwise 0.
	Total int64
	Validator
	// Text is set if the protocol transfers the content as lines of text, which end with CR LF on
	// the network regardless of the file (see fetch.Options.TextLineEnds).
	Text    bool
	Name    string // a safe path element suggested by the server, or ""
	Framing Framing
	// Decoded is set if the content was sent in a content coding that Body removes. Header
	// describes the content as sent.
	Decoded bool
	// Digests are those that the peer stated. The client verifies them while Body is read: a body that
	// differs ends with an error of class ErrChecksum instead of io.EOF and, if Size is known, lacks
	// its last bytes. The client cannot verify a digest of the whole resource if Body is a range.
	Digests []Digest
	Reply   Reply                // the server's status
	Header  textproto.MIMEHeader // header fields of the protocol
	// Capture is set if the content comes from an archive.
	Capture *Capture
	// Form is the form that must be filled in to get the content, for OpStat; nil if there is none.
	Form *Form
}

// A Reply is a server's status, such as "226 Transfer complete" or "200 OK". Code is 0 in protocols
// without numbers.
type Reply struct {
	Code int
	Text string
}

// IsZero reports whether r is the zero Reply: the server sent no status.
func (r Reply) IsZero() bool { return r == Reply{} }

// String returns the reply as one line, with control characters escaped.
func (r Reply) String() string {
	text := Printable(strings.TrimSpace(r.Text))
	switch {
	case r.Code == 0:
		return text
	case text == "":
		return strconv.Itoa(r.Code)
	}
	var b [64]byte
	return string(append(append(strconv.AppendInt(b[:0], int64(r.Code), 10), ' '), text...))
}

// A Kind is the kind of a Response.
type Kind uint8

// The kinds of responses.
const (
	KindObject  Kind = iota // a document
	KindListing             // a directory, menu, newsgroup or index
	KindSession             // an interactive connection
	KindNone                // no content, as opposed to empty content
)

// String returns "object", "listing", "session" or "none".
func (k Kind) String() string {
	switch k {
	case KindListing:
		return "listing"
	case KindSession:
		return "session"
	case KindNone:
		return "none"
	}
	return "object"
}

// A Framing is the way in which the end of Body is determined.
type Framing uint8

const (
	// FramedByProtocol means that the protocol marks the end, with a length, a terminator, a final
	// reply or the close_notify of TLS. At io.EOF, the content is complete.
	FramedByProtocol Framing = iota
	// FramedByClose means that the server closes the connection to mark the end, so that truncated
	// content cannot be detected. With TLS it can be detected, and the client sets FramedByProtocol
	// instead; see [Conn.EndsUnannounced] for exceptions.
	FramedByClose
)

// An Entry is a member or link: a file, menu item, article or anchor.
type Entry struct {
	URL  uri.URI // absolute; zero for EntryText and EntryError
	Name string  // as sent by the server, for people; not safe as a file name
	Kind EntryKind
	// Rel is the relation of the entry to the listing: "item", "parent", "article", "a", "img",
	// "stylesheet", or "match" for a match of a pattern.
	Rel         string
	ContentType string
	Size        int64 // -1 if unknown
	ModTime     time.Time
	// Sys is the driver's own record, for callers that know the driver, or nil.
	Sys EntryRecord
}

// An EntryKind is the kind of resource that an Entry leads to.
type EntryKind uint8

// The kinds of entries.
const (
	EntryObject  EntryKind = iota // a document
	EntryListing                  // a directory, menu or group
	EntrySearch                   // an index that expects search words
	EntrySession                  // an interactive service
	EntryText                     // text for people rather than a link
	EntryError                    // an error that the server put into the listing
)

var entryKinds = [...]string{"object", "listing", "search", "session", "text", "error"}

// String returns "object", "listing", "search", "session", "text" or "error".
func (k EntryKind) String() string {
	if int(k) >= len(entryKinds) {
		return entryKinds[EntryObject]
	}
	return entryKinds[k]
}

// A Terminal controls the terminal of a Session. The ReadWriteCloser of a Session implements it if
// the protocol supports it.
type Terminal interface {
	Resize(columns, rows int) error // reports a new window size
	Break() error                   // sends the protocol's break or interrupt
	Status() string                 // the negotiated options in one line, for people
}

// A Messenger sends and receives the messages of a Session. The ReadWriteCloser of a Session
// implements it if the protocol has messages. Calls of Receive and Read must not be mixed.
type Messenger interface {
	// Send sends a message. It may be called while another goroutine receives.
	Send(Message) error
	// Receive returns the next message. The error is io.EOF if the server ended the session.
	Receive() (Message, error)
}

// A Message is one message of a Messenger.
type Message struct {
	Text bool // text, not binary
	Data []byte
}
