package fetch

import (
	"io"
	"iter"
	"net/textproto"

	"github.com/urlget/urlget/fetch/uri"
)

// A Response is the result of a request: an open resource. A driver may instead return other
// locations of it.
type Response struct {
	Meta
	// URL is the base for relative references: the URL after redirects. Drivers may leave it zero if it
	// is the URL of the request.
	URL uri.URI
	// Via lists the URLs that led here by redirect or gateway, oldest first. The client adds those
	// before the URLs that a driver followed itself.
	Via []uri.URI
	// Location lists the targets of a redirect, best first. Drivers set it, and the client follows it,
	// so that only a Recorder sees it.
	Location []uri.URI
	// Resend means that the redirect keeps the method and the body of the request. Otherwise the
	// next request is a GET.
	Resend bool
	// Body is the content. It is never nil. Read returns io.EOF only if the protocol confirmed the
	// end or Framing is FramedByClose. Close discards unread data without waiting for the server.
	// It may be called twice.
	//
	// Body may implement io.WriterTo, which io.Copy uses and which is faster.
	Body io.ReadCloser
	// Parse reads a copy of the content of a listing, such as Tee makes, and yields its entries. An
	// error ends the sequence. It is nil if the response is not a listing. Drivers set it; the client
	// applies it to the guarded Body, so that limits, timeouts and rates also apply to Entries.
	Parse func(content io.Reader) iter.Seq2[Entry, error]
	// Entries yields the entries of a listing. It is nil if the response is not a listing. It reads
	// Body, so use one or the other, or Tee. It may be ranged over only once, and ends after an
	// error. The client sets it.
	Entries iter.Seq2[Entry, error]
	// Pattern is set if the URL is a pattern, such as *.txt. Entries are then the matching
	// resources, and Body is a list of them, not their content.
	Pattern bool
	// Version is the version of the protocol that the server used, such as "1.1", and Trailer returns
	// the fields after Body, once Body has returned io.EOF. Only responses to requests with Relay have
	// them.
	Version string
	Trailer func() textproto.MIMEHeader
}

// Tee copies to w everything that is read from Body, directly or through Entries, so that a listing
// can be followed and saved verbatim in one pass. It must be called before the first read. If a
// write to w fails, reading ends with that error.
func (r *Response) Tee(w io.Writer) {
	if b, ok := r.Body.(*guardedBody); ok {
		b.tee = w
		return
	}
	r.Body = teeBody{io.TeeReader(r.Body, w), r.Body}
}

// TakeDigests returns the stated digests of the whole resource. The caller must verify them, and Body
// no longer does. It returns nil if Body was replaced. It must be called before the first read.
func (r *Response) TakeDigests() []Digest {
	b, ok := r.Body.(*guardedBody)
	switch {
	case !r.Range.IsZero():
		return DigestsOf(r.Digests, CoversResource)
	case !ok || len(r.Digests) == 0:
		return nil
	}
	b.digests = nil
	whole := DigestsOf(r.Digests, CoversResource, CoversBody)
	for i := range whole {
		whole[i].Covers = CoversResource
	}
	return whole
}

type teeBody struct {
	io.Reader
	io.Closer
}

// A Session is an interactive connection. User and Password are those suggested in the URL (RFC
// 1738, section 3.8). They have not been sent.
type Session struct {
	io.ReadWriteCloser
	User, Password string
	// Meta describes the service, as far as the server reports it.
	Meta Meta
}

// NoBody is an empty Body, for OpStat and empty resources.
var NoBody io.ReadCloser = noBody{}

type noBody struct{}

func (noBody) Read([]byte) (int, error) { return 0, io.EOF }

func (noBody) WriteTo(io.Writer) (int64, error) { return 0, nil }

func (noBody) Close() error { return nil }
