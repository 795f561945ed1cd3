package main

import (
	"crypto/tls"
	"net"
	"net/http/httptest"

	"github.com/quic-go/quic-go/http3"
	"github.com/rogpeppe/go-internal/testscript"
)

// addHTTP3 adds an HTTP/3 server to a site, on the same port.
func addHTTP3(ts *testscript.TestScript, s *httptest.Server) error {
	socket, err := net.ListenPacket("udp", s.Listener.Addr().String())
	if err != nil {
		return err
	}
	srv := &http3.Server{Handler: pages(), TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: s.TLS.Certificates})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		srv.Serve(socket)
	}()
	ts.Defer(func() {
		srv.Close()
		<-done
		socket.Close()
	})
	return nil
}
