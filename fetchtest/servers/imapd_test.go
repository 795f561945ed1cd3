package servers_test

import (
	"testing"

	"github.com/urlget/urlget/fetchtest/servers/imapd"
)

func TestIMAPCommands(t *testing.T) {
	t.Parallel()
	const hello, in = "* OK imapd ready\r\n", "1 OK welcome\r\n* 1 EXISTS\r\n* OK [UIDVALIDITY 385759045] valid\r\n2 OK done\r\n"
	const login = "1 LOGIN \"joe\" \"se\\\"cret\"\r\n2 EXAMINE \"in\"\r\n"
	for name, tt := range map[string]struct {
		opts      imapd.Options
		ask, want string
	}{
		"capabilities": {imapd.Options{SASL: true}, "1 CAPABILITY\r\n", hello + "* CAPABILITY IMAP4rev1 LOGINDISABLED AUTH=PLAIN\r\n1 OK done\r\n"},
		"a part":       {imapd.Options{}, login + "3 UID FETCH 1 (BODY.PEEK[TEXT]<1.2>)\r\n", hello + in + "* 1 FETCH (BODY[TEXT]<1> {2}\r\nel UID 1)\r\n3 OK done\r\n"},
		"no part":      {imapd.Options{}, login + "3 UID FETCH 1 (BODY.PEEK[9])\r\n", hello + in + "* 1 FETCH (UID 1 BODY[9] NIL)\r\n3 OK done\r\n"},
		"a search":     {imapd.Options{}, login + "3 UID SEARCH TEXT \"Hello\"\r\n4 UID SEARCH TEXT x\r\n", hello + in + "* SEARCH 1\r\n3 OK done\r\n* SEARCH\r\n4 OK done\r\n"},
		"sizes": {imapd.Options{}, login + "3 UID FETCH 1 (RFC822.SIZE)\r\n", hello + in +
			"* 1 FETCH (UID 1 FLAGS () RFC822.SIZE 20 INTERNALDATE \" 1-Jan-0001 00:00:00 +0000\" ENVELOPE (NIL {1}\r\ns NIL NIL NIL NIL NIL NIL NIL NIL))\r\n3 OK done\r\n"},
		"no login": {imapd.Options{}, "1 EXAMINE \"in\"\r\n", hello + "1 BAD what?\r\n"},
		"planned":  {imapd.Options{Replies: map[string]string{"NOOP": "* BYE\r\n$ OK\r\n"}}, "1 NOOP\r\n", hello + "* BYE\r\n1 OK\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.opts.User, tt.opts.Password = "joe", `se"cret`
			tt.opts.Mailboxes = map[string][]imapd.Message{"in": {{Text: []byte("Subject: s\r\n\r\nHello.")}}}
			s := imapd.Start(t, tt.opts)
			if got, err := imapTalk(s.Addr, tt.ask+"9 LOGOUT\r\n"); got != tt.want+"* BYE\r\n9 OK bye\r\n" || err != nil {
				t.Errorf("got  %q, %v\nwant %q", got, err, tt.want)
			}
		})
	}
}
