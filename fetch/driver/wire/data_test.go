package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetchtest/servers"
)

// converse returns a conversation with a server that sends text. Heard closes the connection and
// returns the bytes that the server received.
func converse(t *testing.T, text string, maxLine int) (lines *wire.Lines, heard func() string) {
	t.Helper()
	done := make(chan string, 1)
	near, far := servers.Pair(t)
	go func() {
		defer far.Close()
		io.WriteString(far, text)
		far.CloseWrite()
		all, _ := io.ReadAll(far)
		done <- string(all)
	}()
	conn := fetch.NewConn(t.Context(), near, fetch.Timeouts{})
	t.Cleanup(func() { conn.Close() })
	return wire.NewLines(conn, maxLine), func() string {
		conn.Close()
		return <-done
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	l, heard := converse(t, "hello\r\n220-two\r\n220 lines\r\nOK 5\nabcdef", 0)
	line, err := l.Line()
	if line != "hello" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if err := l.Send("GET a b"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"a\rb", "a\nb", "a\x00b"} {
		if err := l.Send(bad); !errors.Is(err, wire.ErrUnsafe) {
			t.Errorf("%q was sent: %v", bad, err)
		}
	}
	if err := l.SendSecret("PASS secret", "PASS ******"); err != nil {
		t.Error(err)
	}
	if r, err := l.Reply(); r.Code != 220 || r.Text() != "two\nlines" || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if line, err := l.Line(); line != "OK 5" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	content := make([]byte, 5)
	if _, err := io.ReadFull(l, content); string(content) != "abcde" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
	if n := l.Buffered(); n != 1 {
		t.Errorf("%d bytes are left, want 1", n)
	}
	var rest bytes.Buffer
	if _, err := io.Copy(&rest, l); rest.String() != "f" || err != nil {
		t.Errorf("%q, %v", rest.String(), err)
	}
	if got := heard(); got != "GET a b\r\nPASS secret\r\n" {
		t.Errorf("the server heard %q", got)
	}
}

func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		read       func(*wire.Lines) error
	}{
		{"a line", strings.Repeat("x", 200), func(l *wire.Lines) error { return second(l.Line()) }},
		{"a reply", strings.Repeat("220-x\r\n", 2000), func(l *wire.Lines) error { return second(l.Reply()) }},
		{"no reply", "hello\r\n", func(l *wire.Lines) error { return second(l.Reply()) }},
	} {
		l, _ := converse(t, tt.text, 100)
		err := tt.read(l)
		var fe *fetch.Error
		if wrapped := asClient(t, err); !errors.As(wrapped, &fe) || fe.Code != fetch.ErrProtocol {
			t.Errorf("%s: %v", tt.name, wrapped)
		}
		for what, again := range map[string]error{"Line": second(l.Line()), "Read": second(l.Read(make([]byte, 1))),
			"WriteTo": second(l.WriteTo(io.Discard)), "Send": l.Send("x")} {
			if again != err {
				t.Errorf("%s: %s after that: %v", tt.name, what, again)
			}
		}
	}
	l, _ := converse(t, "", 0)
	if _, err := l.Line(); err != io.EOF {
		t.Errorf("a connection that was closed: %v", err)
	}
	l, _ = converse(t, "", 0)
	if _, err := l.Reply(); err != io.ErrUnexpectedEOF {
		t.Errorf("a connection that was closed where a reply was due: %v", err)
	}
}

func second[N any](_ N, err error) error { return err }

// asClient converts a driver's error as a client does.
func asClient(t *testing.T, err error) error {
	t.Helper()
	c := fetch.New(nil, fetch.Use("x-fail", fetch.DriverFunc(func(_ context.Context, _ *fetch.Request) (*fetch.Response, error) { return nil, err })))
	_, err = c.Get(t.Context(), "x-fail:x")
	return err
}

// In this protocol, the client sends "GET NAME", and the server sends "OK SIZE" and SIZE bytes.
// examples/customscheme is a complete driver.
func ExampleLines() {
	near, far := net.Pipe()
	go func() { // the server
		bufio.NewReader(far).ReadString('\n')
		fmt.Fprintf(far, "OK 5\r\nhello")
	}()

	conn := fetch.NewConn(context.Background(), near, fetch.Timeouts{}) // drivers use Env.Dial
	defer conn.Close()
	l := wire.NewLines(conn, 1000)
	if err := l.Send("GET greeting"); err != nil {
		fmt.Println(err)
	}
	reply, err := l.Line()
	if err != nil {
		fmt.Println(err)
	}
	content := make([]byte, 5)
	_, err = io.ReadFull(l, content)
	fmt.Printf("%s: %s %v\n", reply, content, err)
	// Output:
	// OK 5: hello <nil>
}
