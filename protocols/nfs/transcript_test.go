package nfs

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers/nfsd"
	"github.com/urlget/urlget/internal/codec/nfs3"
	"github.com/urlget/urlget/internal/transcript"
)

// TestTranscripts holds each call to the bytes of a conversation, but for its number, which a client
// begins to count anywhere. With URLGET_WRITE=1 the conversations are recorded anew, from the server
// of the tests.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		want string
		code fetch.Code
	}{
		"file":    {"/a.txt", "content of a", ""},
		"link":    {"/link", "content of a", ""},
		"empty":   {"/empty", "", ""},
		"missing": {"/none", "", fetch.ErrNotFound},
		"nowhere": {"/nowhere", "", fetch.ErrNotFound},
		"no-file": {"/pipe", "", fetch.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(addr string) {
				c := fetch.New(nil, With(Options{AnyPort: true}))
				defer c.Close()
				if got, err := read(t, c, "nfs://"+addr+tt.path); got != tt.want || fetch.CodeOf(err) != tt.code {
					t.Errorf("%q, %v", got, err)
				}
			}
			transcript.Replay(t, "testdata/"+name+".txtar", func() string { return nfsd.Start(t, nfsd.Options{Tree: tree(), Public: "pub"}).Addr }, run, script)
		})
	}
}

// script writes records down, each with the name of its procedure, and with its number counted from
// 1.
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
