package driver

import (
	"fmt"
	"io"
	"net/textproto"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// An Op is an operation on a resource.
type Op uint8

// The operations.
const (
	OpGet  Op = iota // retrieve the content
	OpStat           // retrieve the metadata; Body is empty
	OpList           // list the members; Entries is set
	OpDial           // start a session; Body is an io.ReadWriteCloser
)

// String returns the name of the operation, as in Error.Op.
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

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as String.
func (op Op) MarshalText() ([]byte, error) {
	if op > OpDial {
		return nil, fmt.Errorf("driver: there is no operation %d", op)
	}
	return []byte(op.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (op *Op) UnmarshalText(text []byte) error {
	for known := OpGet; known <= OpDial; known++ {
		if known.String() == string(text) {
			*op = known
			return nil
		}
	}
	return fmt.Errorf("driver: there is no operation %q", text)
}

// A Request asks for one operation on one URL. Drivers must not modify it.
type Request struct {
	URL uri.URI
	Op  Op
	// From is the resource that supplied URL: a redirect, a menu or a page. It is zero if the user
	// supplied it. The policy is stricter when it is set.
	From uri.URI
	// Anonymous makes the request without the user's credentials: no login from URL or
	// Options.Credentials, no cookies, keys, client certificates of a driver or logins that it
	// remembers. Options.TLS and the logins of proxies apply as usual.
	Anonymous bool
	// Range asks for part of the content; zero means all of it.
	Range Range
	// Ranges asks for several parts at once, for protocols that support it. In HTTP, the content is
	// then, at the server's choice, of type multipart/byteranges, a single part, or everything.
	// Range must be zero. Schemes without Scheme.RangeSets refuse it.
	Ranges []Range
	// IfChanged makes the request conditional. Without a Range, the error is ErrNotModified if the
	// resource is unchanged. With a Range, it guards a resumed transfer: if the resource no longer
	// matches the validator, the driver delivers all of it, and Meta.Range is zero.
	IfChanged Validator
	// Accept lists the preferred media types, best first. It may be empty.
	Accept []string
	// View selects a representation of the resource, for protocols that offer several: by media
	// type, optionally with a language, as in "text/html;lang=de_DE", or by the protocol's own name
	// for it. Unlike Accept it is mandatory: if there is no such view, the error is of class
	// ErrNotFound and lists those that exist.
	View string
	// Header holds header fields to send, for protocols that have them. They are also sent after a
	// redirect to another origin, except for those that concern the first: Authorization, Cookie,
	// Host, Proxy-Authorization and Referer. Secrets in other fields are not protected.
	Header textproto.MIMEHeader
	// Form holds the answers to a form that the URL names, by field name (see FormError). Nil means
	// that the form has not been filled in. Form is not sent to another origin after a redirect.
	Form map[string][]string

	// Method is what to do with the URL, for protocols that have words for it: "PUT". "" means "GET"
	// or, if there is a body, "POST". Only OpGet has a method or a body, and only schemes with
	// Scheme.Bodies take one; others refuse the request before anything is sent.
	Method string
	// Body is content to send, and GetBody, if not nil, opens it anew: where a server must be sent
	// it once more, because of a redirect, a login or a lost connection. Without GetBody such an
	// exchange fails. If Body is nil, GetBody opens the first one too, so that the same Request can
	// be used again. Whoever reads Body closes it, also if the exchange fails.
	//
	// A redirect that asks for the same again (HTTP's 307 and 308) takes the body along, to another
	// origin too, but never out of TLS. After all others the request is a GET without one.
	Body    io.ReadCloser
	GetBody func() (io.ReadCloser, error)
	// ContentLength is the size of Body in bytes. 0 with a Body, and less than 0, mean that it is
	// unknown. Its type is the field Content-Type in Header.
	ContentLength int64
}

// A Validator identifies a version of a resource. Either field may be unset.
type Validator struct {
	ETag    string    `json:"etag,omitempty"` // opaque, as given by the protocol
	ModTime time.Time `json:"mtime,omitzero"` // as precise as the protocol gives it
}

// IsZero reports whether v identifies nothing.
func (v Validator) IsZero() bool { return v.ETag == "" && v.ModTime.IsZero() }

// Sends reports whether r does more than to ask: it has a body, or another method than GET.
func (r *Request) Sends() bool {
	return r.Body != nil || r.GetBody != nil || r.Method != "" && r.Method != "GET"
}
