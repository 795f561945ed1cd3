package replay

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxEntry limits the length of one line in a record of a listing's members.
const maxEntry = 1 << 20

// Options configure the replay.
type Options struct {
	// Only makes requests without a capture fail with fetch.ErrNotFound. Nothing is sent to any
	// server. Otherwise such requests are sent to the server.
	Only bool
	// Near answers a request without a capture with one of a URL that usually names the same resource:
	// see warc.NearKey. Otherwise the error names that URL.
	Near bool
	// At selects the capture nearest to a time; zero means the last one.
	At time.Time
	// Within limits the time between At and the capture. Captures beyond it are treated as missing. 0
	// means no limit.
	Within time.Duration
	// Compressed decodes a content coding even if the capture was requested without one, as a client
	// that accepts codings does. Without it, only captures of such clients are decoded.
	Compressed bool
	// SHA256, if not "", selects content instead of a time: the response is a capture whose content
	// has that SHA-256, in hexadecimal. Captures of the URL come first, then those of any URL whose
	// record states the digest.
	SHA256 string
	// Usable, if not nil, reports whether a capture may be used for a request that its URL and method
	// match. Others count as missing.
	Usable func(Capture) bool
}

// ErrNoCapture is wrapped by the error of a request for which the archive has no capture.
var ErrNoCapture = errors.New("not in the archive")

// Middleware returns a middleware that serves requests from the archive. It must be the innermost
// one.
func (a *Archive) Middleware(opts Options) fetch.Middleware {
	return func(next fetch.Driver) fetch.Driver {
		return fetch.DriverFunc(func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
			req, err := a.WithBody(req)
			if err != nil {
				return nil, err
			}
			if opts.SHA256 != "" {
				return a.openDigest(ctx, req, opts, next)
			}
			return a.openNearest(ctx, req, opts, next)
		})
	}
}

func (a *Archive) openNearest(
	ctx context.Context, req *fetch.Request, opts Options, next fetch.Driver,
) (*fetch.Response, error) {
	p := newPreference(req, opts.At, opts.Usable)
	c := a.find(p)
	switch {
	case c == nil && (opts.Only || opts.Near):
		resp, err := a.respondNear(ctx, p, opts)
		switch {
		case resp != nil || err != nil:
			return resp, err
		case opts.Only:
			return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: a.noCaptureError(p)}
		}
		return next.Open(ctx, req)
	case c == nil:
		return next.Open(ctx, req)
	case opts.Within > 0 && !opts.At.IsZero() && c.date.Sub(opts.At).Abs() > opts.Within:
		return beyond(ctx, req, c, opts, next)
	}
	resp, err := a.respond(ctx, req, c, opts)
	if !errors.Is(err, errMissingContent) || req.Body != nil {
		return resp, err
	}
	for _, c := range a.alternatives(p, c) {
		if err := fetch.ContextError(ctx); err != nil {
			return nil, err
		}
		if resp, err := a.respond(ctx, req, c, opts); !errors.Is(err, errMissingContent) {
			return resp, err
		}
	}
	if opts.Only {
		return nil, err
	}
	return next.Open(ctx, req)
}

// beyond returns the response for a request whose nearest capture is too far from its date. If there is
// no other, the error names the capture.
func beyond(
	ctx context.Context, req *fetch.Request, c *snapshot, opts Options, next fetch.Driver,
) (*fetch.Response, error) {
	nearest := fmt.Errorf("the nearest capture is of %s", c.date.UTC().Format(time.RFC3339))
	if !opts.Only {
		resp, err := next.Open(ctx, req)
		if fetch.CodeOf(err) != fetch.ErrNotFound {
			return resp, err
		}
		nearest = fmt.Errorf("in the archive, %w; %w", nearest, err)
	}
	return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: nearest}
}

// noCaptureError returns the error for a request without a capture. It names the methods of the other
// captures of the URL, and tells if only their body differs.
func (a *Archive) noCaptureError(p *preference) error {
	var methods []string
	sameMethod, sameBody := false, false
	for _, c := range a.capturesOf(record.Key(p.req.URL)) {
		switch {
		case c.kind == exchangeRecord:
		case c.hasMethod(p.req):
			sameMethod, sameBody = true, sameBody || c.hasBody(p.bodyDigest)
		case !slices.Contains(methods, cmp.Or(c.method, "GET")):
			methods = append(methods, cmp.Or(c.method, "GET"))
		}
	}
	switch {
	case sameMethod && !sameBody && p.bodyDigest == "":
		return fmt.Errorf("%w without a body", ErrNoCapture)
	case sameMethod && p.bodyDigest == unknownBody:
		const message = "%w: the body is longer than %d bytes, so it is not compared"
		return fmt.Errorf(message, ErrNoCapture, maxBody)
	case sameMethod && !sameBody:
		return fmt.Errorf("%w with this body", ErrNoCapture)
	case sameMethod || methods == nil:
		return ErrNoCapture
	}
	slices.Sort(methods)
	return fmt.Errorf("%w with %s, only with %s", ErrNoCapture, methodOf(p.req), strings.Join(methods, ", "))
}

func (a *Archive) respond(
	ctx context.Context, req *fetch.Request, c *snapshot, opts Options,
) (*fetch.Response, error) {
	resp, err := a.open(ctx, req, c, opts.Compressed)
	if err != nil {
		return nil, err
	}
	source := ""
	if f, ok := c.file.(interface{ Name() string }); ok {
		source = f.Name()
	}
	resp.Capture = fetch.NewCapture(c.date, source, opts.At)
	return resp, nil
}

// open returns the response of a capture. If decode is set, a content coding is always decoded.
func (a *Archive) open(
	ctx context.Context, req *fetch.Request, c *snapshot, decode bool,
) (*fetch.Response, error) {
	switch c.kind {
	case exchangeRecord:
		return a.openExchange(ctx, req, c)
	case warc.Resource:
		return a.openResource(ctx, req, c)
	}
	return a.openWeb(ctx, req, c, decode || c.coded)
}

func damagedError(err error) error {
	if errors.Is(err, errMissingContent) {
		return fetch.ErrProtocol.Errorf("incomplete archive: %w", err)
	}
	return fetch.ErrProtocol.Errorf("damaged archive: %w", err)
}

func (a *Archive) openExchange(
	ctx context.Context, req *fetch.Request, c *snapshot,
) (*fetch.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, damagedError(err)
	}
	x, err := record.ReadExchange(rec.Block)
	done()
	switch {
	case err != nil:
		return nil, damagedError(err)
	case x.Response == nil && x.Failure == nil:
		return nil, damagedError(errors.New("exchange record has neither response nor failure"))
	case x.Response == nil:
		return nil, x.Failure.Error()
	}
	resp := &fetch.Response{Meta: x.Response.Meta(), Body: fetch.NoBody, Pattern: x.Response.Pattern}
	for _, text := range x.Response.Location {
		u, err := uri.ParseRef(text)
		if err != nil {
			return nil, damagedError(err)
		}
		resp.Location = append(resp.Location, u)
	}
	if resp.Location == nil {
		resp.URL = contentURL(x.Response, req.URL)
	}
	switch {
	case resp.Location != nil || req.Op == fetch.OpStat || resp.Kind == fetch.KindNone:
		return resp, nil
	case resp.Kind == fetch.KindSession && x.Content == "":
		return nil, fetch.ErrNotRetrievable.Errorf("a session cannot be replayed: %w", errors.ErrUnsupported)
	case req.Op == fetch.OpList && resp.Kind != fetch.KindListing:
		return nil, noListingError()
	case isNotModified(req, &resp.Meta):
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	return a.withContent(ctx, req, resp, x)
}

func (a *Archive) withContent(
	ctx context.Context, req *fetch.Request, resp *fetch.Response, x *record.Exchange,
) (*fetch.Response, error) {
	content, _ := a.byID(x.Content)
	block, size, cutOff, done, err := a.payload(content, 0)
	if err != nil {
		return nil, damagedError(err)
	}
	b := &body{ctx: ctx, r: block, close: done}
	if x.Failure != nil {
		b.end = x.Failure.Error()
	}
	if resp.Kind == fetch.KindSession {
		resp.Body = replayedSession{b}
		return resp, nil
	}
	if x.Failure == nil && size != x.Response.Size {
		b.end = cutOff // the original caller did not read to the end
	}
	if x.Entries != "" {
		p, ok := a.byID(x.Entries)
		if !ok {
			done()
			return nil, damagedError(errors.New("listing entries are missing"))
		}
		resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] { return a.entries(req.URL, r, p) }
	}
	if x.Range.IsZero() && b.end == nil {
		applyRange(req, resp, b, size)
	}
	resp.Body = seal(b)
	return resp, nil
}

func noListingError() error {
	return fetch.ErrNotRetrievable.Errorf("no listing was captured: %w", errors.ErrUnsupported)
}

// contentURL returns the URL of the content if it differs from requested, otherwise the zero URI.
// URLs with another origin are rejected, because an archive must not impersonate another server.
func contentURL(response *record.Response, requested uri.URI) uri.URI {
	u, err := uri.ParseRef(response.URL)
	if err != nil || response.URL == "" || u.Origin() != requested.Origin() {
		return uri.URI{}
	}
	return withLogin(u, requested)
}

// withLogin returns u with the credentials of requested if both have the same origin and user. The
// archive has no passwords.
func withLogin(u, requested uri.URI) uri.URI {
	if user, ok := u.User(); ok && u.Origin() == requested.Origin() {
		if same, _ := requested.User(); same == user {
			return u.WithUserinfoOf(requested)
		}
	}
	return u
}

func isNotModified(req *fetch.Request, m *fetch.Meta) bool {
	v := req.IfChanged
	switch {
	case v.IsZero() || !req.Range.IsZero():
		return false
	case v.ETag != "":
		return v.ETag == m.ETag
	}
	return !m.ModTime.IsZero() && !m.ModTime.After(v.ModTime)
}

func applyRange(req *fetch.Request, resp *fetch.Response, b *body, size int64) {
	if req.Range.IsZero() || resp.Kind != fetch.KindObject || size < 0 {
		return
	}
	v := req.IfChanged
	if !v.IsZero() && (v.ETag != resp.ETag || v.ETag == "" && !v.ModTime.Equal(resp.ModTime)) {
		return
	}
	r := req.Range.Of(size)
	if r.IsZero() || r.Offset >= size {
		return
	}
	if r.Length == 0 || r.Length > size-r.Offset {
		r.Length = size - r.Offset
	}
	b.r = &section{b.r, r.Offset, r.Length}
	resp.Range, resp.Total, resp.Size = r, size, r.Length
}

var errMissingContent = errors.New("a record refers to missing content")

// maxHops limits chains of revisits. A record to which a revisit refers may have become a revisit
// when archives were merged.
const maxHops = 16

// payload returns the payload of the record at p, following revisits. Size is -1 if unknown. cutOff
// is the error to return at the end of an incomplete payload, or nil.
func (a *Archive) payload(p place, hops int) (r io.Reader, size int64, cutOff error, done func(), err error) {
	if p.file == nil || hops > maxHops {
		return nil, 0, nil, nil, errMissingContent
	}
	rec, done, err := a.read(p)
	if err != nil {
		return nil, 0, nil, nil, err
	}
	if rec.Incomplete() != "" {
		cutOff = truncatedError(rec)
	}
	switch rec.Type() {
	case warc.Revisit:
		defer done()
		return a.payload(a.origin(rec), hops+1)
	case warc.Response:
		resp, err := message(rec, nil)
		if err != nil {
			done()
			return nil, 0, nil, nil, err
		}
		return resp.Body, resp.ContentLength, cutOff, done, nil
	case warc.Resource:
		return rec.Block, rec.Length, cutOff, done, nil
	}
	done()
	return nil, 0, nil, nil, fmt.Errorf("a record of type %q has no content", rec.Type())
}

func (a *Archive) origin(rec *warc.Record) place {
	if p, ok := a.byID(rec.Refers("WARC-Refers-To")); ok {
		return p
	}
	o := origin{rec.Refers("WARC-Refers-To-Target-URI"), rec.Time("WARC-Refers-To-Date")}
	if p := a.byOrigin(o); p.file != nil {
		return p
	}
	return a.withDigest(rec)
}

func (a *Archive) openResource(
	ctx context.Context, req *fetch.Request, c *snapshot,
) (*fetch.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, damagedError(err)
	}
	meta := fetch.Meta{ContentType: rec.ContentType(), Size: rec.Length}
	resp := &fetch.Response{Meta: meta, Body: fetch.NoBody}
	switch req.Op {
	case fetch.OpStat:
		done()
		return resp, nil
	case fetch.OpList:
		done()
		return nil, noListingError()
	}
	b := &body{ctx: ctx, r: rec.Block, close: done}
	if rec.Incomplete() != "" {
		b.end, resp.Size = truncatedError(rec), -1
	} else {
		applyRange(req, resp, b, rec.Length)
	}
	resp.Body = seal(b)
	return resp, nil
}

func truncatedError(rec *warc.Record) error {
	return fetch.ErrTruncated.Errorf("incomplete capture (%s)", rec.Incomplete())
}

type body struct {
	ctx   context.Context
	r     io.Reader
	end   error // error to return in place of io.EOF; or nil
	close func()
}

func (b *body) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	if b.close == nil {
		return 0, errors.New("read of a closed body")
	}
	n, err := b.r.Read(p)
	switch {
	case err == io.EOF && b.end != nil:
		err = b.end
	case err != nil && err != io.EOF:
		err = damagedError(err)
	}
	return n, err
}

func (b *body) Close() error {
	if b.close != nil {
		b.close()
		b.close = nil
	}
	return nil
}

// A replayedSession replays the output of a session and ignores input.
type replayedSession struct{ *body }

func (replayedSession) Write(p []byte) (int, error) { return len(p), nil }

// entries reads the content to its end and yields the recorded members. Their URLs get the
// credentials of the request.
func (a *Archive) entries(of uri.URI, content io.Reader, p place) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		if _, err := io.Copy(io.Discard, content); err != nil {
			yield(fetch.Entry{}, err)
			return
		}
		rec, done, err := a.read(p)
		if err != nil {
			yield(fetch.Entry{}, damagedError(err))
			return
		}
		defer done()
		lines := bufio.NewScanner(rec.Block)
		lines.Buffer(nil, maxEntry)
		for lines.Scan() {
			var line record.Entry
			err := json.Unmarshal(lines.Bytes(), &line)
			var e fetch.Entry
			if err == nil {
				e, err = line.Entry()
			}
			if err != nil {
				yield(fetch.Entry{}, damagedError(err))
				return
			}
			e.URL = withLogin(e.URL, of)
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(fetch.Entry{}, damagedError(err))
		}
	}
}
