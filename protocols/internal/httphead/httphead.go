// Package httphead has the common rules of HTTP and WebSockets for the heads of messages: the fields
// that callers may set, and the status of responses.
package httphead

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/urlget/urlget/fetch"
)

// connectionFields belong to the connection or to the body, so callers cannot set them.
var connectionFields = []string{"Content-Length", "Transfer-Encoding", "Te", "Trailer", "Connection",
	"Keep-Alive", "Proxy-Connection", "Upgrade", "Expect"}

// CheckField returns an error if a caller cannot set a header field, because it belongs to the
// connection, is one of reserved, or is malformed. Names are in canonical form.
func CheckField(name string, values, reserved []string) error {
	switch {
	case slices.Contains(connectionFields, name), slices.Contains(reserved, name):
		return fmt.Errorf("the header field %s cannot be set", name)
	case name == "Host" && len(values) > 0 && !httpguts.ValidHostHeader(values[0]):
		return fmt.Errorf("the value of %s cannot be sent", name)
	}
	return CheckSyntax(name, values)
}

// CheckSyntax rejects a field that would break the syntax of the header.
func CheckSyntax(name string, values []string) error {
	if !httpguts.ValidHeaderFieldName(name) || len(values) == 0 {
		return fmt.Errorf("%q is not a header field", name)
	}
	for _, v := range values {
		if !httpguts.ValidHeaderFieldValue(v) {
			return fmt.Errorf("the value of %s cannot be sent", name)
		}
	}
	return nil
}

// IsSafe reports whether a method is safe (RFC 9110, section 9.2.1; RFC 4918, section 9.1). TRACE, which
// no caller may use, is not counted.
func IsSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions ||
		method == "PROPFIND"
}

// ReadResponse reads the final response to a request. It passes informational ones to the
// httptrace.ClientTrace of the request, as net/http does.
func ReadResponse(r *bufio.Reader, req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	for {
		resp, err := http.ReadResponse(r, req)
		if err != nil || resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
		if trace != nil && trace.Got1xxResponse != nil {
			if err := trace.Got1xxResponse(resp.StatusCode, textproto.MIMEHeader(resp.Header)); err != nil {
				return nil, err
			}
		}
	}
}

// Reply returns the status of a response as the server sent it.
func Reply(resp *http.Response) fetch.Reply {
	text := ""
	if len(resp.Status) > 4 {
		text = resp.Status[4:] // after the code, which net/http has checked
	}
	return fetch.Reply{Code: resp.StatusCode, Text: text}
}

// maxRetryAfter limits an accepted Retry-After.
const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter reads seconds or a date (RFC 9110, section 10.2.3). It returns 0 for other values and
// past dates.
func RetryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(time.Until(t), 0), maxRetryAfter)
}
