package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A recorder is a testing.TB that records errors.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprint(args...))
}
func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// finish runs the cleanups of the recorder and returns its errors.
func (r *recorder) finish() string {
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.errors, "\n")
}

func parse(t testing.TB, text string) *Conversation {
	t.Helper()
	conv, err := Parse("test.txtar", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return conv
}

func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// retrieve is a small FTP client.
func retrieve(t *testing.T, addr string, quit bool) string {
	c, err := textproto.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd := func(line string, code int) string {
		if line != "" {
			c.PrintfLine("%s", line)
		}
		_, text, err := c.ReadResponse(code)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return text
	}
	cmd("", 220)
	cmd("USER anonymous", 230)
	cmd("CWD ", 250)
	port := regexp.MustCompile(`\|\|\|(\d+)\|`).FindStringSubmatch(cmd("EPSV", 229))[1]
	data := dial(t, "127.0.0.1:"+port)
	defer data.Close()
	cmd("RETR motd", 150)
	content, err := io.ReadAll(data)
	if err != nil {
		t.Fatal(err)
	}
	if quit { // otherwise the connection stays open until the reply
		data.Close()
	}
	cmd("", 226)
	if quit {
		c.PrintfLine("QUIT")
	}
	return string(content)
}

func TestServer(t *testing.T) {
	t.Parallel()
	conv, err := Load("testdata/ftp.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, quit := range []bool{false, true} {
		rec := &recorder{TB: t}
		if got := retrieve(t, Server(rec, conv), quit); got != "Welcome.\r\n \xff\x00\r\n" {
			t.Errorf("content %q", got)
		}
		if errs := rec.finish(); errs != "" {
			t.Error(errs)
		}
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"-- c --\nS: hello\nC: a\nC\"b\\n\"\nS\"raw\"\nS: PASV ($PASV{d})\nC? QUIT\nS!wait d\nS: bye\nS!close\n-- d --\nC: up\nC!close\nS: got it\nS!close\n",
		"-- c --\nS: $HOST $PORT ($PORT{d})\nC: $HOST $PORT\nS!stall\n-- d --\nC: x\nS!reset\n",
		"-- one --\nS: 1\n-- two --\nC: 2\nS< ff 00\n",
	} {
		conv := parse(t, text)
		Client(t, conv, Server(t, conv))
	}
	conv, err := Load("testdata/ftp.txtar")
	if err != nil {
		t.Fatal(err)
	}
	Client(t, conv, Server(t, conv))
}

func TestServerReportsDeviations(t *testing.T) {
	t.Parallel()
	const hello = "-- c --\nS: 220 ready\nC: USER me\nS: 230 ok\n"
	tests := []struct {
		name, script string
		client       func(net.Conn)
		want         string // regular expression
	}{
		{"another line", hello, says("USER you\r\n"),
			`^test\.txtar:3: deviation in "c":\n\t  S: 220 ready\n\t- C: USER me\n\t\+ C: USER you$`},
		{"a longer line", hello, says("USER me too\r\n"), `\+ C: USER me too`},
		{"a shorter line", hello, says("USER\r\n"), `\+ C: USER`},
		{"another line end", hello, says("USER me\n"), `\+ C"USER me\\n"`},
		{"a line too many", hello, says("USER me\r\nPASS x\r\n"), `\t  S: 230 ok\n\t- \(nothing\)\n\t\+ C: PASS x`},
		{"closes early", hello, says(""), `\+ \(closed the connection\)`},
		{"closes within a line", hello, says("USER"), `\+ C"USER", then closed the connection`},
		{"says something instead of closing", "-- c --\nC!close\n", says("x\r\n"), `- C!close\n\t\+ C: x`},
		{"other bytes", "-- c --\nC< 01 02 03\n", says("\x01\x02\x04"), `- C"\\x01\\x02\\x03"\n\t\+ C"\\x01\\x02\\x04"`},
		{"other bytes than a number", "-- c --\nC< 01 {id} 03\nS< 02 {id}\n", says("\x01abcd\x04"), `- C< 01 \{id\} 03\n\t\+ C"\\x01abcd\\x04"`},
		{"another word for QUIT", "-- c --\nC? QUIT\n", says("ABOR\r\n"), `\+ C: ABOR`},
		{"no second connection", "-- c --\nS: hi\nS!close\n-- d --\nS: hi\n", says(""), `no connection for "d"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{TB: t}
			s := newServer(rec, parse(t, tt.script))
			if tt.name == "no second connection" {
				s.patience = 100 * time.Millisecond
			}
			rec.Cleanup(s.close)
			conn := dial(t, s.start())
			tt.client(conn)
			conn.Close()
			if errs := rec.finish(); !regexp.MustCompile(tt.want).MatchString(errs) {
				t.Errorf("reported:\n%s\nwant a match of %s", errs, tt.want)
			}
		})
	}
}

// says sends s, closes the sending side and reads to the end.
func says(s string) func(net.Conn) {
	return func(conn net.Conn) {
		io.WriteString(conn, s)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}
}

func TestServerReportsExtraConnection(t *testing.T) {
	t.Parallel()
	rec := &recorder{TB: t}
	addr := Server(rec, parse(t, "-- c --\nS!close\n"))
	for range 2 {
		conn := dial(t, addr)
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	if errs := rec.finish(); !strings.Contains(errs, "one connection too many") {
		t.Errorf("reported: %q", errs)
	}
}

func TestClientReportsDeviations(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, server, client, want string }{
		{"another line", "-- c --\nS: 220 ready\nS!close\n", "-- c --\nS: 220 hello\n", `- S: 220 hello\n\t\+ S: 220 ready`},
		{"no port", "-- c --\nS: 229 (|||x|)\nS!close\n", "-- c --\nS: 229 ($EPSV{d})\n-- d --\nS!close\n", `\+ S: 229 \(\|\|\|x\|\)\n.*no port for "d"`},
		{"closes", "-- c --\nS!close\n", "-- c --\nS: 229 ($EPSV{d})\n-- d --\nS!close\n", `\+ \(closed the connection\)`},
		{"does not close", "-- c --\nS: more\n", "-- c --\nS!close\n", `- S!close\n\t\+ S: more`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rec := &recorder{TB: t}
			Client(rec, parse(t, tt.client), Server(t, parse(t, tt.server)))
			if errs := rec.finish(); !regexp.MustCompile(tt.want).MatchString(errs) {
				t.Errorf("reported:\n%s\nwant a match of %s", errs, tt.want)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		conn := dial(t, Server(t, parse(t, "-- c --\nS: x\nC: go\nS!reset\n")))
		defer conn.Close()
		r := bufio.NewReader(conn)
		r.ReadString('\n')
		io.WriteString(conn, "go\r\n")
		if _, err := r.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("error after a reset: %v", err)
		}
	})
	t.Run("stall", func(t *testing.T) {
		t.Parallel()
		rec := &recorder{TB: t}
		conn := dial(t, Server(rec, parse(t, "-- c --\nS: x\nS!stall\n")))
		defer conn.Close()
		r := bufio.NewReader(conn)
		r.ReadString('\n')
		io.WriteString(conn, "anybody there?\r\n")
		if errs := rec.finish(); errs != "" { // ends although the client keeps the connection open
			t.Error(errs)
		}
		if _, err := r.ReadByte(); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server spoke: %v", err)
		}
	})
	t.Run("close", func(t *testing.T) {
		t.Parallel()
		conn := dial(t, Server(t, parse(t, "-- c --\nS: x\nS!close\n")))
		defer conn.Close()
		if got, err := io.ReadAll(conn); string(got) != "x\r\n" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		io.WriteString(conn, "QUIT\r\n")
	})
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", "no script begins"},
		{"-- c --\nS: ok\nx: what\n", "t:3: not a step"},
		{"comment\n-- c --\n# comment\nS:ok\n", "t:4: not a step"},
		{"-- c --\nS? ok\n", "t:2: not a step"},
		{"-- c --\nS!\n", "not a step"},
		{"-- c --\nS!sleep\n", "not a step"},
		{"-- c --\nS!close now\n", "not a step"},
		{"-- c --\nC!stall\n", "not a step"},
		{"-- c --\nC\"x\n", "not a step"},
		{"-- c --\nC< 0\n", "not a step"},
		{"-- c --\nC< {id\n", "not a step"},
		{"-- c --\nS: \xff$PORT\n", "UTF-8"},
		{"-- c --\nS!close\nS: ok\n", "t:3: nothing can follow S!close"},
		{"-- c --\nS!wait d\n", `t:2: there is no other script "d"`},
		{"-- c --\nS!wait c\n", `no other script "c"`},
		{"-- c --\nS: $EPSV{d}\n", `no other script "d"`},
		{"-- c --\nS: $PORT{d}\n-- d --\nS: $PORT{c}\n", "no script begins"},
		{"-- c --\n-- c --\n", `t:2: a second script "c"`},
	}
	for _, tt := range tests {
		if _, err := Parse("t", []byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v, want %q", tt.in, err, tt.want)
		}
	}
	if _, err := Load("testdata/none.txtar"); !os.IsNotExist(err) {
		t.Errorf("Load of a missing file: %v", err)
	}
}

// FuzzParse checks that each parsed step can be formatted and parsed again.
func FuzzParse(f *testing.F) {
	seed, err := os.ReadFile("testdata/ftp.txtar")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("-- a --\nS!wait b\nS!reset\n-- b --\nC!close\nS:\nC?\nS!stall\n"))
	f.Add([]byte("-- a --\nS: $ $PORT $HOST $PASV{b}\nS\"$PORT\\r\\n\"\n-- b --\nC:  x \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		conv, err := Parse("t", data)
		if err != nil {
			return
		}
		for _, sc := range conv.scripts {
			for _, st := range sc.steps {
				again, err := parseStep(st.String())
				again.line = st.line
				if err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", st) {
					t.Errorf("%#v is written as %q, which is %#v, %v", st, st, again, err)
				}
			}
		}
	})
}

func TestServerRepeatsNumbers(t *testing.T) {
	t.Parallel()
	conn := dial(t, Server(t, parse(t, "-- c --\nC< 01 {a} {b}\nS< 02 {b} 03 {a}\nS!close\n")))
	defer conn.Close()
	io.WriteString(conn, "\x01aaaabbbb")
	if got, err := io.ReadAll(conn); string(got) != "\x02bbbb\x03aaaa" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	script := func(name string) string {
		return "-- c --\nS: 220 " + name + "\nC: QUIT\nS: 221 bye\nS!close\n"
	}
	addr, conns := Record(t, Server(t, parse(t, script("one"))), Server(t, parse(t, script("two")+strings.Replace(script("two"), "-- c", "-- d", 1))))
	want := ""
	for _, name := range []string{"one", "two", "two"} {
		conn := dial(t, addr)
		io.ReadFull(conn, make([]byte, len("220 one\r\n")))
		io.WriteString(conn, "QUIT\r\n")
		io.Copy(io.Discard, conn)
		conn.Close()
		want += fmt.Sprintf("false \"220 %s\\r\\n\"\ntrue \"QUIT\\r\\n\"\nfalse \"221 bye\\r\\n\"\n", name)
	}
	var got strings.Builder
	for _, pieces := range conns() {
		for _, p := range pieces {
			fmt.Fprintf(&got, "%t %q\n", p.Client, p.Data)
		}
	}
	if got.String() != want {
		t.Errorf("%s\nwant\n%s", got.String(), want)
	}
}

func TestBytesAreWrittenInLines(t *testing.T) {
	t.Parallel()
	p := Piece{Client: true, Data: []byte("0123456789abcdef0123456789abcdef!")}
	if got, want := p.String(), "C< 3031323334353637 3839616263646566 3031323334353637 3839616263646566\nC< 21\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
