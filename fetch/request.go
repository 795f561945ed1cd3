package fetch

import (
	"net/textproto"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// An Op says what is wanted of a resource.
type Op uint8

// The operations.
const (
	OpGet  Op = iota // the content
	OpStat           // the metadata, with an empty Body
	OpList           // the members, with Entries set
	OpDial           // a session, whose Body is an io.ReadWriteCloser
)

// String returns the operation's name as it stands in Error.Op.
func (op Op) String() string {
	switch op {
	case OpGet:
		return "get"
	case OpStat:
		return "stat"
	case OpList:
		return "list"
	case OpDial:
		return "dial"
	}
	return "op?"
}

// A Request asks for one operation on one URL. Drivers must not modify it.
type Request struct {
	URL uri.URI
	Op  Op
	// From is the resource that supplied URL: a redirect, a menu, a page.
	// It is zero if the user did. Policy is stricter when it is set.
	From uri.URI
	// Range asks for a part of the content; zero means all of it.
	Range Range
	// IfChanged makes the request conditional. With a zero Range, an
	// unchanged resource is answered with ErrNotModified. With a Range it
	// guards a resumed transfer: if the resource is no longer the one that
	// the validator describes, the driver delivers all of it, and
	// Meta.Range is zero.
	IfChanged Validator
	// Accept lists the media types preferred, best first. It may be empty.
	Accept []string
	// Header holds protocol fields to send, for protocols that have them.
	Header textproto.MIMEHeader
	// Form holds the answers to a form that the URL names, by field name
	// (see FormError). Nil means that none was filled in. A redirect does not
	// carry it to another origin.
	Form map[string][]string
}

// A Range is a part of a resource in octets. Length 0 means up to the end.
type Range struct{ Offset, Length int64 }

// IsZero reports whether r is the whole resource.
func (r Range) IsZero() bool { return r == Range{} }

// A Validator identifies one state of a resource. Either field may be unset.
type Validator struct {
	ETag    string    // opaque, as the protocol gave it
	ModTime time.Time // as precise as the protocol gave it
}

// IsZero reports whether v identifies nothing.
func (v Validator) IsZero() bool { return v.ETag == "" && v.ModTime.IsZero() }
