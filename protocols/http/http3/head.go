package http3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"

	"github.com/quic-go/qpack"
	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
)

// maxHead bounds the head of an answer, as sent and as it is without compression, and those of all
// informational answers before it.
const maxHead = 256 << 10

// requestHead returns the frame with the head of a request (RFC 9114, section 4.3.1).
func requestHead(req *http.Request, trace *httptrace.ClientTrace) ([]byte, error) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	path := req.URL.RequestURI()
	if !strings.HasPrefix(path, "/") { // an opaque URL is printed whole
		path = strings.TrimPrefix(path, "https://"+req.URL.Host)
	}
	if !strings.HasPrefix(path, "/") {
		return nil, &fetch.Error{Code: fetch.ErrRequest, Err: fmt.Errorf("%q is no path", path)}
	}
	var block bytes.Buffer
	enc := qpack.NewEncoder(&block)
	write := func(name, value string) {
		enc.WriteField(qpack.HeaderField{Name: name, Value: value}) // to a buffer, which does not fail
		if trace != nil && trace.WroteHeaderField != nil {
			trace.WroteHeaderField(name, []string{value})
		}
	}
	write(":authority", withoutZone(host))
	write(":method", req.Method)
	write(":path", path)
	write(":scheme", "https")
	for name, values := range req.Header {
		for _, v := range values {
			write(strings.ToLower(name), v)
		}
	}
	if length, ok := contentLength(req); ok {
		write("content-length", strconv.FormatInt(length, 10))
	}
	return appendFrame(nil, frameHeaders, block.Bytes()), nil
}

// withoutZone returns an authority without the zone of an IPv6 address (RFC 6874, section 4).
func withoutZone(host string) string {
	zone, end := strings.IndexByte(host, '%'), strings.LastIndexByte(host, ']')
	if !strings.HasPrefix(host, "[") || zone < 0 || end < zone {
		return host
	}
	return host[:zone] + host[end:]
}

// contentLength returns the length to announce of what is sent, if any.
func contentLength(req *http.Request) (length int64, ok bool) {
	switch {
	case !hasBody(req):
		return 0, req.Method == http.MethodPost || req.Method == http.MethodPut || req.Method == http.MethodPatch
	case req.ContentLength > 0:
		return req.ContentLength, true
	}
	return 0, false
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// A malformedError is what a server must not send: the code to reset the stream with, and words.
type malformedError struct {
	code uint64
	err  error
}

func (e *malformedError) Error() string { return e.err.Error() }

func malformed(format string, args ...any) error {
	return &malformedError{errMessage, fmt.Errorf(format, args...)}
}

// answerHead reads the fields of an answer (RFC 9114, sections 4.2 and 4.3.2).
func answerHead(block []byte) (*http.Response, error) {
	resp := &http.Response{Proto: "HTTP/3.0", ProtoMajor: 3, Header: make(http.Header), ContentLength: -1}
	err := fields(block, func(name, value string) error {
		switch {
		case strings.HasPrefix(name, ":"):
			if name != ":status" || resp.Status != "" || len(resp.Header) > 0 {
				return malformed("the field %q is out of place", name)
			}
			resp.Status = value
			return nil
		case !httpguts.ValidHeaderFieldName(name) || name != strings.ToLower(name):
			return malformed("%q is no name of a field", name)
		case !httpguts.ValidHeaderFieldValue(value):
			return malformed("the value of the field %s has control characters", name)
		}
		switch name {
		case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade":
			return malformed("the field %s has no place in HTTP/3", name)
		}
		key := http.CanonicalHeaderKey(name)
		resp.Header[key] = append(resp.Header[key], value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	code, err := strconv.Atoi(resp.Status)
	if err != nil || len(resp.Status) != 3 || code < 100 {
		return nil, malformed("%q is no status", resp.Status)
	}
	resp.StatusCode = code
	resp.Status += " " + http.StatusText(code)
	return resp, announced(resp)
}

// announced sets the length that the fields announce. It may be said several times, but only one.
func announced(resp *http.Response) error {
	for i, v := range resp.Header["Content-Length"] {
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil || i > 0 && int64(n) != resp.ContentLength {
			return malformed("the server announces a length that no content has: %q", v)
		}
		resp.ContentLength = int64(n)
	}
	return nil
}

// fields calls f with what a block of compressed fields has (RFC 9204), as long as that is not too
// much (RFC 9114, section 4.2.2).
func fields(block []byte, f func(name, value string) error) error {
	next := qpack.NewDecoder().Decode(block)
	for left := maxHead; ; {
		field, err := next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return &malformedError{errDecompression, fmt.Errorf("the fields cannot be decompressed: %w", err)}
		}
		if left -= len(field.Name) + len(field.Value) + 32; left < 0 {
			return errTooLong
		}
		if err := f(field.Name, field.Value); err != nil {
			return err
		}
	}
}

var errTooLong = &malformedError{errExcessiveLoad, errors.New("the head of the answer is too long")}
