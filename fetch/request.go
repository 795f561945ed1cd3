package fetch

import (
	"fmt"
	"io"
	"net/textproto"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch/uri"
)

// An Op is an operation on a resource.
type Op uint8

// The operations.
const (
	OpGet  Op = iota // retrieve the content
	OpStat           // retrieve the metadata; Body is empty
	OpList           // list the entries
	OpDial           // start a session; Body is an io.ReadWriteCloser
)

var ops = [...]string{"get", "stat", "list", "dial"}

// String returns the name of the operation, as in Error.Op.
func (op Op) String() string {
	if op > OpDial {
		return "op?"
	}
	return ops[op]
}

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as String.
func (op Op) MarshalText() ([]byte, error) {
	if op > OpDial {
		return nil, fmt.Errorf("driver: unknown operation %d", op)
	}
	return []byte(op.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (op *Op) UnmarshalText(text []byte) error {
	i := slices.Index(ops[:], string(text))
	if i < 0 {
		return fmt.Errorf("driver: unknown operation %q", text)
	}
	*op = Op(i)
	return nil
}

// A Request is one operation on one URL. Drivers must not modify it.
type Request struct {
	URL uri.URI
	Op  Op
	// From is the resource that supplied URL: a redirect, a menu or a page. It is zero if the user
	// supplied URL. The policy is stricter if it is set.
	From uri.URI
	// Anonymous makes the request without the user's credentials: no login from URL or
	// Options.Credentials, and no cookies, keys, client certificates or remembered logins of a
	// driver. The logins of proxies still apply, and Options.TLS, except that only schemes with
	// Traits.Stateless present its client certificate.
	Anonymous bool
	// NoCookies keeps the request out of the client's cookie jar: it gets no cookies of it, and those
	// of the responses are not stored. It also applies to redirects and to URLs that a driver opens. A
	// Cookie field in Header is sent as it is. It is for programs that serve several users.
	NoCookies bool
	// Range selects a part of the content. The zero value means all of it.
	Range Range
	// Ranges selects several parts, for protocols that support it. In HTTP, the server chooses
	// whether the response is multipart/byteranges, a single part, or the whole content. Range must
	// be zero. Schemes without Scheme.RangeSets refuse Ranges.
	Ranges []Range
	// IfChanged makes the request conditional. Without a Range, the error is ErrNotModified if the
	// resource is unchanged. With a Range, it guards a resumed transfer: if the resource no longer
	// matches the validator, the response has all of it, and Meta.Range is zero.
	IfChanged Validator
	// WantDigest asks the server for a digest of the whole resource (see Meta.Digests), even if that
	// takes another command or makes the server read the whole file. A server that cannot comply
	// changes nothing.
	WantDigest bool
	// Accept lists the preferred media types, best first. It may be empty.
	Accept []string
	// View selects a representation of the resource, for protocols that offer several. It is a
	// media type, optionally with a language, as in "text/html;lang=de_DE", or the protocol's own
	// name. Unlike Accept, it is mandatory: if there is no such view, the error is of class
	// ErrNotFound and lists the views that exist.
	View string
	// Header holds header fields to send, for protocols that have them. After a redirect to another
	// origin they are sent again, except Authorization, Cookie, Host, Proxy-Authorization and
	// Referer. From TLS to plaintext, only Accept, Accept-Encoding, Accept-Language, Content-Type, DNT
	// and User-Agent are. Otherwise secrets in other fields are not protected.
	Header textproto.MIMEHeader
	// Form holds the answers to a form that the URL names, by field name (see FormError). Nil means
	// that the form has not been filled in. After a redirect to another origin, Form is not sent.
	Form map[string][]string
	// Redirect, if not nil, is called with the target of each redirect that the policy accepts,
	// before the redirect is followed. An error ends the request, whose error wraps it. Drivers do
	// not use it.
	Redirect func(to uri.URI) error
	// Relay makes the request one that a proxy forwards (RFC 9110, section 7.6), for http and https. The
	// driver sends Method, Header, Body and Trailer unchanged, and for OpStat a HEAD request. Header may
	// have the fields of ranges, conditions and expectations; Range and IfChanged must be zero. The
	// response is that of the server, whatever its status: redirects are not followed, logins not
	// answered, codings not removed, digests and ranges not verified.
	Relay bool
	// Trailer has the names of fields to send after Body, and their values once Body has ended. Only
	// requests with Relay may have it.
	Trailer textproto.MIMEHeader

	// Method is the method, for protocols that have methods, such as "PUT". "" means "GET" or, if
	// there is a body, "POST". Only OpGet may have a method or a body, and only for schemes with
	// Scheme.Bodies. Other requests fail before anything is sent.
	Method string
	// Body is the content to send. GetBody, if not nil, returns a new copy of Body, for use after a
	// redirect, a login or a lost connection. Without GetBody, such an exchange fails. If Body is
	// nil, GetBody is also called for the first attempt, so that the same Request can be used
	// again. The driver that reads Body closes it. If the exchange fails, the client closes it.
	//
	// A redirect that keeps the method (307 and 308 in HTTP) sends the body again, also to another
	// origin, but not from a TLS connection to one without TLS. After other redirects the request
	// is a GET without a body.
	Body    io.ReadCloser
	GetBody func() (io.ReadCloser, error)
	// ContentLength is the size of Body in bytes. 0 with a Body, and negative values, mean that it
	// is unknown. The field Content-Type in Header is the type of Body.
	ContentLength int64
}

// A Validator identifies a version of a resource. Either field may be unset.
type Validator struct {
	ETag    string    `json:"etag,omitempty"` // opaque, as sent by the server
	ModTime time.Time `json:"mtime,omitzero"` // as precise as the protocol allows
}

// IsZero reports whether v is the zero Validator.
func (v Validator) IsZero() bool { return v.ETag == "" && v.ModTime.IsZero() }

// Sends reports whether r has a body or a method other than GET.
func (r *Request) Sends() bool {
	return r.Body != nil || r.GetBody != nil || r.Method != "" && r.Method != "GET"
}

// A Range is a part of a resource, in bytes. Length 0 means up to the end. A negative Offset counts
// from the end: {Offset: -9} is the last nine bytes, or everything if there are fewer; Length must
// then be 0.
type Range struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length,omitempty"`
}

// IsZero reports whether r is the whole resource.
func (r Range) IsZero() bool { return r == Range{} }

// Of returns r relative to the beginning of a resource of size bytes. It returns the zero Range for
// the whole resource.
func (r Range) Of(size int64) Range {
	if r.Offset < 0 {
		return Range{Offset: max(0, size+r.Offset)}
	}
	return r
}
