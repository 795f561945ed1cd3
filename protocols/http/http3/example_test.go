package http3_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	quichttp3 "github.com/quic-go/quic-go/http3"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/servers"
	driver "github.com/urlget/urlget/protocols/http"
	"github.com/urlget/urlget/protocols/http/http3"
)

// A program that imports the package tries HTTP/3 first.
func ExampleOver() {
	serverTLS, clientTLS := servers.Certificate()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer socket.Close()
	s := &quichttp3.Server{
		TLSConfig: quichttp3.ConfigureTLSConfig(serverTLS),
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello by ", r.Proto) }),
	}
	go s.Serve(socket)
	defer s.Close()

	c := fetch.New(&fetch.Options{TLS: clientTLS}, driver.With(driver.Options{QUIC: http3.Over}))
	defer c.Close()
	resp, err := c.Get(context.Background(), "https://"+socket.LocalAddr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	fmt.Printf("%s %v\n", text, err)
	// Output:
	// hello by HTTP/3.0 <nil>
}
