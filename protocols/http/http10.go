package http

import (
	"bytes"
	"strings"
	"sync/atomic"

	"github.com/urlget/urlget/fetch"
)

// Net/http ignores Transfer-Encoding in responses of HTTP/1.0, so that the chunk sizes would become
// content. Such framing is faulty (RFC 9112, section 6.1), but some servers send it, and other clients
// decode it. An incoming therefore passes their heads on as HTTP/1.1, where net/http decodes chunked and
// refuses other codings. The connection is closed afterwards. Informational responses may precede such a
// head.
//
// The coding identity means none (RFC 2616, section 4.4; RFC 7230 removed it). Net/http refuses it in
// responses of HTTP/1.1, so an incoming omits the field if the response has no other one.

// An incoming is the receiving direction of an HTTP/1 connection.
type incoming struct {
	begun   atomic.Bool // the next bytes that are written are a request, not more of its body
	written atomic.Bool // a request was written, so the next bytes are the head of a response
	buf     []byte      // a head of HTTP/1.0, and bytes after it
	rest    []byte      // received after an informational response
	tail    [3]byte     // the last bytes received

	keep atomic.Bool // the next heads are kept, until that of the final response
	head []byte
}

func (h *incoming) read(in *fetch.Conn, p []byte) (n int, err error) {
	defer func() { h.note(p[:n]) }()
	if len(h.buf) > 0 {
		n = copy(p, h.buf)
		h.buf = h.buf[n:]
		return n, nil
	}
	head := h.rest
	h.rest = nil
	if head == nil {
		n, err = in.Read(p) // which net/http calls before it writes the request
		if n == 0 || !h.written.Load() {
			return n, err
		}
		h.written.Store(false)
		if bytes.HasPrefix(p[:n], []byte(version11)) && !isInterim(p[:n]) && isUsual(p[:n]) {
			return n, err
		}
		head = bytes.Clone(p[:n])
	}
	more := make([]byte, 4<<10)
	receive := func() {
		m := 0
		m, err = in.Read(more)
		head = append(head, more[:m]...)
	}
	for err == nil && isShort(head) {
		receive()
	}
	head = withVersion(head)
	for err == nil && (isHTTP10(head) || mayBegin(head, version11)) && endOfHead(head) < 0 &&
		len(head) <= maxHeader {
		receive()
	}
	if end := endOfHead(head); end > 0 && isInterim(head) { // the head of another response follows
		if end == len(head) {
			h.written.Store(true)
		} else {
			h.rest = head[end:]
		}
		head = head[:end]
	}
	h.buf = withoutIdentity(withChunks(head))
	n = copy(p, h.buf)
	h.buf = h.buf[n:]
	return n, nil // an error comes again
}

// wrote is called before bytes are written.
func (h *incoming) wrote() {
	if h.begun.Swap(false) {
		h.written.Store(true)
	}
}

// hasBuffered reports whether bytes were received that read has not yet returned.
func (h *incoming) hasBuffered() bool { return len(h.buf)+len(h.rest) > 0 }

// begin is called before a request, whose response may begin before its end. If keep is set, the connection
// keeps the heads of the response, whose field Connection net/http removes in part.
func (h *incoming) begin(keep bool) {
	if h == nil {
		return
	}
	h.begun.Store(true)
	if keep {
		h.head = nil
		h.keep.Store(true)
	}
}

// connection returns the values of the field Connection in the head that was kept.
func (h *incoming) connection() (values []string) {
	open := false
	for line := range strings.Lines(string(h.head)) {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.EqualFold(name, "Connection"):
			values, open = append(values, strings.TrimSpace(value)), true
		case open && strings.TrimLeft(line, " \t") != line: // a continued line (RFC 9112, section 5.2)
			values = append(values, strings.TrimSpace(line))
		default:
			open = false
		}
	}
	return values
}

func (h *incoming) collect(p []byte) {
	h.head = append(h.head, p[:min(len(p), maxHeader-len(h.head))]...)
	rest := h.head
	for end := endOfHead(rest); end >= 0; end = endOfHead(rest) {
		if _, status, _ := strings.Cut(string(rest[:end]), " "); !strings.HasPrefix(status, "1") {
			h.head = h.head[:len(h.head)-len(rest)+end]
			h.keep.Store(false)
			return
		}
		rest = rest[end:]
	}
	if len(h.head) == maxHeader {
		h.keep.Store(false)
	}
}

func (h *incoming) note(p []byte) {
	if h.keep.Load() {
		h.collect(p)
	}
	switch n := len(h.tail); {
	case len(p) >= n:
		copy(h.tail[:], p[len(p)-n:])
	default:
		copy(h.tail[:], h.tail[len(p):])
		copy(h.tail[n-len(p):], p)
	}
}

func (h *incoming) emptyLine() bool {
	return h != nil && (string(h.tail[1:]) == "\n\n" || string(h.tail[:]) == "\n\r\n")
}

const version10, version11 = "HTTP/1.0 ", "HTTP/1.1 "

// wrongVersions replaces versions that do not exist over HTTP/1, although some servers send them. ICY is
// that of SHOUTcast, whose streams have no length.
var wrongVersions = []struct{ sent, meant string }{
	{"HTTP/2 ", version11}, {"HTTP/3 ", version11}, {"ICY ", version10},
}

// isShort reports whether p may become one of wrongVersions.
func isShort(p []byte) bool {
	for _, v := range wrongVersions {
		if len(p) < len(v.sent) && strings.HasPrefix(v.sent, string(p)) {
			return true
		}
	}
	return false
}

func withVersion(p []byte) []byte {
	for _, v := range wrongVersions {
		if rest, ok := bytes.CutPrefix(p, []byte(v.sent)); ok {
			return append([]byte(v.meant), rest...)
		}
	}
	return p
}

// isHTTP10 reports whether p may be the beginning of a response of HTTP/1.0.
func isHTTP10(p []byte) bool { return mayBegin(p, version10) }

// mayBegin reports whether p begins with a text, or may do so when more of it has arrived.
func mayBegin(p []byte, text string) bool {
	n := min(len(p), len(text))
	return string(p[:n]) == text[:n]
}

// isInterim reports whether p may be the beginning of an informational response, which another one follows
// (RFC 9110, section 15.2).
func isInterim(p []byte) bool {
	return (mayBegin(p, version11+"1") || mayBegin(p, version10+"1")) &&
		!bytes.HasPrefix(p, []byte(version11+"101"))
}

// endOfHead returns the position after the empty line, or -1.
func endOfHead(p []byte) int {
	for _, end := range []string{"\n\r\n", "\n\n"} {
		if i := bytes.Index(p, []byte(end)); i >= 0 {
			return i + len(end)
		}
	}
	return -1
}

// withChunks returns a response of HTTP/1.0 as one of HTTP/1.1 if it has a transfer coding.
func withChunks(p []byte) []byte {
	end := endOfHead(p)
	if end < 0 || !isHTTP10(p) {
		return p
	}
	first := bytes.IndexByte(p, '\n') + 1
	for line := range strings.Lines(string(p[first:end])) {
		name, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(name, "Transfer-Encoding") ||
			strings.EqualFold(strings.TrimSpace(value), "identity") {
			continue
		}
		changed := append([]byte(version11), p[len(version10):first]...)
		changed = append(changed, "Connection: close\r\n"...)
		return append(changed, p[first:]...)
	}
	return p
}

// isUsual reports whether p has a complete head without the coding identity.
func isUsual(p []byte) bool {
	end := endOfHead(p)
	return end >= 0 && !bytes.Contains(p[:end], []byte("dentity")) &&
		!bytes.Contains(p[:end], []byte("DENTITY"))
}

// withoutIdentity returns a response of HTTP/1.1 without the field Transfer-Encoding if that is identity.
func withoutIdentity(p []byte) []byte {
	end := endOfHead(p)
	if end < 0 || !bytes.HasPrefix(p, []byte(version11)) {
		return p
	}
	at, from, to := 0, 0, 0
	for line := range strings.Lines(string(p[:end])) {
		name, value, _ := strings.Cut(line, ":")
		switch isCoding := strings.EqualFold(name, "Transfer-Encoding"); {
		case isCoding && (to > 0 || !strings.EqualFold(strings.TrimSpace(value), "identity")),
			to > 0 && to == at && strings.TrimLeft(line, " \t") != line: // a continued line
			return p
		case isCoding:
			from, to = at, at+len(line)
		}
		at += len(line)
	}
	return append(bytes.Clone(p[:from]), p[to:]...)
}

// A tlsConn is a connection with TLS for HTTP/1.
type tlsConn struct {
	*fetch.Conn
	in incoming
}

func (c *tlsConn) Read(p []byte) (int, error) { return c.in.read(c.Conn, p) }

func (c *tlsConn) Write(p []byte) (int, error) {
	c.in.wrote()
	return c.Conn.Write(p)
}
