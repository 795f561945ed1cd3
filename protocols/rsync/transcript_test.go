package rsync

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/integration/lab"
)

// TestTranscripts replays sessions captured from rsync 3.5.0, in each version of the protocol. It compares
// all bytes that the driver sends, except the response to a challenge. With URLGET_WRITE=1, it captures the
// sessions again from the lab's daemon.
func TestTranscripts(t *testing.T) {
	const login = lab.User + ":" + lab.Password + "@"
	for name, tt := range map[string]struct {
		protocol int
		login    string
		path     string
		want     string
		code     fetch.Code
	}{
		"file":         {31, "", "/lab/a.txt", "content of a", ""},
		"file-30":      {30, "", "/lab/a.txt", "content of a", ""},
		"file-29":      {29, "", "/lab/a.txt", "content of a", ""},
		"file-28":      {28, "", "/lab/a.txt", "content of a", ""},
		"file-27":      {27, "", "/lab/a.txt", "content of a", ""},
		"directory":    {31, "", "/lab/sub/", "rsync://HOST/lab/sub/a%20b/\r\n", ""},
		"directory-29": {29, "", "/lab/sub/", "rsync://HOST/lab/sub/a%20b/\r\n", ""},
		"directory-27": {27, "", "/lab/sub/", "rsync://HOST/lab/sub/a%20b/\r\n", ""},
		"no-slash":     {31, "", "/lab/sub", "rsync://HOST/lab/sub/a%20b/\r\n", ""},
		"modules":      {31, "", "/", "rsync://HOST/lab/\r\nrsync://HOST/private/\r\n", ""},
		"empty":        {31, "", "/lab/empty", "", ""},
		"empty-27":     {27, "", "/lab/empty", "", ""},
		"link":         {31, "", "/lab/link", "content of a", ""},
		"nowhere":      {31, "", "/lab/nowhere", "", fetch.ErrNotFound},
		"missing":      {31, "", "/lab/none", "", fetch.ErrNotFound},
		"missing-27":   {27, "", "/lab/none/", "", fetch.ErrNotFound},
		"secret":       {31, "", "/lab/secret", "", fetch.ErrRefused},
		"secret-28":    {28, "", "/lab/secret", "", fetch.ErrRefused},
		"no-module":    {31, "", "/none/a", "", fetch.ErrNotFound},
		"login":        {31, login, "/private/a.txt", "content of a", ""},
		"login-27":     {27, login, "/private/a.txt", "content of a", ""},
		"no-login":     {31, "joe:wrong@", "/private/a.txt", "", fetch.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(addr string) {
				c := drive.Client(t, nil, with(tt.protocol))
				want := strings.ReplaceAll(tt.want, "HOST", addr)
				if got, err := drive.Get(t, c, "rsync://"+tt.login+addr+tt.path); got != want || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", func() []string { return startDaemon(t) }, run, script)
		})
	}
}

func startDaemon(t *testing.T) []string {
	dir := lab.TempDir(t)
	old := time.Date(2020, 2, 3, 4, 5, 6, 789e6, time.UTC)
	if err := errors.Join(
		os.MkdirAll(dir+"/sub/a b", 0o755),
		os.WriteFile(dir+"/a.txt", []byte("content of a"), 0o644),
		os.WriteFile(dir+"/empty", nil, 0o644),
		os.WriteFile(dir+"/secret", []byte("x"), 0),
		os.WriteFile(dir+"/sub/a b/c", []byte("c"), 0o644),
		os.Symlink("a.txt", dir+"/link"),
		os.Symlink("gone", dir+"/nowhere"),
		os.Chtimes(dir+"/a.txt", old, old),
	); err != nil {
		t.Fatal(err)
	}
	return []string{lab.StartRoot(t, "rsync", dir).Addr("plain")}
}

func script(pieces []transcript.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.String())
	}
	return b.String()
}
