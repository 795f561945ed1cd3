package servers_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/nntpd"
)

var nntpGroups = []nntpd.Group{{Name: "g", Articles: []nntpd.Article{
	{ID: "<1@x>", Text: "Subject: one\n\nfirst\n"}, {ID: "<2@x>", Text: "Subject: two\n\nsecond\n"},
}}, {Name: "made", Synthetic: 3}}

const (
	nntpFirst  = "Subject: one\r\n\r\nfirst\r\n.\r\n"
	nntpSecond = "Subject: two\r\n\r\nsecond\r\n.\r\n"
)

func TestNNTPCommands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts      nntpd.Options
		ask, want string
	}{
		"right": {nntpd.Options{}, "MODE READER\r\nARTICLE <1@x>\r\nGROUP g\r\nARTICLE 2\r\n",
			"200 nntpd ready\r\n200 readers welcome\r\n220 0 <1@x>\r\n" + nntpFirst + "211 2 1 2 g\r\n220 2 <2@x>\r\n" + nntpSecond},
		"bytes behind the dot": {nntpd.Options{Trailing: "220 0 <2@x>\r\n"}, "ARTICLE <1@x>\r\nHEAD <2@x>\r\n",
			"200 nntpd ready\r\n220 0 <1@x>\r\n" + nntpFirst + "220 0 <2@x>\r\n221 0 <2@x>\r\nSubject: two\r\n.\r\n220 0 <2@x>\r\n"},
		"another article": {nntpd.Options{WrongID: "<other@x>"}, "ARTICLE <1@x>\r\nSTAT <1@x>\r\n",
			"200 nntpd ready\r\n220 0 <other@x>\r\n" + nntpFirst + "223 0 <1@x>\r\n"},
		"no reader's mode": {nntpd.Options{Legacy: true, NoModeReader: true}, "CAPABILITIES\r\nMODE READER\r\nGROUP g\r\n",
			"201 nntpd ready, no posting\r\n500 what?\r\n502 no\r\n211 2 1 2 g\r\n"},
		"a login": {nntpd.Options{User: "joe", Password: "secret"}, "GROUP g\r\nAUTHINFO USER joe\r\nAUTHINFO PASS secret\r\nGROUP g\r\n",
			"200 nntpd ready\r\n480 who are you?\r\n381 password?\r\n281 welcome\r\n211 2 1 2 g\r\n"},
		"synthetic articles": {nntpd.Options{}, "GROUP made\r\nARTICLE 2\r\nHEAD 3\r\n",
			"200 nntpd ready\r\n211 3 1 3 made\r\n423 no such number\r\n423 no such number\r\n"},
		"replies by verb": {nntpd.Options{Replies: map[string]string{"": "201 hello\r\n", "DATE": "111 19990101000000\r\n", "HELP": ""}}, "HELP\r\nDATE\r\n",
			"201 hello\r\n111 19990101000000\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.opts.Groups = nntpGroups
			s := nntpd.Start(t, tt.opts)
			conn, err := net.Dial("tcp", s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(5 * time.Minute))
			io.WriteString(conn, tt.ask+"QUIT\r\n")
			if got, err := io.ReadAll(conn); string(got) != tt.want+"205 bye\r\n" || err != nil {
				t.Errorf("got  %q, %v\nwant %q", got, err, tt.want+"205 bye\r\n")
			}
		})
	}
}
