package smb

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/smbd"
	"github.com/urlget/urlget/internal/codec/smb2"
	"github.com/urlget/urlget/internal/transcript"
)

// TestTranscripts holds each request to the bytes of a conversation, signatures included: for what
// is random in them has a seed, and the time is that of the server. With URLGET_WRITE=1 the
// conversations are recorded anew, from the server of the tests.
func TestTranscripts(t *testing.T) {
	files := smbd.Options{Tree: tree, Users: map[string]string{"joe": password}, Challenge: []byte("nonsense")}
	older := files
	older.Dialect = smb2.Dialect210
	cmac := files
	cmac.CMAC = true
	for name, tt := range map[string]struct {
		server smbd.Options
		login  string
		path   string
		want   string
		code   fetch.Code
	}{
		"file":      {files, "joe:" + uri.Escape(password), "dir/file.txt", "content", ""},
		"file-cmac": {cmac, "joe:" + uri.Escape(password), "dir/file.txt", "content", ""},
		"file-2.1":  {older, "joe:" + uri.Escape(password), "dir/file.txt", "content", ""},
		"missing":   {files, "joe:" + uri.Escape(password), "dir/none", "", fetch.ErrNotFound},
		"refused":   {files, "joe:wrong", "dir/file.txt", "", fetch.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(addr string) {
				cryptotest.SetGlobalRandom(t, 1)
				if got, err := get(t, nil, "smb://"+tt.login+"@"+addr+"/share/"+tt.path); got != tt.want || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", func() string { return smbd.Start(t, tt.server).Addr }, run, script)
		})
	}
}

// script writes messages down, under the names of their commands.
func script(pieces []transcript.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		for rest := p.Data; len(rest) >= 4; {
			size := 4 + int(binary.BigEndian.Uint32(rest)&0xffffff)
			command := smb2.Command(binary.LittleEndian.Uint16(rest[4+12:]))
			fmt.Fprintf(&b, "# %v\n%v", command, transcript.Piece{Client: p.Client, Data: rest[:size]})
			rest = rest[size:]
		}
	}
	return b.String()
}
