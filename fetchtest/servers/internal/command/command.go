// Package command is what the test servers that are commands have in common: the flags, the folder
// that they serve, and their end by a signal.
package command

import (
	"context"
	"flag"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/urlget/urlget/fetchtest/servers"
)

// Main reads the command line, starts a server and closes it once a signal asks for that. Start is
// given the address to listen on, that which clients are told, "" if it is no other, and the
// folder.
func Main(start func(listen, public string, tree fs.FS) (*servers.Server, error)) {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, `host:port`")
	public := flag.String("public", "", "address that clients are told, `host:port`, if it is another")
	root := flag.String("root", ".", "`folder` to serve")
	flag.Parse()
	err := run(*root, func(tree fs.FS) (*servers.Server, error) { return start(*listen, *public, tree) })
	if err != nil {
		log.Fatal(err)
	}
}

func run(root string, start func(tree fs.FS) (*servers.Server, error)) error {
	tree, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer tree.Close()
	s, err := start(tree.FS())
	if err != nil {
		return err
	}
	defer s.Close()
	log.Printf("listening on %s", s.Addr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return nil
}
