package protocols_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"github.com/urlget/urlget/fetchtest/servers/rsyncd"
	"github.com/urlget/urlget/fetchtest/servers/sftpd"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
	"github.com/urlget/urlget/protocols/ftp"
	"github.com/urlget/urlget/protocols/imap"
	"github.com/urlget/urlget/protocols/nntp"
	"github.com/urlget/urlget/protocols/pop"
	"github.com/urlget/urlget/protocols/rsync"
	"github.com/urlget/urlget/protocols/sftp"
	"github.com/urlget/urlget/protocols/smb"
	"github.com/urlget/urlget/protocols/z3950"
)

// TestWrongPasswordIsSentOnce requests 8 files of every server at once and one more, with a wrong password.
// Servers lock accounts after a few failures.
func TestWrongPasswordIsSentOnce(t *testing.T) {
	t.Parallel()
	tree, users := fstest.MapFS{"d/f": {Data: []byte("x")}}, map[string]string{"joe": "right"}
	f := ftpd.Start(t, ftpd.Options{Tree: tree, Users: users})
	password := sftpd.Start(t, sftpd.Options{Tree: tree, Users: users})
	dialogue := sftpd.Start(t, sftpd.Options{Tree: tree, Users: users, Dialogue: true})
	mail := imapd.Start(t, imapd.Options{User: "joe", Password: "right"})
	maildrop := popd.Start(t, popd.Options{User: "joe", Password: "right"})
	news := nntpd.Start(t, nntpd.Options{User: "joe", Password: "right"})
	share := smbd.Start(t, smbd.Options{Tree: tree, Users: users})
	modules := rsyncd.Start(t, rsyncd.Options{Tree: tree, Users: users})
	library := z3950d.Start(t, z3950d.Options{Tree: tree, User: "joe", Password: "right"})
	ssh := func(s *sftpd.Server) fetch.Loader {
		known := filepath.Join(t.TempDir(), "known_hosts")
		if err := os.WriteFile(known, []byte(s.KnownHosts()), 0o600); err != nil {
			t.Fatal(err)
		}
		return sftp.With(sftp.Options{KnownHosts: []string{known}, NoIdentities: true, NoConfig: true, NoAgent: true})
	}
	tests := []struct {
		name, url string
		load      fetch.Loader
		line      string // a part of the line of the trace with the login; "" if the server counts logins
	}{
		{"ftp", "ftp://joe:wrong@" + f.Addr + "/d/%d", ftp.Load, "PASS ****"},
		{"sftp, password", "sftp://joe:wrong@" + password.Addr + "/d/%d", ssh(password), "password ****"},
		{"sftp, dialogue", "sftp://joe:wrong@" + dialogue.Addr + "/d/%d", ssh(dialogue), "response ****"},
		{"imap", "imap://joe:wrong@" + mail.Addr + "/INBOX/;UID=%d", imap.With(imap.Options{AllowPlaintext: true}), `LOGIN "joe" ****`},
		{"pop", "pop://joe:wrong@" + maildrop.Addr + "/%d", pop.With(pop.Options{AllowPlaintext: true}), "PASS ****"},
		{"nntp", "news://joe:wrong@" + news.Addr + "/%d@x.invalid", nntp.Load, "AUTHINFO PASS ****"},
		{"smb", "smb://joe:wrong@" + share.Addr + "/share/d/%d", smb.Load, ""},
		{"rsync", "rsync://joe:wrong@" + modules.Addr + "/files/d/%d", rsync.Load, "joe ****"},
		{"z39.50", "z39.50s://joe:wrong@" + library.Addr + "/d?%d", z3950.With(z3950.Options{AllowPlaintext: true}), "with a user and a password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var lines []string
			o := &fetch.Options{Recorder: fetch.RecordLines(func(sent bool, line string) {
				mu.Lock()
				defer mu.Unlock()
				if sent {
					lines = append(lines, line)
				}
			})}
			c := drive.Client(t, o, tt.load)
			var group sync.WaitGroup
			get := func(i int) {
				_, err := drive.Get(t, c, fmt.Sprintf(tt.url, i))
				if !errors.Is(err, fetch.ErrAuth) || strings.Contains(err.Error(), "wrong") {
					t.Errorf("%v, want ErrAuth", err)
				}
			}
			for i := range 8 {
				group.Go(func() { get(i + 1) })
			}
			group.Wait()
			get(9)
			n := 0
			if tt.line == "" {
				n = int(share.Logins())
			}
			for _, line := range lines {
				if tt.line != "" && strings.Contains(line, tt.line) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d logins were sent: %q", n, lines)
			}
		})
	}
}
