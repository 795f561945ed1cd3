package protocols_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/pop"
)

// repeating relays connections to a server, and sends the data that arrives as number again: at once or, if
// late, when the client has sent more, before the answer to that. Count is the number so far.
func repeating(t *testing.T, server string, number int32, late bool) (addr string, count *atomic.Int32) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	count = new(atomic.Int32)
	relay := func(client net.Conn) {
		defer client.Close()
		conn, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer conn.Close()
		again := make(chan []byte, 1)
		go func() {
			defer conn.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := client.Read(buf)
				if err != nil {
					return
				}
				select {
				case p := <-again:
					client.Write(p)
				default:
				}
				conn.Write(buf[:n])
			}
		}()
		buf := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			repeated := count.Add(1) == number
			if repeated && late {
				again <- bytes.Clone(buf[:n]) // before the client can answer
			}
			client.Write(buf[:n])
			if repeated && !late {
				client.Write(buf[:n])
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go relay(c)
		}
	}()
	return l.Addr().String(), count
}

// TestRepeatedRepliesDoNotMixContent checks that a server that sends one of its replies twice, at once or late,
// does not give a resource the content of another one.
func TestRepeatedRepliesDoNotMixContent(t *testing.T) {
	t.Parallel()
	mail := []popd.Message{{UID: "a", Text: "Subject: a\n\nA a a.\n"}, {UID: "b", Text: "Subject: b\n\nB.\n"}, {UID: "c", Text: "Subject: c\n\nC c.\n"}}
	var box []imapd.Message
	var news []nntpd.Article
	for _, m := range mail {
		box = append(box, imapd.Message{Text: []byte(m.Text)})
		news = append(news, nntpd.Article{ID: "<" + m.UID + "@x.invalid>", Text: "Message-ID: <" + m.UID + "@x.invalid>\n" + m.Text})
	}
	load := protocols.With(protocols.Config{FTP: &ftp.Options{TLS: ftp.TLSOff},
		IMAP: &imap.Options{AllowPlaintext: true}, POP: &pop.Options{AllowPlaintext: true}})
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	for name, tt := range map[string]struct {
		addr, scheme string
		paths, want  []string
	}{
		"pop, unique-ids": {popd.Start(t, popd.Options{Messages: mail}).Addr, "pop", []string{";UID=a", ";UID=b", ";UID=c"},
			[]string{crlf(mail[0].Text), crlf(mail[1].Text), crlf(mail[2].Text)}},
		"pop, numbers": {popd.Start(t, popd.Options{Messages: mail}).Addr, "pop", []string{"1", "2", "3"},
			[]string{crlf(mail[0].Text), crlf(mail[1].Text), crlf(mail[2].Text)}},
		"imap": {imapd.Start(t, imapd.Options{Mailboxes: map[string][]imapd.Message{"INBOX": box}}).Addr, "imap",
			[]string{"INBOX/;uid=1", "INBOX/;uid=2", "INBOX/;uid=3"}, []string{mail[0].Text, mail[1].Text, mail[2].Text}},
		"nntp": {nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: news}}}).Addr, "nntp",
			[]string{"x.y/1", "x.y/2", "x.y/3"}, []string{crlf(news[0].Text), crlf(news[1].Text), crlf(news[2].Text)}},
		"news": {nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "x.y", Articles: news}}}).Addr, "news",
			[]string{"a@x.invalid", "b@x.invalid", "c@x.invalid"}, []string{crlf(news[0].Text), crlf(news[1].Text), crlf(news[2].Text)}},
		"ftp": {ftpd.Start(t, ftpd.Options{Tree: fstest.MapFS{"a": {Data: []byte("A a a.")}, "b": {Data: []byte("B.")}, "d/c": {Data: []byte("C.")}}}).Addr,
			"ftp", []string{"a", "b", "d/c"}, []string{"A a a.", "B.", "C."}},
		"z39.50": {z3950d.Start(t, z3950d.Options{Tree: fstest.MapFS{"db/a": {Data: []byte("A a a.")}, "db/b": {Data: []byte("B.")}, "db/c": {Data: []byte("C.")}}}).Addr,
			"z39.50r", []string{"db?a", "db?b", "db?c"}, []string{"A a a.", "B.", "C."}},
		"z39.50, one search": {z3950d.Start(t, z3950d.Options{Tree: fstest.MapFS{"db/a": {Data: []byte("A a a.")}, "db/b": {Data: []byte("B a.")}, "db/c": {Data: []byte("C a.")}}}).Addr,
			"z39.50s", []string{"db?a;item=1", "db?a;item=2", "db?a;item=3"}, []string{"A a a.", "B a.", "C a."}},
		"dict": {dictd.Start(t, dictd.Options{Words: map[string]string{"a": "A a a.\n", "b": "B.\n", "c": "C.\n"}}).Addr,
			"dict", []string{"d:a", "d:b", "d:c"},
			[]string{"From The Tree [tree]:\r\n\r\nA a a.\r\n", "From The Tree [tree]:\r\n\r\nB.\r\n", "From The Tree [tree]:\r\n\r\nC.\r\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, late := range []bool{false, true} {
				for number := int32(1); ; number++ {
					addr, count := repeating(t, tt.addr, number, late)
					c := drive.Client(t, nil, load)
					var got, errs []string
					for _, p := range tt.paths {
						body, err := drive.Get(t, c, fmt.Sprintf("%s://joe:secret@%s/%s", tt.scheme, addr, p))
						got = append(got, body)
						errs = append(errs, fmt.Sprint(err))
					}
					for i := range tt.want {
						if errs[i] == "<nil>" && got[i] != tt.want[i] {
							t.Errorf("reply %d twice, late %v: %s came as %q, want %q", number, late, tt.paths[i], got[i], tt.want[i])
						}
					}
					if count.Load() < number {
						break
					}
				}
			}
		})
	}
}
