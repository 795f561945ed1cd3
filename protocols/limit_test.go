package protocols_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols"
)

// TestListingsObeyMaxSize lists endless directories, menus and newsgroups. MaxSize ends them.
func TestListingsObeyMaxSize(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	tree := fstest.MapFS{}
	for _, name := range []string{"a", "b", "c"} {
		tree["dir/"+name+".txt"] = &fstest.MapFile{Data: []byte("content")}
	}
	endless := func(s interface{ Arm(servers.Failure) }, on string) {
		s.Arm(servers.Failure{Fault: servers.Endless, On: on, Times: -1})
	}
	gopher := gopherd.Start(t, gopherd.Options{Tree: tree})
	endless(gopher, "/dir")
	ftp := ftpd.Start(t, ftpd.Options{Tree: tree})
	endless(ftp, "MLSD")
	plain := ftpd.Start(t, ftpd.Options{Tree: tree, Unknown: []string{"MLSD", "MLST"}})
	endless(plain, "LIST")
	news := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "example.fruit", Synthetic: 1000}}})
	endless(news, "OVER")
	for name, rawURL := range map[string]string{
		"menu":          gopher.URL + "/1/dir",
		"MLSD":          ftp.URL + "/dir/",
		"LIST":          plain.URL + "/dir/",
		"FTP pattern":   plain.URL + "/dir/*.txt",
		"news overview": "news://" + news.Addr + "/example.fruit",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var received atomic.Int64
			c := fetch.New(&fetch.Options{
				Policy: &fetch.Policy{MaxSize: limit},
				DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := new(net.Dialer).DialContext(ctx, network, addr)
					return &countingConn{conn, &received}, err
				},
				Proxy: func(uri.URI) (uri.URI, error) { return uri.URI{}, nil },
			}, protocols.All)
			defer c.Close()
			var last error
			for _, err := range c.List(t.Context(), rawURL) {
				last = err
			}
			if !errors.Is(last, fetch.ErrTooLarge) {
				t.Errorf("the listing ended with %v, want class %q", last, fetch.ErrTooLarge)
			}
			if n := received.Load(); n < limit/2 || n > 2*limit {
				t.Errorf("%d bytes were read, with a limit of %d", n, limit)
			}
		})
	}
}

// A countingConn counts what is received.
type countingConn struct {
	net.Conn
	received *atomic.Int64
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}
