package memento

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/weblink"
)

const (
	// maxRedirects limits the redirects of a TimeGate and of the archive behind it.
	maxRedirects = 10
	// maxAhead is how far a Memento-Datetime may be in the future, because of wrong clocks.
	maxAhead = 24 * time.Hour
)

// A search looks for a capture, from a TimeGate on. It follows redirects itself, because it depends on
// the header of a redirect where it leads: one without a Memento-Datetime leads on in the archive, one
// with it was captured and may lead to the current version of a resource (RFC 7089, section 4.5.4).
type search struct {
	o    *Options
	req  *fetch.Request
	at   time.Time
	gate uri.URI // asks the TimeGate for the URL of req
	url  uri.URI // to ask next
	from uri.URI // redirected to url; zero for the TimeGate
	// moved is set after a captured redirect to another capture in the same archive.
	moved bool
}

func gateURL(gate string, u uri.URI) (uri.URI, error) {
	before, after, ok := strings.Cut(gate, "{}")
	target := u.WithoutFragment().WithoutUserinfo().String()
	if !ok {
		before = gate
	}
	return uri.Parse(before + target + after)
}

type redirect struct{ to uri.URI }

func (r redirect) Error() string { return "redirected to " + r.to.Redacted() }

func (s *search) run(ctx context.Context) (*fetch.Response, error) {
	for range maxRedirects {
		if resp, err := s.step(ctx); resp != nil || err != nil {
			return resp, err
		}
	}
	return nil, s.fail(fetch.ErrRedirect, "more than %d redirects", maxRedirects)
}

func (s *search) invalid(format string, args ...any) *fetch.Error {
	return s.fail(fetch.ErrProtocol, format, args...)
}

func (s *search) fail(code fetch.Code, format string, args ...any) *fetch.Error {
	err := fmt.Errorf(format, args...)
	return &fetch.Error{Op: s.req.Op.String(), URL: s.url.Redacted(), Code: code, Err: err}
}

// step asks for the next URL. It returns nil, nil after a redirect in the archive.
func (s *search) step(ctx context.Context) (*fetch.Response, error) {
	resp, err := s.o.Client.Do(ctx, &fetch.Request{
		Op: s.req.Op, URL: s.url, From: s.from, Anonymous: true, Range: s.req.Range, Accept: s.req.Accept,
		Header:   textproto.MIMEHeader{"Accept-Datetime": {s.at.UTC().Format(http.TimeFormat)}},
		Redirect: func(to uri.URI) error { return redirect{to} },
	})
	if err == nil {
		answer, err := s.respond(resp)
		if err != nil || answer.Body != resp.Body {
			resp.Body.Close()
		}
		return answer, err
	}
	e, ok := errors.AsType[*fetch.Error](err)
	if !ok {
		return nil, err
	}
	if to, ok := errors.AsType[redirect](err); ok {
		return s.redirected(to.to, e)
	}
	if len(e.Header.Values(datetimeField)) == 0 {
		return nil, err
	}
	capture, err := s.check(e.Header)
	if err != nil {
		return nil, err
	}
	dup := *e
	dup.URL, dup.Err = s.req.URL.Redacted(), &capturedError{capture, e.Err}
	return nil, &dup
}

// redirected handles a redirect, whose reply and header e has. A captured redirect to another server is
// returned: it names an original resource.
func (s *search) redirected(to uri.URI, e *fetch.Error) (*fetch.Response, error) {
	from := s.url
	if len(e.Header.Values(datetimeField)) == 0 {
		if same(to, s.req.URL) && !same(s.gate, s.req.URL) {
			return nil, s.fail(fetch.ErrNotFound, "the TimeGate redirects to the current version")
		}
		s.from, s.url = from, to
		return nil, nil
	}
	if _, err := s.check(e.Header); err != nil {
		return nil, err
	}
	if to.Origin() != from.Origin() {
		return redirectTo(to, fetch.Meta{Reply: e.Reply, Header: e.Header}), nil
	}
	s.from, s.url, s.moved = from, to, true
	return nil, nil
}

func redirectTo(u uri.URI, meta fetch.Meta) *fetch.Response {
	return &fetch.Response{Meta: meta, Location: []uri.URI{u}, Body: http.NoBody}
}

// respond returns the response for a capture. If redirects in the archive have led to the capture of
// another URL, that is a redirect to this URL, to which the policy applies.
func (s *search) respond(resp *fetch.Response) (*fetch.Response, error) {
	capture, err := s.check(resp.Header)
	if err != nil {
		return nil, err
	}
	if s.moved {
		of := original(resp.Header, resp.URL)
		if of.IsZero() {
			return nil, s.invalid("the archive redirects to a capture without an original link")
		}
		if !same(of, s.req.URL) {
			return redirectTo(of, fetch.Meta{Reply: resp.Reply, Header: resp.Header}), nil
		}
	}
	answer := &fetch.Response{Meta: resp.Meta, Body: resp.Body, Pattern: resp.Pattern}
	answer.Capture = capture
	if entries := resp.Entries; entries != nil {
		answer.Parse = func(io.Reader) iter.Seq2[fetch.Entry, error] { return entries }
	}
	return answer, nil
}

// datetimeField states when a response was captured, and that it is a capture (RFC 7089, section 2.1.1).
const datetimeField = "Memento-Datetime"

// check returns what the header of a response says of the capture. Before a captured redirect in the
// archive, the capture must be that of the requested URL.
func (s *search) check(header textproto.MIMEHeader) (*fetch.Capture, error) {
	stated := header.Values(datetimeField)
	switch len(stated) {
	case 0:
		return nil, s.invalid("the response of the TimeGate is not a capture: it has no Memento-Datetime")
	case 1:
	default:
		return nil, s.invalid("the response of the TimeGate has %d Memento-Datetime fields", len(stated))
	}
	when, err := time.Parse(http.TimeFormat, stated[0])
	if err != nil || time.Until(when) > maxAhead {
		return nil, s.invalid("invalid Memento-Datetime %s", fetch.Printable(stated[0]))
	}
	if of := original(header, s.url); !s.moved && !of.IsZero() && !same(of, s.req.URL) {
		return nil, s.invalid("the TimeGate returned a capture of another URL, %s", of.Redacted())
	}
	capture := fetch.NewCapture(when, s.url.Redacted(), s.at)
	if s.o.Within > 0 && capture.Distance().Abs() > s.o.Within {
		return nil, s.fail(fetch.ErrNotFound, "the nearest capture is of %s", when.UTC().Format(time.RFC3339))
	}
	return capture, nil
}

// original returns the URL that a capture is of, from the link with the relation "original" (RFC 7089,
// section 2.2.1); zero if there is none.
func original(header textproto.MIMEHeader, base uri.URI) uri.URI {
	for _, line := range header.Values("Link") {
		for target, params := range weblink.All(line) {
			ref, err := uri.ParseRef(target)
			if err == nil && slices.Contains(strings.Fields(strings.ToLower(params["rel"])), "original") {
				return base.Resolve(ref)
			}
		}
	}
	return uri.URI{}
}

// same reports whether two URLs name the same page for an archive. Archives ignore TLS, "www." and a
// slash at the end of the path.
func same(a, b uri.URI) bool { return identity(a) == identity(b) }

func identity(u uri.URI) string {
	scheme, rest, ok := strings.Cut(u.Key(), "://")
	if !ok {
		return u.Key()
	}
	path, query, _ := strings.Cut(strings.TrimPrefix(rest, "www."), "?")
	return scheme + "://" + strings.TrimSuffix(path, "/") + "?" + query
}
