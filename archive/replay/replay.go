package replay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/urlget/urlget/archive/capture"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/uri"
)

// maxEntry bounds the line of one member of a listing.
const maxEntry = 1 << 20

// Options say how an archive answers.
type Options struct {
	// Only makes what is not in the archive an error of class fetch.ErrNotFound. Nothing is ever sent
	// then. Else it is retrieved.
	Only bool
	// At is the time that is wanted, if there are several captures; zero means the last.
	At time.Time
}

// Middleware returns what puts the archive in front of the drivers of a client. It has to be the
// innermost.
func (a *Archive) Middleware(opts Options) driver.Middleware {
	return func(next driver.Driver) driver.Driver {
		return driver.DriverFunc(func(ctx context.Context, req *fetch.Request) (*driver.Response, error) {
			c := a.find(req, opts.At)
			if c == nil && opts.Only {
				return nil, &fetch.Error{Code: fetch.ErrNotFound, Err: errors.New("the archive has no capture of it")}
			}
			if c == nil {
				return next.Open(ctx, req)
			}
			resp, err := a.open(ctx, req, c)
			if !errors.Is(err, errElsewhere) || req.Body != nil {
				return resp, err
			}
			for _, c := range a.others(req, opts.At, c) {
				if err := fetch.ContextError(ctx); err != nil {
					return nil, err
				}
				if resp, err := a.open(ctx, req, c); !errors.Is(err, errElsewhere) {
					return resp, err
				}
			}
			if opts.Only {
				return nil, err
			}
			return next.Open(ctx, req)
		})
	}
}

// open answers req with a capture.
func (a *Archive) open(ctx context.Context, req *fetch.Request, c *captured) (*driver.Response, error) {
	switch c.kind {
	case exchangeRecord:
		return a.openExchange(ctx, req, c)
	case warc.Resource:
		return a.openResource(ctx, req, c)
	}
	return a.openWeb(ctx, req, c)
}

// readExchange reads the block of an exchange record.
func readExchange(block io.Reader) (*capture.Exchange, error) {
	text, err := io.ReadAll(io.LimitReader(block, capture.MaxExchange+1))
	if err != nil {
		return nil, err
	}
	if len(text) > capture.MaxExchange {
		return nil, fmt.Errorf("the record of the exchange is longer than %d bytes", capture.MaxExchange)
	}
	x := &capture.Exchange{}
	return x, json.Unmarshal(text, x)
}

// damaged is the error for an archive that does not hold what it says.
func damaged(err error) error {
	if errors.Is(err, errElsewhere) {
		return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the archive is not complete: %w", err)}
	}
	return &fetch.Error{Code: fetch.ErrProtocol, Err: fmt.Errorf("the archive is damaged: %w", err)}
}

func (a *Archive) openExchange(ctx context.Context, req *fetch.Request, c *captured) (*driver.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, damaged(err)
	}
	x, err := readExchange(rec.Block)
	done()
	if err != nil {
		return nil, damaged(err)
	}
	if x.Answer == nil {
		if x.Failure == nil {
			return nil, damaged(errors.New("an exchange came to nothing"))
		}
		return nil, x.Failure.Error()
	}
	resp := &driver.Response{Meta: x.Answer.Meta(), Body: driver.NoBody, Pattern: x.Answer.Pattern}
	for _, text := range x.Answer.Location {
		u, err := uri.ParseRef(text)
		if err != nil {
			return nil, damaged(err)
		}
		resp.Location = append(resp.Location, u)
	}
	if resp.Location == nil {
		resp.URL = calledBy(x.Answer, req.URL)
	}
	switch {
	case resp.Location != nil || req.Op == fetch.OpStat || resp.Kind == fetch.KindNone:
		return resp, nil
	case resp.Kind == fetch.KindSession && x.Content == "":
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("a session cannot be replayed: %w", errors.ErrUnsupported)}
	case req.Op == fetch.OpList && resp.Kind != fetch.KindListing:
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("no listing was captured: %w", errors.ErrUnsupported)}
	}
	if unchanged(req, &resp.Meta) {
		return nil, &fetch.Error{Code: fetch.ErrNotModified}
	}
	content, _ := a.byID(x.Content)
	block, size, cutOff, done, err := a.payload(content, 0)
	if err != nil {
		return nil, damaged(err)
	}
	b := &body{ctx: ctx, r: block, close: done}
	switch {
	case x.Failure != nil:
		b.end = x.Failure.Error()
	case resp.Kind != fetch.KindSession && size != x.Answer.Size:
		b.end = cutOff // nobody read on
	}
	resp.Body = b
	if resp.Kind == fetch.KindSession {
		resp.Body = session{b}
		return resp, nil
	}
	if x.Entries != "" {
		p, ok := a.byID(x.Entries)
		if !ok {
			done()
			return nil, damaged(errors.New("the members of a listing are missing"))
		}
		resp.Parse = func(r io.Reader) iter.Seq2[fetch.Entry, error] { return a.entries(req.URL, r, p) }
	}
	if x.Range.IsZero() && b.end == nil {
		cut(req, resp, b, size)
	}
	return resp, nil
}

// calledBy returns what the content of asked is called if that is another URL at the same place, else
// none: an archive must not claim to come from elsewhere.
func calledBy(answer *capture.Answer, asked uri.URI) uri.URI {
	u, err := uri.ParseRef(answer.URL)
	if err != nil || answer.URL == "" || u.Origin() != asked.Origin() {
		return uri.URI{}
	}
	return withLogin(u, asked)
}

// withLogin returns u with the login of the request for a URL, if it has the same user. The password is
// not in the archive.
func withLogin(u, asked uri.URI) uri.URI {
	if user, ok := u.User(); ok && u.Origin() == asked.Origin() {
		if same, _ := asked.User(); same == user {
			return u.WithUserinfoOf(asked)
		}
	}
	return u
}

// unchanged reports whether a conditional request is answered by what the caller has.
func unchanged(req *fetch.Request, m *fetch.Meta) bool {
	v := req.IfChanged
	switch {
	case v.IsZero() || !req.Range.IsZero():
		return false
	case v.ETag != "":
		return v.ETag == m.ETag
	}
	return !m.ModTime.IsZero() && !m.ModTime.After(v.ModTime)
}

// cut makes resp the part of the content that req asks for.
func cut(req *fetch.Request, resp *driver.Response, b *body, size int64) {
	if req.Range.IsZero() || resp.Kind != fetch.KindObject || size < 0 {
		return
	}
	if v := req.IfChanged; !v.IsZero() && (v.ETag != resp.ETag || v.ETag == "" && !v.ModTime.Equal(resp.ModTime)) {
		return
	}
	r := req.Range.Of(size)
	if r.IsZero() || r.Offset >= size {
		return
	}
	if r.Length == 0 || r.Length > size-r.Offset {
		r.Length = size - r.Offset
	}
	b.skip = r.Offset
	if r.Offset+r.Length < size {
		b.r = io.LimitReader(b.r, r.Offset+r.Length)
	}
	resp.Range, resp.Total, resp.Size = r, size, r.Length
}

// errElsewhere is the error for a revisit of what is in no archive that is open.
var errElsewhere = errors.New("what was captured refers to content that it has not")

// maxHops bounds the revisits from one to the next: where archives were merged, what a revisit refers
// to may have become one.
const maxHops = 16

// payload returns the payload of the record at p, or of the one that it is a revisit of, its size, -1
// if that is not known, and why it is not whole, nil if it is.
func (a *Archive) payload(p place, hops int) (r io.Reader, size int64, cutOff error, done func(), err error) {
	if p.file == nil || hops > maxHops {
		return nil, 0, nil, nil, errElsewhere
	}
	rec, done, err := a.read(p)
	if err != nil {
		return nil, 0, nil, nil, err
	}
	if missing(rec) != "" {
		cutOff = truncated(rec)
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

// origin returns where the record is that a revisit refers to.
func (a *Archive) origin(rec *warc.Record) place {
	if p, ok := a.byID(rec.Refers("WARC-Refers-To")); ok {
		return p
	}
	return a.byOrigin(origin{rec.Refers("WARC-Refers-To-Target-URI"), warc.ParseDate(rec.Get("WARC-Refers-To-Date"))})
}

// openResource answers with a resource record of which no more is known.
func (a *Archive) openResource(ctx context.Context, req *fetch.Request, c *captured) (*driver.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, damaged(err)
	}
	resp := &driver.Response{Meta: fetch.Meta{ContentType: rec.ContentType(), Size: rec.Length}, Body: driver.NoBody}
	switch req.Op {
	case fetch.OpStat:
		done()
		return resp, nil
	case fetch.OpList:
		done()
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("no listing was captured: %w", errors.ErrUnsupported)}
	}
	b := &body{ctx: ctx, r: rec.Block, close: done}
	resp.Body = b
	if missing(rec) != "" {
		b.end, resp.Size = truncated(rec), -1
	} else {
		cut(req, resp, b, rec.Length)
	}
	return resp, nil
}

// missing says why a record has not all that was captured, "" if it has. What is in several records
// (WARC/1.1, section 7) is not put together.
func missing(rec *warc.Record) string {
	if number := rec.Get("WARC-Segment-Number"); number != "" {
		return "the rest is in other records"
	}
	return rec.Get("WARC-Truncated")
}

func truncated(rec *warc.Record) error {
	return &fetch.Error{Code: fetch.ErrTruncated, Err: fmt.Errorf("it was captured in part (%s)", missing(rec))}
}

// A body is content out of an archive.
type body struct {
	ctx   context.Context
	r     io.Reader
	skip  int64 // bytes to leave out first
	end   error // what comes after the content in place of io.EOF; nil for that
	close func()
}

func (b *body) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	if b.close == nil {
		return 0, errors.New("read of a closed body")
	}
	if b.skip > 0 {
		n, err := io.CopyN(io.Discard, b.r, b.skip)
		if b.skip -= n; err != nil {
			return 0, damaged(err)
		}
	}
	n, err := b.r.Read(p)
	switch {
	case err == io.EOF && b.end != nil:
		err = b.end
	case err != nil && err != io.EOF:
		err = damaged(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	if b.close != nil {
		b.close()
		b.close = nil
	}
	return nil
}

// A session shows what was shown, whatever is typed.
type session struct{ *body }

// Write implements io.Writer.
func (session) Write(p []byte) (int, error) { return len(p), nil }

// entries reads the content to its end, and yields the members that are recorded of it.
//
// Members have the login of the request.
func (a *Archive) entries(of uri.URI, content io.Reader, p place) iter.Seq2[fetch.Entry, error] {
	return func(yield func(fetch.Entry, error) bool) {
		if _, err := io.Copy(io.Discard, content); err != nil {
			yield(fetch.Entry{}, err)
			return
		}
		rec, done, err := a.read(p)
		if err != nil {
			yield(fetch.Entry{}, damaged(err))
			return
		}
		defer done()
		lines := bufio.NewScanner(rec.Block)
		lines.Buffer(nil, maxEntry)
		for lines.Scan() {
			var line capture.Entry
			err := json.Unmarshal(lines.Bytes(), &line)
			var e fetch.Entry
			if err == nil {
				e, err = line.Entry()
			}
			if err != nil {
				yield(fetch.Entry{}, damaged(err))
				return
			}
			e.URL = withLogin(e.URL, of)
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(fetch.Entry{}, damaged(err))
		}
	}
}
