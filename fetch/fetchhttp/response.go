package fetchhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
)

func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

func status(resp *fetch.Response) int {
	switch code := resp.Reply.Code; {
	case isHTTP(resp.URL.Scheme()) && code/100 == 2:
		return code
	case resp.Range.IsZero() || resp.Size <= 0:
		return http.StatusOK
	}
	return http.StatusPartialContent
}

// Describe sets the fields of h that describe resp, and returns the HTTP status.
func Describe(h http.Header, resp *fetch.Response) int {
	for name, values := range fields(resp) {
		h[name] = values
	}
	return status(resp)
}

func fields(resp *fetch.Response) http.Header {
	h := http.Header{}
	for _, k := range []string{"Content-Encoding", "Content-Language", "Cache-Control", "Expires"} {
		set(h, k, resp.Header.Get(k))
	}
	describe(h, &resp.Meta)
	return h
}

// allFields returns the fields of an HTTP response without those that belong to the connection.
func allFields(resp *fetch.Response) http.Header {
	h := endToEnd(resp.Header)
	describe(h, &resp.Meta)
	return h
}

func describe(h http.Header, m *fetch.Meta) {
	if m.Decoded {
		h.Del("Content-Encoding")
		h.Del("Content-Length")
	}
	set(h, "Content-Type", m.ContentType)
	if m.Size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(m.Size, 10))
	}
	if !m.ModTime.IsZero() {
		h.Set("Last-Modified", m.ModTime.UTC().Format(http.TimeFormat))
	}
	if strings.HasSuffix(m.ETag, `"`) { // validators of other protocols are not entity tags
		set(h, "ETag", m.ETag)
	}
	if m.Range.IsZero() || m.Size <= 0 {
		return
	}
	total := "*"
	if m.Total > 0 {
		total = strconv.FormatInt(m.Total, 10)
	}
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", m.Range.Offset, m.Range.Offset+m.Size-1, total))
}

func set(h http.Header, key, value string) {
	if value != "" && !strings.ContainsAny(value, "\r\n\x00") {
		h.Set(key, value)
	}
}

// refusal returns the HTTP response for a server's refusal of a request. If err is another failure,
// it returns nil.
func refusal(err error) *responseBuilder {
	var e *fetch.Error
	if !errors.As(err, &e) {
		return nil
	}
	if code := httpStatus(e); code != 0 {
		return httpRefusal(e, code)
	}
	code := statusOf(e.Code)
	if code == 0 {
		return nil
	}
	text := err.Error() + "\n"
	return &responseBuilder{status: code, header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		body: io.NopCloser(strings.NewReader(text)), size: -1}
}

// httpStatus returns the status of the HTTP response that caused e, or 0 if e has another cause.
func httpStatus(e *fetch.Error) int {
	scheme, _, _ := strings.Cut(e.URL, ":")
	if !isHTTP(strings.ToLower(scheme)) || e.Reply.Code < 300 {
		return 0
	}
	switch e.Code {
	case fetch.ErrNotModified, fetch.ErrNotFound, fetch.ErrRefused, fetch.ErrAuth, fetch.ErrRange,
		fetch.ErrBusy, fetch.ErrServer:
		return e.Reply.Code
	}
	return 0
}

// httpRefusal returns the refusal of an HTTP server, with its error page.
func httpRefusal(e *fetch.Error, code int) *responseBuilder {
	a := &responseBuilder{status: code, text: e.Reply.Text, header: endToEnd(e.Header),
		size: int64(len(e.Body))}
	var page io.Reader = strings.NewReader(string(e.Body))
	announced, err := strconv.ParseInt(e.Header.Get("Content-Length"), 10, 64)
	switch more := err == nil && announced > a.size; {
	case more: // only the beginning of the page, or none because the request was HEAD
		a.size = announced
		page = io.MultiReader(page, cutOff{})
	case e.Partial:
		a.size = -1
		page = io.MultiReader(page, cutOff{})
	}
	if a.size >= 0 && len(e.Header) > 0 {
		a.header.Set("Content-Length", strconv.FormatInt(a.size, 10))
	}
	a.body = io.NopCloser(page)
	return a
}

// cutOff is a reader that ends an incomplete error page with an error.
type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// statusOf returns the HTTP status for an error class, or 0 if the class is not a server's response
// about the resource.
func statusOf(code fetch.Code) int {
	switch code {
	case fetch.ErrNotModified:
		return http.StatusNotModified
	case fetch.ErrNotFound:
		return http.StatusNotFound
	case fetch.ErrRefused, fetch.ErrAuth:
		return http.StatusForbidden
	case fetch.ErrRange:
		return http.StatusRequestedRangeNotSatisfiable
	case fetch.ErrBusy:
		return http.StatusServiceUnavailable
	}
	return 0
}
