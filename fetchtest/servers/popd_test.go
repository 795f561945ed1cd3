package servers_test

import (
	"testing"

	"github.com/urlget/urlget/fetchtest/servers/popd"
)

func TestPOPCommands(t *testing.T) {
	t.Parallel()
	const login = "USER joe\r\nPASS secret\r\n"
	const in = "+OK password?\r\n+OK welcome\r\n"
	for name, tt := range map[string]struct {
		opts      popd.Options
		ask, want string
	}{
		"capabilities": {popd.Options{}, "CAPA\r\n", "+OK popd ready\r\n+OK capabilities\r\nTOP\r\nUIDL\r\nRESP-CODES\r\nUSER\r\n.\r\n"},
		"the head":     {popd.Options{}, login + "TOP 1 1\r\n", "+OK popd ready\r\n" + in + "+OK 20 octets\r\nSubject: one\r\n\r\n..a\r\n.\r\n"},
		"sizes":        {popd.Options{}, login + "LIST\r\nLIST 2\r\n", "+OK popd ready\r\n" + in + "+OK\r\n1 24\r\n2 16\r\n.\r\n+OK 2 16\r\n"},
		"old":          {popd.Options{Old: true}, "CAPA\r\n" + login + "UIDL\r\nTOP 1 0\r\n", "+OK popd ready\r\n-ERR what?\r\n" + in + "-ERR what?\r\n-ERR what?\r\n"},
		"APOP":         {popd.Options{APOP: true}, "APOP joe x\r\n", "+OK popd ready " + popd.Timestamp + "\r\n-ERR [AUTH] wrong\r\n"},
		"SASL":         {popd.Options{SASL: true}, "AUTH PLAIN\r\nAGpvZQBzZWNyZXQ=\r\nUIDL 1\r\n", "+OK popd ready\r\n+ \r\n+OK welcome\r\n+OK 1 u1\r\n"},
		"no login":     {popd.Options{}, "LIST\r\n", "+OK popd ready\r\n-ERR what?\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.opts.User, tt.opts.Password = "joe", "secret"
			tt.opts.Messages = []popd.Message{{UID: "u1", Text: "Subject: one\n\n.a\nbc\n"}, {UID: "u2", Text: "Subject: two\n\n"}}
			s := popd.Start(t, tt.opts)
			if got, err := popTalk(s.Addr, tt.ask+"QUIT\r\n"); got != tt.want+"+OK bye\r\n" || err != nil {
				t.Errorf("got  %q, %v\nwant %q", got, err, tt.want+"+OK bye\r\n")
			}
		})
	}
}
