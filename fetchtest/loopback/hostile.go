package loopback

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A Lie is a way in which an HTTP server misbehaves.
type Lie struct {
	// Name is the first element of the paths that misbehave.
	Name string
	// Does describes the behavior in a sentence without its subject, the server.
	Does string
	// Whole is the content that a client can retrieve nevertheless. Nil means none.
	Whole []byte

	serve func(r *reply)
}

// hostileSize is the size of the content in bytes. It is larger than the part that clients compare
// before they resume.
const hostileSize = 256 << 10

// HostileContent returns a version of the content of the hostile servers.
func HostileContent(version byte) []byte {
	b := make([]byte, hostileSize)
	seed := [32]byte{version}
	rand.NewChaCha8(seed).Read(b)
	return b
}

var first, second = HostileContent(1), HostileContent(2)

// A reply is a request and the connection for its response.
type reply struct {
	*http.Request
	conn  *servers.Conn
	again bool          // an earlier request had the same path
	done  chan struct{} // closed by Close
}

// head writes a status and header fields. A field is "Name: value".
func (r *reply) head(status int, fields ...string) {
	fmt.Fprintf(r.conn, "HTTP/1.1 %d %s\r\nConnection: close\r\n", status, http.StatusText(status))
	for _, f := range fields {
		fmt.Fprintf(r.conn, "%s\r\n", f)
	}
	fmt.Fprint(r.conn, "\r\n")
}

func (r *reply) send(b []byte) {
	if r.Method != http.MethodHead {
		r.conn.Write(b)
	}
}

// repeat writes b again and again, with a pause, until the client or the server closes the
// connection.
func (r *reply) repeat(b []byte, pause time.Duration) {
	t := time.NewTicker(pause)
	defer t.Stop()
	for {
		if _, err := r.conn.Write(b); err != nil || r.conn.Flush() != nil {
			return
		}
		select {
		case <-t.C:
		case <-r.done:
			return
		}
	}
}

// from returns the offset of the requested range. It returns false if there is none.
func (r *reply) from() (int, bool) {
	s, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
	s, _, _ = strings.Cut(s, "-")
	n, err := strconv.Atoi(s)
	return n, ok && err == nil && n < hostileSize
}

// part sends the requested range of b, whatever If-Range says. Without a range it sends all.
func (r *reply) part(b []byte, fields ...string) {
	from, ranged := r.from()
	if !ranged {
		r.head(200, append(fields, length(len(b)))...)
		r.send(b)
		return
	}
	to := len(b) - 1
	_, last, _ := strings.Cut(r.Header.Get("Range"), "-")
	if n, err := strconv.Atoi(last); err == nil && n < to {
		to = n
	}
	r.head(206, append(fields, length(to+1-from),
		fmt.Sprintf("Content-Range: bytes %d-%d/%d", from, to, len(b)))...)
	r.send(b[from : to+1])
}

func length(n int) string { return fmt.Sprintf("Content-Length: %d", n) }

// half sends the first half of the first version, as the response to the first request with a path.
// It returns false for later requests.
func (r *reply) half(fields ...string) bool {
	if r.again {
		return false
	}
	r.head(200, append(fields, length(hostileSize), "Accept-Ranges: bytes")...)
	r.send(first[:hostileSize/2])
	return true
}

const (
	etag1 = `ETag: "1"`
	etag2 = `ETag: "2"`
)

// lies are the HTTP behaviors, in the order of Lies.
var lies = []Lie{
	{Name: "length", Does: "states twice the length of what it sends", serve: func(r *reply) {
		r.head(200, length(hostileSize))
		r.send(first[:hostileSize/2])
	}},
	{Name: "chunked", Does: "ends a chunked body without the last chunk", serve: func(r *reply) {
		r.head(200, "Transfer-Encoding: chunked")
		r.send(fmt.Appendf(nil, "%x\r\n%s\r\n", hostileSize/2, first[:hostileSize/2]))
	}},
	{Name: "unmarked", Does: "states no length and closes the connection after half of the body",
		serve: func(r *reply) {
			r.head(200)
			r.send(first[:hostileSize/2])
		}},
	{Name: "digest", Does: "sends a body that differs from its digest (Repr-Digest, Digest, Content-MD5)",
		serve: func(r *reply) {
			sum := sha256.Sum256(first)
			text := base64.StdEncoding.EncodeToString(sum[:])
			changed := bytes.Clone(first)
			changed[hostileSize/2] ^= 1
			r.part(changed, "Repr-Digest: sha-256=:"+text+":", "Digest: SHA-256="+text,
				"Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==")
		}},
	{Name: "breaks-off", Does: "breaks off", Whole: first, serve: func(r *reply) {
		if !r.half(etag1) {
			r.part(first, etag1)
		}
	}},
	{Name: "changed", Does: "breaks off, then has another file, and respects If-Range", Whole: second,
		serve: func(r *reply) {
			if r.half(etag1) {
				return
			}
			if _, ranged := r.from(); ranged && r.Header.Get("If-Range") != "" &&
				r.Header.Get("If-Range") != `"2"` {
				r.head(200, etag2, length(hostileSize))
				r.send(second)
				return
			}
			r.part(second, etag2)
		}},
	{Name: "changed-ignored", Does: "breaks off, then has another file, and ignores If-Range", Whole: second,
		serve: func(r *reply) {
			if !r.half(etag1) {
				r.part(second, etag2)
			}
		}},
	{Name: "changed-unnamed", Does: "breaks off, then has another file, without entity tags and times",
		Whole: second, serve: func(r *reply) {
			if !r.half() {
				r.part(second)
			}
		}},
	{Name: "offset", Does: "breaks off, then sends the beginning instead of the requested range",
		Whole: first, serve: func(r *reply) {
			if r.half(etag1) {
				return
			}
			if _, ranged := r.from(); ranged {
				r.head(206, etag1, length(hostileSize),
					fmt.Sprintf("Content-Range: bytes 0-%d/%d", hostileSize-1, hostileSize))
				r.send(first)
				return
			}
			r.part(first, etag1)
		}},
	{Name: "no-ranges", Does: "breaks off, then sends the whole file instead of the requested range",
		Whole: first, serve: func(r *reply) {
			if !r.half(etag1) {
				r.head(200, etag1, length(hostileSize))
				r.send(first)
			}
		}},
	{Name: "error-page", Does: "replies 404 with a page", serve: func(r *reply) {
		page := []byte("<p>Not here.\n")
		r.head(404, "Content-Type: text/html", length(len(page)))
		r.send(page)
	}},
	{Name: "to-file", Does: "redirects to a local file", serve: func(r *reply) {
		r.head(302, "Location: file:///etc/hosts", length(0))
	}},
	{Name: "to-itself", Does: "redirects to itself", serve: func(r *reply) {
		r.head(302, "Location: "+r.URL.Path, length(0))
	}},
	{Name: "dripping-header", Does: "sends a byte of its header now and then", serve: func(r *reply) {
		fmt.Fprint(r.conn, "HTTP/1.1 200 OK\r\nX-Drip: ")
		r.repeat([]byte("."), 100*time.Millisecond)
	}},
	{Name: "endless-header", Does: "never ends its header", serve: func(r *reply) {
		fmt.Fprint(r.conn, "HTTP/1.1 200 OK\r\n")
		r.repeat(bytes.Repeat([]byte("X-More: and more\r\n"), 50), time.Millisecond)
	}},
	{Name: "endless", Does: "never ends its body", serve: func(r *reply) {
		r.head(200)
		if r.Method != http.MethodHead {
			r.repeat(first[:64<<10], 10*time.Millisecond)
		}
	}},
}

// Lies returns the behaviors of the hostile HTTP server.
func Lies() []Lie { return lies }

// Hostile starts an HTTP server that misbehaves. The behavior named NAME has every path that starts
// with /NAME/. Behaviors that depend on earlier requests do so for each path, so /NAME/1/file and
// /NAME/2/file are independent. Other paths have a list of the behaviors. The server uses TLS if cfg
// is not nil. The caller must call Close.
func Hostile(listen string, cfg *tls.Config) (*HostileServer, error) {
	h := &HostileServer{done: make(chan struct{}), seen: make(map[string]bool)}
	scheme := "http"
	if cfg != nil {
		scheme = "https"
	}
	s, err := servers.New(servers.Config{Scheme: scheme, Listen: listen, TLS: cfg}, h.handle)
	if err != nil {
		return nil, err
	}
	h.Server = s
	return h, nil
}

// A HostileServer is a running hostile HTTP server.
type HostileServer struct {
	*servers.Server
	done   chan struct{}
	closed atomic.Bool

	mu   sync.Mutex
	seen map[string]bool // paths of earlier requests
}

// Close stops the server.
func (h *HostileServer) Close() {
	if !h.closed.Swap(true) {
		close(h.done)
	}
	h.Server.Close()
}

func (h *HostileServer) handle(c *servers.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	io.Copy(io.Discard, io.LimitReader(req.Body, 1<<20))
	c.Note(req.Method + " " + req.RequestURI)
	r := &reply{Request: req, conn: c, done: h.done}
	if req.Method != http.MethodHead {
		h.mu.Lock()
		r.again = h.seen[req.URL.Path]
		h.seen[req.URL.Path] = true
		h.mu.Unlock()
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	for _, l := range lies {
		if l.Name == name {
			l.serve(r)
			c.Flush()
			if tcp, ok := c.NetConn().(*net.TCPConn); ok {
				tcp.CloseWrite()
			}
			return
		}
	}
	var page strings.Builder
	for _, l := range lies {
		fmt.Fprintf(&page, "<p><a href=\"/%s/file.bin\">%s</a>: the server %s.\n", l.Name, l.Name, l.Does)
	}
	r.head(200, "Content-Type: text/html", length(page.Len()))
	r.send([]byte(page.String()))
}
