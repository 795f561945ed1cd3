package whois_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/fetchtest"
	"github.com/urlget/urlget/protocols/whois"

	"io/fs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server answers each question by a function, which may hang.
type server struct {
	addr string
	mu   sync.Mutex
	log  []string
}

func start(t testing.TB, answer func(q string, c net.Conn, quit <-chan struct{})) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{addr: l.Addr().String()}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				q, err := bufio.NewReader(c).ReadString('\n')
				if err != nil {
					return
				}
				q = strings.TrimRight(q, "\r\n")
				s.mu.Lock()
				s.log = append(s.log, q)
				s.mu.Unlock()
				answer(q, c, quit)
			})
		}
	})
	t.Cleanup(func() { l.Close(); close(quit); wg.Wait() })
	return s
}

func (s *server) Log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

func say(text string) func(string, net.Conn, <-chan struct{}) {
	return func(_ string, c net.Conn, _ <-chan struct{}) { io.WriteString(c, text) }
}

func get(t *testing.T, c *fetch.Client, url string) (string, error) {
	resp, err := c.Get(t.Context(), url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	fault := fetchtest.Fault(255)
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := start(t, func(q string, c net.Conn, quit <-chan struct{}) {
				mu.Lock()
				f := fault
				fault = 255
				mu.Unlock()
				data, err := fs.ReadFile(tree, q)
				switch {
				case err != nil:
				case f == fetchtest.Stall:
					c.Write(data[:len(data)/2])
					<-quit
				default:
					c.Write(data)
				}
			})
			return fetchtest.Site{
				Load: whois.Load,
				URL: func(name string) string {
					if _, err := fs.ReadFile(tree, name); err != nil {
						return "" // there are no directories, and "no match" is a text
					}
					u := "whois://" + s.addr + "/"
					return u + escape(name)
				},
				Log: s.Log,
				Fault: func(f fetchtest.Fault) {
					mu.Lock()
					fault = f
					mu.Unlock()
				},
			}
		},
		Skip: map[string]string{
			"Cut":   "whois ends by closing: a cut answer cannot be told from a whole one, and Framing says so",
			"Noise": "any text is an answer",
		},
	})
}

func escape(s string) string {
	var b strings.Builder
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func TestReferralsAreFollowed(t *testing.T) {
	t.Parallel()
	last := start(t, say("domain: EXAMPLE\r\nwhois server: "+"\r\n"))
	host, port, _ := net.SplitHostPort(last.addr)
	for name, line := range map[string]string{
		"as IANA says it":         "refer:        " + last.addr,
		"as ARIN says it":         "ReferralServer:  whois://" + last.addr + "/",
		"as registries say it":    "   Registrar WHOIS Server: " + last.addr + "\r\n",
		"with a host and a port":  "whois: " + net.JoinHostPort(host, port),
		"behind a useless one":    "whois: rwhois://x:1\nrefer: " + last.addr,
		"and one to a wrong name": "refer: not a host\nrefer: " + last.addr,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, say(line+"\n"))
			c := fetch.New(nil, whois.Load)
			defer c.Close()
			got, err := get(t, c, "whois://"+s.addr+"/example.org")
			if err != nil || !strings.HasPrefix(got, "domain: EXAMPLE") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestAnAnswerSurvivesABadReferral(t *testing.T) {
	t.Parallel()
	var self *server
	ready := make(chan struct{})
	self = start(t, func(_ string, c net.Conn, _ <-chan struct{}) {
		<-ready
		io.WriteString(c, "whois: "+self.addr+"\nthe record\n")
	})
	close(ready)
	for name, text := range map[string]string{
		"to itself":             "",
		"to a closed port":      "refer: 127.0.0.1:1025\nthe record\n",
		"to a forbidden port":   "refer: 127.0.0.1:25\nthe record\n",
		"to a name of nobody's": "refer: nobody.invalid\nthe record\n",
	} {
		addr := self.addr
		if text != "" {
			addr = start(t, say(text)).addr
		}
		c := fetch.New(nil, whois.Load)
		got, err := get(t, c, "whois://"+addr+"/x")
		c.Close()
		if err != nil || !strings.Contains(got, "the record") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestReferralsInACircleEnd(t *testing.T) {
	t.Parallel()
	var a, b *server
	ready := make(chan struct{})
	a = start(t, func(_ string, c net.Conn, _ <-chan struct{}) { <-ready; io.WriteString(c, "refer: "+b.addr+"\n") })
	b = start(t, func(_ string, c net.Conn, _ <-chan struct{}) { <-ready; io.WriteString(c, "refer: "+a.addr+"\n") })
	close(ready)
	c := fetch.New(&fetch.Options{MaxRedirects: 4}, whois.Load)
	defer c.Close()
	if _, err := get(t, c, "whois://"+a.addr+"/x"); err != nil {
		t.Error(err)
	}
	if n := len(a.Log()) + len(b.Log()); n != 5 {
		t.Errorf("%d questions asked, want 5", n)
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	c := fetch.New(&fetch.Options{Timeouts: fetch.Timeouts{Connect: time.Second}}, whois.Load)
	defer c.Close()
	for url, code := range map[string]fetch.Code{
		"whois://127.0.0.1/":           fetch.ErrNeedSearch,
		"whois:example.org":            fetch.ErrURL,
		"whois://127.0.0.1:1025/a%0Ab": fetch.ErrURL,
	} {
		if _, err := get(t, c, url); !errors.Is(err, code) {
			t.Errorf("%s: %v, want %v", url, err, code)
		}
	}
}
