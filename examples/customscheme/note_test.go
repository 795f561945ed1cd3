package main

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server with the files of tree as notes. Package servers provides its log and its
// faults.
func start(t testing.TB, tree fs.FS) *servers.Server {
	return servers.Start(t, servers.Config{Scheme: "x-note"}, func(c *servers.Conn) {
		c.Reply("NOTES 1 ready")
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		verb, name, _ := strings.Cut(line, " ")
		if name == "" {
			name = "."
		}
		content, err := read(tree, verb, name)
		if err != nil {
			c.Reply("NO %v", err)
			return
		}
		if verb == "STAT" {
			c.Reply("OK %d", len(content))
			return
		}
		if out, ok := c.Content(int64(len(content))); ok {
			c.Printf("OK %d", len(content))
			out.Write(content)
			out.End()
		}
	})
}

func read(tree fs.FS, verb, name string) ([]byte, error) {
	if verb != "LIST" {
		return fs.ReadFile(tree, name)
	}
	members, err := fs.ReadDir(tree, name)
	var text strings.Builder
	for _, m := range members {
		text.WriteString(m.Name())
		if m.IsDir() {
			text.WriteString("/")
		}
		text.WriteString("\n")
	}
	return []byte(text.String()), err
}

// The conformance suite checks the rules for all drivers.
func TestConformance(t *testing.T) {
	fetchtest.Run(t, fetchtest.Harness{
		Start: func(t testing.TB, tree fs.FS) fetchtest.Site {
			s := start(t, tree)
			return fetchtest.Site{
				Load: Load,
				URL: func(name string) string {
					if name == "." {
						return s.URL + "/"
					}
					return s.URL + "/" + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
				},
				Log:   s.Log,
				Fault: s.Fail,
			}
		},
	})
}

// The special cases of the protocol have a table.
func TestReplies(t *testing.T) {
	for _, tt := range []struct {
		greeting, reply string
		want            error
		text            string
	}{
		{"NOTES 1 ready", "NO such note", fetch.ErrNotFound, "not found (NO such note)"},
		{"NOTES 1 ready", "BUSY for an hour", fetch.ErrBusy, "server busy (BUSY for an hour)"},
		{"NOTES 1 ready", "OK lots", fetch.ErrProtocol, `protocol violation: malformed size: strconv.ParseUint: parsing "lots": invalid syntax (OK lots)`},
		{"NOTES 1 ready", "WHAT", fetch.ErrProtocol, "protocol violation: unknown status in reply (WHAT)"},
		{"220 ftp.example", "", fetch.ErrProtocol, "protocol violation: not a notes server (220 ftp.example)"},
		{"NOTES 1 ready", strings.Repeat("x", 2000), fetch.ErrProtocol, "protocol violation: the server sent a line of more than 1000 bytes"},
	} {
		s := servers.Start(t, servers.Config{Scheme: "x-note"}, func(c *servers.Conn) {
			c.Reply("%s", tt.greeting)
			if _, err := c.ReadLine(); err == nil {
				c.Reply("%s", tt.reply)
			}
		})
		var text strings.Builder
		err := get(t.Context(), &text, s.URL+"/x")
		var fe *fetch.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &fe) || fe.Message() != tt.text {
			t.Errorf("%.30s: error %v, want %s", tt.reply, err, tt.text)
		}
	}
	var text strings.Builder
	for _, bad := range []string{"x-note:x", "x-note://h/x?y", "x-note://h/x%0D%0ASTAT%20y"} {
		if err := get(t.Context(), &text, bad); !errors.Is(err, fetch.ErrURL) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := get(t.Context(), &text, "data:,built%20in"); err != nil || text.String() != "built in" {
		t.Errorf("built-in scheme: %q, %v", text.String(), err)
	}
}

// Each parser of a server's data has a fuzz target.
func FuzzEntries(f *testing.F) {
	f.Add("a\nb/\n../\n\x00\n")
	f.Fuzz(func(t *testing.T, text string) {
		dir := uri.MustParse("x-note://h/dir")
		for e, err := range entries(dir, strings.NewReader(text)) {
			if err == nil && !strings.HasPrefix(e.URL.String(), "x-note://h/dir/") {
				t.Errorf("%q refers to %s", e.Name, e.URL)
			}
		}
	})
}
