// Command prosperod serves a folder by Prospero, for tests.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/urlget/urlget/internal/testserver/prosperod"
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
	conn, err := net.ListenPacket("udp", *listen)
	if err != nil {
		return err
	}
	if *public != "" {
		conn = named{conn, *public}
	}
	s := prosperod.New(tree.FS())
	s.Serve(conn)
	log.Printf("listening on %s", s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return s.Close()
}

// named is a socket that answers under another address.
type named struct {
	net.PacketConn
	addr string
}

func (n named) LocalAddr() net.Addr { return n }
func (n named) Network() string     { return "udp" }
func (n named) String() string      { return n.addr }
