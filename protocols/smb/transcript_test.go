package smb

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/cryptotest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/internal/codec/smb2"
)

// TestTranscripts replays conversations captured from Samba. Each request must match byte for byte,
// including signatures and encryption: the random numbers have a fixed seed, and the time is the
// server's. With URLGET_WRITE=1, the test captures the conversations again from the lab's Samba.
func TestTranscripts(t *testing.T) {
	const login = lab.User + ":" + lab.Password
	for name, tt := range map[string]struct {
		port  string // of the lab's samba-variants; "" means samba
		login string
		path  string
		want  string
		code  fetch.Code
	}{
		"file":        {"", login, "lab/dir/file.txt", "content", ""},
		"directory":   {"", login, "lab/dir/", "smb://HOST/lab/dir/file.txt\r\n", ""},
		"shares":      {"", login, "", "smb://HOST/lab/\r\nsmb://HOST/sealed/\r\n", ""},
		"file-cmac":   {"AES-128-CMAC", login, "lab/dir/file.txt", "content", ""},
		"file-2.1":    {"SMB2_10", login, "lab/dir/file.txt", "content", ""},
		"file-2.0.2":  {"SMB2_02", login, "lab/dir/file.txt", "content", ""},
		"sealed":      {"", login, "sealed/dir/file.txt", "content", ""},
		"sealed-3.0":  {"SMB3_00", login, "lab/dir/file.txt", "content", ""},
		"AES-128-CCM": {"AES-128-CCM", login, "lab/dir/file.txt", "content", ""},
		"AES-256-CCM": {"AES-256-CCM", login, "lab/dir/file.txt", "content", ""},
		"AES-256-GCM": {"AES-256-GCM", login, "lab/dir/file.txt", "content", ""},
		"missing":     {"", login, "lab/dir/none", "", fetch.ErrNotFound},
		"refused":     {"", lab.User + ":wrong", "lab/dir/file.txt", "", fetch.ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			start := func() []string {
				dir := lab.TempDir(t)
				if err := os.CopyFS(dir, tree); err != nil {
					t.Fatal(err)
				}
				if tt.port == "" {
					return []string{lab.StartRoot(t, "samba", dir).Addr("smb")}
				}
				return []string{lab.StartRoot(t, "samba-variants", dir).Addr(tt.port)}
			}
			run := func(addr string) {
				cryptotest.SetGlobalRandom(t, 1)
				want := strings.ReplaceAll(tt.want, "HOST", addr)
				if got, err := get(t, nil, "smb://"+tt.login+"@"+addr+"/"+tt.path); got != want || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", start, run, script)
		})
	}
}

// script formats messages, each with the name of its command.
func script(pieces []transcript.Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		for rest := p.Data; len(rest) >= 4; {
			size := 4 + int(binary.BigEndian.Uint32(rest)&0xffffff)
			name := "encrypted"
			if !smb2.IsSealed(rest[4:]) {
				name = smb2.Command(binary.LittleEndian.Uint16(rest[4+12:])).String()
			}
			fmt.Fprintf(&b, "# %s\n%v", name, transcript.Piece{Client: p.Client, Data: rest[:size]})
			rest = rest[size:]
		}
	}
	return b.String()
}
