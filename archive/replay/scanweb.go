package replay

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
)

// maxMethod limits the method in a request record that is not valid otherwise.
const maxMethod = 32

type requestInfo struct {
	known      bool
	method     string
	bodyDigest string
	coded      bool
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
	if c.cache != nil {
		c.cache.vary = strings.Join(resp.Header["Vary"], ",")
	}
	switch c.status {
	case http.StatusPartialContent:
		c.rng, c.total = contentRange(resp.Header.Get("Content-Range"))
	case http.StatusRequestTimeout, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusUnauthorized, http.StatusProxyAuthRequired,
		http.StatusRequestedRangeNotSatisfiable, http.StatusPreconditionFailed: // these depend on the request
		c.failed = true
	}
}

// contentRange parses Content-Range into the range and the complete size, which is 0 if unknown.
// For an invalid value it returns a range that no request has.
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
