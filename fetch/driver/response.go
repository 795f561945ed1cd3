package driver

import (
	"fmt"
	"io"
	"iter"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// A Response is what a driver opened: a resource, or other locations to look for it.
type Response struct {
	Meta
	URL uri.URI   // base for relative references, if it is not the URL of the request
	Via []uri.URI // the URLs that led here, if the driver has followed others, oldest first
	// Location lists where to go instead, best first. The client follows it.
	Location []uri.URI
	// Resend says that Location is to be sent the same: the method and the body of the request, not
	// a GET.
	Resend bool
	// Body is the content. It is never nil. Read returns io.EOF only if the protocol confirmed the
	// end or Framing is FramedByClose. Close abandons what is unread, does not wait for the server,
	// and may be called twice.
	//
	// If Body implements io.WriterTo, reading it that way, as io.Copy does, is faster.
	Body io.ReadCloser
	// Parse, set for listings, reads the content from r and yields the entries in it. The client
	// applies it to the guarded Body, so that limits, timeouts and rates hold for entries too. An
	// error ends the sequence.
	Parse func(r io.Reader) iter.Seq2[Entry, error]
	// Pattern is set if the URL is a pattern, such as one for all files that end in .txt. Entries
	// are the resources that match.
	Pattern bool
}

// Meta describes a resource. Unknown fields are zero, except Size.
type Meta struct {
	Kind        Kind
	ContentType string // media type with parameters
	Size        int64  // of Body, in bytes; -1 if unknown
	Range       Range  // what Body covers, if a Range was honored
	// Total is the size of the whole resource if Body is only part of it and the server said so;
	// otherwise 0.
	Total int64
	Validator
	// Text is set if the protocol sends the content as lines of text, which end on the network with
	// CR LF whatever they end with at the server (see fetch.Options).
	Text    bool
	Name    string // a safe path element suggested by the server, or ""
	Framing Framing
	// Decoded is true if the content was sent in a content coding that Body removes. Header
	// describes the content as sent.
	Decoded bool
	Reply   Reply                // the server's status
	Header  textproto.MIMEHeader // header fields of the protocol
	// Form is what the server asks before it gives the content, for OpStat; nil if nothing.
	Form *Form
}

// A Reply is a server's status, such as "226 Transfer complete" or "200 OK". Code is 0 in protocols
// without numbers.
type Reply struct {
	Code int
	Text string
}

// IsZero reports whether the server sent no status.
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
	return fmt.Sprintf("%d %s", r.Code, text)
}

// A Kind says what sort of thing a Response is.
type Kind uint8

// The kinds of responses.
const (
	KindObject  Kind = iota // a document
	KindListing             // a directory, menu, newsgroup or index
	KindSession             // an interactive connection
	KindNone                // nothing: the server says that there is no content, as opposed to empty content
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

// A Framing says how the end of Body is determined.
type Framing uint8

const (
	// FramedByProtocol means that the protocol marks the end, with a length, a terminator, a final
	// reply or the close_notify of TLS: io.EOF means that the content is complete.
	FramedByProtocol Framing = iota
	// FramedByClose means that the server marks the end by closing the connection, so that a
	// truncated content cannot be told from a complete one. For TLS connections it can, and the
	// client sets FramedByProtocol instead, but see [Conn.EndsUnannounced].
	FramedByClose
)

// An Entry is a member or link: a file, menu item, article or anchor.
type Entry struct {
	URL  uri.URI // absolute; zero for EntryText and EntryError
	Name string  // as given by the server, for people; not safe as a file name
	Kind EntryKind
	// Rel says how the entry relates to the listing: "item", "parent", "article", "a", "img",
	// "stylesheet", or "match" for what matches a pattern.
	Rel         string
	ContentType string
	Size        int64 // -1 if unknown
	ModTime     time.Time
	// Sys is the driver's native record, for callers that know the driver, or nil.
	Sys EntryRecord
}

// An EntryKind says what an Entry leads to.
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

// A Terminal is a Session that can be told about the user's screen. The ReadWriteCloser in a
// Session implements it if the protocol supports it.
type Terminal interface {
	Resize(columns, rows int) error // reports a new window size
	Break() error                   // sends the protocol's break or interrupt
	Status() string                 // one line on what was negotiated, for people
}

// A Messenger is a Session that consists of messages. The ReadWriteCloser in a Session implements it
// if the protocol has them. Receive and Read must not be mixed.
type Messenger interface {
	// Send sends a message. It may be called while another goroutine receives.
	Send(Message) error
	// Receive returns the next message. The error is io.EOF if the server ended the session.
	Receive() (Message, error)
}

// A Message is what a Messenger sends and receives.
type Message struct {
	Text bool // or binary
	Data []byte
}

// NoBody is a Body without content, for OpStat and empty resources.
var NoBody io.ReadCloser = noBody{}

type noBody struct{}

func (noBody) Read([]byte) (int, error) { return 0, io.EOF }

func (noBody) WriteTo(io.Writer) (int64, error) { return 0, nil }

func (noBody) Close() error { return nil }
