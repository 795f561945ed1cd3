package servers_test

import (
	"fmt"
	"log"
	"net"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers/tftpd"
)

// A test calls Start(t, options) instead of New and Close.
func Example_tftpd() {
	s, err := tftpd.New(tftpd.Options{Tree: fstest.MapFS{"motd": {Data: []byte("Hello.\n")}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	addr, err := net.ResolveUDPAddr("udp", s.Addr)
	if err != nil {
		log.Fatal(err)
	}
	ask := func(name string) {
		// A port of its own, so that data sent again do not answer the next request.
		conn, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Minute))
		conn.WriteTo([]byte("\x00\x01"+name+"\x00octet\x00"), addr)
		response := make([]byte, 516)
		n, from, err := conn.ReadFrom(response)
		fmt.Printf("%q, %v, from another port: %t\n", response[:n], err, from.String() != s.Addr)
		conn.WriteTo([]byte("\x00\x04\x00\x01"), from)
	}
	ask("motd")
	ask("none")
	fmt.Println(s.Log())
	// Output:
	// "\x00\x03\x00\x01Hello.\n", <nil>, from another port: true
	// "\x00\x05\x00\x01File not found\x00", <nil>, from another port: true
	// [motd none]
}
