package ftp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/transcript"
)

const welcome = "Welcome.\n"

// A transcriptTest is a transcript in testdata and the expected result.
type transcriptTest struct {
	file  string // without ".txtar"
	login string // before the host, with the "@"
	path  string // "" means "/motd"
	op    fetch.Op
	part  fetch.Range
	opts  Options
	creds fetch.Credentials
	body  string     // what is read, up to an error
	err   fetch.Code // "" for none
	also  func(t *testing.T, resp *fetch.Response, err error)
}

func TestConversations(t *testing.T) {
	t.Parallel()
	for _, tt := range transcripts() {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

// transcripts returns the transcripts with their results.
func transcripts() []transcriptTest {
	retry := func(want bool) func(*testing.T, *fetch.Response, error) {
		return func(t *testing.T, _ *fetch.Response, err error) {
			var e *fetch.Error
			if errors.As(err, &e) && e.Retry != want {
				t.Errorf("Retry is %v: %v", e.Retry, err)
			}
		}
	}
	return []transcriptTest{
		{file: "greeting-120", body: welcome},
		{file: "blank-lines", body: welcome},
		{file: "blank-lines-endless", err: fetch.ErrProtocol},
		{file: "cwd-200", path: "/pub/motd", body: welcome},
		{file: "pwd-garbled", path: "/pub/motd", body: welcome},
		{file: "pasv-bare", body: welcome},
		{file: "pasv-extended", body: welcome},
		{file: "pasv-garbled", err: fetch.ErrProtocol},
		{file: "epsv-garbled", body: welcome},
		{file: "epsv-other-delimiter", body: welcome},
		{file: "epsv-reserved", body: welcome},
		{file: "epsv-reserved-only", err: fetch.ErrPolicy},
		{file: "pasv-reserved", err: fetch.ErrPolicy},
		{file: "epsv-closed", body: welcome},
		{file: "226-first", body: welcome},
		{file: "226-only", body: welcome},
		{file: "426", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "451", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "421-end", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "end-unsaid", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "end-silent", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "short", body: welcome, err: fetch.ErrTruncated, also: retry(true)},
		{file: "data-reset", err: fetch.ErrTruncated, also: retry(true)},
		{file: "421-greeting", err: fetch.ErrBusy, also: retry(true)},
		{file: "421-login", err: fetch.ErrBusy, also: retry(true)},
		{file: "oops", err: fetch.ErrServer, also: retry(true)},
		{file: "oops-settings", err: fetch.ErrServer, also: retry(false)},
		{file: "450-busy", err: fetch.ErrBusy, also: retry(true)},
		{file: "550-denied", err: fetch.ErrRefused, also: retry(false)},
		{file: "550-vague", err: fetch.ErrNotFound, also: retry(false)},
		{file: "cwd-missing", path: "/pub/motd", err: fetch.ErrNotFound},
		{file: "iac", path: "/a%FFb", body: welcome},
		{file: "iac-raw", path: "/a%FFb", body: welcome},
		{file: "rest-refused", part: fetch.Range{Offset: 3}, body: welcome, also: func(t *testing.T, resp *fetch.Response, _ error) {
			if !resp.Range.IsZero() || resp.Size != 9 || resp.Total != 0 {
				t.Errorf("Range %v, Size %d, Total %d", resp.Range, resp.Size, resp.Total)
			}
		}},
		{file: "empty-directory", path: "/pub/;type=d", body: ""},
		{file: "mlsd-unknown", path: "/pub/", op: fetch.OpList,
			body: "total 1\r\n-rw-r--r-- 1 ftp ftp 9 Feb 29  2020 motd\r\nwho knows what this is\r\n"},
		{file: "login-without-password", body: welcome},
		{file: "login-account", login: "me:secret@", opts: Options{Account: "books"}, body: welcome},
		{file: "login-empty-user", login: "@", body: welcome,
			creds: fetch.CredentialsFunc(func(context.Context, fetch.Challenge) (fetch.Credential, error) { return fetch.Credential{}, nil })},
		{file: "login-asked", login: "me@", body: welcome, creds: asked("first", "second")},
		{file: "login-refused", login: "me:secret@", err: fetch.ErrAuth, also: func(t *testing.T, _ *fetch.Response, err error) {
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the password: %v", err)
			}
		}},
		{file: "tls-refused", opts: Options{TLS: TLSRequire}, err: fetch.ErrTLS},
		{file: "tls-tried", opts: Options{TLS: TLSTry}, body: welcome},
		{file: "tls-injected", opts: Options{TLS: TLSTry}, err: fetch.ErrTLS},
	}
}

func (tt transcriptTest) run(t *testing.T) {
	addr := transcript.Server(t, load(t, tt.file))
	var log bytes.Buffer
	var rec fetchtest.Recording
	tt.opts.Pipelining = PipeliningOn // as in the transcripts
	c := drive.Client(t, &fetch.Options{
		Recorder:    &rec,
		Credentials: tt.creds,
		Timeouts:    fetch.Timeouts{Reply: 2 * time.Second, Idle: 2 * time.Second},
		Logger:      slog.New(slog.NewTextHandler(&log, nil)),
	}, With(tt.opts))
	body, resp, err := drive.Do(t, c, tt.request(addr))
	if body != tt.body {
		t.Errorf("body %q, want %q", body, tt.body)
	}
	if fetch.CodeOf(err) != tt.err {
		t.Errorf("error %v, want one of class %q", err, tt.err)
	}
	if tt.also != nil {
		tt.also(t, resp, err)
	}
	for _, secret := range []string{"secret", "books", "first", "second"} {
		if rec.Shows(secret) {
			t.Errorf("recorded %q", secret)
		}
	}
	c.Close()
}

func (tt transcriptTest) request(addr string) *fetch.Request {
	path := tt.path
	if path == "" {
		path = "/motd"
	}
	req := request(tt.op, "ftp://"+tt.login+addr+path)
	req.Range = tt.part
	return req
}

// load reads a transcript and inserts the variable parts.
func load(t testing.TB, name string) *transcript.Conversation {
	t.Helper()
	path := filepath.Join("testdata", name+".txtar")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if mark := []byte("CLOSED"); bytes.Contains(text, mark) {
		text = bytes.ReplaceAll(text, mark, fmt.Append(nil, closedPort(t)))
	}
	conv, err := transcript.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return conv
}

// closedPort returns a port without a listener until the test ends.
func closedPort(t testing.TB) int {
	t.Helper()
	c, _ := servers.Pair(t)
	return c.LocalAddr().(*net.TCPAddr).Port
}

// asked returns credentials with one password per attempt.
func asked(passwords ...string) fetch.Credentials {
	return fetch.CredentialsFunc(func(_ context.Context, ch fetch.Challenge) (fetch.Credential, error) {
		if ch.Mechanism != "ftp" || ch.User != "me" || ch.Attempt > len(passwords) {
			return fetch.Credential{}, fetch.ErrAuth
		}
		return fetch.Credential{User: "me", Password: passwords[ch.Attempt-1]}, nil
	})
}
