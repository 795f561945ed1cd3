// Targets is what the workers of the tests of many machines retrieve from: a server of HTTP on port
// 8080 and of gopher on port 7070 that goes by many names, and counts the transfers of each. What it
// counted is at port 8081.
//
// The content of a path follows from the path (package content). Parts of paths mean:
//
//	/cut/    the transfer always ends before its time
//	/flaky/  the first one does
//	/busy/   the first one is told to come again in a second
//	/gone/   there is nothing
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

	"github.com/urlget/urlget/integration/machines/content"
)

func main() {
	c := &counts{now: map[string]int{}, Peak: map[string]int{}, asked: map[string]int{}}
	failed := make(chan error, 3)
	go func() { failed <- http.ListenAndServe(":8080", c) }()
	go func() { failed <- c.gopher(":7070") }()
	go func() { failed <- http.ListenAndServe(":8081", http.HandlerFunc(c.tell)) }()
	log.Fatal(<-failed)
}

// The counts are of transfers.
type counts struct {
	mu    sync.Mutex
	now   map[string]int // at once, by host
	asked map[string]int // by URL

	Peak      map[string]int // of now
	Transfers int
	Broken    int // that the client ended
	// Again are the transfers of URLs that were whole before.
	Again int
}

// begin counts a transfer of a host; end says that it is over.
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

// first reports whether a URL is asked for for the first time.
func (c *counts) first(url string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[url]++
	return c.asked[url] == 1
}

func (c *counts) broke() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Broken++
}

// whole counts a transfer that came to its end.
func (c *counts) whole(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked["whole "+url]++; c.asked["whole "+url] > 1 {
		c.Again++
	}
}

// tell tells the counts, and forgets them if it is asked to by POST.
func (c *counts) tell(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	json.NewEncoder(w).Encode(c)
	if r.Method == http.MethodPost {
		clear(c.Peak)
		clear(c.asked)
		c.Transfers, c.Broken, c.Again = 0, 0, 0
	}
}

// ServeHTTP serves a content. For whoever looks from here the transfer is over before its last byte
// is sent: when the client has that, it may begin with another one.
func (c *counts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	end := c.begin(host)
	defer end()
	url := host + r.URL.String()
	first := c.first(url)
	select {
	case <-time.After(content.Delay()):
	case <-r.Context().Done():
		c.broke()
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
		w.Write(body[len(body)-1:]) // else the server closes the connection
		c.whole(url)
	}
}

// gopher serves files.
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

// answer serves a selector, which begins with the name of the host: gopher does not tell it.
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
		conn.Read(make([]byte, 1)) // nothing comes but the end
		close(gone)
	}()
	select {
	case <-time.After(content.Delay()):
	case <-gone:
		c.broke()
		return
	}
	c.first(host + path)
	end()
	if _, err := fmt.Fprintf(conn, "%s", content.Of(path)); err == nil {
		c.whole(host + path)
	}
}
