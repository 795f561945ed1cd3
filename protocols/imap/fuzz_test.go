package imap

import (
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
)

func FuzzURL(f *testing.F) {
	for _, s := range []string{"imap://joe;AUTH=*:x@h/a%2Fb;UIDVALIDITY=7/;UID=20/;SECTION=1.2/;PARTIAL=0.5", "imaps://[::1]:1/INBOX?SUBJECT%20x",
		"imap://h//x/;UID=1", "imap://h/a;UIDVALIDITY=1;UID=2", "imap://h/%26-/;uid=1"} {
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
		if strings.ContainsAny(got.mailbox+got.section+got.search+got.Auth, "\r\n\x00") {
			t.Errorf("%s: %+v", s, got)
		}
		if got.mailbox == "" || got.uid == 0 {
			return
		}
		again, err := got.messageURL(got.validity, got.uid)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		if second, err := parse(again); err != nil || second.mailbox != got.mailbox || second.uid != got.uid || second.validity != got.validity {
			t.Errorf("%s became %s: %+v, %v", s, again, second, err)
		}
	})
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"&U,BTFw-/&ZeVnLIqe-", "a&-b", "&2D3eAA-", "&"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name, ok := decodeName(s); ok && encodeName(name) != s {
			t.Errorf("%q is %q, and that %q", s, name, encodeName(name))
		}
	})
}

func FuzzValues(f *testing.F) {
	for _, s := range []string{`5 FETCH (UID 7 RFC822.SIZE 120 ENVELOPE (NIL "a\"b" {3}` + "\r\nx y" + ` ((NIL))))`, `LIST (\Noselect) "/" a`, `1 FETCH (BODY[HEADER.FIELDS (A B)]<0> "x")`, "(((", `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parseValues(data)
		if items, ok, err := parseFetch(data); ok && (err != nil || items == nil) {
			t.Errorf("%q: %v, %v", data, items, err)
		}
	})
}

// FuzzMessage retrieves a message from a server that sends arbitrary replies to UID FETCH. A body
// that is complete must be part of the reply.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("* 1 FETCH (UID 1 BODY[] {5}\r\nhello)\r\nu4 OK\r\n"))
	f.Add([]byte("* 1 FETCH (BODY[] \"hello\")\r\nu4 OK\r\n"))
	f.Add([]byte("* 2 EXISTS\r\n* 1 FETCH (BODY[] {5}\r\nhel"))
	f.Add([]byte("u4 NO [EXPUNGED] gone\r\n"))
	f.Fuzz(func(t *testing.T, reply []byte) {
		s, err := servers.New(servers.Config{Scheme: "imap"}, func(c *servers.Conn) {
			c.Write([]byte("* PREAUTH\r\nu1 OK\r\nu2 OK\r\n* 1 FETCH (UID 1 RFC822.SIZE 5)\r\nu3 OK\r\n"))
			c.Write(reply)
			c.CloseWrite()
			c.Wait()
		})
		if err != nil {
			t.Skip(err)
		}
		defer s.Close()
		c := drive.Client(t, nil, Load)
		body, err := drive.Get(t, c, "imap://"+s.Addr+"/b/;UID=1")
		text := strings.ReplaceAll(strings.ReplaceAll(string(reply), `\\`, `\`), `\"`, `"`)
		if err == nil && !strings.Contains(text, body) && !strings.Contains(string(reply), `\`) {
			t.Errorf("got %q of %q", body, reply)
		}
	})
}
