package httprecord

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Read reads the final response in a block. It skips interim responses (1xx); together with the
// head they are limited to maxHead bytes. Size is the length of the block in bytes, or -1 if it is
// unknown.
//
// Heads are accepted as browsers accept them: a line that is not a field is ignored, control
// characters in a value become spaces, and an invalid or contradictory Content-Length counts as
// absent.
//
// The body ends where the block ends, because some programs store a decoded body with the original
// head. If size is known, Content-Length is corrected to a longer body. A shorter body ends with
// io.ErrUnexpectedEOF. Chunked framing is removed. Content-Encoding is removed if the body lacks
// that coding. Reading the body to its end also reads the rest of the block.
func Read(block io.Reader, size, maxHead int64) (*http.Response, error) {
	limited := &io.LimitedReader{R: block, N: maxHead}
	h := &headReader{limited: limited, in: bufio.NewReader(limited)}
	resp, err := h.read()
	for err == nil && isInterimStatus(resp.StatusCode) {
		if _, end := h.in.Peek(1); end == io.EOF {
			break
		}
		resp, err = h.read()
	}
	if err != nil {
		return nil, err
	}
	limited.N = math.MaxInt64
	if size >= 0 {
		size -= h.length
	}
	setBody(resp, h.in, size)
	return resp, nil
}

type headReader struct {
	limited *io.LimitedReader
	in      *bufio.Reader
	length  int64 // bytes read
}

// line returns the next line without its end. A head may end with the block.
func (h *headReader) line() (string, error) {
	line, err := h.in.ReadString('\n')
	h.length += int64(len(line))
	switch {
	case err == io.EOF && h.limited.N == 0:
		err = fmt.Errorf("response head is longer than %d bytes", h.length)
	case err == io.EOF && line != "":
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (h *headReader) read() (*http.Response, error) {
	line, err := h.line()
	if err == io.EOF {
		return nil, errors.New("no HTTP response in the record")
	}
	if err != nil {
		return nil, err
	}
	resp := &http.Response{Header: make(http.Header), ContentLength: -1}
	if !parseStatusLine(resp, line) {
		return nil, fmt.Errorf("expected an HTTP response, found %.40q", line)
	}
	for last := ""; ; {
		line, err := h.line()
		if line == "" && (err == nil || err == io.EOF) {
			return resp, nil
		}
		if err != nil {
			return nil, err
		}
		if values := resp.Header[last]; (line[0] == ' ' || line[0] == '\t') && len(values) > 0 {
			values[len(values)-1] += " " + cleanValue(line)
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimRight(name, " \t")
		if last = ""; ok && httpguts.ValidHeaderFieldName(name) {
			last = http.CanonicalHeaderKey(name)
			resp.Header[last] = append(resp.Header[last], cleanValue(value))
		}
	}
}

func cleanValue(value string) string {
	clean := []byte(value)
	for i, c := range clean {
		if c < ' ' && c != '\t' || c == 0x7f {
			clean[i] = ' '
		}
	}
	return strings.Trim(string(clean), " \t")
}

// parseStatusLine sets the version and the status. Without a version number, as in "ICY 200 OK" of
// SHOUTcast servers, the version is HTTP/1.0. Without a status, the status is 200.
func parseStatusLine(resp *http.Response, line string) bool {
	version, rest, _ := strings.Cut(line, " ")
	name, number, _ := strings.Cut(version, "/")
	if !strings.EqualFold(name, "HTTP") && version != "ICY" {
		return false
	}
	major, minor, _ := strings.Cut(number, ".")
	var err error
	if resp.ProtoMajor, err = strconv.Atoi(major); err != nil || resp.ProtoMajor < 1 || resp.ProtoMajor > 3 {
		resp.ProtoMajor, minor = 1, "0"
	}
	resp.ProtoMinor, _ = strconv.Atoi(minor)
	resp.Proto = fmt.Sprintf("HTTP/%d.%d", resp.ProtoMajor, resp.ProtoMinor)
	resp.Status = strings.TrimSpace(rest)
	digits := resp.Status[:len(resp.Status)-len(strings.TrimLeft(resp.Status, "0123456789"))]
	if digits == "" {
		resp.StatusCode = http.StatusOK
		return true
	}
	resp.StatusCode, err = strconv.Atoi(digits)
	return err == nil
}

func isInterimStatus(code int) bool { return code/100 == 1 && code != http.StatusSwitchingProtocols }

// setBody sets the body to the rest of the block, which has size bytes or is of unknown size (-1).
func setBody(resp *http.Response, in *bufio.Reader, size int64) {
	b := &body{content: in, block: in}
	resp.Body = b
	chunked := false
	_, hasLength := resp.Header["Content-Length"]
	resp.ContentLength = declaredLength(resp.Header)
	// Also in HTTP/1.0, where they are an error, because clients decode them (RFC 9112, section 6.1).
	claimsChunks := httpguts.HeaderValuesContainsToken(resp.Header["Transfer-Encoding"], "chunked")
	resp.Header.Del("Transfer-Encoding")
	if claimsChunks {
		in, chunked = hasChunks(in)
		b.content, b.block = in, in
	}
	switch {
	case resp.StatusCode/100 == 1,
		resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		b.content = strings.NewReader("")
		return
	case chunked:
		b.content = httputil.NewChunkedReader(in)
		resp.TransferEncoding = []string{"chunked"}
		setLength(resp, -1)
		size = -1
	case size >= 0 && (size > resp.ContentLength && hasLength || claimsChunks):
		setLength(resp, size)
	case claimsChunks:
		setLength(resp, -1)
		resp.TransferEncoding = []string{"chunked"} // the end of the block ends the body
	}
	b.missing = resp.ContentLength
	if resp.Header.Get("Content-Encoding") == "" {
		return
	}
	content := bufio.NewReader(b.content)
	if b.content = content; WithoutCoding(resp, content) {
		b.missing = 0
		setLength(resp, size)
		if size < 0 {
			resp.TransferEncoding = []string{"chunked"} // the end of the block ends the body
		}
	}
}

func setLength(resp *http.Response, size int64) {
	resp.ContentLength = size
	resp.Header.Del("Content-Length")
	if size >= 0 {
		resp.Header.Set("Content-Length", strconv.FormatInt(size, 10))
	}
}

// declaredLength returns the value of Content-Length, or -1 if it is absent, invalid, or has several
// different values.
func declaredLength(h http.Header) int64 {
	length := int64(-1)
	for _, line := range h["Content-Length"] {
		for value := range strings.SplitSeq(line, ",") {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 62)
			if err != nil || length >= 0 && int64(n) != length {
				return -1
			}
			length = int64(n)
		}
	}
	return length
}

type body struct {
	content io.Reader
	missing int64     // bytes of Content-Length that were not yet read; not positive if there are none
	block   io.Reader // the rest of the block, which may end with an error
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.missing -= int64(n)
	if err != io.EOF {
		return n, err
	}
	if b.missing > 0 {
		return n, io.ErrUnexpectedEOF
	}
	if _, end := io.Copy(io.Discard, b.block); end != nil {
		err = end
	}
	return n, err
}

// Close implements io.Closer. It does not close the block.
func (b *body) Close() error { return nil }
