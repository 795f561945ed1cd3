// Package command is what test servers that run as commands have in common: the
// flags, the folder that they serve, and their end by a signal.
package command

import (
	"context"
	"flag"
	"io/fs"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
)

// A Server is one that runs.
type Server interface {
	Addr() string // host:port, as clients are told
	Close() error
}

// Main reads the command line, starts the server and closes it once a signal
// asks for that. Start is given the address to listen on and that which clients
// are told, which is nil if it is no other.
func Main(network string, start func(listen string, public net.Addr, tree fs.FS) (Server, error)) {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, `host:port`")
	told := flag.String("public", "", "address that clients are told, `host:port`, if it is another")
	root := flag.String("root", ".", "`folder` to serve")
	flag.Parse()
	var public net.Addr
	if *told != "" {
		public = address{network, *told}
	}
	err := run(*root, func(tree fs.FS) (Server, error) { return start(*listen, public, tree) })
	if err != nil {
		log.Fatal(err)
	}
}

func run(root string, start func(tree fs.FS) (Server, error)) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	s, err := start(tree.FS())
	if err != nil {
		return err
	}
	log.Printf("listening on %s", s.Addr())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return s.Close()
}

type address struct{ network, text string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.text }
