// Package httpd is an HTTP handler for tests, independent of the transport. It serves a tree of
// files and fails on request.
package httpd

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
)

// A Handler serves a tree.
type Handler struct {
	tree fs.FS
	done chan struct{} // closed by Close

	mu    sync.Mutex
	log   []string
	fault *servers.Fault
}

// New returns a handler. Close it before its server, which otherwise waits for stalled responses.
func New(tree fs.FS) *Handler { return &Handler{tree: tree, done: make(chan struct{})} }

// Close ends stalled responses.
func (h *Handler) Close() { close(h.done) }

// Fail makes the next response fail in the middle of its content. servers.Noise requires an
// HTTP/1.1 connection.
func (h *Handler) Fail(f servers.Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault = &f
}

// Log returns the methods and targets of all requests.
func (h *Handler) Log() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.log = append(h.log, r.Method+" "+r.RequestURI)
	fault := h.fault
	h.fault = nil
	h.mu.Unlock()
	content, err := fs.ReadFile(h.tree, strings.TrimPrefix(r.URL.Path, "/"))
	switch {
	case fault != nil && *fault == servers.Noise:
		noise(w)
	case err != nil:
		http.Error(w, "no such file", http.StatusNotFound)
	case fault != nil:
		w.Write(content[:len(content)/2])
		http.NewResponseController(w).Flush()
		if *fault == servers.Stall {
			select {
			case <-r.Context().Done():
			case <-h.done:
			}
		}
		panic(http.ErrAbortHandler)
	default:
		http.ServeContent(w, r, "x.bin", time.Unix(1e9, 0), bytes.NewReader(content))
	}
}

// noise sends bytes that are not an HTTP response.
func noise(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer conn.Close()
	io.WriteString(conn, "\x00\xff this is \r\n\r\n no answer\r\n")
}
