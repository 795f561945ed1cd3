package ftp

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
)

// A scripted server replies to each command, or fails at one.
type scripted struct {
	replies map[string]string
	at      string // the command whose reply is trouble; "226" for the end of a transfer
	trouble func(*servers.Conn)
}

// serve serves one control connection. Track serves the data connections.
func (s scripted) serve(c *servers.Conn) {
	say := func(verb string) bool {
		if verb == s.at {
			s.trouble(c)
			return false
		}
		return c.Printf("%s", s.replies[verb]) == nil && c.Flush() == nil
	}
	data, err := servers.New(servers.Config{Scheme: "x"}, func(d *servers.Conn) { io.WriteString(d, welcome[3:]) })
	if err != nil {
		return
	}
	defer data.Close()
	if !say("") {
		return
	}
	for {
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(line, " ")
		if verb == "EPSV" && s.at != verb {
			_, port, _ := strings.Cut(data.Addr, ":")
			c.Printf("229 ok (|||%s|)", port)
			continue
		}
		if !say(verb) {
			return
		}
		if verb == "RETR" || verb == "LIST" {
			if !say("226") {
				return
			}
		}
	}
}

// troubles are replies that do not end in time.
var troubles = map[string]func(*servers.Conn){
	"a byte at a time": func(c *servers.Conn) {
		drip(c, func(i int) string { return string("2xx"[min(i, 2)]) })
	},
	"a line at a time":   func(c *servers.Conn) { drip(c, func(int) string { return "220-more\r\n" }) },
	"preliminary":        func(c *servers.Conn) { drip(c, func(int) string { return "120 soon\r\n" }) },
	"lines without end":  func(c *servers.Conn) { flood(c, "220-more\r\n") },
	"a line without end": func(c *servers.Conn) { flood(c, "220 more and more ") },
	"silence":            func(c *servers.Conn) { c.Wait() },
}

func drip(c *servers.Conn, next func(i int) string) {
	for i := 0; ; i++ {
		if _, err := io.WriteString(c, next(i)); err != nil || c.Flush() != nil {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

func flood(c *servers.Conn, text string) {
	for {
		if _, err := io.WriteString(c, strings.Repeat(text, 1000)); err != nil || c.Flush() != nil {
			return
		}
	}
}

// TestEveryReplyIsBounded replaces one reply at a time by one that is very slow or does not end. Each
// wait must end after at most two tries and two connections.
func TestEveryReplyIsBounded(t *testing.T) {
	t.Parallel()
	const reply, most = 150 * time.Millisecond, 15 * time.Second // most allows for a busy machine
	replies := map[string]string{"": "220 Ready", "USER": "331 ?", "PASS": "332 ?", "ACCT": "230 in", "AUTH": "500 no", "PWD": `257 "/"`, "CWD": "250 ok",
		"TYPE": "200 ok", "SIZE": "213 9", "MDTM": "213 19991231235958", "REST": "350 ok", "RETR": "150 here", "LIST": "150 here",
		"FEAT": "500 no", "226": "226 done"}
	get := []string{"", "AUTH", "USER", "PASS", "ACCT", "PWD", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "REST", "RETR", "226"}
	list := []string{"FEAT", "LIST", "226"}
	var all sync.WaitGroup // at once, because they mostly wait
	try := func(op fetch.Op, path string, verbs []string, part fetch.Range) {
		for _, at := range verbs {
			for name, trouble := range troubles {
				run(t, &all, fmt.Sprintf("%s, %s at %q", op, name, at), func(t *testing.T) {
					s, err := servers.New(servers.Config{Scheme: "ftp"}, scripted{replies, at, trouble}.serve)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(s.Close)
					c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Reply: reply, Idle: reply}}, With(Options{TLS: TLSTry, Account: "a"}))
					req := request(op, s.URL+path)
					req.Range = part
					begun := time.Now()
					body, _, err := drive.Do(t, c, req)
					took := time.Since(begun)
					switch code := fetch.CodeOf(err); {
					case name == "preliminary" && at == "RETR" || name == "preliminary" && at == "LIST":
						// which they are
					case code != fetch.ErrNetwork && code != fetch.ErrProtocol && code != fetch.ErrTruncated && code != fetch.ErrTLS:
						t.Errorf("%q, %v", body, err)
					}
					if n := s.Accepted(); took > most || n > 2 {
						t.Errorf("it took %v and %d connections", took, n)
					}
				})
			}
		}
	}
	try(fetch.OpGet, "/etc/motd", get, fetch.Range{Offset: 3})
	try(fetch.OpList, "/etc/", list, fetch.Range{})
	all.Wait()
}

// run is t.Run in parallel with the group. With t.Parallel they would wait for each other on a
// small machine.
func run(t *testing.T, group *sync.WaitGroup, name string, f func(*testing.T)) {
	group.Go(func() { t.Run(name, f) })
}
