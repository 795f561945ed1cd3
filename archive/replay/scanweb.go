package replay

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/archive/warc"
)

// maxMethod limits the method in a request record that is not valid otherwise.
const maxMethod = 32

type requestInfo struct {
	known      bool
	parsed     bool
	method     string
	bodyDigest string
	coded      bool
	variant    variant
}

// request reads a request record, which may precede or follow that of the response.
func (s *scanner) request(rec *warc.Record) {
	head := &io.LimitedReader{R: rec.Checked(), N: maxHead}
	in := bufio.NewReader(head)
	begin, _ := in.Peek(maxMethod + 1)
	method, _, _ := strings.Cut(string(begin), " ")
	q := requestInfo{known: true, method: method, bodyDigest: unknownBody}
	switch req, err := http.ReadRequest(in); {
	case err != nil && method == http.MethodGet: // replayed like a response without a request record
		return
	case err != nil:
	default:
		head.N = math.MaxInt64
		coding := req.Header.Get("Accept-Encoding")
		q.method, q.coded = req.Method, coding != "" && coding != "identity"
		q.variant = variantOf(req.Header.Values)
		q.parsed = true
		body := io.Reader(in) // HTTP/2 requests may lack a Content-Length
		if req.Body != http.NoBody {
			body = req.Body
		}
		if rec.Incomplete() == "" {
			q.bodyDigest = bodyDigest(req.Header.Get("Content-Type"), body)
		}
	}
	other := rec.Refers("WARC-Concurrent-To")
	if c := s.responses[other]; c != nil {
		c.setRequest(q)
		delete(s.responses, other)
		return
	}
	for _, id := range []string{rec.ID(), other} {
		if id != "" {
			s.requests[id] = q
		}
	}
}

func (c *snapshot) setRequest(q requestInfo) {
	if q.known {
		c.method, c.bodyDigest, c.coded = q.method, q.bodyDigest, q.coded
		c.variant, c.known = q.variant, q.parsed
	}
	if c.cache != nil && c.method != http.MethodHead && c.status != http.StatusNotModified {
		c.cache.header = nil
	}
}

// readHead reads the head of a response record. A capture whose head is invalid counts as failed.
func (c *snapshot) readHead(rec *warc.Record) {
	// Without a request record, assume that the client accepted content codings, as most do.
	c.coded = true
	c.incomplete = rec.Incomplete() != ""
	c.failed = c.incomplete
	if rec.Type() == warc.Revisit && rec.Length == 0 { // the head is that of the origin
		return
	}
	resp, err := rec.HTTPResponse(maxHead)
	if err != nil {
		c.failed = true
		return
	}
	c.status = resp.StatusCode
	c.readVary(resp.Header)
	if c.cache != nil {
		c.cache.vary = strings.Join(resp.Header["Vary"], ",")
		c.cache.header = textproto.MIMEHeader(resp.Header)
	}
	switch c.status {
	case http.StatusPartialContent:
		if have := parseContentRange(resp.Header.Get("Content-Range")); !have.isWhole() {
			c.rng, c.total = have.rng, have.total
		}
	case http.StatusRequestTimeout, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusUnauthorized, http.StatusProxyAuthRequired,
		http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed: // these depend on the request
		c.failed = true
	}
}
