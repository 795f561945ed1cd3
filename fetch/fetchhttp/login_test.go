package fetchhttp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchhttp"
)

// privateProxy starts a proxy for one user, whose log goes to the returned buffer.
func privateProxy(t *testing.T) (address string, log *lockedBuffer) {
	log = &lockedBuffer{}
	return serveProxy(t, &fetchhttp.Proxy{Login: &fetch.Credential{User: "ada", Password: "right"},
		Logger: slog.New(slog.NewTextHandler(log, nil))}, &fetch.Options{Policy: &fetch.Policy{AllowPrivate: true}}), log
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const rightLogin = "Proxy-Authorization: Basic YWRhOnJpZ2h0\r\n"

// Strangers do not keep out the user, however many there are and whatever they do before a login.
func TestStrangersDoNotKeepOutTheUser(t *testing.T) {
	t.Parallel()
	for name, hello := range map[string]string{
		"silent":            "",
		"a byte":            "G",
		"half a request":    "GET http://h/ HTTP/1.1\r\nHost:",
		"no login":          "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"a wrong login":     "GET http://h/ HTTP/1.1\r\nHost: h\r\nProxy-Authorization: Basic YTpi\r\n\r\n",
		"half a body":       "POST http://h/ HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx",
		"SOCKS":             "\x05\x01\x02",
		"SOCKS, half":       "\x05\x01\x02\x01\x03ad",
		"OPTIONS":           "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
		"a request of 0.9":  "GET http://h/\r\n",
		"the proxy's pages": "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := privateProxy(t)
			o := startOrigin(t, "one", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			for range 300 { // more than there are places for them
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				io.WriteString(c, hello)
			}
			if strings.Contains(hello, "Basic") { // whose address has to wait
				return
			}
			for range 3 {
				got, _ := converse(t, address, "GET http://"+o.addr+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+rightLogin+"\r\n")
				if !strings.HasPrefix(got, "HTTP/1.1 200") {
					t.Fatalf("the user got %q", got)
				}
			}
		})
	}
}

// A connection ends with the refusal of a login. Each wrong one makes a line in the log, without what was
// given, and requests without a login make none.
func TestWrongLoginsAreLogged(t *testing.T) {
	t.Parallel()
	address, log := privateProxy(t)
	wrong := "Proxy-Authorization: Basic YWRhOnRoZXNlY3JldA==\r\n" // ada:thesecret
	for _, login := range []string{"", wrong, "", wrong} {
		got, _ := converse(t, address, "GET http://h/ HTTP/1.1\r\nHost: h\r\n"+login+"\r\nGET http://h/ HTTP/1.1\r\nHost: h\r\n"+rightLogin+"\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 407") || strings.Count(got, "HTTP/1.") != 1 {
			t.Errorf("with %q: %q", login, got)
		}
	}
	text := log.String()
	if strings.Count(text, "\n") != 2 || strings.Count(text, "a login was refused") != 2 || strings.Contains(text, "ada") || strings.Contains(text, "thesecret") {
		t.Errorf("the log: %s", text)
	}
}

// A client that has logged in does not wait for others that guess at its address.
func TestUserDoesNotWait(t *testing.T) {
	t.Parallel()
	address, _ := privateProxy(t)
	o := startOrigin(t, "one", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Minute))
	in := bufio.NewReader(c)
	for n := range 3 {
		fmt.Fprintf(c, "GET http://%s/%d HTTP/1.1\r\nHost: h\r\n%s\r\n", o.addr, n, rightLogin)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		for range 40 { // which together would take minutes
			other, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			io.WriteString(other, "GET http://h/ HTTP/1.1\r\nHost: h\r\nProxy-Authorization: Basic YTpi\r\n\r\n")
		}
	}
}
