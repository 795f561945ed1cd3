package prospero_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest"
	"github.com/urlget/urlget/fetchtest/drive"
	"github.com/urlget/urlget/fetchtest/servers/prosperod"
)

// TestRetrievalsOverAFailingNetwork drops and duplicates each datagram in turn.
func TestRetrievalsOverAFailingNetwork(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"d/long": {Data: []byte(strings.Repeat("0123456789", 4000))}, "d/short": {Data: []byte("x")}}
	for i := range 40 {
		tree[fmt.Sprintf("d/%0100d", i)] = &fstest.MapFile{}
	}
	for name, tt := range map[string]struct {
		name string
		op   fetch.Op
	}{
		"a file of many packets": {"/d/long", fetch.OpGet},
		"a file of one":          {"/d/short", fetch.OpGet},
		"metadata":               {"/d/short", fetch.OpStat},
		"a directory":            {"/d", fetch.OpList},
		"nothing":                {"/none", fetch.OpGet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := prosperod.Start(t, prosperod.Options{Tree: tree})
			fetchtest.RunFailures(t, fetchtest.Failures{Datagrams: true, Try: func(t testing.TB, o *fetch.Options) ([]byte, error) {
				c := fetch.New(o, quick)
				defer c.Close()
				body, err := drive.Read(c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(url(s.Addr, tt.name)), Op: tt.op}))
				return []byte(body), err
			}})
		})
	}
}

// TestEchoServer uses a server that echoes requests, with the connection ID of the exchange.
func TestEchoServer(t *testing.T) {
	t.Parallel()
	s := listen(t)
	defer s.Close()
	go func() {
		b := make([]byte, 2<<10)
		for {
			n, from, err := s.ReadFrom(b)
			if err != nil {
				return
			}
			s.WriteTo(b[:n], from)
		}
	}()
	c := fetch.New(nil, quick)
	defer c.Close()
	for _, op := range []fetch.Op{fetch.OpGet, fetch.OpStat, fetch.OpList} {
		resp, err := c.Do(t.Context(), &fetch.Request{URL: uri.MustParse(url(s.LocalAddr().String(), "/x")), Op: op})
		if !errors.Is(err, fetch.ErrProtocol) {
			t.Errorf("%v: error %v", op, err)
		}
		if err == nil {
			resp.Body.Close()
		}
	}
}
