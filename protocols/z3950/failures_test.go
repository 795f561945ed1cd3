package z3950

import (
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/z3950d"
)

// conversations covers each kind of request and response.
var conversations = map[string]struct {
	server z3950d.Options
	path   string
	op     fetch.Op
	view   string
	pieces bool
}{
	"record":      {path: "s://$/fruit?pear.mrc;item=1"},
	"fields":      {path: "s://$/fruit?pear.mrc;item=1", view: "text", pieces: true},
	"document":    {path: "r://$/fruit?plum.xml", server: z3950d.Options{NoUse: 12}},
	"metadata":    {path: "r://$/fruit?plum.xml", op: fetch.OpStat},
	"hits":        {path: "s://$/fruit?e", op: fetch.OpList, pieces: true},
	"single hits": {path: "s://$/fruit?e", op: fetch.OpList, server: z3950d.Options{Brief: 1, Indefinite: true}, pieces: true},
	"terms":       {path: "s://$/many", op: fetch.OpList, server: z3950d.Options{Synthetic: 250}},
	"databases":   {path: "s://$/", op: fetch.OpList, server: z3950d.Options{Explain: true}},
	"login":       {path: "r://joe:x@$/fruit?note.txt", server: z3950d.Options{User: "joe", Password: "x"}},
}

// TestRetrievalsOverAFailingNetwork injects a failure into each network operation of the conversations.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	for name, tt := range conversations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, host := start(t, tt.server)
			fetchtest.RunFailures(t, fetchtest.Failures{Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				c := fetch.New(o, With(Options{AllowPlaintext: true}))
				defer c.Close()
				body, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: conversationURL(tt.path, host), Op: tt.op, View: tt.view}))
				return []byte(body), err
			}})
		})
	}
}

// TestEveryWaitEnds runs the conversations with servers that send very slowly or without end.
func TestEveryWaitEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range conversations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, host := start(t, tt.server)
			fetchtest.RunDrips(t, fetchtest.Drips{Pieces: tt.pieces, Says: []string{"\x30\x00", "\xb9\x80", "\xbc\x80", "\xb9\x00", "\x04\x7f"},
				Open: func(t testing.TB, o *fetch.Options) (*fetch.Client, *fetch.Request) {
					return fetch.New(o, With(Options{AllowPlaintext: true})), &fetch.Request{URL: conversationURL(tt.path, host), Op: tt.op, View: tt.view}
				}})
		})
	}
}

// conversationURL returns the URL of a conversation, with host in place of "$".
func conversationURL(path, host string) uri.URI {
	for i := range path {
		if path[i] == '$' {
			return uri.MustParse("z39.50" + path[:i] + host + path[i+1:])
		}
	}
	panic("no host in " + path)
}
