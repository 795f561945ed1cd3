package servers_test

import (
	"bufio"
	"fmt"
	"log"
	"net"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// telnetLogin stands for the client under test. It refuses the requested option and sends a name.
func telnetLogin(addr, name string) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	r.Discard(3)
	conn.Write([]byte{255, 252, 24}) // IAC WONT TERMINAL-TYPE
	if _, err := r.ReadString(' '); err != nil {
		return "", err
	}
	fmt.Fprintf(conn, "%s\r\n", name)
	return r.ReadString('\n')
}

// A test calls Start(t, options) instead of New and Close. It fails if the client sends bytes that
// the script does not expect.
func Example_telnetd() {
	s, err := telnetd.New(telnetd.Options{Script: func(c *telnetd.Conn) {
		c.Send("\xff\xfd\x18login: ") // IAC DO TERMINAL-TYPE
		if c.Expect("\xff\xfc\x18") && c.Expect("joe\r\n") {
			c.Send("Welcome.\n")
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(telnetLogin(s.Addr, "joe"))
	fmt.Printf("%q\n", s.Log())

	s.Arm(servers.Failure{Fault: servers.Cut, After: 5})
	_, err = telnetLogin(s.Addr, "joe")
	fmt.Println(err)
	// Output:
	// Welcome.
	//  <nil>
	// ["\xff\xfc\x18" "joe\r\n"]
	// EOF
}
