// Targets is the server that workers retrieve from in the tests of many machines: HTTP on port 8080
// and gopher on port 7070, under many host names. It counts the transfers of each host and serves
// the counts on port 8081.
//
// Package content generates the content of a path. Some parts of paths have a meaning:
//
//	/cut/    every transfer is cut off
//	/flaky/  the first transfer is cut off
//	/busy/   the first request gets Retry-After: 1
//	/gone/   there is no content
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/queue/integration/machines/content"
)

func main() {
	c := &counts{now: map[string]int{}, Peak: map[string]int{}, requests: map[string]int{}}
	failed := make(chan error, 3)
	go func() { failed <- http.ListenAndServe(":8080", c) }()
	go func() { failed <- c.gopher(":7070") }()
	go func() { failed <- http.ListenAndServe(":8081", http.HandlerFunc(c.serveCounts)) }()
	log.Fatal(<-failed)
}

// The counts of transfers.
type counts struct {
	mu       sync.Mutex
	now      map[string]int // current transfers by host
	requests map[string]int // requests by URL

	Peak      map[string]int // maximum of now
	Transfers int
	Broken    int // ended by the client
	// Again counts transfers of URLs that were complete before.
	Again int
}

// begin counts a transfer from a host. The returned function ends it.
func (c *counts) begin(host string) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Transfers++
	c.now[host]++
	c.Peak[host] = max(c.Peak[host], c.now[host])
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now[host]--
	})
}

// first reports whether this is the first request for a URL.
func (c *counts) first(url string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[url]++
	return c.requests[url] == 1
}

func (c *counts) countBroken() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Broken++
}

// countWhole counts a complete transfer.
func (c *counts) countWhole(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests["whole "+url]++; c.requests["whole "+url] > 1 {
		c.Again++
	}
}

// serveCounts serves the counts. A POST also resets them.
func (c *counts) serveCounts(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	json.NewEncoder(w).Encode(c)
	if r.Method == http.MethodPost {
		clear(c.Peak)
		clear(c.requests)
		c.Transfers, c.Broken, c.Again = 0, 0, 0
	}
}

// ServeHTTP serves content. The transfer counts as ended before its last byte is sent, because the
// client may start another one as soon as it has that byte.
func (c *counts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	end := c.begin(host)
	defer end()
	url := host + r.URL.String()
	first := c.first(url)
	select {
	case <-time.After(content.Delay()):
	case <-r.Context().Done():
		c.countBroken()
		return
	}
	switch {
	case strings.Contains(r.URL.Path, "/gone/"):
		end()
		http.NotFound(w, r)
		return
	case strings.Contains(r.URL.Path, "/busy/") && first:
		end()
		w.Header().Set("Retry-After", "1")
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	}
	body := content.Of(r.URL.Path)
	cut := strings.Contains(r.URL.Path, "/cut/") || strings.Contains(r.URL.Path, "/flaky/") && first
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(body[:len(body)-1])
	http.NewResponseController(w).Flush()
	end()
	if !cut {
		w.Write(body[len(body)-1:]) // otherwise the server closes the connection
		c.countWhole(url)
	}
}

// gopher serves files over Gopher.
func (c *counts) gopher(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go c.answer(conn)
	}
}

// answer serves a selector, which starts with the host name, because Gopher requests do not contain
// it.
func (c *counts) answer(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	path := strings.TrimSpace(line)
	host, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	end := c.begin(host)
	defer end()
	gone := make(chan struct{})
	go func() {
		conn.Read(make([]byte, 1)) // waits for the end of the connection
		close(gone)
	}()
	select {
	case <-time.After(content.Delay()):
	case <-gone:
		c.countBroken()
		return
	}
	c.first(host + path)
	end()
	if _, err := fmt.Fprintf(conn, "%s", content.Of(path)); err == nil {
		c.countWhole(host + path)
	}
}
