package bench

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/protocols/nntp"
)

// relayed returns an address that relays to addr and delays both directions by half a round trip.
func relayed(b *testing.B, addr string, roundTrip time.Duration) string {
	return listen(b, func(near net.Conn) {
		far, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		go relay(far, near, roundTrip/2)
		relay(near, far, roundTrip/2)
	})
}

func relay(to, from net.Conn, delay time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	queue := make(chan piece, 1<<16)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				queue <- piece{time.Now().Add(delay), buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range queue {
		time.Sleep(time.Until(p.due))
		to.Write(p.data)
	}
	to.Close()
	from.Close()
}

// BenchmarkNewsDistant retrieves articles from a server 50 ms away over one connection, one at a
// time and pipelined. The target for pipelining is a twentieth of the time.
//
//	go test -run '^$' -bench NewsDistant -benchtime 1x ./bench
func BenchmarkNewsDistant(b *testing.B) {
	const stored = 1000
	group := nntpd.Group{Name: "bench"}
	for n := range stored {
		id := fmt.Sprintf("<%d@bench.invalid>", n)
		group.Articles = append(group.Articles, nntpd.Article{ID: id, Text: "From: bench@lab.invalid\nSubject: x\n" +
			"Date: Sat, 29 Feb 2020 12:34:56 +0000\nMessage-ID: " + id + "\n\n" + strings.Repeat("All work and no play makes a long article of it.\n", 30)})
	}
	s := nntpd.Start(b, nntpd.Options{Groups: []nntpd.Group{group}})
	addr := relayed(b, s.Addr, 50*time.Millisecond)
	for _, way := range []struct {
		name     string
		articles int
	}{{"one-by-one", 50}, {"together", stored}} {
		b.Run(way.name, func(b *testing.B) {
			client := fetch.New(nil, nntp.With(nntp.Options{MaxConns: 1}))
			defer client.Close()
			var reqs []*fetch.Request
			for n := range way.articles {
				u, err := uri.Parse(fmt.Sprintf("news://%s/%d@bench.invalid", addr, n))
				if err != nil {
					b.Fatal(err)
				}
				reqs = append(reqs, &fetch.Request{URL: u})
			}
			read := func(resp *fetch.Response, err error) {
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if err != nil {
					b.Error(err)
				}
			}
			for b.Loop() {
				if way.articles == stored {
					for resp, err := range client.DoAll(b.Context(), reqs) {
						read(resp, err)
					}
					continue
				}
				for _, req := range reqs {
					resp, err := client.Do(b.Context(), req)
					read(resp, err)
					if err == nil {
						resp.Body.Close()
					}
				}
			}
			b.ReportMetric(float64(way.articles*b.N)/b.Elapsed().Seconds(), "articles/s")
		})
	}
}
