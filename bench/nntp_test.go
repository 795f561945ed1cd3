package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/nntp"
)

// overviewLine returns an overview line of usual length.
func overviewLine(n int) string {
	return fmt.Sprintf("%d\tRe: a subject of usual length for article %d\tSome Body <some.body%d@example.invalid>\t"+
		"Sat, 29 Feb 2020 12:34:56 +0000\t<article%d.part1@news.example.invalid>\t"+
		"<parent%d@news.example.invalid> <root@news.example.invalid>\t%d\t%d\tXref: news.example.invalid big:%d\r\n",
		n, n, n, n, n, 2000+n%500, 20+n%100, n)
}

// BenchmarkNewsOverview reads 100,000 overview lines: "parse" only calls ParseOverview; "list"
// reads entries with URLs and dates with a client. The server is a connection that reads from
// memory. The target is to parse 100 MB/s on one core.
//
//	go test -run '^$' -bench NewsOverview -benchmem -cpu 1 ./bench
func BenchmarkNewsOverview(b *testing.B) {
	const lines, chunk = 100_000, 2000 // the driver requests this many lines per command
	var answers bytes.Buffer
	var all [][]byte
	size := 0
	fmt.Fprintf(&answers, "200 hi\r\n101 can\r\nVERSION 2\r\nREADER\r\nOVER\r\n.\r\n211 %d 1 %d big\r\n", lines, lines)
	for n := 1; n <= lines; n++ {
		if n%chunk == 1 {
			answers.WriteString("224 overview\r\n")
		}
		line := overviewLine(n)
		size += len(line)
		all = append(all, []byte(strings.TrimSuffix(line, "\r\n")))
		answers.WriteString(line)
		if n%chunk == 0 {
			answers.WriteString(".\r\n")
		}
	}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, line := range all {
				if o, ok := nntp.ParseOverview(line); !ok || o.Lines < 0 {
					b.Fatal(o)
				}
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			client := fetch.New(&fetch.Options{
				DialContext: func(context.Context, string, string) (net.Conn, error) {
					return &memoryConn{Reader: bytes.NewReader(answers.Bytes())}, nil
				},
			}, nntp.Load)
			n := 0
			for _, err := range client.List(b.Context(), "news://news.example.org/big") {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			client.Close()
			if n != lines {
				b.Fatalf("%d entries", n)
			}
		}
	})
}

// newsServer starts INN with the articles <0@bench.invalid>, <1@bench.invalid> and so on.
func newsServer(b *testing.B, articles int) string {
	dir, err := os.MkdirTemp("", "urlget-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, lab.NewsDir), 0o755)); err != nil {
		b.Fatal(err)
	}
	body := strings.Repeat("All work and no play makes a long article of it.\n", 30)
	for n := range articles {
		text := fmt.Sprintf("Path: lab.invalid!not-for-mail\nFrom: bench@lab.invalid\nNewsgroups: %s\nSubject: %d\n"+
			"Date: Sat, 29 Feb 2020 12:34:56 +0000\nMessage-ID: <%d@bench.invalid>\n\n%s", lab.Group, n, n, body)
		if err := os.WriteFile(filepath.Join(dir, lab.NewsDir, fmt.Sprintf("%06d.eml", n)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return lab.StartRoot(b, "inn", dir).Addr("plain")
}

// distantConn is a connection on which each Write takes a round trip.
type distantConn struct {
	net.Conn
	roundTrip time.Duration
}

func (c distantConn) Write(p []byte) (int, error) {
	time.Sleep(c.roundTrip)
	return c.Conn.Write(p)
}

// BenchmarkNewsArticles retrieves articles by message-id from INN, without delay and with a round
// trip of 2 ms. It retrieves them one at a time and eight at a time. A bare connection with 64
// pipelined commands shows the limit of the server.
//
//	go test -run '^$' -bench NewsArticles -benchtime 1x ./bench
func BenchmarkNewsArticles(b *testing.B) {
	const stored = 20_000
	addr := newsServer(b, stored)
	for _, distance := range []struct {
		name      string
		roundTrip time.Duration
		articles  int
	}{{"near", 0, stored}, {"far", 2 * time.Millisecond, 200}} {
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil || distance.roundTrip == 0 {
				return conn, err
			}
			return distantConn{conn, distance.roundTrip}, nil
		}
		for _, workers := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d-at-a-time", distance.name, workers), func(b *testing.B) {
				client := fetch.New(&fetch.Options{DialContext: dial}, nntp.With(nntp.Options{MaxConns: workers}))
				defer client.Close()
				for b.Loop() {
					getArticles(b, client, addr, distance.articles, workers)
				}
				b.ReportMetric(float64(distance.articles*b.N)/b.Elapsed().Seconds(), "articles/s")
			})
		}
		b.Run(distance.name+"/bare-pipeline", func(b *testing.B) {
			for b.Loop() {
				pipelineArticles(b, dial, addr, distance.articles)
			}
			b.ReportMetric(float64(distance.articles*b.N)/b.Elapsed().Seconds(), "articles/s")
		})
	}
}

// getArticles retrieves the articles with the client.
func getArticles(b *testing.B, client *fetch.Client, addr string, articles, workers int) {
	ids := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := range ids {
				resp, err := client.Get(b.Context(), fmt.Sprintf("news://%s/%d@bench.invalid", addr, n))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	for n := range articles {
		ids <- n
	}
	close(ids)
	wg.Wait()
}

// pipelineArticles pipelines 64 commands over one connection.
func pipelineArticles(b *testing.B, dial func(context.Context, string, string) (net.Conn, error), addr string, articles int) {
	conn, err := dial(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	text := textproto.NewConn(conn)
	defer text.Close()
	if _, _, err := text.ReadCodeLine(200); err != nil {
		b.Fatal(err)
	}
	const window = 64
	for n := 0; n < articles; n += window {
		var commands bytes.Buffer
		last := min(n+window, articles)
		for i := n; i < last; i++ {
			fmt.Fprintf(&commands, "ARTICLE <%d@bench.invalid>\r\n", i)
		}
		if _, err := conn.Write(commands.Bytes()); err != nil {
			b.Fatal(err)
		}
		for range last - n {
			if _, _, err := text.ReadCodeLine(220); err != nil {
				b.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, text.DotReader()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
