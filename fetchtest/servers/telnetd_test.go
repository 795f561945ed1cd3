package servers_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
)

// telnetTalk sends a client's data and returns the server's.
func telnetTalk(t *testing.T, s *servers.Server, says string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(conn, says)
	got, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestTelnetEcho(t *testing.T) {
	t.Parallel()
	s := telnetd.Start(t, telnetd.Options{})
	if got, want := telnetTalk(t, s, "joe\r\none\r\nexit\r\n"), "login: Hello, joe.\r\n> one\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"joe", "one", "exit"}; !slices.Equal(s.Log(), want) {
		t.Errorf("log %q, want %q", s.Log(), want)
	}
}

// A telnetRecorder is a servers.TB that records errors.
type telnetRecorder struct {
	*testing.T
	errors chan string
}

func (r *telnetRecorder) Errorf(format string, args ...any) { r.errors <- fmt.Sprintf(format, args...) }

func TestTelnetWhatIsNotExpectedFailsTheTest(t *testing.T) {
	t.Parallel()
	r := &telnetRecorder{t, make(chan string, 1)}
	s := telnetd.Start(r, telnetd.Options{Script: func(c *telnetd.Conn) {
		if c.Expect("one") {
			c.Send("yes")
		} else {
			c.Send("no")
		}
	}})
	if got := telnetTalk(t, s, "two"); got != "no" {
		t.Errorf("got %q", got)
	}
	if got, want := <-r.errors, `the server got "two", want "one" (<nil>)`; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if got := telnetTalk(t, s, "one"); got != "yes" {
		t.Errorf("got %q", got)
	}
}
