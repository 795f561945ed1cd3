// Package responsehead reads the usual head of an HTTP response in place, with few allocations.
package responsehead

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

const version11 = "HTTP/1.1 "

// Read parses the head of a response to GET in place, as [http.ReadResponse] does, and returns its
// length. It allocates one string for all fields. If it returns 0, the head is incomplete, or has something
// that few have, such as another framing than by length; resp may then have changed.
func Read(p []byte, resp *http.Response) int {
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < len(version11)+3 {
		return 0
	}
	head := string(p[:end+2])
	line, rest, _ := strings.Cut(head, "\r\n")
	status, ok := strings.CutPrefix(line, version11)
	if !ok || !isFieldText(status) || len(status) < 3 || len(status) > 3 && status[3] != ' ' {
		return 0
	}
	code, err := strconv.ParseUint(status[:3], 10, 16)
	if err != nil || code < 200 || code == http.StatusNoContent || code == http.StatusNotModified {
		return 0
	}
	*resp = http.Response{Status: status, StatusCode: int(code), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, ContentLength: -1}
	fields := strings.Count(rest, "\r\n")
	resp.Header = make(http.Header, fields)
	values := make([]string, fields) // in one allocation
	for i := range values {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !IsToken(name) || !isFieldText(value) {
			return 0
		}
		name, value = textproto.CanonicalMIMEHeaderKey(name), textproto.TrimString(value)
		switch name {
		case "Content-Length":
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil || resp.ContentLength >= 0 {
				return 0
			}
			resp.ContentLength = int64(n)
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return 0
			}
		case "Transfer-Encoding", "Trailer", "Pragma": // net/http changes the header
			return 0
		}
		if before := resp.Header[name]; before != nil {
			resp.Header[name] = append(before, value)
		} else {
			values[i] = value
			resp.Header[name] = values[i : i+1 : i+1]
		}
	}
	if resp.ContentLength < 0 {
		return 0
	}
	return end + 4
}

// IsToken reports whether s can be a field name (RFC 9110, section 5.6.2). Some tokens are not accepted.
func IsToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
}

// isFieldText reports whether s has no control characters except tabs.
func isFieldText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
