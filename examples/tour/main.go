// The tour retrieves one resource with each scheme through the registry and prints a table. Then it
// mirrors the servers' tree with each scheme that has one, and compares the copies. It starts small
// servers on loopback, so it needs no network:
//
//	go run ./examples/tour
//
// With -serve it keeps the servers on fixed ports until it is interrupted, to try urlget on them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

func main() {
	serve := flag.Bool("serve", false, "keep the servers running on fixed ports")
	port := flag.Int("port", firstPort, "first of the fixed ports")
	flag.Parse()
	if *port < 1 || *port+len(ports()) > 0xffff {
		fmt.Fprintln(os.Stderr, "tour: no such port:", *port)
		os.Exit(2)
	}
	if !*serve {
		*port = 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Stdout, *port); err != nil {
		fmt.Fprintln(os.Stderr, "tour:", err)
		os.Exit(1)
	}
}

// run runs the tour or, if port is not 0, keeps the servers running.
func run(ctx context.Context, out io.Writer, port int) error {
	if port != 0 {
		return serve(ctx, out, port)
	}
	s := &stage{}
	defer s.tearDown()
	v := s.start()
	client := v.client()
	defer client.Close()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SCHEME\tURL\tKIND\tGOT\tTIME")
	failed := 0
	for _, u := range v.visitURLs() {
		begin := time.Now()
		kind, got, err := visit(ctx, client, u)
		if err != nil {
			failed++
			kind, got = "FAILED", err.Error()
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f ms\n", u.Scheme(), shorten(u.String()), kind, got,
			float64(time.Since(begin).Microseconds())/1000)
	}
	table.Flush()
	if failed > 0 {
		return fmt.Errorf("%d URLs failed", failed)
	}
	return v.trees(ctx, client, out)
}

// visit opens u with an operation that its scheme supports, and describes the result.
func visit(ctx context.Context, c *fetch.Client, u uri.URI) (kind, got string, err error) {
	op := fetch.OpGet
	for _, s := range c.Schemes() {
		if s.Name == u.Scheme() && s.State() == "session" {
			op = fetch.OpDial
		}
	}
	resp, err := c.Do(ctx, &fetch.Request{URL: u, Op: op})
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	switch resp.Kind {
	case fetch.KindSession:
		// A session does not end by itself, so its first bytes suffice.
		n, err := resp.Body.Read(make([]byte, 512))
		return resp.Kind.String(), fmt.Sprintf("%d bytes so far", n), err
	case fetch.KindListing:
		n := 0
		for _, err := range resp.Entries {
			if err != nil {
				return "", "", err
			}
			n++
		}
		return resp.Kind.String(), fmt.Sprintf("entries: %d", n), nil
	}
	n, err := io.Copy(io.Discard, resp.Body)
	return resp.Kind.String(), fmt.Sprintf("%d bytes", n), err
}

// shorten limits the width of the table.
func shorten(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most-1] + "…"
	}
	return s
}
