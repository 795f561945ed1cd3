// Command waisd serves a folder by WAIS, for tests.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/urlget/urlget/internal/testserver/waisd"
)

var (
	listen = flag.String("listen", "127.0.0.1:0", "address to listen on, `host:port`")
	public = flag.String("public", "", "address that clients are told, `host:port`, if it is another")
	root   = flag.String("root", ".", "`folder` to serve")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	tree, err := os.OpenRoot(*root)
	if err != nil {
		return err
	}
	defer tree.Close()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	if *public != "" {
		l = named{l, *public}
	}
	s := waisd.Start(l, tree.FS())
	log.Printf("listening on %s", s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return s.Close()
}

// named is a listener that answers under another address.
type named struct {
	net.Listener
	addr string
}

func (n named) Addr() net.Addr  { return n }
func (n named) Network() string { return "tcp" }
func (n named) String() string  { return n.addr }
