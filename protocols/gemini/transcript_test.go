package gemini

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/transcript"
)

// TestTranscripts replays responses of servers, including Molly Brown.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		op   fetch.Op
		form map[string][]string
		want string
		code fetch.Code
	}{
		"molly-brown-directory": {path: "dates", op: fetch.OpList,
			want: "listing .. /; object 1970.txt                                      21   B   Jan  2 1970 /dates/1970.txt; " +
				"object 2000-leap.txt                                 21   B   Feb 29 2000 /dates/2000-leap.txt; "},
		"molly-brown-file":    {path: "hello.txt", want: "Hello from the lab.\n"},
		"molly-brown-missing": {path: "nonexist", code: fetch.ErrNotFound},
		"question":            {path: "search", form: map[string][]string{"What for?": {"old books"}}, want: "=> /found/1 Old books\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv, err := transcript.Load("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			front := overTLS(t, transcript.Server(t, conv))
			_, trusting := servers.Certificate()
			c := drive.Client(t, &fetch.Options{TLS: trusting, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, front)
			}}, Load)
			const root = "gemini://localhost"
			req := &fetch.Request{URL: uri.MustParse(root + "/" + tt.path), Op: tt.op, Form: tt.form}
			fetchtest.CheckOutline(t, c, req, root, tt.want, tt.code)
		})
	}
}

// overTLS returns the address of a TLS relay to addr.
func overTLS(t *testing.T, addr string) string {
	t.Helper()
	serving, _ := servers.Certificate()
	l, err := tls.Listen("tcp", "127.0.0.1:0", serving)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			relay(client, addr)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// relay forwards a request and its response.
func relay(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		io.Copy(server, client)
	}()
	io.Copy(client, server)
	client.Close()
	<-passed
}
