package ftp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetchtest/drive"
)

// activeServer serves clients in active mode. Do handles RETR; it receives the control connection
// and the address of the client's listener.
func activeServer(t *testing.T, do func(control net.Conn, data string)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			active(conn, do)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-over
	})
	return l.Addr().String()
}

func active(conn net.Conn, do func(control net.Conn, data string)) {
	in, data := bufio.NewReader(conn), ""
	io.WriteString(conn, "220 ready\r\n")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, argument, _ := strings.Cut(strings.TrimSpace(line), " "); verb {
		case "USER":
			io.WriteString(conn, "230 welcome\r\n")
		case "PWD":
			io.WriteString(conn, "257 \"/\"\r\n")
		case "TYPE":
			io.WriteString(conn, "200 yes\r\n")
		case "EPRT":
			fields := strings.Split(argument, "|")
			data = net.JoinHostPort(fields[2], fields[3])
			io.WriteString(conn, "200 yes\r\n")
		case "RETR":
			do(conn, data)
		case "QUIT":
			return
		default:
			io.WriteString(conn, "502 no\r\n")
		}
	}
}

// TestActiveServers checks replies of servers that cannot connect: the client must not wait for the
// timeout. It also sends the data before and after each reply.
func TestActiveServers(t *testing.T) {
	t.Parallel()
	say := func(c net.Conn, lines ...string) {
		for _, line := range lines {
			io.WriteString(c, line+"\r\n")
		}
	}
	send := func(address string) {
		if conn, err := net.Dial("tcp", address); err == nil {
			io.WriteString(conn, "content")
			conn.Close()
		}
	}
	for _, tt := range []struct {
		name string
		do   func(control net.Conn, data string)
		want string
		err  fetch.Code
		text string
	}{
		{"it connects", func(c net.Conn, data string) { say(c, "150 here"); send(data); say(c, "226 done") }, "content", "", ""},
		{"it connects first", func(c net.Conn, data string) { send(data); say(c, "150 here", "226 done") }, "content", "", ""},
		{"it says so twice", func(c net.Conn, data string) { say(c, "150 here", "125 here"); send(data); say(c, "226 done") }, "content", "", ""},
		{"it has nothing", func(c net.Conn, _ string) { say(c, "150 here", "226 done") }, "", "", ""},
		{"it cannot connect", func(c net.Conn, _ string) { say(c, "150 here", "425 cannot connect") }, "", fetch.ErrNetwork, "425 cannot connect"},
		{"it cannot connect and says so later", func(c net.Conn, _ string) {
			say(c, "150 here")
			time.AfterFunc(20*time.Millisecond, func() { say(c, "425 cannot connect") })
		}, "", fetch.ErrNetwork, "425 cannot connect"},
		{"it breaks off", func(c net.Conn, data string) { say(c, "150 here"); send(data); say(c, "426 disk error") }, "", fetch.ErrTruncated, "426 disk error"},
		{"it hangs up", func(c net.Conn, _ string) { say(c, "150 here"); c.Close() }, "", fetch.ErrNetwork, ""},
		{"it stops to serve", func(c net.Conn, _ string) { say(c, "150 here", "421 going down") }, "", fetch.ErrBusy, "421 going down"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			address := activeServer(t, tt.do)
			c := drive.Client(t, &fetch.Options{Timeouts: fetch.Timeouts{Connect: 5 * time.Minute, Reply: 5 * time.Minute}}, With(Options{Active: true}))
			body, err := drive.Get(t, c, "ftp://"+address+"/motd")
			if fetch.CodeOf(err) != tt.err || err == nil && body != tt.want {
				t.Errorf("%q, %v (%s)", body, err, fetch.CodeOf(err))
			}
			if err != nil && !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("%v, want %s", err, tt.text)
			}
		})
	}
}

// TestActiveServerDoesNotConnect checks that the connect timeout applies to a silent server.
func TestActiveServerDoesNotConnect(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]fetch.Timeouts{
		"the connect timeout is shorter": {Connect: 2 * time.Second, Reply: time.Minute},
		"the reply timeout is shorter":   {Connect: 3 * time.Second, Reply: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := activeServer(t, func(c net.Conn, _ string) { io.WriteString(c, "150 here\r\n") })
			c := drive.Client(t, &fetch.Options{Timeouts: limits}, With(Options{Active: true}))
			if _, err := drive.Get(t, c, "ftp://"+address+"/motd"); fetch.CodeOf(err) != fetch.ErrNetwork || !strings.Contains(fmt.Sprint(err), "did not connect within") {
				t.Error(err)
			}
		})
	}
}
