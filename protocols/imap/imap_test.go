package imap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

const (
	hello = "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nHello, world.\r\n"
	other = "Subject: Other\r\n\r\nThe other one.\r\n"
)

var boxes = map[string][]imapd.Message{
	"INBOX":            {{Text: []byte(hello), Date: time.Date(2020, 2, 29, 12, 34, 56, 0, time.UTC)}, {Text: []byte(other)}},
	"Archive/Gr&APw-n": {{Text: []byte(other)}},
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for rawURL, want := range map[string]target{
		"imap://h":         {},
		"imap://h/":        {},
		"imaps://h:1/a%2f": {Server: mailsession.Server{Port: 1, TLS: true}, mailbox: "a/"},
		"imap://minbari.example/gray-council;UIDVALIDITY=385759045/;UID=20/;PARTIAL=0.1024": {Server: mailsession.Server{Host: "minbari.example"}, mailbox: "gray-council", validity: 385759045, uid: 20, partial: fetch.Range{Length: 1024}},
		"imap://joe;AUTH=*@h/gray%20council?SUBJECT%20shadows":                              {mailbox: "gray council", search: "SUBJECT shadows"},
		"imap://h/~peter/%E6%97%A5%E6%9C%AC%E8%AA%9E/%E5%8F%B0":                             {mailbox: "~peter/日本語/台"},
		"imap://;AUTH=plain@h/INBOX/;uid=20/;section=1.2":                                   {Server: mailsession.Server{Auth: "PLAIN"}, mailbox: "INBOX", uid: 20, section: "1.2"},
		"imap://h/b/;UID=1/;SECTION=header.fields%20(date%20from)":                          {mailbox: "b", uid: 1, section: "HEADER.FIELDS (DATE FROM)"},
		"imap://h/b/;UID=1/;PARTIAL=7":                                                      {mailbox: "b", uid: 1, partial: fetch.Range{Offset: 7}},
	} {
		got, err := parse(uri.MustParse(rawURL))
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		if want.Host == "" {
			want.Host = "h"
		}
		if want.Port == 0 {
			want.Port = 143
		}
		got.url, got.Login = uri.URI{}, uri.URI{}
		if *got != want {
			t.Errorf("%s: got %+v, want %+v", rawURL, *got, want)
		}
	}
	for _, rawURL := range []string{"imap:///x", "imap://h/;UID=1", "imap://h/b/;UID=0", "imap://h/b/;UID=x", "imap://h/b/;UID=", "imap://h/b;UIDVALIDITY=-1",
		"imap://h/b/;UID=1/;SECTION=1%5D", "imap://h/b/;UID=1/;SECTION=(", "imap://h/b/;UID=1/;PARTIAL=1.0", "imap://h/b/;UID=1/;PARTIAL=-1", "imap://h/b/;SECTION=1",
		"imap://h/b/;UID=1?ALL", "imap://h/?ALL", "imap://h/b?x%7B5%7D", "imap://h/b?", "imap://h/%FF", "imap://h/b%0D%0A", "imap://h/" + strings.Repeat("x", maxName+1)} {
		got, err := parse(uri.MustParse(rawURL))
		if code, _ := fetch.Classify(err); code != fetch.ErrURL {
			t.Errorf("%s: got %+v, error %v", rawURL, got, err)
		}
	}
}

func TestAMailboxThatNamesAMessageHasAHint(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{Mailboxes: boxes})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	base := "imap://" + s.Addr
	for path, want := range map[string]string{
		"/INBOX;UID=1":     "to retrieve a message, use " + base + "/INBOX/;UID=1",
		"/a%20b%2Fc;uid=1": "to retrieve a message, use " + base + "/a%20b/c/;UID=1",
		"/none":            "",
		"/INBOX;UID=all":   "",
	} {
		_, err := drive.Get(t, c, strings.Replace(base, "//", "//joe:secret@", 1)+path)
		var e *fetch.Error
		if !errors.As(err, &e) || e.Code != fetch.ErrNotFound || e.Hint != want {
			t.Errorf("%s: %v, hint %q; want %q", path, err, e.Hint, want)
		}
	}
}

func TestMailboxNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"INBOX": "INBOX", "a&b": "a&-b", "~peter/mail/台北/日本語": "~peter/mail/&U,BTFw-/&ZeVnLIqe-", "Grün": "Gr&APw-n", "\U0001f600": "&2D3eAA-",
	} {
		if got := encodeName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if got, ok := decodeName(want); got != name || !ok {
			t.Errorf("%s: got %s, %v", want, got, ok)
		}
	}
	for _, s := range []string{"&", "&AAA", "&AAA-", "&AGE-", "&2AA-", "\xff", "ü", "&Jjo!-"} {
		if got, ok := decodeName(s); ok {
			t.Errorf("%q: got %q", s, got)
		}
	}
}

func TestListings(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{Mailboxes: boxes})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	base := "imap://joe;AUTH=*:secret@" + s.Addr
	for path, want := range map[string]string{
		"":                             "listing Archive/Grün /Archive/Gr%C3%BCn, listing INBOX /INBOX",
		"/INBOX":                       "object Grüße /INBOX;UIDVALIDITY=385759045/;UID=1, object Other /INBOX;UIDVALIDITY=385759045/;UID=2",
		"/INBOX?TEXT%20Other":          "object Other /INBOX;UIDVALIDITY=385759045/;UID=2",
		"/INBOX?TEXT%20nothing":        "",
		"/INBOX;UIDVALIDITY=385759045": "object Grüße /INBOX;UIDVALIDITY=385759045/;UID=1, object Other /INBOX;UIDVALIDITY=385759045/;UID=2",
		"/Archive/Gr%C3%BCn":           "object Other /Archive/Gr%C3%BCn;UIDVALIDITY=385759045/;UID=1",
		"/INBOX;UIDVALIDITY=1":         "error not_found",
		"/none":                        "error not_found",
	} {
		var got []string
		for e, err := range c.List(t.Context(), base+path) {
			if err != nil {
				got = append(got, "error "+string(fetch.CodeOf(err)))
				continue
			}
			got = append(got, fmt.Sprint(e.Kind, " ", e.Name, " ", strings.TrimPrefix(e.URL.String(), base)))
			if e.Kind != fetch.EntryObject {
				continue
			}
			if text, err := drive.Get(t, c, e.URL.String()); err != nil || int64(len(text)) != e.Size {
				t.Errorf("%s: %d bytes, %v; the listing says %d", e.URL, len(text), err, e.Size)
			}
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%q: got %s\nwant %s", path, text, want)
		}
	}
	for _, path := range []string{"/", "/INBOX"} {
		if meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(base + path)}); err != nil || meta.Kind != fetch.KindListing {
			t.Errorf("%s: %+v, %v", path, meta, err)
		}
	}
}

// The author and the flags are as RFC 3501, section 7.4.2, has them.
func TestListedMessages(t *testing.T) {
	t.Parallel()
	envelope := func(from string) string {
		return `FLAGS (\Answered) ENVELOPE ("Mon, 2 Sep 2024 10:00:00 +0000" "Pears" ` + from + ` NIL NIL NIL NIL NIL NIL "<a@x>")`
	}
	for items, want := range map[string]Message{
		envelope(`(("=?utf-8?q?J=C3=B6rg?=" NIL "joe" "x.example"))`):         {From: "Jörg <joe@x.example>", Unread: true},
		envelope(`((NIL NIL "joe" "x.example")(NIL NIL "sue" "x"))`):          {From: "joe@x.example", Unread: true},
		envelope(`(("Undisclosed" NIL "list" NIL)(NIL NIL NIL NIL))`):         {From: "Undisclosed", Unread: true},
		strings.Replace(envelope(`NIL`), `NIL "<a@x>"`, `"<b@x>" "<a@x>"`, 1): {Unread: true, ReplyTo: "<b@x>"},
		envelope(`NIL`):         {Unread: true},
		envelope(`((NIL NIL))`): {Unread: true},
		strings.Replace(envelope(`NIL`), `\Answered`, `\Answered \SEEN`, 1): {},
		strings.Replace(envelope(`NIL`), `FLAGS (\Answered) `, ``, 1):       {},
	} {
		got, ok, err := parseFetch([]byte("1 FETCH (UID 7 " + items + ")"))
		if !ok || err != nil {
			t.Fatalf("%s: %v, %v", items, ok, err)
		}
		part, err := (&target{url: uri.MustParse("imap://h/b"), mailbox: "b"}).part(1, 7, got)
		if err != nil {
			t.Fatal(err)
		}
		want.UID, want.Subject, want.Date, want.ID = 7, "Pears", "Mon, 2 Sep 2024 10:00:00 +0000", "<a@x>"
		if got := part.Entries[0].Sys; got != want {
			t.Errorf("%s: got %+v, want %+v", items, got, want)
		}
	}
}

func TestSectionsAndRanges(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{Mailboxes: boxes})
	c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
	base := "imap://joe:secret@" + s.Addr + "/INBOX/;UID=1"
	for path, want := range map[string]string{
		"":                                   hello,
		"/;SECTION=HEADER":                   "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\n",
		"/;SECTION=TEXT":                     "Hello, world.\r\n",
		"/;SECTION=TEXT/;PARTIAL=7":          "world.\r\n",
		"/;SECTION=TEXT/;PARTIAL=7.5":        "world",
		"/;PARTIAL=0.7":                      "Subject",
		"/;SECTION=TEXT/;PARTIAL=7.5 from 2": "rld",
		"/;SECTION=TEXT/;PARTIAL=7.5 from 9": "range",
		"/;SECTION=TEXT from 100":            "range",
		"/;SECTION=7":                        "not_found",
	} {
		path, from, hasRange := strings.Cut(path, " from ")
		req := &fetch.Request{URL: uri.MustParse(base + path)}
		if hasRange {
			fmt.Sscan(from, &req.Range.Offset)
		}
		text := ""
		resp, err := c.Do(t.Context(), req)
		if err == nil {
			var all []byte
			all, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			text = string(all)
		}
		if err != nil {
			text = string(fetch.CodeOf(err))
		}
		if text != want {
			t.Errorf("%s%s: %q, %v; want %q", path, from, text, err, want)
		}
	}
	meta, err := c.Stat(t.Context(), &fetch.Request{URL: uri.MustParse(base)})
	if err != nil || meta.Size != int64(len(hello)) || meta.ETag != "385759045.1" || meta.ModTime.Year() != 2020 ||
		meta.Header.Get("Subject") == "" || meta.Name != "INBOX-1.eml" {
		t.Errorf("%+v, %v", meta, err)
	}
	if _, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(base), IfChanged: meta.Validator}); !errors.Is(err, fetch.ErrNotModified) {
		t.Errorf("an unchanged message: %v", err)
	}
}

// TestLogin checks which logins succeed, and which commands the client sends.
func TestLogin(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	plain := Options{AllowPlaintext: true}
	for name, tt := range map[string]struct {
		server   imapd.Options
		client   Options
		url      string // "" is imap://$/INBOX/;UID=2
		password string // "" is secret
		log      string // verbs of the commands before EXAMINE
		code     fetch.Code
	}{
		"in plaintext":                  {client: plain, log: "CAPABILITY LOGIN CAPABILITY"},
		"not in plaintext":              {code: fetch.ErrAuth, log: "CAPABILITY"},
		"SASL":                          {server: imapd.Options{SASL: true}, client: plain, log: "CAPABILITY AUTHENTICATE CAPABILITY"},
		"SASL requested in the URL":     {server: imapd.Options{SASL: true}, client: plain, url: "imap://;AUTH=PLAIN@$/INBOX/;UID=2", log: "CAPABILITY AUTHENTICATE CAPABILITY"},
		"unknown mechanism":             {client: plain, url: "imap://;AUTH=GSSAPI@$/INBOX/;UID=2", log: "CAPABILITY", code: fetch.ErrAuth},
		"STARTTLS":                      {server: imapd.Options{TLS: serverTLS, NeedTLS: true}, log: "CAPABILITY STARTTLS CAPABILITY LOGIN CAPABILITY"},
		"STARTTLS required but refused": {client: Options{StartTLS: true, AllowPlaintext: true}, log: "CAPABILITY STARTTLS", code: fetch.ErrTLS},
		"data after STARTTLS":           {server: imapd.Options{TLS: serverTLS, Replies: map[string]string{"STARTTLS": "$ OK\r\n* CAPABILITY planted\r\n"}}, log: "CAPABILITY STARTTLS", code: fetch.ErrTLS},
		"TLS":                           {server: imapd.Options{TLS: serverTLS, Implicit: true}, url: "imaps://$/INBOX/;UID=2", log: "CAPABILITY LOGIN CAPABILITY"},
		"PREAUTH":                       {server: imapd.Options{Replies: map[string]string{"": "* PREAUTH hi\r\n", "EXAMINE": "$ NO\r\n"}}, log: "CAPABILITY", code: fetch.ErrNotFound},
		"PREAUTH, STARTTLS required":    {server: imapd.Options{Replies: map[string]string{"": "* PREAUTH hi\r\n"}}, client: Options{StartTLS: true}, log: "CAPABILITY", code: fetch.ErrTLS},
		"wrong password":                {client: plain, password: "wrong", log: "CAPABILITY LOGIN", code: fetch.ErrAuth},
		"no credentials":                {client: plain, password: "-", log: "CAPABILITY", code: fetch.ErrAuth},
		"temporarily unavailable":       {server: imapd.Options{Replies: map[string]string{"LOGIN": "$ NO [UNAVAILABLE] later\r\n"}}, client: plain, log: "CAPABILITY LOGIN", code: fetch.ErrBusy},
		"LOGIN disabled":                {server: imapd.Options{Replies: map[string]string{"CAPABILITY": "* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n$ OK\r\n"}}, client: plain, log: "CAPABILITY", code: fetch.ErrAuth},
		"CAPABILITY refused":            {server: imapd.Options{Replies: map[string]string{"CAPABILITY": "$ BAD what\r\n"}}, client: plain, log: "CAPABILITY LOGIN CAPABILITY"},
		"CAPABILITY refused by BYE":     {server: imapd.Options{Replies: map[string]string{"CAPABILITY": "* BYE down\r\n"}}, client: plain, log: "CAPABILITY", code: fetch.ErrBusy},
		"closed":                        {server: imapd.Options{Replies: map[string]string{"": "* BYE not now\r\n"}}, client: plain, code: fetch.ErrBusy},
		"line end in the user name":     {client: plain, password: "evil", log: "CAPABILITY", code: fetch.ErrURL},
		"other protocol":                {server: imapd.Options{Replies: map[string]string{"": "+OK pop\r\n"}}, client: plain, code: fetch.ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.User, tt.server.Password, tt.server.Mailboxes = "joe", "secret", boxes
			o := &fetch.Options{TLS: clientTLS}
			switch tt.password {
			case "":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe", Password: "secret"})
			case "wrong":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe", Password: "wrong"})
			case "evil":
				o.Credentials = drive.Credentials(fetch.Credential{User: "joe\r\n2 DELETE x", Password: "secret"})
			}
			s := imapd.Start(t, tt.server)
			c := drive.Client(t, o, With(tt.client))
			if tt.url == "" {
				tt.url = "imap://$/INBOX/;UID=2"
			}
			if text, err := drive.Get(t, c, strings.ReplaceAll(tt.url, "$", s.Addr)); fetch.CodeOf(err) != tt.code || (err == nil) != (tt.code == "") || err == nil && text != other {
				t.Errorf("%q, %v; want class %q", text, err, tt.code)
			}
			var verbs []string
			for _, line := range s.Log() {
				f := strings.Fields(line)
				if f[1] == "EXAMINE" {
					break
				}
				verbs = append(verbs, f[1])
			}
			if got := strings.Join(verbs, " "); got != tt.log {
				t.Errorf("the server received %q, want %q", got, tt.log)
			}
		})
	}
}

func TestLoginAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	s := imapd.Start(t, imapd.Options{User: "joe", Password: "secret"})
	wrong := fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		return fetch.Credential{User: "joe", Password: fmt.Sprint("wrong", ch.Attempt)}, nil
	})
	c := drive.Client(t, &fetch.Options{Credentials: wrong}, With(Options{AllowPlaintext: true}))
	drive.Fails(t, c, "imap://"+s.Addr+"/x", fetch.ErrAuth)
	if n := strings.Count(strings.Join(s.Log(), "\n"), "LOGIN"); n != mailsession.MaxLogins {
		t.Errorf("tried %d times", n)
	}
}

// TestTranscripts plays transcripts of valid and broken servers.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	const preauth = "S: * PREAUTH hi\nC: u1 CAPABILITY\nS: u1 OK\n"
	const examine = preauth + "C: u2 EXAMINE \"b\"\nS: * OK [UIDVALIDITY 7] x\nS: u2 OK\n"
	const fetchSize = examine + "C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: * 4 FETCH (RFC822.SIZE 5 UID 1)\nS: u3 OK\nC: u4 UID FETCH 1 (BODY.PEEK[])\n"
	for name, tt := range map[string]struct {
		script string
		path   string
		op     fetch.Op
		want   string
		code   fetch.Code
	}{
		"literal":                     {fetchSize + "S: * 4 FETCH (UID 1 BODY[] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", ""},
		"unsolicited data":            {fetchSize + "S: * 9 EXISTS\nS: * 3 FETCH (FLAGS (\\Seen))\nS: * OK still {3}\nS: * 4 FETCH (FLAGS () BODY[] {5}\nS\"hello\"\nS:  UID 1 X {2}\nS\"ab\"\nS: )\nS: * 9 EXPUNGE\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", ""},
		"quoted string":               {fetchSize + "S: * 4 FETCH (BODY[] \"he\\\\\\\"o\" UID 1)\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "he\\\"o", ""},
		"empty string":                {fetchSize + "S: * 4 FETCH (BODY[] \"\" UID 1)\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", ""},
		"NIL":                         {fetchSize + "S: * 4 FETCH (BODY[] NIL UID 1)\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrNotFound},
		"NIL for an empty message":    {strings.Replace(fetchSize, "SIZE 5", "SIZE 0", 1) + "S: * 4 FETCH (BODY[] NIL UID 1)\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", ""},
		"NO after the content":        {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\nS: )\nS: u4 NO broken\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrRefused},
		"closed in the content":       {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hel\"\nS!close\n", "/b/;UID=1", fetch.OpGet, "hel", fetch.ErrTruncated},
		"closed after the content":    {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\nS!close\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrTruncated},
		"longer than the literal":     {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hello, world\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"a word after the literal":    {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"helloworld\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"a name without a value":      {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hello world\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"shorter than RFC822.SIZE":    {fetchSize + "S: * 4 FETCH (UID 1 BODY[] {4}\nS\"hell\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hell", ""},
		"another message":             {fetchSize + "S: * 2 FETCH (UID 99 BODY[] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"another message, UID last":   {fetchSize + "S: * 2 FETCH (BODY[] {5}\nS\"hello\"\nS:  UID 99)\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"another message, quoted":     {fetchSize + "S: * 2 FETCH (UID 99 BODY[] \"hello\")\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"another message, no UID":     {fetchSize + "S: * 3 FETCH (BODY[] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"another message, only BODY":  {fetchSize + "S: * 3 FETCH (BODY[] \"hello\")\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"another section":             {fetchSize + "S: * 4 FETCH (UID 1 BODY[HEADER] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"another section, quoted":     {fetchSize + "S: * 4 FETCH (UID 1 BODY[1] \"hello\")\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"two sections":                {fetchSize + "S: * 4 FETCH (UID 1 BODY[] {5}\nS\"hello\"\nS:  BODY[TEXT] \"x\")\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"a part instead of all":       {fetchSize + "S: * 4 FETCH (UID 1 BODY[]<2> {3}\nS\"llo\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"a part instead of all, <0>":  {fetchSize + "S: * 4 FETCH (UID 1 BODY[]<0> \"hel\")\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"fields in quotes":            {strings.Replace(fetchSize, "K[]", "K[HEADER.FIELDS (DATE FROM)]", 1) + "S: * 4 FETCH (UID 1 BODY[HEADER.Fields (\"From\" \"Date\")] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1/;SECTION=header.fields%20(date%20from)", fetch.OpGet, "hello", ""},
		"other fields":                {strings.Replace(fetchSize, "K[]", "K[HEADER.FIELDS (DATE)]", 1) + "S: * 4 FETCH (UID 1 BODY[HEADER.FIELDS.NOT (DATE)] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1/;SECTION=header.fields%20(date)", fetch.OpGet, "", fetch.ErrProtocol},
		"not a FETCH response":        {fetchSize + "S: * X (BODY[] {5}\nS\"hello\"\nS: )\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"unterminated content":        {fetchSize + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\nS: u4 OK\n", "/b/;UID=1", fetch.OpGet, "hello", fetch.ErrProtocol},
		"no such message":             {examine + "C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: u3 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrNotFound},
		"tag of another command":      {examine + "C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: u9 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"huge literal":                {examine + "C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: * 4 FETCH (X {99999999}\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"literal size with 20 digits": {fetchSize + "S: * 4 FETCH (BODY[] {99999999999999999999}\nS: x\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrProtocol},
		"deeply nested lists":         {examine + "C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: * 4 FETCH " + strings.Repeat("(", 100) + strings.Repeat(")", 100) + "\nS: u3 OK\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrNotFound},
		"old server":                  {preauth + "C: u2 EXAMINE \"b\"\nS: u2 NO what\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrNotFound},
		"BYE":                         {preauth + "C: u2 EXAMINE \"b\"\nS: * BYE down\nS!close\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrBusy},
		"closed":                      {preauth + "C: u2 EXAMINE \"b\"\nS!close\n", "/b/;UID=1", fetch.OpGet, "", fetch.ErrNetwork},
		"mailboxes":                   {preauth + "C: u2 LIST \"\" \"*\"\nS: * LIST (\\Noselect) \"/\" a\nS: * LIST () NIL {3}\nS\"b c\"\nS:\nS: * FLAGS ()\nS: u2 OK\n", "/", fetch.OpList, "LIST (\\Noselect) \"/\" a\r\nLIST () NIL {3}\r\nb c\r\n", ""},
		"NO in a listing":             {examine + "C: u3 UID FETCH 1:* " + listItems + "\nS: * 1 FETCH (UID 5)\nS: u3 NO x\n", "/b", fetch.OpList, "1 FETCH (UID 5)\r\n", fetch.ErrRefused},
		"search in UTF-8":             {examine + "C: u3 UID SEARCH CHARSET UTF-8 TEXT \"ü\"\nS: * SEARCH\nS: u3 OK\n", "/b?TEXT%20%22%C3%BC%22", fetch.OpList, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, Load)
			text, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("imap://" + transcript.Play(t, "-- control --\n"+tt.script) + tt.path), Op: tt.op}))
			if fetch.CodeOf(err) != tt.code && !(tt.code == fetch.ErrTruncated && fetch.CodeOf(err) == fetch.ErrNetwork) || text != tt.want {
				t.Errorf("%q, %v; want %q and class %q", text, err, tt.want, tt.code)
			}
		})
	}
}

// TestMetadataIsThatOfTheHeader checks that another section than the requested header is not taken for it.
func TestMetadataIsThatOfTheHeader(t *testing.T) {
	t.Parallel()
	const begin = "-- control --\nS: * PREAUTH hi\nC: u1 CAPABILITY\nS: u1 OK\nC: u2 EXAMINE \"b\"\nS: u2 OK\n" +
		"C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER])\nS: * 4 FETCH (RFC822.SIZE 5 UID 1 "
	for item, code := range map[string]fetch.Code{
		"BODY[HEADER]": "", "BODY[header]": "", "BODY[TEXT]": fetch.ErrProtocol, "BODY[2.HEADER]": fetch.ErrProtocol, "BODY[]": fetch.ErrProtocol,
	} {
		addr := transcript.Play(t, begin+item+" \"Subject: x\")\nS: u3 OK\n")
		meta, err := drive.Client(t, nil, Load).Stat(t.Context(), &fetch.Request{URL: uri.MustParse("imap://" + addr + "/b/;UID=1")})
		if fetch.CodeOf(err) != code || err == nil && meta.Header.Get("Subject") != "x" {
			t.Errorf("%s: %+v, %v, want class %q", item, meta, err, code)
		}
	}
}

// TestWrongRangeIsAnError checks that another part than the requested one is an error, because a
// caller may append it to a partial file. A server without partial fetches may send all content.
func TestWrongRangeIsAnError(t *testing.T) {
	t.Parallel()
	const begin = "S: * PREAUTH hi\nC: u1 CAPABILITY\nS: u1 OK\nC: u2 EXAMINE \"b\"\nS: * OK [UIDVALIDITY 7] x\nS: u2 OK\n" +
		"C: u3 UID FETCH 1 (RFC822.SIZE INTERNALDATE)\nS: * 4 FETCH (RFC822.SIZE 5 UID 1)\nS: u3 OK\n"
	rest, first := "C: u4 UID FETCH 1 (BODY.PEEK[]<3.2147483647>)\n", "C: u4 UID FETCH 1 (BODY.PEEK[]<0.2>)\n"
	end := "S: )\nS: u4 OK\n"
	for name, tt := range map[string]struct {
		script    string
		path      string
		want      fetch.Range
		text      string
		got       fetch.Range
		wantError bool
	}{
		"range":                             {script: rest + "S: * 4 FETCH (BODY[]<3> {2}\nS\"lo\"\n" + end, want: fetch.Range{Offset: 3}, text: "lo", got: fetch.Range{Offset: 3, Length: 2}},
		"range as a string":                 {script: rest + "S: * 4 FETCH (BODY[]<3> \"lo\")\nS: u4 OK\n", want: fetch.Range{Offset: 3}, text: "lo", got: fetch.Range{Offset: 3, Length: 2}},
		"everything":                        {script: rest + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\n" + end, want: fetch.Range{Offset: 3}, text: "hello"},
		"everything as a string":            {script: rest + "S: * 4 FETCH (BODY[] \"hello\")\nS: u4 OK\n", want: fetch.Range{Offset: 3}, text: "hello"},
		"wrong range":                       {script: rest + "S: * 4 FETCH (BODY[]<1> {4}\nS\"ello\"\n" + end, want: fetch.Range{Offset: 3}, wantError: true},
		"prefix without origin":             {script: first + "S: * 4 FETCH (BODY[] {2}\nS\"he\"\n" + end, want: fetch.Range{Length: 2}, text: "he", got: fetch.Range{Length: 2}},
		"too long":                          {script: first + "S: * 4 FETCH (BODY[]<0> {5}\nS\"hello\"\n" + end, want: fetch.Range{Length: 2}, wantError: true},
		"everything for a prefix":           {script: first + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\n" + end, want: fetch.Range{Length: 2}, text: "hello"},
		"range of another part":             {script: rest + "S: * 4 FETCH (BODY[TEXT]<3> {2}\nS\"lo\"\n" + end, want: fetch.Range{Offset: 3}, wantError: true},
		"everything for a range in the URL": {script: rest + "S: * 4 FETCH (BODY[] {5}\nS\"hello\"\n" + end, path: "/;PARTIAL=3", wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := drive.Client(t, nil, Load)
			resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("imap://" + transcript.Play(t, "-- control --\n"+begin+tt.script) + "/b/;UID=1" + tt.path), Range: tt.want})
			if err != nil {
				if !tt.wantError || fetch.CodeOf(err) != fetch.ErrProtocol {
					t.Error(err)
				}
				return
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if tt.wantError || string(text) != tt.text || err != nil || resp.Range != tt.got {
				t.Errorf("%q of %+v, %v; want %q of %+v", text, resp.Range, err, tt.text, tt.got)
			}
		})
	}
}

func TestResponsesAreLimited(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string]map[string]string{
		"endless line":      {"CAPABILITY": "* CAPABILITY " + strings.Repeat("x", maxLine+1) + "\r\n"},
		"endless responses": {"CAPABILITY": strings.Repeat("* 1 EXISTS\r\n", maxResponses+1)},
		"endless literals":  {"EXAMINE": "* X" + strings.Repeat(" {200000}\r\n"+strings.Repeat("x", 200_000), 6) + "\r\n"},
		"endless search":    {"UID SEARCH": strings.Repeat("* SEARCH"+strings.Repeat(" 1", 10_000)+"\r\n", 11)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := imapd.Start(t, imapd.Options{Mailboxes: boxes, Replies: replies})
			c := drive.Client(t, nil, With(Options{AllowPlaintext: true}))
			_, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse("imap://joe:x@" + s.Addr + "/INBOX?ALL"), Op: fetch.OpList}))
			if code := fetch.CodeOf(err); code != fetch.ErrProtocol && code != fetch.ErrTooLarge {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestNetworkFailures fails each network operation of a retrieval in turn.
func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	serverTLS, clientTLS := servers.Certificate()
	for name, tt := range map[string]struct {
		urls   []string
		op     fetch.Op
		server imapd.Options
		codes  []fetch.Code
	}{
		"messages":  {urls: []string{"imap://joe:x@$/INBOX/;UID=1", "imap://joe:x@$/INBOX/;UID=2"}},
		"a header":  {urls: []string{"imap://joe:x@$/INBOX/;UID=1"}, op: fetch.OpStat},
		"a search":  {urls: []string{"imap://joe:x@$/INBOX?TEXT%20Other"}, op: fetch.OpList},
		"mailboxes": {urls: []string{"imap://joe:x@$/"}, op: fetch.OpList},
		"STARTTLS":  {urls: []string{"imap://joe:x@$/INBOX/;UID=1"}, server: imapd.Options{TLS: serverTLS, SASL: true}, codes: []fetch.Code{fetch.ErrTLS}},
		"TLS":       {urls: []string{"imaps://joe:x@$/INBOX/;UID=1"}, server: imapd.Options{TLS: serverTLS, Implicit: true}, codes: []fetch.Code{fetch.ErrTLS}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.server.Mailboxes = boxes
			s := imapd.Start(t, tt.server)
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
