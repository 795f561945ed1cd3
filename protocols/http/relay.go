package http

import (
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/httphead"
)

// relay sets what is sent for a request that a proxy forwards: the fields as they are, without those of
// the driver.
func (t *target) relay(req *fetch.Request) error {
	t.cookies = nil
	t.header = http.Header{"User-Agent": {""}} // which keeps net/http from adding its own
	for name, values := range req.Header {
		name = textproto.CanonicalMIMEHeaderKey(name)
		if err := httphead.CheckField(name, values, nil); err != nil && !asksToContinue(name, values) {
			return &fetch.Error{Code: fetch.ErrRequest, Err: err}
		}
		t.header[name] = values
	}
	if _, ok := req.URL.Query(); t.method == http.MethodOptions && req.URL.Path() == "" && !ok &&
		t.proxy.IsZero() {
		t.url.Opaque = "*" // the request is for the server (RFC 9112, section 3.2.4)
	}
	return nil
}

// asksToContinue reports whether a field is the only defined expectation (RFC 9110, section 10.1.1).
func asksToContinue(name string, values []string) bool {
	return name == "Expect" && len(values) == 1 && strings.EqualFold(values[0], "100-continue")
}

// relayed returns the response as the server sent it.
func (ex *exchange) relayed() (*fetch.Response, error) {
	code := ex.resp.StatusCode
	if code < 200 { // a change of the protocol that was not requested, or no status at all
		return nil, ex.fail(fetch.ErrProtocol, "the server sent status %03d instead of a response", code)
	}
	if ex.in != nil {
		if list := ex.in.connection(); list != nil {
			ex.resp.Header["Connection"] = list
		}
	}
	m := ex.meta()
	switch {
	case ex.sent.Method == http.MethodHead:
		m.Size = -1 // that of the content, which is not sent
	case ex.endsByClose():
		m.Framing = fetch.FramedByClose
	}
	return &fetch.Response{Meta: m, Body: newBody(ex),
		Version: fmt.Sprintf("%d.%d", ex.resp.ProtoMajor, ex.resp.ProtoMinor),
		Trailer: func() textproto.MIMEHeader { return textproto.MIMEHeader(ex.resp.Trailer) }}, nil
}
