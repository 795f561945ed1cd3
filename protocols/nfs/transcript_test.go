package nfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/transcript"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/internal/codec/nfs3"
)

// exportDir is the directory that Ganesha exports while a session is captured.
const exportDir = "/srv/urlget-transcripts"

// TestTranscripts replays sessions captured from NFS-Ganesha, for NFS and for the MOUNT protocol. It
// compares the bytes of each call except the XID, which starts at a random number. With
// URLGET_WRITE=1, it captures the sessions again from the lab's Ganesha.
func TestTranscripts(t *testing.T) {
	for name, tt := range map[string]struct {
		path string
		want string
		code fetch.Code
	}{
		"file":      {"/a.txt", "content of a", ""},
		"link":      {"/link", "content of a", ""},
		"directory": {"/sub/", "nfs://HOST" + exportDir + "/sub/b\r\n", ""},
		"empty":     {"/empty", "", ""},
		"missing":   {"/none", "", fetch.ErrNotFound},
		"nowhere":   {"/nowhere", "", fetch.ErrNotFound},
		"no-file":   {"/pipe", "", fetch.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(addr string) {
				port, err := strconv.ParseUint(addr[strings.LastIndexByte(addr, ':')+1:], 10, 16)
				if err != nil {
					t.Fatal(err)
				}
				c := drive.Client(t, nil, With(Options{AnyPort: true, MountPort: uint16(port)}))
				want := strings.ReplaceAll(tt.want, "HOST", addr)
				if got, err := drive.Get(t, c, "nfs://"+addr+exportDir+tt.path); got != want || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", func() []string { return startGanesha(t) }, run, script)
		})
	}
}

// startGanesha exports files and returns the addresses of NFS and of the MOUNT protocol.
func startGanesha(t *testing.T) []string {
	if err := os.Mkdir(exportDir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(exportDir) })
	if err := errors.Join(
		os.Mkdir(exportDir+"/sub", 0o755),
		os.WriteFile(exportDir+"/a.txt", []byte("content of a"), 0o644),
		os.WriteFile(exportDir+"/empty", nil, 0o644),
		os.WriteFile(exportDir+"/sub/b", []byte("b"), 0o644),
		os.Symlink("a.txt", exportDir+"/link"),
		os.Symlink("gone", exportDir+"/nowhere"),
		exec.Command("mkfifo", exportDir+"/pipe").Run(),
	); err != nil {
		t.Fatal(err)
	}
	s := lab.StartRoot(t, "ganesha", exportDir)
	return []string{s.Addr("nfs"), s.Addr("mount")}
}

// script formats records, each with the name of its procedure and its XID renumbered from 1.
func script(pieces []transcript.Piece) string {
	names := map[[3]uint32]string{}
	for _, p := range []nfs3.Proc{nfs3.Null, nfs3.Getattr, nfs3.Lookup, nfs3.Readlink, nfs3.Read, nfs3.Readdir, nfs3.Readdirplus,
		nfs3.Mnt, nfs3.Umnt, nfs3.Export, nfs3.Getport} {
		names[[3]uint32{p.Program, p.Version, p.Number}] = p.Name
	}
	called := map[uint32]string{}
	numbers := map[uint32]int{}
	var b strings.Builder
	for _, p := range pieces {
		for rest := p.Data; len(rest) >= 8; {
			be := binary.BigEndian
			size, xid := int(be.Uint32(rest)&0x7fffffff), be.Uint32(rest[4:])
			record := rest[8 : 4+size]
			side := "S<"
			if p.Client {
				side = "C<"
				numbers[xid] = len(numbers) + 1
				called[xid] = names[[3]uint32{be.Uint32(record[8:]), be.Uint32(record[12:]), be.Uint32(record[16:])}]
			}
			fmt.Fprintf(&b, "# %s\n%s %x {%d}\n%v", called[xid], side, rest[:4], numbers[xid], transcript.Piece{Client: p.Client, Data: record})
			rest = rest[4+size:]
		}
	}
	return b.String()
}
