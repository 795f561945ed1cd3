package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	web "github.com/urlget/urlget/protocols/http"
)

// maxHead limits the head of an HTTP message.
const maxHead = 256 << 10

// openWeb creates the response with the HTTP driver, so that it is interpreted like a live one. If
// decode is set, content codings are decoded.
func (a *Archive) openWeb(
	ctx context.Context, req *fetch.Request, c *snapshot, decode bool,
) (*fetch.Response, error) {
	if req.Op == fetch.OpList {
		scheme := req.URL.Scheme()
		return nil, fetch.ErrNotRetrievable.Errorf("%s has no listings: %w", scheme, errors.ErrUnsupported)
	}
	a.web.Do(func() {
		for i := range a.drivers {
			load := web.With(web.Options{Transport: transport{a}, Compressed: i == 1})
			fetch.New(nil, func(env fetch.Env, _ *fetch.Registry) {
				var own fetch.Registry
				load(env, &own)
				open := func(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
					s, _ := own.Lookup(req.URL.Scheme())
					return s.Driver.Open(ctx, req)
				}
				a.drivers[i] = fetch.DriverFunc(open)
			})
		}
	})
	i := 0
	if decode {
		i = 1
	}
	resp, err := a.drivers[i].Open(context.WithValue(ctx, captureKey{}, c), req)
	if err != nil {
		return nil, withoutRetry(err)
	}
	resp.Body = finalBody{resp.Body}
	return resp, nil
}

type finalBody struct{ io.ReadCloser }

func (b finalBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return n, withoutRetry(err)
}

// withoutRetry returns err without its retry hints, because an archive does not change.
func withoutRetry(err error) error {
	own, ok := errors.AsType[*fetch.Error](err)
	if !ok || !own.Retry && own.RetryAfter == 0 {
		return err
	}
	once := *own
	once.Retry, once.RetryAfter = false, 0
	return &once
}

type captureKey struct{}

// A transport is an http.RoundTripper that returns the capture in the request's context.
type transport struct{ archive *Archive }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	c, ok := req.Context().Value(captureKey{}).(*snapshot)
	if !ok {
		return nil, errors.New("replay: request without a capture")
	}
	resp, err := t.archive.httpResponse(c, req)
	if err != nil {
		return nil, damagedError(err)
	}
	return resp, nil
}

func (a *Archive) httpResponse(c *snapshot, req *http.Request) (*http.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, err
	}
	var resp *http.Response
	for hops := 0; ; hops++ {
		bare := rec.Type() == warc.Revisit && rec.Length == 0 // without a head of its own
		if !bare {
			if resp, err = message(rec, req); err != nil {
				done()
				return nil, err
			}
			if resp.StatusCode != http.StatusNotModified || isConditional(req) {
				break
			}
		}
		p := a.origin(rec)
		done()
		if p.file == nil || hops > maxHops {
			return nil, missingContentError(bare)
		}
		if rec, done, err = a.read(p); err != nil {
			return nil, err
		}
	}
	var cutOff error
	if rec.Incomplete() != "" {
		cutOff = truncatedError(rec)
	}
	if rec.Type() == warc.Revisit && resp.StatusCode != http.StatusNotModified {
		done()
		var payload io.Reader
		var payloadErr error
		if payload, resp.ContentLength, payloadErr, done, err = a.payload(a.origin(rec), 1); err != nil {
			return nil, err
		}
		cutOff = cmp.Or(cutOff, payloadErr)
		resp.TransferEncoding = []string{"chunked"} // marks the end of the body
		if resp.ContentLength >= 0 {
			resp.TransferEncoding = nil
		}
		content := bufio.NewReader(payload)
		resp.Body = io.NopCloser(content)
		httprecord.WithoutCoding(resp, content)
		resp.Header.Del("Content-Length") // of the origin's coded or framed body
		if resp.ContentLength >= 0 {
			resp.Header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
		}
	}
	completePart(resp)
	if req.Method == http.MethodHead {
		resp.Body.Close()
		done()
		resp.Body = http.NoBody
		return resp, nil
	}
	resp.Body = &webBody{ReadCloser: resp.Body, done: done, cutOff: cutOff}
	if cutOff == nil {
		applyConditions(resp, req)
	}
	resp.Body = seal(resp.Body)
	if resp.Header.Get("Location") != "" {
		return verifyRedirect(resp)
	}
	return resp, nil
}

func isConditional(req *http.Request) bool {
	return req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != ""
}

func missingContentError(bare bool) error {
	if bare {
		return errMissingContent
	}
	return fmt.Errorf("%w: the server sent 304 Not Modified, so it is in an earlier archive",
		errMissingContent)
}

// verifyRedirect reads the body of resp, unless it is unusually long, because a redirect is followed
// without it.
func verifyRedirect(resp *http.Response) (*http.Response, error) {
	begin, err := io.ReadAll(io.LimitReader(resp.Body, maxHead))
	if damage, ok := errors.AsType[*warc.DamageError](err); ok {
		resp.Body.Close()
		return nil, damage
	}
	resp.Body = struct { // another error occurs again
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), resp.Body), resp.Body}
	return resp, nil
}

func message(rec *warc.Record, req *http.Request) (*http.Response, error) {
	if rec.Type() != warc.Response && rec.Type() != warc.Revisit {
		return nil, fmt.Errorf("a %s record is not an HTTP response", rec.Type())
	}
	resp, err := rec.HTTPResponse(maxHead)
	if _, isDamage := errors.AsType[*warc.DamageError](err); err != nil && !isDamage {
		err = &warc.DamageError{Offset: rec.Offset, Err: err}
	}
	if err != nil {
		return nil, err
	}
	resp.Request = req
	for _, name := range rec.Values("WARC-Protocol") {
		if name == "h2" || name == "h3" { // recorded with the version HTTP/1.1
			resp.ProtoMajor, resp.ProtoMinor = int(name[1]-'0'), 0
			resp.Proto = "HTTP/" + name[1:] + ".0"
		}
	}
	return resp, nil
}

type webBody struct {
	io.ReadCloser
	done   func()
	cutOff error // the error at the end of an incomplete body; or nil
}

func (b *webBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch _, isDamage := errors.AsType[*warc.DamageError](err); {
	case err == nil:
	case b.cutOff != nil && (err == io.EOF || err == io.ErrUnexpectedEOF):
		err = b.cutOff
	case err == io.ErrUnexpectedEOF:
		err = fetch.ErrTruncated.Errorf("record ends before the content")
	case isDamage:
		err = damagedError(err)
	}
	return n, err
}

// Close implements io.Closer. It does not read the rest of the body.
func (b *webBody) Close() error {
	if b.done != nil {
		b.done()
		b.done = nil
	}
	return nil
}

// applyConditions applies the conditions and the range of a request that its capture lacked.
func applyConditions(resp *http.Response, req *http.Request) {
	h := resp.Header
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		if have := parseContentRange(h.Get("Content-Range")); have.rng.Offset >= 0 {
			applyHTTPRange(resp, req.Header.Get("Range"), have)
		}
		return
	default:
		return
	}
	if tag := req.Header.Get("If-None-Match"); tag != "" {
		if tag == h.Get("ETag") {
			makeEmpty(resp, http.StatusNotModified)
		}
		return
	}
	if since, err := http.ParseTime(req.Header.Get("If-Modified-Since")); err == nil {
		if changed, err := http.ParseTime(h.Get("Last-Modified")); err == nil && !changed.After(since) {
			makeEmpty(resp, http.StatusNotModified)
		}
		return
	}
	span, guard := req.Header.Get("Range"), req.Header.Get("If-Range")
	if guard != "" && guard != h.Get("ETag") && guard != h.Get("Last-Modified") {
		return
	}
	if size := resp.ContentLength; size >= 0 { // else the complete content is a valid response
		applyHTTPRange(resp, span, part{fetch.Range{Length: size}, size})
	}
}

func makeEmpty(resp *http.Response, status int) {
	resp.Body.Close()
	resp.Body, resp.ContentLength, resp.TransferEncoding = http.NoBody, 0, nil
	resp.StatusCode, resp.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
}
