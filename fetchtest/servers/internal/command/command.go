// Package command runs a test server as a command, with flags and a folder to serve, until a
// signal.
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

// Main parses the command line, starts a server and closes it on a signal. It passes the address to
// listen on, the public address (or "") and the folder to start.
func Main(start func(listen, public string, tree fs.FS) (*servers.Server, error)) {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on, `host:port`")
	public := flag.String("public", "", "public address, `host:port`, if it differs")
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
