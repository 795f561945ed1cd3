package protocols_test

import (
	"errors"
	"io"
	"strings"
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
