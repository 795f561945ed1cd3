package fetch

import (
	"io"
	"iter"

	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// A Response is an open resource: the result of a request.
type Response struct {
	Meta
	URL uri.URI   // after redirects; the base for relative references
	Via []uri.URI // the URLs that led here by redirect or gateway, oldest first
	// Body is the content. It is never nil. Read returns io.EOF only if the protocol confirmed the
	// end or Framing is driver.FramedByClose. Close discards unread data without waiting for the
	// server. It may be called twice.
	//
	// Body may implement io.WriterTo, which io.Copy uses and which is faster.
	Body io.ReadCloser
	// Entries yields the entries of a listing. It is nil if the response is not a listing. It reads
	// Body, so use one or the other, or Tee. It may be ranged over only once, and ends after an
	// error.
	Entries iter.Seq2[Entry, error]
	// Pattern is set if the URL is a pattern, such as *.txt. Entries are then the matching
	// resources, and Body is a list of them, not their content.
	Pattern bool

	parse func(io.Reader) iter.Seq2[Entry, error]
}

// EntriesIn yields the entries in copy, a copy of the content, such as Tee makes. It returns nil if
// Entries is nil.
func (r *Response) EntriesIn(copy io.Reader) iter.Seq2[Entry, error] {
	if r.parse == nil {
		return nil
	}
	return r.parse(copy)
}

// An guardedResponse is a driver's response, guarded by the client.
type guardedResponse struct {
	*driver.Response
	entries iter.Seq2[Entry, error] // in Body; nil if it is not a listing
}

// response returns o as the Response for callers of the client.
func (o guardedResponse) response() *Response {
	return &Response{Meta: o.Meta, URL: o.URL, Via: o.Via, Body: o.Body, Entries: o.entries, Pattern: o.Pattern, parse: o.Parse}
}

// forDriver returns o as the Response for a driver that called Env.Open.
func (o guardedResponse) forDriver() *driver.Response {
	if body, parse := o.Body, o.Parse; parse != nil {
		o.Parse = func(r io.Reader) iter.Seq2[Entry, error] {
			if r == io.Reader(body) {
				return o.entries
			}
			return parse(r)
		}
	}
	return o.Response
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
		return driver.DigestsOf(r.Digests, driver.CoversResource)
	case !ok || len(r.Digests) == 0:
		return nil
	}
	b.digests = nil
	whole := driver.DigestsOf(r.Digests, driver.CoversResource, driver.CoversBody)
	for i := range whole {
		whole[i].Covers = driver.CoversResource
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
