package pop

import (
	"bytes"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
)

// FuzzMessage retrieves a message from a server that sends arbitrary replies to RETR. A body that is
// complete must be the dot-unstuffed reply.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("+OK\r\nA: b\r\n\r\n..\r\n.\r\n"))
	f.Add([]byte("+OK 3 octets\r\n.\r\n"))
	f.Add([]byte("+OK\r\nA: b\n.\n\r\n.\r\n+OK more"))
	f.Add([]byte("-ERR [IN-USE] no\r\n"))
	f.Add([]byte("+"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		s, err := servers.New(servers.Config{Scheme: "pop"}, func(c *servers.Conn) {
			c.Write([]byte("+OK hi\r\n-ERR\r\n+OK\r\n+OK\r\n-ERR\r\n"))
			c.Write(reply)
			c.CloseWrite()
			c.Wait()
		})
		if err != nil {
			t.Skip(err)
		}
		defer s.Close()
		c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
		body, err := drive.Get(t, c, "pop://joe:x@"+s.Addr+"/1")
		if err != nil {
			return
		}
		_, block, _ := bytes.Cut(reply, []byte("\n"))
		block, _, ended := bytes.Cut(append([]byte("\r\n"), block...), []byte("\r\n.\r\n"))
		want := bytes.ReplaceAll(append(block, "\r\n"...), []byte("\r\n."), []byte("\r\n"))[2:]
		if !ended || body != string(want) {
			t.Errorf("got %q of %q", body, reply)
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"pop://joe;AUTH=+APOP:x@h/;UID=a%2Fb", "pops://[::1]:1/3", "pop3://h/;uid=%80", "pop://h/;UID=a%0D%0ADELE"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := uri.Parse(s)
		if err != nil {
			return
		}
		got, err := parse(u)
		if err != nil {
			return
		}
		if strings.ContainsAny(got.uid+got.Auth, "\r\n\x00") || got.number < 0 {
			t.Errorf("%s: %+v", s, got)
		}
		if got.uid == "" {
			return
		}
		again, err := got.messageURL(got.number, got.uid)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if second, err := parse(again); err != nil || second.uid != got.uid {
			t.Errorf("%s became %s: %v", s, again, err)
		}
	})
}

func FuzzTimestamp(f *testing.F) {
	f.Add("+OK POP3 <1896.697170952@dbc.mtview.ca.us>")
	f.Add("<<a@b>@c>")
	f.Fuzz(func(t *testing.T, greeting string) {
		if timestamp := parseTimestamp(greeting); timestamp != "" && (!strings.Contains(greeting, timestamp) || strings.IndexFunc(timestamp, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0) {
			t.Errorf("%q of %q", timestamp, greeting)
		}
	})
}
