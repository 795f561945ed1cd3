package rsync

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/internal/codec/rsync"
)

// conversation returns a server that sends lines, reads the client's greeting and module, and sends text
// and then further bytes.
func conversation(greeting, text string, rest []byte) func(*servers.Conn) {
	return func(c *servers.Conn) {
		if io.WriteString(c, greeting); greeting == "" {
			return
		}
		for range 2 {
			if _, err := c.ReadLine(); err != nil {
				return
			}
		}
		io.WriteString(c, text)
		c.Write(rest)
		c.Flush()
		c.CloseWrite()
		c.Wait()
	}
}

const hello = "@RSYNCD: 31.0\n"

func TestHostileServers(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat("x\n", maxLines+1)
	for name, tt := range map[string]struct {
		greeting, text string
		code           fetch.Code
	}{
		"another protocol":   {"220 FTP\r\n", "", fetch.ErrProtocol},
		"a long greeting":    {"@RSYNCD: " + strings.Repeat("3", 1<<20) + "\n", "", fetch.ErrProtocol},
		"no greeting":        {"", "", fetch.ErrNetwork},
		"an error at once":   {"@ERROR: max connections (3) reached -- try again later\n", "", fetch.ErrBusy},
		"an endless message": {hello, endless, fetch.ErrProtocol},
		"no module":          {hello, "@RSYNCD: EXIT\n", fetch.ErrProtocol},
		"an empty challenge": {hello, "@RSYNCD: AUTHREQD \n", fetch.ErrProtocol},
		"the end":            {hello, "@RSYNCD: OK\n", fetch.ErrNetwork},
		"unknown digests":    {"@RSYNCD: 31.0 xxh3\n", "@RSYNCD: AUTHREQD x\n", fetch.ErrRefused},
		"recursion":          {hello, "@RSYNCD: OK\n\x01\x00\x00\x00\x00", fetch.ErrProtocol},
		"other flags":        {hello, "@RSYNCD: OK\n\x80\x80\x00\x00\x00\x00", fetch.ErrProtocol},
		"no frames":          {hello, "@RSYNCD: OK\n\x00\x00\x00\x00\x00@ERROR: x\n", fetch.ErrProtocol},
		"an empty list":      {hello, "@RSYNCD: OK\n\x00\x00\x00\x00\x00" + "\x01\x00\x00\x07\x00", fetch.ErrNotFound},
	} {
		s := servers.Start(t, servers.Config{Scheme: "rsync"}, conversation(tt.greeting, tt.text, nil))
		if _, err := drive.Get(t, client(t, nil), "rsync://joe:x@"+s.Addr+"/files/a"); fetch.CodeOf(err) != tt.code {
			t.Errorf("%s: %v, want class %q", name, err, tt.code)
		}
	}
}

// TestModuleListsMustEnd lists modules of servers that send lines without end, or close the connection.
func TestModuleListsMustEnd(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]fetch.Code{
		strings.Repeat("files          \tx\n", maxModules/minLine): fetch.ErrProtocol,
		"files          \tx\n":    fetch.ErrTruncated,
		"@ERROR: access denied\n": fetch.ErrRefused,
	} {
		s := servers.Start(t, servers.Config{Scheme: "rsync"}, conversation(hello, text, nil))
		if _, err := drive.List(t, client(t, nil), s.URL+"/"); fetch.CodeOf(err) != code {
			t.Errorf("%.30q: %v, want class %q", text, err, code)
		}
	}
}

// reply returns the data of a server for a file: its list and its content.
func reply(protocol int, content string) []byte {
	b := rsync.AppendItem(nil, protocol, rsync.Item{Name: "a", Size: int64(len(content)), Mode: rsync.TypeFile | 0o644})
	b = rsync.AppendFile(rsync.AppendListEnd(b, protocol, 0), protocol)
	b = rsync.AppendInt(append(rsync.AppendInt(b, int32(len(content))), content...), 0)
	h := rsync.NewSum(protocol, 0)
	h.Write([]byte(content))
	return h.Sum(b)
}

// TestTokensAreBounded changes the size of the only token of a file.
func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	for token, code := range map[int32]fetch.Code{10: "", 1 << 30: fetch.ErrChanged, -1: fetch.ErrProtocol, 0: fetch.ErrTruncated} {
		b := reply(31, "0123456789")
		at := bytes.Index(b, []byte("0123456789")) - 4
		b = append(append(b[:at:at], rsync.AppendInt(nil, token)...), b[at+4:]...)
		s := servers.Start(t, servers.Config{Scheme: "rsync"}, conversation(hello, "@RSYNCD: OK\n\x00\x00\x00\x00\x00", rsync.AppendFrame(nil, rsync.Data, b)))
		if got, err := drive.Get(t, client(t, nil), s.URL+"/files/a"); fetch.CodeOf(err) != code || err == nil && got != "0123456789" {
			t.Errorf("%d: %q, %v", token, got, err)
		}
	}
}

// FuzzTransfers checks that a body either has the size in the file list or fails, whatever a server sends.
func FuzzTransfers(f *testing.F) {
	for _, protocol := range []byte{27, 29, 30, 31} {
		f.Add(protocol, false, rsync.AppendFrame(nil, rsync.Data, reply(int(protocol), "0123456789")))
	}
	list := rsync.AppendItem(nil, 31, rsync.Item{Name: ".", Mode: rsync.TypeDir})
	list = rsync.AppendItem(list, 31, rsync.Item{Name: "b", Mode: rsync.TypeLink, Target: "c"})
	f.Add(byte(31), true, rsync.AppendFrame(nil, rsync.Data, rsync.AppendListEnd(list, 31, 1)))
	f.Add(byte(31), false, rsync.AppendFrame(nil, rsync.ErrorXfer, []byte("link_stat failed (2)")))
	f.Fuzz(func(t *testing.T, protocol byte, dir bool, b []byte) {
		version := rsync.MinProtocol + int(protocol)%(rsync.MaxProtocol-rsync.MinProtocol+1)
		setup := "@RSYNCD: OK\n\x00\x00\x00\x00"
		if version >= 30 {
			setup += "\x00"
		}
		s := servers.Start(t, servers.Config{Scheme: "rsync"}, conversation(rsync.Greeting(version, nil)+"\n", setup, b))
		limit := 5 * time.Second
		c := client(t, &fetch.Options{Timeouts: fetch.Timeouts{Connect: limit, Reply: limit, Idle: limit}, Policy: &fetch.Policy{MaxSize: 1 << 20}})
		path := "/files/a"
		if dir {
			path = "/files/"
		}
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(s.URL + path)})
		if err != nil {
			return
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if resp.Size >= 0 && (err == nil) != (int64(len(content)) == resp.Size) {
			t.Errorf("%d of %d bytes, %v", len(content), resp.Size, err)
		}
		if dir && bytes.ContainsAny(content, "\x00") {
			t.Errorf("%q", content)
		}
	})
}

// FuzzPath checks that no URL leads out of its module, or has bytes that end an argument.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"m/a/b", "m//b/", "m/%2e%2e/x", "m/a%00", "m/%FF%20", "%23list", "m/a%20m/*", "-x/y", "/", "m/[%5D%5C"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := uri.Parse("rsync://h/" + path)
		if err != nil {
			return
		}
		target, err := newTarget(&fetch.Request{URL: u})
		if err != nil || target.module == "" {
			return
		}
		sent := target.path(true)
		if strings.ContainsAny(sent, "\r\n\x00") || strings.HasPrefix(sent, "-") || strings.HasPrefix(sent, target.module+"/-") || strings.HasPrefix(sent, "#") || strings.Contains("/"+sent, "/../") || len(sent) >= 2*rsync.MaxPath {
			t.Errorf("%q is sent as %q", path, sent)
		}
	})
}
