package replay

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A part is the range of a 206 response (RFC 9110, section 14.4). Total is the size of the complete
// content; 0 if it is unknown.
type part struct {
	rng   fetch.Range
	total int64
}

// parseContentRange returns a range that no request has if value is invalid.
func parseContentRange(value string) part {
	invalid := part{rng: fetch.Range{Offset: -1, Length: -1}}
	unit, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	span, size, _ := strings.Cut(strings.TrimSpace(rest), "/")
	first, last, _ := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 62)
	to, err2 := strconv.ParseInt(last, 10, 62)
	if !strings.EqualFold(unit, "bytes") || err1 != nil || err2 != nil || to < from || from < 0 {
		return invalid
	}
	total, err := strconv.ParseInt(size, 10, 62)
	if err != nil || total <= to {
		total = 0
	}
	return part{fetch.Range{Offset: from, Length: to - from + 1}, total}
}

// isWhole reports whether p is the complete content. Browsers request video with "Range: bytes=0-", and
// some programs record that.
func (p part) isWhole() bool { return p.rng.Offset == 0 && p.rng.Length == p.total }

// covers reports whether p has the range want, which may extend beyond the end of the content.
func (p part) covers(want fetch.Range) bool {
	if p.rng == want {
		return true
	}
	if want.IsZero() || p.total == 0 && (want.Offset < 0 || want.Length == 0) {
		return false
	}
	want = want.Of(p.total)
	have, end := p.rng.Offset+p.rng.Length, want.Offset+want.Length
	if want.Length == 0 || p.total > 0 && end > p.total {
		end = p.total
	}
	return want.Offset >= p.rng.Offset && want.Offset < end && end <= have
}

// completePart turns a 206 with the complete content into the 200 that it stands for.
func completePart(resp *http.Response) {
	p := parseContentRange(resp.Header.Get("Content-Range"))
	if resp.StatusCode != http.StatusPartialContent || !p.isWhole() ||
		resp.ContentLength >= 0 && resp.ContentLength < p.total {
		return
	}
	if resp.ContentLength < 0 {
		resp.ContentLength, resp.TransferEncoding = p.total, nil
		resp.Header.Set("Content-Length", strconv.FormatInt(p.total, 10))
	}
	resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
	resp.Header.Del("Content-Range")
}

// applyHTTPRange reduces the body of resp, which has the part have of the content, to the range in the
// header of a request. A response without that range does not change.
func applyHTTPRange(resp *http.Response, header string, have part) {
	span, ok := strings.CutPrefix(header, "bytes=")
	first, last, hasSpan := strings.Cut(span, "-")
	if !ok || !hasSpan || strings.Contains(last, ",") {
		return
	}
	from, err1 := strconv.ParseInt(first, 10, 62)
	to, err2 := strconv.ParseInt(last, 10, 62)
	size, unsized := have.total, have.total == 0 && have.rng.Length > 0
	switch {
	case unsized && (first == "" || last == ""):
		return
	case first == "" && err2 == nil:
		from, to = max(0, size-to), size-1
	case err1 != nil:
		return
	case last == "":
		to = size - 1
	case err2 != nil || to < from:
		return
	}
	h := resp.Header
	if from >= size && !unsized {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
		makeEmpty(resp, http.StatusRequestedRangeNotSatisfiable)
		return
	}
	total := "*"
	if !unsized {
		to, total = min(to, size-1), strconv.FormatInt(size, 10)
	}
	skip, length := from-have.rng.Offset, to-from+1
	if skip < 0 || skip+length > have.rng.Length {
		return
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, to, total))
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	resp.StatusCode, resp.Status = http.StatusPartialContent, "206 Partial Content"
	resp.ContentLength, resp.TransferEncoding = length, nil
	resp.Body = struct {
		io.Reader
		io.Closer
	}{&section{resp.Body, skip, length}, resp.Body}
}
