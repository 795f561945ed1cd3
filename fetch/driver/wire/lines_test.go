package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// A peer is the connection of a Lines. It records each Write.
type peer struct {
	net.Conn
	in     io.Reader
	writes []string
	masked []string // masked forms passed to WriteMasked
	trace  []string
	fail   error
	closed bool
}

func (p *peer) Read(b []byte) (int, error) { return p.in.Read(b) }
func (p *peer) Write(b []byte) (int, error) {
	p.writes = append(p.writes, string(b))
	return len(b), p.fail
}
func (p *peer) Close() error { p.closed = true; return nil }

func (p *peer) WriteMasked(b, shown []byte) (int, error) {
	p.masked = append(p.masked, string(shown))
	return p.Write(b)
}

func (p *peer) Line() func(sent bool, line string) {
	return func(sent bool, line string) {
		p.trace = append(p.trace, map[bool]string{true: "> ", false: "< "}[sent]+line)
	}
}

// talk returns a conversation with a server whose whole output is available at once.
func talk(server string) (*Lines, *peer, *[]string) {
	p := &peer{in: strings.NewReader(server)}
	return NewLines(p, 0), p, &p.trace
}

func TestConversation(t *testing.T) {
	t.Parallel()
	l, p, trace := talk("220 ready\r\n331 password\r\n230-in\r\nsecond\r\n230 done\r\n")
	if r, err := l.Reply(); r.Code != 220 || err != nil {
		t.Errorf("greeting %v, %v", r, err)
	}
	if r, err := l.Cmd("USER me"); r.Code != 331 || err != nil {
		t.Errorf("USER: %v, %v", r, err)
	}
	if err := l.SendSecret("PASS geheim", "PASS ***"); err != nil {
		t.Error(err)
	}
	if r, err := l.Reply(); r.String() != "230 in\nsecond\ndone" || err != nil {
		t.Errorf("PASS: %v, %v", r, err)
	}
	if got, want := fmt.Sprintf("%q", p.writes), `["USER me\r\n" "PASS geheim\r\n"]`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%q", p.masked), `["PASS ***\r\n"]`; got != want {
		t.Errorf("to be recorded: %s, want %s", got, want)
	}
	want := "< 220 ready|> USER me|< 331 password|> PASS ***|< 230-in|< 230-second|< 230 done"
	if got := strings.Join(*trace, "|"); got != want {
		t.Errorf("trace %s, want %s", got, want)
	}
}

func TestQueuedLinesAreSentTogether(t *testing.T) {
	t.Parallel()
	l, p, trace := talk("")
	if err := l.Flush(); err != nil || len(p.writes) > 0 {
		t.Errorf("Flush of nothing: %q, %v", p.writes, err)
	}
	for _, line := range []string{"CWD a", "CWD b"} {
		if err := l.Queue(line); err != nil {
			t.Error(err)
		}
	}
	if len(p.writes) > 0 || len(*trace) > 0 {
		t.Errorf("sent before the Flush: %q", p.writes)
	}
	l.Flush()
	l.Queue("CWD c")
	l.Send("EPSV")
	if got, want := fmt.Sprintf("%q", p.writes), `["CWD a\r\nCWD b\r\n" "CWD c\r\nEPSV\r\n"]`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if got, want := strings.Join(*trace, "|"), "> CWD a|> CWD b|> CWD c|> EPSV"; got != want {
		t.Errorf("trace %s, want %s", got, want)
	}
}

func TestUnsafeLinesAreNotSent(t *testing.T) {
	t.Parallel()
	const line = "RETR x\r\nDELE geheim"
	sends := map[string]func(*Lines) error{
		"Send":       func(l *Lines) error { return l.Send(line) },
		"SendSecret": func(l *Lines) error { return l.SendSecret(line, "x") },
		"Queue":      func(l *Lines) error { return l.Queue(line) },
		"Cmd":        func(l *Lines) error { _, err := l.Cmd(line); return err },
	}
	for name, send := range sends {
		l, p, trace := talk("200 ok\r\n")
		err := send(l)
		if !errors.Is(err, ErrUnsafe) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: error %v", name, err)
		}
		if len(p.writes) > 0 || len(*trace) > 0 {
			t.Errorf("%s: sent %q, trace %q", name, p.writes, *trace)
		}
		if r, err := l.Cmd("NOOP"); r.Code != 200 || err != nil || l.Err() != nil {
			t.Errorf("%s: the conversation is broken: %v", name, err)
		}
		if got := fmt.Sprintf("%q", p.writes); got != `["NOOP\r\n"]` {
			t.Errorf("%s: sent %s", name, got)
		}
	}
}

func TestIACIsDoubledOnRequest(t *testing.T) {
	t.Parallel()
	for _, double := range []bool{false, true} {
		l, p, _ := talk("")
		l.DoubleIAC = double
		l.Send("CWD \xff\xff\xfe")
		want := map[bool]string{false: "CWD \xff\xff\xfe\r\n", true: "CWD \xff\xff\xff\xff\xfe\r\n"}[double]
		if p.writes[0] != want {
			t.Errorf("sent %q, want %q", p.writes[0], want)
		}
	}
}

func TestErrorsAreSticky(t *testing.T) {
	t.Parallel()
	fail := errors.New("no more")
	tests := []struct {
		name   string
		server string
		do     func(*Lines, *peer) error
		want   error
	}{
		{"malformed reply", "what?\r\n200 ok\r\n", func(l *Lines, _ *peer) error { _, err := l.Reply(); return err }, ErrMalformed},
		{"end", "", func(l *Lines, _ *peer) error { _, err := l.Reply(); return err }, io.ErrUnexpectedEOF},
		{"end in a line", "a", func(l *Lines, _ *peer) error { _, err := l.Line(); return err }, io.ErrUnexpectedEOF},
		{"failed write", "200 ok\r\n", func(l *Lines, p *peer) error { p.fail = fail; return l.Send("NOOP") }, fail},
		{"broken by the caller", "200 ok\r\n", func(l *Lines, _ *peer) error { return l.Break(fail) }, fail},
		{"closed", "200 ok\r\n", func(l *Lines, _ *peer) error { l.Close(); return l.Err() }, net.ErrClosed},
		{"failed handshake", "234 go\r\n", func(l *Lines, _ *peer) error {
			l.Reply()
			return l.Upgrade(func() error { return fail })
		}, fail},
		{"data before TLS", "234 go\r\n230 logged in\r\n", func(l *Lines, _ *peer) error {
			l.Reply()
			return l.Upgrade(func() error { return nil })
		}, ErrEarly},
	}
	for _, tt := range tests {
		l, p, _ := talk(tt.server)
		if err := tt.do(l, p); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
		first := l.Err()
		p.writes = nil
		_, cmdErr := l.Cmd("NOOP")
		_, replyErr := l.Reply()
		_, lineErr := l.Line()
		upgradeErr := l.Upgrade(func() error { return nil })
		for _, err := range []error{cmdErr, replyErr, lineErr, upgradeErr, l.Queue("x"), l.Flush(), l.Break(fail)} {
			if err != first {
				t.Errorf("%s: then %v, want %v", tt.name, err, first)
			}
		}
		if len(p.writes) > 0 {
			t.Errorf("%s: then sent %q", tt.name, p.writes)
		}
		l.Close()
		if !p.closed {
			t.Errorf("%s: not closed", tt.name)
		}
	}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	l, _, trace := talk("one\r\ntwo\nbody")
	for _, want := range []string{"one", "two"} {
		if line, err := l.Line(); line != want || err != nil {
			t.Errorf("Line = %q, %v", line, err)
		}
	}
	if rest, _ := io.ReadAll(l.Reader()); string(rest) != "body" {
		t.Errorf("rest %q", rest)
	}
	if got := strings.Join(*trace, "|"); got != "< one|< two" {
		t.Errorf("trace %s", got)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	got := make(chan string, 1)
	go func() {
		p := make([]byte, 100)
		n, _ := far.Read(p)
		got <- string(p[:n])
	}()
	if err := Send(near, []string{"a", "b\n"}, "", ""); !errors.Is(err, ErrUnsafe) {
		t.Errorf("a line feed in a line: %v", err)
	}
	if err := Send(near, []string{"a", "b"}, "data\r\n", "shown"); err != nil {
		t.Error(err)
	}
	if got := <-got; got != "a\r\nb\r\ndata\r\n" {
		t.Errorf("sent %q", got)
	}
	if err := Send(near, nil, "", ""); err != nil {
		t.Errorf("nothing to send: %v", err)
	}
}
