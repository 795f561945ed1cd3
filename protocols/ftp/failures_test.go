package ftp

import (
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestConversationsOverAFailingNetwork injects a failure into each network operation of each transcript.
func TestConversationsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range transcripts() {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			conv := load(t, tt.file)
			f := fetchtest.Failures{
				Codes:    []fetch.Code{fetch.ErrTLS},
				Unframed: tt.op == fetch.OpList, // its size is unknown
				Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
					addr, stop := transcript.Lenient(t, conv)
					defer stop()
					o.Credentials = tt.creds
					opts := tt.opts // Try is called by several goroutines
					opts.Pipelining = PipeliningOn
					c := fetch.New(o, With(opts))
					defer c.Close()
					body, _, err := drive.Do(t, c, tt.request(addr))
					return []byte(body), err
				},
			}
			if tt.file == "end-silent" || tt.file == "data-reset" {
				f.Timeout = 3 * time.Second
			}
			fetchtest.RunFailures(t, f)
		})
	}
}

// TestRetrievalsOverAFailingNetwork injects a failure into each network operation of retrievals. The
// server replies to every command.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path string
		op         fetch.Op
		part       fetch.Range
		client     Options
		server     ftpd.Options
		again      bool // repeat the retrieval on the same connection
		unsized    bool // the size is unknown
		ends       fetch.LineEnds
	}{
		{name: "get", path: "/etc/motd"},
		{name: "get again", path: "/etc/motd", again: true},
		{name: "get in lock-step", path: "/etc/motd", client: Options{Pipelining: PipeliningOff}},
		{name: "resume", path: "/etc/motd", part: fetch.Range{Offset: 3}},
		{name: "part", path: "/etc/motd", part: fetch.Range{Offset: 3, Length: 4}},
		{name: "stat", path: "/etc/motd", op: fetch.OpStat},
		{name: "list", path: "/etc/", op: fetch.OpList, unsized: true},
		{name: "list by LIST", path: "/etc/", op: fetch.OpList, unsized: true, server: ftpd.Options{Unknown: []string{"FEAT", "MLSD"}}},
		{name: "glob", path: "/pub/*.txt", unsized: true},
		{name: "text", path: "/pub/a.txt;type=a", unsized: true, ends: fetch.LineEndsLF},
		{name: "no size", path: "/etc/motd", unsized: true, server: ftpd.Options{Unknown: []string{"SIZE"}}},
		{name: "PASV", path: "/etc/motd", server: ftpd.Options{Unknown: []string{"EPSV"}}},
		{name: "active", path: "/etc/motd", client: Options{Active: true}},
		{name: "TLS", path: "/etc/motd", client: Options{TLS: TLSRequire}, server: ftpd.Options{TLS: serverTLS(0), Reuse: true}},
		{name: "directory for a file", path: "/pub"},
		{name: "file for a directory", path: "/motd/", op: fetch.OpList},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.server.Tree = small
			s := ftpd.Start(t, tt.server)
			f := fetchtest.Failures{Unframed: tt.unsized, Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				o.TLS, o.TextLineEnds = trusting().TLS, tt.ends
				c := fetch.New(o, With(tt.client))
				defer c.Close()
				req := request(tt.op, "ftp://"+s.Addr+tt.path)
				req.Range = tt.part
				body, _, err := drive.Do(t, c, req)
				if tt.again && err == nil {
					var more string
					more, _, err = drive.Do(t, c, req)
					body += more
				}
				return []byte(body), err
			}}
			switch tt.name {
			case "TLS":
				f.Codes = []fetch.Code{fetch.ErrTLS}
			case "glob":
				f.Codes = []fetch.Code{fetch.ErrNotFound} // the beginning of the listing has no match
			case "resume":
				f.Codes = []fetch.Code{fetch.ErrRange} // the number of bytes proves the offset
			case "directory for a file", "file for a directory":
				f.Codes = []fetch.Code{fetch.ErrNotFound} // the kind could not be determined in time
			}
			fetchtest.RunFailures(t, f)
		})
	}
}
