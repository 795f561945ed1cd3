package pop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

const (
	hello = "Subject: Hello\nDate: Sat, 29 Feb 2020 12:34:56 +0000\n\nHello.\n.\n..\n"
	other = "Subject: Other\n\nThe other one.\n"
)

var messages = []popd.Message{{UID: "u/1", Text: hello}, {UID: "u2", Text: other}}

func crlf(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }

func TestParseURL(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]target{
		"pop://h":                          {Server: mailsession.Server{Host: "h", Port: 110}},
		"pop://h/":                         {Server: mailsession.Server{Host: "h", Port: 110}},
		"pops://h:1/":                      {Server: mailsession.Server{Host: "h", Port: 1, TLS: true}},
		"pop3s://h/3":                      {Server: mailsession.Server{Host: "h", Port: 995, TLS: true}, number: 3},
		"pop://joe;AUTH=*@h/;UID=a%2Fb":    {Server: mailsession.Server{Host: "h", Port: 110}, uid: "a/b"},
		"pop://joe;auth=+apop:pw@h/;uid=x": {Server: mailsession.Server{Host: "h", Port: 110, Auth: apopMechanism}, uid: "x"},
		"pop://;AUTH=plain@h/":             {Server: mailsession.Server{Host: "h", Port: 110, Auth: "PLAIN"}},
	} {
		got, err := parse(uri.MustParse(rawURL))
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		if user, _ := got.Login.User(); strings.Contains(rawURL, "joe") != (user == "joe") {
			t.Errorf("%s: user %q", rawURL, user)
		}
		got.url, got.Login = uri.URI{}, uri.URI{}
		if *got != want {
			t.Errorf("%s: got %+v, want %+v", rawURL, *got, want)
		}
	}
	for _, rawURL := range []string{"pop:///1", "pop://h/0", "pop://h/-1", "pop://h/x", "pop://h/1/2", "pop://h/;UID=", "pop://h/;UID=a%0Ab",
		"pop://h/1?x", "pop://h/;UID=" + strings.Repeat("x", maxUID+1)} {
		got, err := parse(uri.MustParse(rawURL))
		if code, _ := fetch.Classify(err); code != fetch.ErrURL {
			t.Errorf("%s: got %+v, error %v", rawURL, got, err)
		}
	}
}

func TestMaildrop(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server popd.Options
		want   string
		urls   []string
	}{
		"unique-ids": {popd.Options{}, "1 u/1 72\r\n2 u2 34\r\n", []string{"/;UID=u%2F1", "/;UID=u2"}},
		"numbers":    {popd.Options{Old: true}, "1 - 72\r\n2 - 34\r\n", []string{"/1", "/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Messages = messages
			s := popd.Start(t, tt.server)
			c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
			base := "pop://joe;AUTH=*:secret@" + s.Addr
			if text, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(base), Op: fetch.OpList})); err != nil || text != tt.want {
				t.Errorf("%q, %v; want %q", text, err, tt.want)
			}
			if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(base)}); err != nil || meta.Kind != fetch.KindListing {
				t.Errorf("%+v, %v", meta, err)
			}
			i := 0
			for e, err := range c.List(t.Context(), base) {
				if err != nil || e.URL.String() != base+tt.urls[i] || e.Size != int64(len(crlf(messages[i].Text))) {
					t.Fatalf("%+v, %v; want %s", e, err, tt.urls[i])
				}
				if text, err := drive.Get(t, c, e.URL.String()); err != nil || text != crlf(messages[i].Text) {
					t.Errorf("%s: %q, %v", e.URL, text, err)
				}
				i++
			}
			if i != len(messages) {
				t.Errorf("%d entries", i)
			}
		})
	}
}

func TestStatReturnsTheHeader(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]popd.Options{"TOP": {}, "without TOP": {Old: true}} {
		o.Messages = messages
		s := popd.Start(t, o)
		c := fetch.New(nil, With(Options{AllowPlaintext: true}))
		meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse("pop://joe:secret@" + s.Addr + "/1")})
		if err != nil || meta.Size != int64(len(crlf(hello))) || meta.ContentType != "message/rfc822" {
			t.Errorf("%s: %+v, %v", name, meta, err)
		}
		if !o.Old && (meta.Header.Get("Subject") != "Hello" || meta.ModTime.Year() != 2020 || meta.ETag != "u/1" || meta.Name != "u_1.eml") {
			t.Errorf("%s: %+v", name, meta)
		}
		c.Close()
	}
}

func TestUnchangedMessageIsNotRetrieved(t *testing.T) {
	t.Parallel()
	s := popd.Start(t, popd.Options{Messages: messages})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	for _, path := range []string{"/;UID=u2", "/2"} {
		req := &fetch.Request{URL: uri.MustParse("pop://joe:secret@" + s.Addr + path), IfChanged: fetch.Validator{ETag: "u2"}}
		if _, err := c.Do(t.Context(), req); !errors.Is(err, fetch.ErrNotModified) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if log := strings.Join(s.Log(), "\n"); strings.Contains(log, "RETR") {
		t.Errorf("the server was sent the command:\n%s", log)
	}
}

// TestLogin checks which logins succeed, and which commands the client sends.
func TestLogin(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	long := strings.Repeat("long", 100)
	for name, tt := range map[string]struct {
		server   popd.Options
		client   Options
		url      string // "" is pop://$/2
		password string // "" is secret
		log      string // verbs of the commands up to the login
		code     fetch.Code
	}{
		"in plaintext":               {server: popd.Options{}, client: Options{AllowPlaintext: true}, log: "CAPA USER PASS"},
		"not in plaintext":           {server: popd.Options{}, code: fetch.ErrAuth, log: "CAPA"},
		"SASL":                       {server: popd.Options{SASL: true}, client: Options{AllowPlaintext: true}, log: "CAPA AUTH"},
		"long password":              {server: popd.Options{SASL: true}, client: Options{AllowPlaintext: true}, password: long, log: "CAPA AUTH"},
		"APOP":                       {server: popd.Options{APOP: true}, log: "CAPA APOP"},
		"APOP requested in the URL":  {server: popd.Options{APOP: true}, client: Options{AllowPlaintext: true}, url: "pop://;AUTH=+APOP@$/2", log: "CAPA APOP"},
		"no timestamp":               {server: popd.Options{}, url: "pop://;AUTH=+APOP@$/2", code: fetch.ErrAuth, log: "CAPA"},
		"invalid timestamp":          {server: popd.Options{APOP: true, Replies: map[string]string{"": "+OK <\x80\x81@h>\r\n"}}, code: fetch.ErrAuth, log: "CAPA"},
		"PLAIN requested in the URL": {server: popd.Options{SASL: true, APOP: true}, client: Options{AllowPlaintext: true}, url: "pop://;AUTH=PLAIN@$/2", log: "CAPA AUTH"},
		"unknown mechanism":          {server: popd.Options{}, url: "pop://;AUTH=SCRAM-SHA-1@$/2", code: fetch.ErrAuth, log: "CAPA"},
		"STLS":                       {server: popd.Options{TLS: serverTLS, APOP: true}, log: "CAPA STLS CAPA USER PASS"},
		"STLS required but refused":  {server: popd.Options{}, client: Options{StartTLS: true, AllowPlaintext: true}, code: fetch.ErrTLS, log: "CAPA STLS"},
		"STLS refused": {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"STLS": "-ERR no\r\n"}},
			client: Options{AllowPlaintext: true}, code: fetch.ErrTLS, log: "CAPA STLS"},
		"data after STLS": {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"STLS": "+OK\r\n+OK planted\r\n"}},
			code: fetch.ErrTLS, log: "CAPA STLS"},
		"TLS":                       {server: popd.Options{TLS: serverTLS, Implicit: true}, url: "pops://$/2", log: "CAPA USER PASS"},
		"old server":                {server: popd.Options{Old: true}, client: Options{AllowPlaintext: true}, log: "CAPA USER PASS"},
		"wrong password":            {server: popd.Options{TLS: serverTLS}, url: "pop://joe:wrong@$/2", password: "wrong", code: fetch.ErrAuth, log: "CAPA STLS CAPA USER PASS USER PASS"},
		"no credentials":            {server: popd.Options{TLS: serverTLS}, password: "-", code: fetch.ErrAuth, log: "CAPA STLS CAPA"},
		"locked, without a code":    {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"PASS": "-ERR Unable to lock maildrop: Mailbox is locked by POP server\r\n"}}, code: fetch.ErrBusy, log: "CAPA STLS CAPA USER PASS"},
		"locked account":            {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"PASS": "-ERR account locked\r\n"}}, code: fetch.ErrAuth, log: "CAPA STLS CAPA USER PASS"},
		"locked maildrop":           {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"PASS": "-ERR [IN-USE] locked\r\n"}}, code: fetch.ErrBusy, log: "CAPA STLS CAPA USER PASS"},
		"server error":              {server: popd.Options{TLS: serverTLS, Replies: map[string]string{"PASS": "-ERR [SYS/PERM] broken\r\n"}}, code: fetch.ErrServer, log: "CAPA STLS CAPA USER PASS"},
		"line end in the user name": {server: popd.Options{}, client: Options{AllowPlaintext: true}, password: "evil", code: fetch.ErrURL, log: "CAPA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.User, tt.server.Password, tt.server.Messages = "joe", "secret", messages
			o := &fetch.Options{TLS: clientTLS}
			switch tt.password {
			case "":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe", Password: "secret"})
			case long:
				tt.server.Password = long
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe", Password: long})
			case "evil":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe\r\nDELE 1", Password: "secret"})
			case "wrong":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe", Password: "wrong, too"})
			}
			s := popd.Start(t, tt.server)
			c := drive.Client(t, o, With(tt.client))
			if tt.url == "" {
				tt.url = "pop://$/2"
			}
			text, err := drive.Get(t, c, strings.ReplaceAll(tt.url, "$", s.Addr))
			if fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") || err == nil && text != crlf(other) {
				t.Errorf("%q, %v; want class %q", text, err, tt.code)
			}
			if err != nil && strings.Contains(err.Error(), ":wrong") {
				t.Errorf("the error contains the password: %v", err)
			}
			var verbs []string
			for _, line := range s.Log() {
				verb, _, _ := strings.Cut(line, " ")
				if verb == "UIDL" {
					break
				}
				verbs = append(verbs, verb)
			}
			if got := strings.Join(verbs, " "); got != tt.log {
				t.Errorf("the server received %q, want %q", got, tt.log)
			}
		})
	}
}

func TestLoginAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	s := popd.Start(t, popd.Options{User: "joe", Password: "secret"})
	wrong := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: fmt.Sprint("wrong", ch.Attempt)}, nil
	})
	c := drive.Client(t, &fetch.Options{Credentials: wrong}, With(Options{AllowPlaintext: true}))
	drive.Fails(t, c, "pop://"+s.Addr+"/1", fetch.ErrAuth)
	if n := strings.Count(strings.Join(s.Log(), "\n"), "PASS wrong"); n != mailsession.MaxLogins {
		t.Errorf("tried %d times", n)
	}
}

// TestTranscripts plays transcripts of broken servers, and of old ones.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	const begin = "S: +OK hi\nC: CAPA\nS: -ERR what\nC: USER joe\nS: +OK\nC: PASS secret\nS: +OK\n"
	for name, tt := range map[string]struct {
		script string
		path   string
		op     fetch.Op
		want   string
		code   fetch.Code
	}{
		"AUTH with a continuation":   {"S: +OK hi\nC: CAPA\nS: +OK\nS: SASL PLAIN\nS: .\nC: AUTH PLAIN AGpvZQBzZWNyZXQ=\nS: +\nC: AGpvZQBzZWNyZXQ=\nS: +OK\nC: UIDL 1\nS: -ERR what\nC: RETR 1\nS: +OK\nS:\nS: .\n", "/1", fetch.OpGet, "\r\n", ""},
		"AUTH refused":               {"S: +OK hi\nC: CAPA\nS: +OK\nS: SASL PLAIN\nS: .\nC: AUTH PLAIN AGpvZQBzZWNyZXQ=\nS: -ERR [AUTH] no\nS!close\n", "/1", fetch.OpGet, "", fetch.ErrAuth},
		"message":                    {begin + "C: UIDL 1\nS: +OK 1 a\nC: RETR 1\nS: +OK\nS: A: b\nS:\nS: ..x\nS: .\n", "/1", fetch.OpGet, "A: b\r\n\r\n.x\r\n", ""},
		"no unique-ids":              {begin + "C: UIDL 1\nS: -ERR what\nC: RETR 1\nS: +OK\nS:\nS: .\n", "/1", fetch.OpGet, "\r\n", ""},
		"closed in the message":      {begin + "C: UIDL 1\nS: +OK 1 a\nC: RETR 1\nS: +OK\nS: A: b\nS:\nS: x\nS!close\n", "/1", fetch.OpGet, "A: b\r\n\r\nx\r\n", fetch.ErrTruncated},
		"deleted message":            {begin + "C: UIDL 7\nS: -ERR no\nC: RETR 7\nS: -ERR no\n", "/7", fetch.OpGet, "", fetch.ErrNotFound},
		"wrong number":               {begin + "C: UIDL 1\nS: +OK 2 b\n", "/1", fetch.OpGet, "", fetch.ErrProtocol},
		"no such unique-id":          {begin + "C: UIDL\nS: +OK\nS: 1 a\nS: x\nS: 2\nS: .\n", "/;UID=2", fetch.OpGet, "", fetch.ErrNotFound},
		"endless greeting":           {"S\"" + strings.Repeat("x", 9000) + "\"\n", "/1", fetch.OpGet, "", fetch.ErrProtocol},
		"other protocol":             {"S: 220 ftp.example\n", "/1", fetch.OpGet, "", fetch.ErrProtocol},
		"temporarily unavailable":    {"S: -ERR [SYS/TEMP] come back\n", "/1", fetch.OpGet, "", fetch.ErrBusy},
		"closed before the greeting": {"S!close\n", "/1", fetch.OpGet, "", fetch.ErrNetwork},
		"closed in the capabilities": {"S: +OK hi\nC: CAPA\nS: +OK\nS: TOP\nS!close\n", "/1", fetch.OpGet, "", fetch.ErrNetwork},
		"listing":                    {begin + "C: LIST\nS: +OK\nS: 1 5\nS: 2 x\nS: .\nC: UIDL\nS: +OK\nS: 1 a\nS: nonsense\nS: 2 b\nS: 3 c\nS: .\n", "/", fetch.OpList, "1 a 5\r\n2 b -1\r\n3 c -1\r\n", ""},
		"closed in the listing":      {begin + "C: LIST\nS: +OK\nS: .\nC: UIDL\nS: +OK\nS: 1 a\nS!close\n", "/", fetch.OpList, "1 a -1\r\n", fetch.ErrNetwork},
		"malformed header":           {begin + "C: UIDL 1\nS: +OK 1 a\nC: LIST 1\nS: +OK 1 9\nC: TOP 1 0\nS: +OK\nS: no header\nS: .\n", "/1", fetch.OpStat, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
			text, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("pop://joe:secret@" + transcript.Play(t, "-- control --\n"+tt.script) + tt.path), Op: tt.op}))
			if fetch.CodeOf(err) != tt.code && !(tt.code == fetch.ErrNetwork && fetch.CodeOf(err) == fetch.ErrTruncated) || text != tt.want {
				t.Errorf("%q, %v; want %q and class %q", text, err, tt.want, tt.code)
			}
		})
	}
}

// TestDataAfterAReplyIsIgnored checks that data after the end of a reply is not read as the reply
// to the next command.
func TestDataAfterAReplyIsIgnored(t *testing.T) {
	t.Parallel()
	s := popd.Start(t, popd.Options{Messages: messages, Trailing: "+OK planted\r\nplanted\r\n.\r\n"})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	for _, path := range []string{"/1", "/2", "/;UID=u2", "/1"} {
		want := crlf(other)
		if path == "/1" {
			want = crlf(hello)
		}
		drive.Gets(t, c, "pop://joe:secret@"+s.Addr+path, want)
	}
}

// TestNewMailIsFound requests a message that arrived after the login of the pooled session.
func TestNewMailIsFound(t *testing.T) {
	t.Parallel()
	old := "S: +OK hi\nC: CAPA\nS: -ERR\nC: USER joe\nS: +OK\nC: PASS x\nS: +OK\nC: UIDL\nS: +OK\nS: 1 a\nS: .\n"
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	addr := transcript.Play(t, "-- one --\n"+old+"C: UIDL 1\nS: +OK 1 a\nC: RETR 1\nS: +OK\nS:\nS: .\n"+
		"-- two --\n"+strings.Replace(old, "S: 1 a\n", "S: 1 a\nS: 2 b\n", 1)+"C: UIDL 2\nS: +OK 2 b\nC: RETR 2\nS: +OK\nS:\nS: new\nS: .\n")
	for uid, want := range map[string]string{"a": "\r\n"} {
		drive.Gets(t, c, "pop://joe:x@"+addr+"/;UID="+uid, want)
	}
	drive.Gets(t, c, "pop://joe:x@"+addr+"/;UID=b", "\r\nnew\r\n")
}

// TestRepliesOutOfStep checks the replies before that to RETR, which has no name of a message. A message that
// is not the requested one is an error; servers without UIDL for one message are believed.
func TestRepliesOutOfStep(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		caps, replies, want string
	}{
		"in step":      {"USER", "C: UIDL 1\nS: +OK 1 a\nC: RETR 1\nS: +OK\nS:\nS: .\n", "\r\n"},
		"together":     {"PIPELINING", "C: UIDL 1\nC: RETR 1\nS: +OK 1 a\nS: +OK\nS:\nS: .\n", "\r\n"},
		"without UIDL": {"USER", "C: UIDL 1\nS: -ERR no\nC: RETR 1\nS: +OK\nS:\nS: .\n", "\r\n"},
		"another one":  {"USER", "C: UIDL 1\nS: +OK 1 b\n", ""},
		"a late reply": {"USER", "C: UIDL 1\nS: +OK\nS: 1 a\nS: .\nS: +OK 1 a\n", ""},
		"twice":        {"PIPELINING", "C: UIDL 1\nC: RETR 1\nS: +OK 1 a\nS: +OK 1 a\nS: +OK\nS:\nS: .\n", ""},
	} {
		addr := transcript.Play(t, "-- one --\nS: +OK hi\nC: CAPA\nS: +OK\nS: USER\nS: "+tt.caps+"\nS: .\nC: USER joe\nS: +OK\n"+
			"C: PASS x\nS: +OK\nC: UIDL\nS: +OK\nS: 1 a\nS: .\n"+tt.replies)
		c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
		got, err := drive.Get(t, c, "pop://joe:x@"+addr+"/;UID=a")
		if got != tt.want || (tt.want == "") != errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
}

func TestCapabilitiesAreLimited(t *testing.T) {
	t.Parallel()
	s := popd.Start(t, popd.Options{Replies: map[string]string{"CAPA": "+OK\r\n" + strings.Repeat(strings.Repeat("X", 1000)+"\r\n", 70) + ".\r\n"}})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	drive.Fails(t, c, "pop://joe:x@"+s.Addr+"/1", fetch.ErrProtocol)
}

func TestMaildropsAreLimited(t *testing.T) {
	t.Parallel()
	s := popd.Start(t, popd.Options{Replies: map[string]string{"UIDL": "+OK\r\n" + strings.Repeat("1 x\r\n", maxMessages+1) + ".\r\n"}})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	drive.Fails(t, c, "pop://joe:x@"+s.Addr+"/;UID=x", fetch.ErrTooLarge)
}

// TestNetworkFailures fails each network operation of a retrieval in turn.
func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	for name, tt := range map[string]struct {
		urls   []string
		op     fetch.Op
		server popd.Options
		codes  []fetch.Code
	}{
		"messages":   {urls: []string{"pop://joe:x@$/;UID=u2", "pop://joe:x@$/1"}},
		"a header":   {urls: []string{"pop://joe:x@$/1"}, op: fetch.OpStat},
		"a maildrop": {urls: []string{"pop://joe:x@$/"}, op: fetch.OpList},
		"numbers":    {urls: []string{"pop://joe:x@$/"}, op: fetch.OpList, server: popd.Options{Old: true}},
		"STLS":       {urls: []string{"pop://joe:x@$/1"}, server: popd.Options{TLS: serverTLS, SASL: true}, codes: []fetch.Code{fetch.ErrTLS}},
		"TLS":        {urls: []string{"pops://joe:x@$/1"}, server: popd.Options{TLS: serverTLS, Implicit: true}, codes: []fetch.Code{fetch.ErrTLS}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Messages = messages
			s := popd.Start(t, tt.server)
			fetchtest.RunFailures(t, fetchtest.Failures{Codes: tt.codes, Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				o.TLS = clientTLS
				c := fetch.New(o, With(Options{AllowPlaintext: true}))
				defer c.Close()
				var all strings.Builder
				for _, url := range tt.urls {
					text, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(strings.ReplaceAll(url, "$", s.Addr)), Op: tt.op}))
					all.WriteString(text)
					if err != nil {
						return []byte(all.String()), err
					}
				}
				return []byte(all.String()), nil
			}})
		})
	}
}
