package capture

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/urlget/urlget/archive/warc"
)

// maxHead bounds the head of an answer that is looked at.
const maxHead = 512 << 10

// messages are those of an exchange over HTTP, by connection. Several requests may be needed, such
// as one more with a login.
type messages struct {
	dir   string
	conns map[int][]*message
}

// A message is a request with its answer, as they were on the connection.
type message struct {
	request, answer *warc.Spool // answer is nil until something has come

	// Most content follows its head without any framing, and its digest is made as it comes.
	head    []byte    // as far as it has come; nil behind it
	payload hash.Hash // nil if there is framing, or the head has not ended
	size    int64     // of what is in payload
}

// receive takes the next bytes of the answer.
func (m *message) receive(dir string, p []byte) {
	if m.answer == nil {
		m.answer, m.head = warc.NewSpool(dir), make([]byte, 0, 512)
	}
	m.answer.Write(p)
	if m.head != nil {
		from := max(0, len(m.head)-3)
		m.head = append(m.head, p...)
		end := headEnd(m.head, from)
		if end == 0 {
			if len(m.head) > maxHead {
				m.head = nil
			}
			return
		}
		if !interimStatus(m.head) && !bytes.Contains(bytes.ToLower(m.head[:end]), []byte("\ntransfer-encoding:")) {
			m.payload = sha256.New()
		}
		p, m.head = m.head[end:], nil
	}
	if m.payload != nil {
		m.payload.Write(p)
		m.size += int64(len(p))
	}
}

// headEnd returns where the head ends that b begins with, with the empty line; 0 if it has no end. No
// line before from is the last one. Some servers leave out carriage returns.
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

func (m *messages) close() {
	for _, list := range m.conns {
		for _, msg := range list {
			msg.request.Close()
			msg.answer.Close()
		}
	}
}

func (r *recording) sentHTTP(conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.http.conns[conn]
	if len(list) == 0 || list[len(list)-1].answer != nil && beginsRequest(p) {
		list = append(list, &message{request: warc.NewSpool(r.http.dir)})
		r.http.conns[conn] = list
	}
	list[len(list)-1].request.Write(p)
}

// beginsRequest reports whether p, which is sent after an answer has begun, is another request. Else it
// is more of the content of the last one: servers may answer before they have read all of it.
func beginsRequest(p []byte) bool {
	line, _, whole := bytes.Cut(p, []byte("\r\n"))
	method, rest, ok := bytes.Cut(line, []byte(" "))
	return ok && len(method) > 0 && len(method) <= maxMethod && !bytes.ContainsFunc(method, func(c rune) bool { return c <= ' ' || c > '~' }) &&
		(!whole || bytes.HasSuffix(rest, []byte(" HTTP/1.1")))
}

func (r *recording) receivedHTTP(conn int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.http.conns[conn]
	if len(list) == 0 {
		return // nobody asked
	}
	list[len(list)-1].receive(r.http.dir, p)
}

// webRecords returns the records of an exchange over HTTP: a request and a response, or a revisit,
// for each message.
func (r *recording) webRecords(err error) []*warc.Draft {
	var list []*warc.Draft
	for _, conn := range slices.Sorted(maps.Keys(r.http.conns)) {
		for _, m := range r.http.conns[conn] {
			if m.answer == nil {
				continue // the failure says what there is to say
			}
			answer, protocol := r.answerRecord(m, err)
			if s := r.peers[conn].state; s != nil && (s.NegotiatedProtocol == "h2" || s.NegotiatedProtocol == "h3") {
				protocol = s.NegotiatedProtocol
			}
			r.addPeer(&answer.Header, conn, protocol)
			h := r.header(warc.Request, "application/http;msgtype=request")
			h.Add("WARC-Concurrent-To", answer.Header.Get("WARC-Record-ID"))
			r.addPeer(&h, conn, protocol)
			list = append(list, answer, &warc.Draft{Header: h, Block: m.request})
		}
	}
	return list
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}

// maxMethod bounds the name of a method.
const maxMethod = 64

// method returns the method of the request, GET if there is none.
func (m *message) method() string {
	begin := make([]byte, maxMethod)
	n, _ := io.ReadFull(m.request.Reader(0), begin)
	method, _, ok := strings.Cut(string(begin[:n]), " ")
	if !ok {
		return http.MethodGet
	}
	return method
}

// answerRecord returns the record of an answer, and the version of HTTP that it names.
func (r *recording) answerRecord(m *message, err error) (d *warc.Draft, protocol string) {
	d = &warc.Draft{Header: r.header(warc.Response, "application/http;msgtype=response"), Block: m.answer}
	from := interim(m.answer)
	if from > 0 {
		d.Block = warc.NewSpool(r.http.dir)
		io.Copy(d.Block, m.answer.Reader(from))
	}
	method := m.method()
	src := readers.Get().(*bufio.Reader)
	src.Reset(d.Block.Reader(0))
	defer func() {
		src.Reset(nil)
		readers.Put(src)
	}()
	resp, readErr := http.ReadResponse(src, &http.Request{Method: method})
	if readErr != nil {
		d.Header.Add("WARC-Truncated", reason(err))
		return d, ""
	}
	defer resp.Body.Close()
	protocol = strings.ToLower(resp.Proto)
	sum, size, bodyErr := m.payload, m.size, error(nil)
	toEnd := resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
	switch {
	case sum == nil || resp.Body == http.NoBody || !toEnd && size > resp.ContentLength:
		sum = sha256.New()
		size, bodyErr = io.Copy(sum, resp.Body)
	case !toEnd && size < resp.ContentLength:
		bodyErr = io.ErrUnexpectedEOF
	}
	digest := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	d.Header.Add("WARC-Payload-Digest", digest)
	whole := bodyErr == nil && !(toEnd && err != nil)
	if !whole {
		d.Header.Add("WARC-Truncated", cmp.Or(reason(err), "unspecified"))
	}
	d.Index = &warc.IndexEntry{Mime: cmp.Or(mediaType(resp.Header.Get("Content-Type")), "unk"), Status: resp.StatusCode, Digest: digest}
	if method != http.MethodGet {
		d.Index.Method = method
	}
	if method != http.MethodGet && method != http.MethodHead {
		return d, protocol
	}
	if whole && size > 0 && resp.StatusCode == http.StatusOK && d.Block.Err() == nil {
		if known, ok := r.known(digest, d.Header.ID()); ok {
			known.refer(&d.Header)
			head := warc.NewSpool(r.http.dir)
			io.CopyN(head, d.Block.Reader(0), headLength(d.Block))
			if d.Block != m.answer {
				d.Block.Close()
			}
			d.Block, d.Index.Mime = head, "warc/revisit"
		}
	}
	return d, protocol
}

// interim returns where the final answer begins, behind those with a status of 1xx.
func interim(s *warc.Spool) int64 {
	from := int64(0)
	for {
		begin := make([]byte, 16)
		n, _ := io.ReadFull(s.Reader(from), begin)
		if !interimStatus(begin[:n]) {
			return from
		}
		length := headLengthAt(s, from)
		if length == 0 || from+length >= s.Len() {
			return from
		}
		from += length
	}
}

// interimStatus reports whether the head of an answer, of which at least the first line is there,
// is that of an interim one.
func interimStatus(head []byte) bool {
	_, status, _ := strings.Cut(string(head[:min(len(head), 16)]), " ")
	return strings.HasPrefix(status, "1") && !strings.HasPrefix(status, "101")
}

func headLength(s *warc.Spool) int64 { return headLengthAt(s, 0) }

// headLengthAt returns how long the head at from is, with the empty line; 0 if it has no end.
func headLengthAt(s *warc.Spool, from int64) int64 {
	lines := bufio.NewReader(io.LimitReader(s.Reader(from), maxHead))
	length, begun := int64(0), false // begun is a line that is longer than what is read at once
	for {
		line, err := lines.ReadSlice('\n')
		length += int64(len(line))
		if err == bufio.ErrBufferFull {
			begun = true
			continue
		}
		if err != nil {
			return 0
		}
		if begun {
			begun = false
			continue
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return length
		}
	}
}
