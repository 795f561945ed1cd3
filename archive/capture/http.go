package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/archive/internal/cachecontrol"
	"github.com/urlget/urlget/archive/internal/digest"
	"github.com/urlget/urlget/archive/internal/httprecord"
	"github.com/urlget/urlget/archive/internal/record"
	"github.com/urlget/urlget/archive/warc"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/internal/responsehead"
)

// maxHead limits the length of a response head that is parsed.
const maxHead = 512 << 10

// messages are the messages of an HTTP exchange. An exchange may need several requests, for example a
// second one with credentials.
type messages []*message

type message struct {
	conn              int
	request, response *warc.Spool // response is nil until bytes are received
	variant           *fetch.Variant

	// Most bodies are not chunked. Their digest is computed while they are received.
	head    []byte         // the part received so far, without informational responses; nil after its end
	payload *digest.Hasher // nil if the body is chunked or the head is incomplete
	size    int64          // bytes written to payload
	version string         // that of the response if net/http does not read it as the client does, or ""
	// usual is the response without its body. It has no status if its head was not read in place.
	usual http.Response

	// The records, in the same allocation.
	sentRecord, receivedRecord warc.Draft
	index                      warc.IndexEntry
}

func (m *message) receive(w *warc.Writer, p []byte) {
	first := m.response == nil
	if first {
		m.response = w.NewSpool()
	}
	m.response.Write(p)
	if first || m.head != nil {
		head := p // usually all of the head has arrived, and is not copied
		if !first {
			head = append(m.head, p...)
		}
		end := headEnd(head, max(0, len(m.head)-3))
		for end > 0 && httprecord.IsInterim(head) {
			head = head[end:]
			end = headEnd(head, 0)
		}
		switch {
		case end > 0:
		case len(head) > maxHead:
			m.head = nil
			return
		case first:
			m.head = append(make([]byte, 0, 512), head...)
			return
		default:
			m.head = head
			return
		}
		coded := false
		if responsehead.Read(head[:end], &m.usual) == 0 {
			m.usual = http.Response{}
			coded = hasTransferEncoding(head[:end])
			m.version = otherVersion(head, coded)
		}
		if !coded {
			m.payload = digest.NewHasher()
		}
		p, m.head = head[end:], nil
	}
	if m.payload != nil {
		m.payload.Write(p)
		m.size += int64(len(p))
	}
}

func hasTransferEncoding(head []byte) bool {
	name := []byte("transfer-encoding:")
	for line := range bytes.Lines(head) {
		if len(line) > len(name) && bytes.EqualFold(line[:len(name)], name) &&
			!bytes.EqualFold(bytes.TrimSpace(line[len(name):]), []byte("identity")) {
			return true
		}
	}
	return false
}

// otherVersion returns the version of a response that is read as one of another version, or "". Coded
// reports whether it has a transfer coding, which net/http ignores in HTTP/1.0. It refuses the coding
// identity in HTTP/1.1, which is none.
func otherVersion(head []byte, coded bool) string {
	version, _, _ := bytes.Cut(head, []byte(" "))
	switch v := string(version); v {
	case "HTTP/2", "HTTP/3", "ICY":
		return v
	case "HTTP/1.0":
		if coded {
			return v
		}
	case "HTTP/1.1":
		if !coded && bytes.Contains(bytes.ToLower(head), []byte("\ntransfer-encoding:")) {
			return v
		}
	}
	return ""
}

// reader returns the response from an offset on, in a form that net/http reads.
func (m *message) reader(s *warc.Spool, from int64) io.Reader {
	if m.version == "" {
		return s.Reader(from)
	}
	as := "HTTP/1.1"
	if m.version == as {
		as = "HTTP/1.0"
	}
	return io.MultiReader(strings.NewReader(as), s.Reader(from+int64(len(m.version))))
}

// protocol returns the version of a response for its record.
func (m *message) protocol(resp *http.Response) string {
	switch {
	case m.version == "HTTP/1.0" || m.version == "ICY":
		return "http/1.0"
	case m.version == "HTTP/1.1" || resp.Proto == "HTTP/1.1":
		return "http/1.1"
	}
	return strings.ToLower(resp.Proto)
}

// forbidsStore reports whether a cache must not store the exchange (RFC 9111, sections 5.2.1.5 and
// 5.2.2.5).
func (m *message) forbidsStore() bool {
	if req := m.sent(); req != nil && cachecontrol.Of(textproto.MIMEHeader(req.Header)).Has("no-store") {
		return true
	}
	resp := m.answer()
	return resp != nil && cachecontrol.Of(textproto.MIMEHeader(resp.Header)).ForbidsStore(resp.StatusCode)
}

// sent returns the request without its body, or nil if it is not valid.
func (m *message) sent() *http.Request {
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(m.request.Reader(0), maxHead)))
	if err != nil {
		return nil
	}
	return req
}

// answer returns the final response without its body, or nil if there is none.
func (m *message) answer() *http.Response {
	head := io.LimitReader(m.reader(m.response, finalOffset(m.response)), maxHead)
	resp, err := http.ReadResponse(bufio.NewReader(head), nil)
	if err != nil {
		return nil
	}
	resp.Body.Close()
	return resp
}

// validator returns the validator that the request has, as it was sent, or "".
func (m *message) validator() string {
	req := m.sent()
	if req == nil {
		return ""
	}
	return cmp.Or(req.Header.Get("If-None-Match"), req.Header.Get("If-Modified-Since"))
}

// headEnd returns the length of the head at the start of b, including the empty line, or 0 if the
// head is incomplete. The search starts at from. Lines may end without carriage returns.
func headEnd(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0
		}
		from += i + 1
		switch rest := b[from:]; {
		case bytes.HasPrefix(rest, []byte("\n")):
			return from + 1
		case bytes.HasPrefix(rest, []byte("\r\n")):
			return from + 2
		}
	}
}

func (list messages) close() {
	for _, m := range list {
		m.request.Close()
		m.response.Close()
		if m.payload != nil {
			m.payload.Free()
			m.payload = nil
		}
	}
}

// last returns the last message on a connection, or nil if there is none.
func (list messages) last(conn int) *message {
	for _, m := range slices.Backward(list) {
		if m.conn == conn {
			return m
		}
	}
	return nil
}

func (r *recording) sentHTTP(conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.http.last(conn)
	if m == nil || m.response != nil && beginsRequest(p) {
		m = &message{conn: conn, request: r.w.NewSpool(), variant: r.variant}
		r.http = append(r.http, m)
	}
	m.request.Write(p)
}

// beginsRequest reports whether p, sent after the response has started, is a new request. Otherwise
// p continues the request body, because servers may respond before they have read all of it.
func beginsRequest(p []byte) bool {
	line, _, whole := bytes.Cut(p, []byte("\r\n"))
	method, rest, ok := bytes.Cut(line, []byte(" "))
	isVisible := !bytes.ContainsFunc(method, func(c rune) bool { return c <= ' ' || c > '~' })
	return ok && len(method) > 0 && len(method) <= maxMethod && isVisible &&
		(!whole || bytes.HasSuffix(rest, []byte(" HTTP/1.1")))
}

func (r *recording) receivedHTTP(conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.http.last(conn); m != nil { // otherwise no request was sent
		m.receive(r.w, p)
	}
}

// httpRecords appends the records of an HTTP exchange to list: for each message a request record and a
// response or revisit record, by connection.
func (r *recording) httpRecords(list []*warc.Draft, err error) []*warc.Draft {
	now := r.begin
	defer func() { r.begin = now }()
	slices.SortStableFunc(r.http, func(a, b *message) int { return a.conn - b.conn })
	for _, m := range r.http {
		r.begin = now
		switch {
		case m.conn == 0 && r.cache: // without a connection, because it was replayed
			continue
		case m.response == nil: // a failure is recorded by end
			continue
		case m.conn == 0 && r.from != nil:
			r.begin = r.from.Time
		}
		if r.cache {
			list = append(list, r.changes(m)...)
			if m.forbidsStore() {
				continue
			}
		}
		answer, protocol := r.responseRecord(m, err)
		if s := r.peerOf(m.conn).state; s != nil {
			if name := s.NegotiatedProtocol; name == "h2" || name == "h3" {
				protocol = name
			}
		}
		r.addPeer(&answer.Header, m.conn, protocol)
		if r.cache && answer.Index != nil && answer.Index.Status == http.StatusNotModified {
			answer.Header.Add(record.CacheValidator, m.validator())
		}
		h := r.header(warc.Request, "application/http;msgtype=request")
		h.Add("WARC-Concurrent-To", answer.Header.Get("WARC-Record-ID"))
		r.addPeer(&h, m.conn, protocol)
		m.sentRecord = warc.Draft{Header: h, Block: m.request}
		list = append(list, answer, &m.sentRecord)
	}
	return list
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}

const maxMethod = 64

func (m *message) method() string {
	var begin [maxMethod]byte
	n, _ := m.request.ReadAt(begin[:], 0)
	method, _, ok := bytes.Cut(begin[:n], []byte(" "))
	if !ok || string(method) == http.MethodGet {
		return http.MethodGet
	}
	return string(method)
}

func (r *recording) responseRecord(m *message, err error) (d *warc.Draft, protocol string) {
	d = &m.receivedRecord
	d.Header, d.Block = r.header(warc.Response, "application/http;msgtype=response"), m.response
	from := finalOffset(m.response)
	if from > 0 {
		d.Block = r.w.NewSpool()
		io.Copy(d.Block, m.response.Reader(from))
	}
	method := m.method()
	resp := &m.usual
	if method != http.MethodGet || resp.StatusCode == 0 || m.size > resp.ContentLength {
		src := readers.Get().(*bufio.Reader)
		src.Reset(m.reader(d.Block, 0))
		defer func() {
			src.Reset(nil)
			readers.Put(src)
		}()
		var readErr error
		if resp, readErr = http.ReadResponse(src, &http.Request{Method: method}); readErr != nil {
			d.Header.Add("WARC-Truncated", truncationReason(err))
			return d, ""
		}
		defer resp.Body.Close()
	}
	protocol = m.protocol(resp)
	sum, size, bodyErr := m.payload, m.size, error(nil)
	toEnd := resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	switch {
	case sum == nil || resp.Body == http.NoBody || !toEnd && size > resp.ContentLength:
		sum = digest.NewHasher()
		defer sum.Free()
		size, bodyErr = io.Copy(sum, resp.Body)
	case !toEnd && size < resp.ContentLength:
		bodyErr = io.ErrUnexpectedEOF
	}
	if excess := m.size - size; m.payload != nil && excess > 0 { // not part of the response
		whole := d.Block
		d.Block = r.w.NewSpool()
		io.CopyN(d.Block, whole.Reader(0), whole.Len()-excess)
		if whole != m.response {
			whole.Close()
		}
	}
	payload := sum.String()
	if resp.StatusCode == http.StatusNotModified && m.validator() != "" {
		payload = ""
		r.seen.latest(r.target).makeUnmodified(&d.Header)
	}
	d.Header.Add("WARC-Payload-Digest", payload)
	login := m.variant.HasLogin() || !r.foreign && m.variant.HasCookies()
	r.addCacheKey(&d.Header, m.variant, login, strings.Join(resp.Header["Vary"], ","))
	whole := bodyErr == nil && !(toEnd && err != nil)
	if !whole {
		d.Header.Add("WARC-Truncated", cmp.Or(truncationReason(err), "unspecified"))
	}
	mime := resp.Header.Get("Content-Type")
	if d.Header.Type() == warc.Revisit {
		mime = "warc/revisit"
	}
	m.index = warc.IndexEntry{Mime: mime, Status: resp.StatusCode, Digest: payload}
	d.Index = &m.index
	if method != http.MethodGet {
		d.Index.Method = method
	}
	if method != http.MethodGet && method != http.MethodHead {
		return d, protocol
	}
	if whole && size > 0 && resp.StatusCode == http.StatusOK && d.Block.Err() == nil {
		if known, ok := r.archived(payload, d.Header.ID()); ok {
			known.makeRevisit(&d.Header)
			head := r.w.NewSpool()
			length := httprecord.HeadLength(io.LimitReader(d.Block.Reader(0), maxHead))
			io.CopyN(head, d.Block.Reader(0), length)
			if d.Block != m.response {
				d.Block.Close()
			}
			d.Block, d.Index.Mime = head, "warc/revisit"
		}
	}
	return d, protocol
}

// finalOffset returns the start of the final response, after any interim responses (1xx).
func finalOffset(s *warc.Spool) int64 {
	from := int64(0)
	for {
		var begin [16]byte
		n, _ := s.ReadAt(begin[:], from)
		if !httprecord.IsInterim(begin[:n]) {
			return from
		}
		length := httprecord.HeadLength(io.LimitReader(s.Reader(from), maxHead))
		if length == 0 || from+length >= s.Len() {
			return from
		}
		from += length
	}
}
