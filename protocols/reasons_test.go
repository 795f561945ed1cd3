package protocols_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/protocols"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
)

// answering starts a server that sends a greeting, and responds to lines by the first reply whose command
// is in the line. "TAG" in a reply is the first word of the line.
func answering(t *testing.T, greeting string, replies [][2]string) (addr string) {
	t.Helper()
	s := servers.Start(t, servers.Config{Scheme: "test"}, func(c *servers.Conn) {
		io.WriteString(c, greeting)
		for line, err := c.ReadLine(); err == nil; line, err = c.ReadLine() {
			tag, _, _ := strings.Cut(line, " ")
			for _, r := range replies {
				if strings.Contains(line, r[0]) {
					io.WriteString(c, strings.ReplaceAll(r[1], "TAG", tag)+"\r\n")
					break
				}
			}
		}
	})
	return s.Addr
}

// TestReasonsOfRefusedLogins checks that errors repeat why a server refuses a login, without a password.
func TestReasonsOfRefusedLogins(t *testing.T) {
	t.Parallel()
	load := protocols.With(protocols.Config{FTP: &ftp.Options{}, IMAP: &imap.Options{AllowPlaintext: true},
		POP: &pop.Options{AllowPlaintext: true}, NNTP: &nntp.Options{AllowPlaintext: true}})
	imapd := func(reply string) [][2]string {
		return [][2]string{{"CAPABILITY", "* CAPABILITY IMAP4rev1\r\nTAG OK done"}, {"LOGIN", "TAG " + reply}}
	}
	popd := func(reply string) [][2]string {
		return [][2]string{{"CAPA", "-ERR what"}, {"USER", "+OK"}, {"PASS", reply}}
	}
	for name, tt := range map[string]struct {
		url, greeting string
		replies       [][2]string
		want          string
	}{
		"imap":           {"imap://joe:s3cret@ADDR/INBOX/;uid=1", "* OK hi\r\n", imapd("NO [ALERT] Log in with a browser"), "[ALERT] Log in with a browser"},
		"imap, expired":  {"imap://joe:s3cret@ADDR/INBOX/;uid=1", "* OK hi\r\n", imapd("NO [EXPIRED] too old"), "[EXPIRED] too old"},
		"imap, repeated": {"imap://joe:s3cret@ADDR/INBOX/;uid=1", "* OK hi\r\n", imapd("NO s3cret is wrong"), "**** is wrong"},
		"pop":            {"pop://joe:s3cret@ADDR/1", "+OK hi\r\n", popd("-ERR [AUTH] Log in with a browser"), "[AUTH] Log in with a browser"},
		"pop, repeated":  {"pop://joe:s3cret@ADDR/1", "+OK hi\r\n", popd("-ERR [AUTH] not s3cret"), "[AUTH] not ****"},
		"nntp": {"nntp://joe:s3cret@ADDR/a.b/1", "200 hi\r\n", [][2]string{{"CAPABILITIES", "500 what"}, {"MODE", "200 hi"},
			{"GROUP", "480 login"}, {"AUTHINFO USER", "381 more"}, {"AUTHINFO PASS", "481 Your account has expired"}}, "481 Your account has expired"},
		"ftp":             {"ftp://joe:s3cret@ADDR/1", "220 hi\r\n", [][2]string{{"USER", "331 more"}, {"PASS", "530 Your account has expired"}}, "530 Your account has expired"},
		"ftp, repeated":   {"ftp://joe:s3cret@ADDR/1", "220 hi\r\n", [][2]string{{"USER", "331 more"}, {"PASS", "530 not s3cret"}}, "530 not ****"},
		"ftp, an account": {"ftp://joe:s3cret@ADDR/1", "220 hi\r\n", [][2]string{{"USER", "331 more"}, {"PASS", "332 s3cret needs an account"}}, "332 **** needs an account"},
		"nntp, repeated": {"nntp://joe:s3cret@ADDR/a.b/1", "200 hi\r\n", [][2]string{{"CAPABILITIES", "500 what"}, {"MODE", "200 hi"},
			{"GROUP", "480 login"}, {"AUTHINFO USER", "381 more"}, {"AUTHINFO PASS", "481 not s3cret"}}, "481 not ****"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := answering(t, tt.greeting, tt.replies)
			_, err := drive.Get(t, drive.Client(t, nil, load), strings.ReplaceAll(tt.url, "ADDR", addr))
			if !errors.Is(err, fetch.ErrAuth) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, want %q of class %q", err, tt.want, fetch.ErrAuth)
			}
		})
	}
}

// TestPasswordsRepeatedAfterTheLogin checks that no error shows a password that a server repeats after the
// login, in a reply or in a malformed line. Later requests may use the connection on which the first one logged
// in.
func TestPasswordsRepeatedAfterTheLogin(t *testing.T) {
	t.Parallel()
	load := protocols.With(protocols.Config{FTP: &ftp.Options{TLS: ftp.TLSOff}, IMAP: &imap.Options{AllowPlaintext: true},
		POP: &pop.Options{AllowPlaintext: true}, NNTP: &nntp.Options{AllowPlaintext: true}})
	imapd := func(reply string) [][2]string {
		return [][2]string{{"CAPABILITY", "* CAPABILITY IMAP4rev1\r\nTAG OK done"}, {"LOGIN", "TAG OK"}, {"", reply}}
	}
	popd := func(reply string) [][2]string {
		return [][2]string{{"CAPA", "-ERR what"}, {"USER", "+OK"}, {"PASS", "+OK"}, {"UIDL", "-ERR what"}, {"", reply}}
	}
	ftpd := func(reply string) [][2]string {
		return [][2]string{{"USER", "331 more"}, {"PASS", "230 in"}, {"TYPE", "200"}, {"PWD", `257 "/"`}, {"", reply}}
	}
	nntpd := func(reply string) [][2]string {
		return [][2]string{{"CAPABILITIES", "101 ok\r\nVERSION 2\r\nREADER\r\nAUTHINFO USER\r\n."}, {"MODE", "200"},
			{"AUTHINFO USER", "381"}, {"AUTHINFO PASS", "281"}, {"", reply}}
	}
	for name, tt := range map[string]struct {
		url, greeting string
		replies       [][2]string
	}{
		"ftp":            {"ftp://joe:s3cret@ADDR/d/1", "220 hi\r\n", ftpd("550 s3cret")},
		"ftp, the reply": {"ftp://joe:s3cret@ADDR/d/1", "220 hi\r\n", ftpd("s3cret is it")},
		"pop":            {"pop://joe:s3cret@ADDR/1", "+OK hi\r\n", popd("-ERR s3cret")},
		"pop, the reply": {"pop://joe:s3cret@ADDR/1", "+OK hi\r\n", popd("s3cret is it")},
		"imap":           {"imap://joe:s3cret@ADDR/INBOX/;uid=1", "* OK hi\r\n", imapd("TAG NO s3cret")},
		"nntp":           {"nntp://joe:s3cret@ADDR/a.b/1", "200 hi\r\n", nntpd("411 s3cret")},
		"http":           {"http://joe:s3cret@ADDR/1", "", [][2]string{{"GET", "HTTP/1.1 403 s3cret\r\nContent-Length: 0\r\n"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rawURL := strings.ReplaceAll(tt.url, "ADDR", answering(t, tt.greeting, tt.replies))
			bare := strings.Replace(rawURL, "joe:s3cret@", "", 1)
			var mu sync.Mutex
			var received strings.Builder
			c := drive.Client(t, &fetch.Options{Credentials: drive.Credentials(fetch.Credential{User: "joe", Password: "s3cret"}),
				Recorder: fetch.RecorderFunc(func(context.Context, *fetch.Request) *fetch.Recording {
					return &fetch.Recording{Received: func(_ int, p []byte) {
						mu.Lock()
						defer mu.Unlock()
						received.Write(p)
					}}
				})}, load)
			urls := []string{rawURL}
			if scheme, _, _ := strings.Cut(name, ","); scheme != "http" && scheme != "nntp" { // these wait for a challenge
				urls = append(urls, bare, bare)
			}
			for _, u := range urls {
				_, err := drive.Get(t, c, u)
				if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "****") {
					t.Errorf("%s: %v, want the reply without the password", u, err)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(name, "ftp") && (received.Len() == 0 || strings.Contains(received.String(), "s3cret")) {
				t.Errorf("recorded %q", received.String())
			}
		})
	}
}
