package replay

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	web "github.com/urlget/urlget/protocols/http"
)

// maxHead bounds the head of an HTTP message.
const maxHead = 256 << 10

// What was asked for is what a request record says of an answer.
type asked struct {
	known  bool
	method string
	sent   string
	coded  bool
}

// request reads a request record, which may stand before or behind that of the answer.
func (s *scanner) request(rec *warc.Record) {
	head := &io.LimitedReader{R: rec.Block, N: maxHead}
	in := bufio.NewReader(head)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	head.N = math.MaxInt64
	coding := req.Header.Get("Accept-Encoding")
	q := asked{known: true, method: req.Method, coded: coding != "" && coding != "identity"}
	if req.Body != http.NoBody {
		q.sent = digestOf(req.Body)
	} else {
		q.sent = digestOf(in) // HTTP/2 needs no length
	}
	other := rec.Refers("WARC-Concurrent-To")
	if c := s.answers[other]; c != nil {
		c.take(q)
		delete(s.answers, other)
		return
	}
	for _, id := range []string{rec.ID(), other} {
		if id != "" {
			s.requests[id] = q
		}
	}
}

// sentDigest returns the digest of what a request sends, "" if that is nothing.
func sentDigest(req *fetch.Request) string {
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	return digestOf(body)
}

// digestOf returns the digest of what r has, "" if that is nothing.
func digestOf(r io.Reader) string {
	sum := sha256.New()
	if n, _ := io.Copy(sum, r); n == 0 {
		return ""
	}
	return string(sum.Sum(nil))
}

func (c *captured) take(q asked) {
	if q.known {
		c.method, c.sent, c.coded = q.method, q.sent, q.coded
	}
}

// readHead reads the head of a recorded answer, and reports whether it is one.
func (c *captured) readHead(rec *warc.Record) bool {
	resp, err := warc.ReadAnswer(rec.Block, maxHead)
	if err != nil {
		return false
	}
	c.status = resp.StatusCode
	// Who asked without saying for what, as most do, is taken to decode what comes.
	c.coded = true
	c.failed = missing(rec) != ""
	switch c.status {
	case http.StatusPartialContent:
		c.rng, c.total = contentRange(resp.Header.Get("Content-Range"))
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, http.StatusUnauthorized, http.StatusProxyAuthRequired,
		http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed: // of what else was asked for
		c.failed = true
	}
	return true
}

// contentRange returns the range of a partial answer, and the size of the whole; 0 if that is not
// told. One that cannot be read is that of no request.
func contentRange(value string) (r fetch.Range, total int64) {
	span, size, _ := strings.Cut(strings.TrimPrefix(value, "bytes "), "/")
	first, last, _ := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 62)
	to, err2 := strconv.ParseInt(last, 10, 62)
	if err1 != nil || err2 != nil || to < from || from < 0 {
		return fetch.Range{Offset: -1, Length: -1}, 0
	}
	if total, err1 = strconv.ParseInt(size, 10, 62); err1 != nil || total <= to {
		total = 0
	}
	return fetch.Range{Offset: from, Length: to - from + 1}, total
}

// openWeb lets the driver of HTTP make a response of what was captured, so that it means the same
// as it did.
func (a *Archive) openWeb(ctx context.Context, req *fetch.Request, c *captured) (*driver.Response, error) {
	if req.Op == fetch.OpList {
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: fmt.Errorf("%s has no listings: %w", req.URL.Scheme(), errors.ErrUnsupported)}
	}
	a.web.Do(func() {
		for i := range a.drivers {
			load := web.With(web.Options{Transport: transport{a}, Compressed: i == 1})
			fetch.New(nil, func(env driver.Env, _ *driver.Registry) {
				var own driver.Registry
				load(env, &own)
				a.drivers[i] = driver.DriverFunc(func(ctx context.Context, req *fetch.Request) (*driver.Response, error) {
					s, _ := own.Lookup(req.URL.Scheme())
					return s.Driver.Open(ctx, req)
				})
			})
		}
	})
	i := 0
	if c.coded {
		i = 1
	}
	resp, err := a.drivers[i].Open(context.WithValue(ctx, captureKey{}, c), req)
	if err != nil {
		return nil, final(err)
	}
	resp.Body = finalBody{resp.Body}
	return resp, nil
}

// A finalBody is content whose error is final.
type finalBody struct{ io.ReadCloser }

func (b finalBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	return n, final(err)
}

// final returns an error of the driver, which may say that another try makes sense, without that: an
// archive does not change.
func final(err error) error {
	var own *fetch.Error
	if !errors.As(err, &own) || !own.Retry && own.RetryAfter == 0 {
		return err
	}
	once := *own
	once.Retry, once.RetryAfter = false, 0
	return &once
}

type captureKey struct{}

// A transport answers requests with the capture that their context has.
type transport struct{ archive *Archive }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	c, ok := req.Context().Value(captureKey{}).(*captured)
	if !ok {
		return nil, errors.New("replay: a request of somebody else")
	}
	resp, err := t.archive.answer(c, req)
	if err != nil {
		return nil, damaged(err)
	}
	return resp, nil
}

// answer reads what was captured, for req.
func (a *Archive) answer(c *captured, req *http.Request) (*http.Response, error) {
	rec, done, err := a.read(c.place)
	if err != nil {
		return nil, err
	}
	resp, err := message(rec, req)
	if err != nil {
		done()
		return nil, err
	}
	var cutOff error
	if missing(rec) != "" {
		cutOff = truncated(rec)
	}
	if rec.Type() == warc.Revisit && resp.StatusCode != http.StatusNotModified {
		done()
		var payload io.Reader
		var before error
		if payload, resp.ContentLength, before, done, err = a.payload(a.origin(rec), 1); err != nil {
			return nil, err
		}
		cutOff = cmp.Or(cutOff, before)
		resp.TransferEncoding = []string{"chunked"} // which tells the end
		if resp.ContentLength >= 0 {
			resp.TransferEncoding = nil
		}
		content := bufio.NewReader(payload)
		resp.Body = io.NopCloser(content)
		withoutCoding(resp, content)
	}
	if req.Method == http.MethodHead {
		resp.Body.Close()
		done()
		resp.Body = http.NoBody
		return resp, nil
	}
	resp.Body = &webBody{ReadCloser: resp.Body, done: done, cutOff: cutOff}
	if cutOff == nil {
		narrow(resp, req)
	}
	return resp, nil
}

// message reads an answer out of a record.
func message(rec *warc.Record, req *http.Request) (*http.Response, error) {
	if rec.Type() != warc.Response && rec.Type() != warc.Revisit {
		return nil, fmt.Errorf("a %s record is no answer of HTTP", rec.Type())
	}
	head := &io.LimitedReader{R: rec.Block, N: maxHead}
	in := bufio.NewReaderSize(warc.Answer(head), 32<<10)
	resp, err := http.ReadResponse(in, req)
	head.N = math.MaxInt64
	if err == nil {
		for _, name := range rec.Values("WARC-Protocol") {
			if name == "h2" || name == "h3" { // whose answers are written with the version 1.1
				resp.ProtoMajor, resp.ProtoMinor = int(name[1]-'0'), 0
				resp.Proto = "HTTP/" + name[1:] + ".0"
			}
		}
		withoutChunks(resp, in)
		if resp.TransferEncoding == nil {
			withoutCoding(resp, in)
		}
		resp.Body = &sound{ReadCloser: resp.Body, record: in}
	}
	return resp, err
}

// maxBehind bounds what is read of a record behind the content, to know that this is sound.
const maxBehind = 1 << 20

// A sound body ends with the error that the record ends with.
type sound struct {
	io.ReadCloser
	record io.Reader
}

func (s *sound) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF {
		if _, end := io.CopyN(io.Discard, s.record, maxBehind); end != nil {
			err = end
		}
	}
	return n, err
}

// A webBody is the content of an answer, as the driver gets it.
type webBody struct {
	io.ReadCloser
	done   func()
	cutOff error // why it is not whole; nil if it is
}

func (b *webBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	var damage *warc.DamageError
	switch {
	case err == nil:
	case b.cutOff != nil && (err == io.EOF || err == io.ErrUnexpectedEOF):
		err = b.cutOff
	case err == io.ErrUnexpectedEOF:
		err = &fetch.Error{Code: fetch.ErrTruncated, Err: errors.New("its record ends before the content does")}
	case errors.As(err, &damage):
		err = damaged(err)
	}
	return n, err
}

// Close implements io.Closer. Nothing is read to the end.
func (b *webBody) Close() error {
	if b.done != nil {
		b.done()
		b.done = nil
	}
	return nil
}

// narrow answers the conditions and the range that a request has and the captured one had not.
func narrow(resp *http.Response, req *http.Request) {
	if resp.StatusCode != http.StatusOK {
		return
	}
	h := resp.Header
	if tag := req.Header.Get("If-None-Match"); tag != "" {
		if tag == h.Get("ETag") {
			empty(resp, http.StatusNotModified)
		}
		return
	}
	if since, err := http.ParseTime(req.Header.Get("If-Modified-Since")); err == nil {
		if changed, err := http.ParseTime(h.Get("Last-Modified")); err == nil && !changed.After(since) {
			empty(resp, http.StatusNotModified)
		}
		return
	}
	span, ok := strings.CutPrefix(req.Header.Get("Range"), "bytes=")
	if guard := req.Header.Get("If-Range"); !ok || guard != "" && guard != h.Get("ETag") && guard != h.Get("Last-Modified") {
		return
	}
	size := resp.ContentLength
	first, last, ok := strings.Cut(span, "-")
	if !ok || size < 0 || strings.Contains(last, ",") {
		return // all of it is an answer too
	}
	from, err1 := strconv.ParseInt(first, 10, 62)
	to, err2 := strconv.ParseInt(last, 10, 62)
	switch {
	case first == "" && err2 == nil:
		from, to = max(0, size-to), size-1
	case err1 != nil:
		return
	case last == "":
		to = size - 1
	case err2 != nil || to < from:
		return
	}
	if to = min(to, size-1); from >= size {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		empty(resp, http.StatusRequestedRangeNotSatisfiable)
		return
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size))
	h.Set("Content-Length", strconv.FormatInt(to-from+1, 10))
	resp.StatusCode, resp.Status, resp.ContentLength = http.StatusPartialContent, "206 Partial Content", to-from+1
	resp.Body = &part{ReadCloser: resp.Body, skip: from, left: to - from + 1, last: to == size-1}
}

// empty makes resp an answer without content.
func empty(resp *http.Response, status int) {
	resp.Body.Close()
	resp.Body, resp.ContentLength, resp.TransferEncoding = http.NoBody, 0, nil
	resp.StatusCode, resp.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
}

// A part is a range of a body.
type part struct {
	io.ReadCloser
	skip, left int64
	last       bool // nothing is left behind it
}

func (p *part) Read(b []byte) (int, error) {
	if p.skip > 0 {
		n, err := io.CopyN(io.Discard, p.ReadCloser, p.skip)
		if p.skip -= n; err != nil {
			return 0, err
		}
	}
	if p.left == 0 {
		if p.last {
			return p.ReadCloser.Read(make([]byte, 1)) // which ends as the record does
		}
		return 0, io.EOF
	}
	n, err := p.ReadCloser.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	return n, err
}
