package ftp

import (
	"errors"
	"slices"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

// TestUnreadDirectories lists directories that the server could not read. Some servers say so only
// in the final reply, or as a line of the listing.
func TestUnreadDirectories(t *testing.T) {
	t.Parallel()
	const line = "-rw-r--r-- 1 u g 6 Jan  2 2020 a.txt\r\n"
	for _, tt := range []struct {
		name, lines, end string
		code             fetch.Code
		entries          []string // kinds and names
	}{
		{name: "vsftpd", end: "226 Transfer done (but failed to open directory).\r\n", code: fetch.ErrRefused},
		{name: "final reply after entries", lines: line, end: "226-Listing ended.\r\n226 Permission denied for some.\r\n",
			code: fetch.ErrRefused, entries: []string{"object a.txt"}},
		{name: "inetutils-ftpd", lines: ".: Permission denied\r\n", code: fetch.ErrRefused, entries: []string{"error .: Permission denied"}},
		{name: "ls", lines: "total 0\r\nls: reading directory .: Input/output error\r\n", code: fetch.ErrServer,
			entries: []string{"error ls: reading directory .: Input/output error"}},
		{name: "ls with a path", lines: "/bin/ls: cannot open directory '.': Permission denied\r\n", code: fetch.ErrRefused,
			entries: []string{"error /bin/ls: cannot open directory '.': Permission denied"}},
		{name: "ls of a member", lines: line + "ls: cannot access 'b': Stale file handle\r\n", code: fetch.ErrServer,
			entries: []string{"object a.txt", "error ls: cannot access 'b': Stale file handle"}},
		{name: "an unknown format", lines: "a.txt    6 bytes   yesterday\r\n", entries: []string{"text a.txt    6 bytes   yesterday"}},
		{name: "an error as a name", lines: "-rw-r--r-- 1 u g 6 Jan  2 2020 ls: Permission denied\r\n", entries: []string{"object ls: Permission denied"}},
		{name: "other words", lines: line, end: "226 Transfer complete, directory closed.\r\n", entries: []string{"object a.txt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := ftpd.Start(t, ftpd.Options{Tree: small, Unknown: []string{"MLSD"},
				Listing: func(string, string) (string, string) { return tt.lines, tt.end }})
			c := drive.Client(t, nil, With(Options{}))
			resp, err := c.Do(t.Context(), request(fetch.OpList, s.URL+"/pub/"))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var entries []string
			for e, err2 := range resp.Entries {
				if err = err2; err == nil {
					entries = append(entries, e.Kind.String()+" "+e.Name)
				}
			}
			if fetch.CodeOf(err) != tt.code || !slices.Equal(entries, tt.entries) {
				t.Errorf("%q, %v; want %q, %v", entries, err, tt.entries, tt.code)
			}
			if e := (*fetch.Error)(nil); errors.As(err, &e) && e.Retry {
				t.Errorf("%v can be retried", err)
			}
			// The connection stays usable.
			if body, _, err := drive.Do(t, c, request(fetch.OpGet, s.URL+"/motd")); body != welcome || s.Logins() != 1 {
				t.Errorf("%q, %v after %d logins", body, err, s.Logins())
			}
		})
	}
}
