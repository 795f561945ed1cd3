package http

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// partial accepts a 206 only if it is a requested part of the same resource, because the caller
// appends it to the bytes of an earlier response. Without a requested range, it accepts the complete
// resource, which some servers send as a range.
func (ex *exchange) partial() (*fetch.Response, error) {
	h, want := ex.resp.Header, ex.req.Range
	part, err := parseContentRange(strings.Join(h.Values("Content-Range"), ", ")) // only one is allowed
	length := part.last - part.first + 1
	if !ex.target.ranged {
		if err != nil || !part.isWhole() || ex.resp.ContentLength != length {
			return nil, ex.fail(fetch.ErrProtocol, "the server sent a range that was not requested")
		}
		return ex.content(fetch.Range{}, 0)
	}
	if strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "multipart/byteranges") {
		if len(ex.req.Ranges) == 0 {
			return nil, ex.fail(fetch.ErrProtocol, "the server sent several ranges instead of one")
		}
		return ex.content(fetch.Range{}, 0)
	}
	if err != nil {
		return nil, ex.fail(fetch.ErrProtocol, "%w", err)
	}
	if len(ex.req.Ranges) == 0 && part.isWhole() && !part.serves(want) && ex.resp.ContentLength == length {
		return ex.content(fetch.Range{}, 0) // as if the server had ignored Range
	}
	switch sent := ex.target.header.Get("If-Range"); {
	case len(ex.req.Ranges) == 0 && !part.serves(want),
		len(ex.req.Ranges) > 0 && !slices.ContainsFunc(ex.req.Ranges, part.mayBegin):
		return nil, ex.fail(fetch.ErrProtocol, "the server sent bytes %d to %d, not the requested range",
			part.first, part.last)
	case ex.resp.ContentLength >= 0 && ex.resp.ContentLength != length:
		return nil, ex.fail(fetch.ErrProtocol, "Content-Length is %d, but the range has %d bytes",
			ex.resp.ContentLength, length)
	case isStrong(sent) && h.Get("ETag") != "" && h.Get("ETag") != sent:
		return nil, ex.fail(fetch.ErrChanged, "the server sent a range of %s instead of %s",
			h.Get("ETag"), sent)
	}
	return ex.content(fetch.Range{Offset: part.first, Length: length}, part.total)
}

// A contentRange is the range of a part. Total is 0 if the server does not send it.
type contentRange struct{ first, last, total int64 }

// serves reports whether r is the requested range, or the beginning of it. For a range counted from
// the end without a total, only the length can be checked.
func (r contentRange) serves(want fetch.Range) bool {
	length := r.last - r.first + 1
	if want.Offset < 0 {
		return length <= -want.Offset && (r.total == 0 || r.last == r.total-1)
	}
	return r.first == want.Offset && (want.Length == 0 || length <= want.Length)
}

func (r contentRange) isWhole() bool { return r.first == 0 && r.last == r.total-1 }

// mayBegin reports whether r may be one of several requested ranges. It may cover more than one,
// because servers merge ranges.
func (r contentRange) mayBegin(one fetch.Range) bool { return one.Offset < 0 || r.first == one.Offset }

var errContentRange = errors.New("malformed Content-Range")

// parseContentRange reads "bytes first-last/total" (RFC 9110, section 14.4).
func parseContentRange(s string) (contentRange, error) {
	malformed := fmt.Errorf("%w %q", errContentRange, s)
	unit, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	span, total, ok := strings.Cut(strings.TrimSpace(rest), "/")
	first, last, ok2 := strings.Cut(span, "-")
	if !strings.EqualFold(unit, "bytes") || !ok || !ok2 {
		return contentRange{}, malformed
	}
	var (
		r    contentRange
		errs [3]error
	)
	r.first, errs[0] = parseSize(first)
	r.last, errs[1] = parseSize(last)
	if total != "*" {
		if r.total, errs[2] = parseSize(total); r.last >= r.total {
			return contentRange{}, malformed
		}
	}
	if errors.Join(errs[:]...) != nil || r.last < r.first {
		return contentRange{}, malformed
	}
	return r, nil
}

// parseSize reads digits only. It limits the value so that last+1 cannot overflow.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 62)
	return int64(n), err
}
