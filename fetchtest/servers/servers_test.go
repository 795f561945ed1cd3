package servers_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/csod"
	"github.com/urlget/urlget/fetchtest/servers/dictd"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/geminid"
	"github.com/urlget/urlget/fetchtest/servers/gopherd"
	"github.com/urlget/urlget/fetchtest/servers/nexd"
	"github.com/urlget/urlget/fetchtest/servers/nntpd"
	"github.com/urlget/urlget/fetchtest/servers/queryd"
	"github.com/urlget/urlget/fetchtest/servers/spartand"
	"github.com/urlget/urlget/fetchtest/servers/telnetd"
	"github.com/urlget/urlget/fetchtest/servers/waisd"
	"github.com/urlget/urlget/internal/codec/apdu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is the content of the servers. Its lines are all different.
var lines = func() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	return b.String()
}()

var files = fstest.MapFS{"db/file": {Data: []byte(lines)}}

var serverTLS, clientTLS = servers.Certificate()

// A subject is a server and the way to get its content.
type subject struct {
	name  string
	start func(t *testing.T) *servers.Server
	ask   string                              // data to send
	get   func(net.Conn) ([]byte, error)      // replaces ask
	open  func(addr string) (net.Conn, error) // nil means TCP
	want  string                              // complete reply
	short string                              // end of the reply if the rest is omitted
	abort string                              // end of the reply after a failure; "" if the protocol has none
}

var subjects = []subject{
	{
		name: "csod",
		start: func(t *testing.T) *servers.Server {
			return csod.Start(t, csod.Options{Replies: map[string]string{"x": lines}})
		},
		ask: "query x\r\n", want: lines + "200:Ok.\r\n", short: "200:Ok.\r\n", abort: "475:Database unavailable.\r\n",
	}, {
		name: "dictd",
		start: func(t *testing.T) *servers.Server {
			return dictd.Start(t, dictd.Options{Words: map[string]string{"x": lines}})
		},
		ask: "DEFINE tree \"x\"\r\n",
		want: "220 test <auth.mime> <1.2@test>\r\n150 1 definitions retrieved\r\n151 \"x\" tree \"The Tree\"\r\n" + lines +
			".\r\n250 ok\r\n",
		short: "\r\n.\r\n250 ok\r\n", abort: "\r\n.\r\n420 Server temporarily unavailable\r\n",
	}, {
		name: "queryd",
		start: func(t *testing.T) *servers.Server {
			return queryd.Start(t, queryd.Options{Scheme: "finger", Replies: map[string]string{"x": lines}})
		},
		ask: "x\r\n", want: lines,
	}, {
		name:  "ftpd",
		start: func(t *testing.T) *servers.Server { return ftpd.Start(t, ftpd.Options{Tree: files}).Server },
		get:   retrieve, want: lines + "226 Done.", short: "226 Done.", abort: "426 Enough.",
	}, {
		name:  "geminid",
		start: func(t *testing.T) *servers.Server { return geminid.Start(t, geminid.Options{Tree: files}) },
		open:  func(addr string) (net.Conn, error) { return tls.Dial("tcp", addr, clientTLS) },
		ask:   "gemini://localhost/db/file\r\n", want: "20 application/octet-stream\r\n" + lines,
	}, {
		name:  "gopherd",
		start: func(t *testing.T) *servers.Server { return gopherd.Start(t, gopherd.Options{Tree: files}).Server },
		ask:   "/db/file\r\n", want: lines,
	}, {
		name: "gopherd over TLS",
		start: func(t *testing.T) *servers.Server {
			return gopherd.Start(t, gopherd.Options{Tree: files, TLS: serverTLS}).Server
		},
		open: func(addr string) (net.Conn, error) {
			return tls.Dial("tcp", addr, clientTLS)
		},
		ask: "/db/file\r\n", want: lines,
	}, {
		name:  "nexd",
		start: func(t *testing.T) *servers.Server { return nexd.Start(t, nexd.Options{Tree: files}) },
		ask:   "db/file\r\n", want: lines,
	}, {
		name: "nntpd",
		start: func(t *testing.T) *servers.Server {
			return nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "g", Articles: []nntpd.Article{{ID: "<x@y>", Text: lines}}}}})
		},
		ask: "ARTICLE <x@y>\r\n", want: "200 nntpd ready\r\n220 0 <x@y>\r\n" + lines + ".\r\n", short: "\r\n.\r\n",
	}, {
		name:  "spartand",
		start: func(t *testing.T) *servers.Server { return spartand.Start(t, spartand.Options{Tree: files}) },
		ask:   "localhost /db/file 0\r\n", want: "2 application/octet-stream\r\n" + lines,
	}, {
		name: "telnetd",
		start: func(t *testing.T) *servers.Server {
			return telnetd.Start(t, telnetd.Options{Script: func(c *telnetd.Conn) { c.ReadLine(); c.Send(lines) }})
		},
		ask: "x\r\n", want: lines,
	}, {
		name:  "waisd",
		start: func(t *testing.T) *servers.Server { return waisd.Start(t, waisd.Options{Tree: files}).Server },
		get:   document, want: lines, short: "SF Request out of range", abort: "S1 The database is closed",
	},
}

// retrieve retrieves a file over FTP and appends the final reply.
func retrieve(conn net.Conn) ([]byte, error) {
	r := textproto.NewReader(bufio.NewReader(conn))
	fmt.Fprint(conn, "USER me\r\nPASS me\r\nEPSV\r\nRETR db/file\r\n")
	for _, code := range []int{220, 331, 230} {
		if _, _, err := r.ReadResponse(code); err != nil {
			return nil, err
		}
	}
	_, text, err := r.ReadResponse(229)
	if err != nil {
		return nil, err
	}
	line, err := r.ReadLine()
	if line != "150 Here it comes." {
		return []byte(line), err
	}
	data, err := net.Dial("tcp", "127.0.0.1:"+strings.Split(text, "|")[3])
	if err != nil {
		return nil, err
	}
	defer data.Close()
	data.SetDeadline(time.Now().Add(5 * time.Minute))
	control := conn.(*attentive)
	got, err := read(&attentive{Conn: data, due: control.due})
	if err != nil || len(got) == enough {
		return got, err
	}
	control.got += string(got)
	line, err = r.ReadLine()
	return append(got, line...), err
}

// document retrieves a document over WAIS, in parts of 50 bytes.
func document(conn net.Conn) (got []byte, err error) {
	id := apdu.EncodeID([]uri.WAISField{{Tag: 1, Value: "s"}, {Tag: 2, Value: "db"}, {Tag: 3, Value: "0 0 file"}})
	for len(got) < enough {
		from := int64(len(got))
		err := apdu.WritePacket(conn, apdu.Search{Database: "db", Document: id, Type: "TEXT", From: from, To: from + 50}.Encode())
		if err != nil {
			return got, err
		}
		packet, err := apdu.ReadPacket(conn)
		if err != nil {
			return got, err
		}
		r, err := apdu.DecodeResponse(packet)
		if err != nil {
			return got, err
		}
		got = append(got, r.Text...)
		switch {
		case len(r.Diagnostics) > 0 && !r.HasText:
			return append(got, r.Diagnostics[0].Code+" "+r.Diagnostics[0].Text...), nil
		case len(r.Diagnostics) > 0:
			return got, nil
		}
	}
	return got, nil
}

const (
	patience = 100 * time.Millisecond // timeout for a silent server
	enough   = 64 << 10               // limit for endless content
)

// An attentive connection sets its timeout after the expected data has arrived.
type attentive struct {
	net.Conn
	got string
	due func(got string) bool
}

func (c *attentive) Read(p []byte) (int, error) {
	if c.due != nil && c.due(c.got) {
		c.SetReadDeadline(time.Now().Add(patience))
		c.due = nil
	}
	n, err := c.Conn.Read(p)
	c.got += string(p[:n])
	return n, err
}

// read reads until the end of the connection, or up to enough bytes.
func read(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, enough)) }

// content returns the content of s and the outcome in the protocol. A server may keep the
// connection open or stop sending after the expected data; that is not an error.
func (tt *subject) content(t *testing.T, s *servers.Server, due func(got string) bool) ([]byte, error) {
	t.Helper()
	open := tt.open
	if open == nil {
		open = func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) }
	}
	conn, err := open(s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	conn = &attentive{Conn: conn, due: due}
	if tt.get != nil {
		return tt.get(conn)
	}
	io.WriteString(conn, tt.ask)
	got := make([]byte, 0, enough)
	for len(got) < enough {
		n, err := conn.Read(got[len(got):min(enough, cap(got))])
		got = got[:len(got)+n]
		if tt.short != "" && string(got) == tt.want || tt.short != "" && bytes.HasSuffix(got, []byte(tt.short)) || tt.abort != "" && bytes.HasSuffix(got, []byte(tt.abort)) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
	}
	return got, nil
}

// TestFaults applies each fault once to each server.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range subjects {
		for _, fault := range servers.Faults() {
			t.Run(tt.name+"/"+fault.String(), func(t *testing.T) {
				t.Parallel()
				s := tt.start(t)
				if !s.Can(fault) {
					if fault != servers.Abort || tt.abort != "" {
						t.Errorf("the server cannot %v", fault)
					}
					return
				}
				s.Arm(servers.Failure{Fault: fault, Every: time.Microsecond})
				var due func(got string) bool
				switch {
				case fault == servers.Stall, fault == servers.HalfClose && tt.name == "ftpd": // its control connection is silent
					due = func(got string) bool { return strings.Contains(got, "line 1\r\n") }
				case fault == servers.Noise:
					due = func(got string) bool { return len(got) >= 2048 }
				}
				got, err := tt.content(t, s, due)
				if problem := tt.check(fault, string(got), err); problem != "" {
					t.Errorf("%s: got %q, %v", problem, got[:min(len(got), 1000)], err)
				}
				if n := s.Struck(); n != 1 {
					t.Errorf("%d replies have failed", n)
				}
				if got, err := tt.content(t, s, nil); string(got) != tt.want || err != nil && err != io.EOF {
					t.Errorf("the reply after the failure is %q, %v", got, err)
				}
			})
		}
	}
}

// check describes the mistake in a reply with a fault, or returns "".
func (tt *subject) check(fault servers.Fault, got string, err error) string {
	begins := strings.HasPrefix(tt.want, got) && len(got) < len(tt.want) && strings.Contains(got, "line 1\r\n")
	ended := err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch fault {
	case servers.Cut:
		if !begins || !ended {
			return "want a part of the reply, and the end"
		}
	case servers.Reset:
		if !errors.Is(err, syscall.ECONNRESET) {
			return "want a reset"
		}
	case servers.HalfClose:
		if !begins || tt.name != "ftpd" && !ended || tt.name == "ftpd" && !errors.Is(err, os.ErrDeadlineExceeded) {
			return "want a part of the reply, and the end of what the server sends"
		}
	case servers.Stall:
		if !begins || !errors.Is(err, os.ErrDeadlineExceeded) {
			return "want a part of the reply, and silence"
		}
	case servers.Short:
		if got == tt.want || !strings.HasSuffix(got, tt.short) || !strings.Contains(got, "line 1\r\n") || !ended {
			return "want a part of the reply, and its proper end"
		}
	case servers.Abort:
		if !strings.HasSuffix(got, tt.abort) || !strings.Contains(got, "line 1\r\n") || !ended {
			return "want a part of the reply, and a failure"
		}
	case servers.Endless:
		if len(got) < enough {
			return "want no end"
		}
	case servers.Drip, servers.Split:
		if got != tt.want || err != nil && err != io.EOF {
			return "want the whole reply"
		}
	case servers.Noise:
		if strings.Contains(got, "line") || got == "" && !errors.Is(err, apdu.ErrMalformed) {
			return "want noise"
		}
	}
	return ""
}

// dialogue sends commands and returns the responses until the server closes the connection, or
// stops sending after the expected data.
func dialogue(t *testing.T, s *servers.Server, commands string, due func(got string) bool) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	io.WriteString(conn, commands)
	got, _ := read(&attentive{Conn: conn, due: due})
	return string(got)
}

func TestFailuresOfOneCommand(t *testing.T) {
	t.Parallel()
	const ask = "CAPABILITIES\r\nARTICLE <x@y>\r\nQUIT\r\n"
	const capabilities = "101 capabilities\r\nVERSION 2\r\nREADER\r\nLIST ACTIVE NEWSGROUPS\r\nOVER MSGID\r\n.\r\n"
	for name, tt := range map[string]struct {
		failure servers.Failure
		want    string
	}{
		"none":                    {servers.Failure{}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\none\r\ntwo\r\n.\r\n205 bye\r\n"},
		"the content":             {servers.Failure{Fault: servers.Cut}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\none\r\n"},
		"at a place":              {servers.Failure{Fault: servers.Cut, After: 1}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\no"},
		"before the content":      {servers.Failure{Fault: servers.Cut, After: -1}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\n"},
		"behind the content":      {servers.Failure{Fault: servers.Cut, After: 99}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\none\r\ntwo\r\n"},
		"the greeting":            {servers.Failure{Fault: servers.Stall, On: servers.Greeting}, "200 nnt"},
		"before the greeting":     {servers.Failure{Fault: servers.Stall, On: servers.Greeting, After: -1}, ""},
		"a command":               {servers.Failure{Fault: servers.Cut, On: "capa", After: 5}, "200 nntpd ready\r\n101 c"},
		"a short one":             {servers.Failure{Fault: servers.Short, On: "CAPABILITIES", After: 3}, "200 nntpd ready\r\n101.\r\n220 0 <x@y>\r\none\r\ntwo\r\n.\r\n205 bye\r\n"},
		"the content, by command": {servers.Failure{Fault: servers.Short, On: "ARTICLE <"}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\none\r\n\r\n.\r\n205 bye\r\n"},
		"another command":         {servers.Failure{Fault: servers.Cut, On: "HEAD"}, "200 nntpd ready\r\n" + capabilities + "220 0 <x@y>\r\none\r\ntwo\r\n.\r\n205 bye\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := nntpd.Start(t, nntpd.Options{Groups: []nntpd.Group{{Name: "g", Articles: []nntpd.Article{{ID: "<x@y>", Text: "one\ntwo\n"}}}}})
			s.Arm(tt.failure)
			if got := dialogue(t, s, ask, func(got string) bool { return got == tt.want }); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestEndlessLine(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{})
	s.Arm(servers.Failure{Fault: servers.Endless, On: servers.Greeting})
	if got := dialogue(t, s.Server, "", nil); len(got) < enough || strings.ContainsAny(got, "\r\n") {
		t.Errorf("%d bytes, %q...", len(got), got[:min(len(got), 40)])
	}
}

func TestLinesWithoutEnd(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Unknown: []string{"SIZE"}})
	s.Arm(servers.Failure{Fault: servers.Endless, On: "FEAT"})
	if got := dialogue(t, s.Server, "FEAT\r\n", nil); len(got) < enough || strings.Contains(got, "211 End") || strings.Contains(got, "SIZE") {
		t.Errorf("%d bytes, %q...", len(got), got[:min(len(got), 40)])
	}
}

func TestFailureTimes(t *testing.T) {
	t.Parallel()
	for times, want := range map[int]int{0: 1, 1: 1, 2: 2, -1: 3} {
		s := queryd.Start(t, queryd.Options{Scheme: "whois", Replies: map[string]string{"x": lines}})
		s.Arm(servers.Failure{Fault: servers.Cut, Times: times})
		for range 3 {
			dialogue(t, s, "x\r\n", nil)
		}
		if s.Struck() != want {
			t.Errorf("times %d: %d have failed, want %d", times, s.Struck(), want)
		}
	}
}

func TestDisarm(t *testing.T) {
	t.Parallel()
	s := queryd.Start(t, queryd.Options{Scheme: "whois", Replies: map[string]string{"x": lines}})
	s.Fail(servers.Cut)
	s.Arm(servers.Failure{})
	if got := dialogue(t, s, "x\r\n", nil); got != lines {
		t.Errorf("got %q", got)
	}
}

func TestUnsupportedFaults(t *testing.T) {
	t.Parallel()
	defer func() {
		if r := fmt.Sprint(recover()); r != "servers: no abort in whois" {
			t.Errorf("panic %v", r)
		}
	}()
	queryd.Start(t, queryd.Options{Scheme: "whois"}).Fail(servers.Abort)
}

// TestClose closes servers whose clients wait for a silent server or do not read.
func TestClose(t *testing.T) {
	t.Parallel()
	for _, fault := range []servers.Fault{servers.Stall, servers.HalfClose, servers.Endless, servers.Drip} {
		s, err := queryd.New(queryd.Options{Scheme: "finger"})
		if err != nil {
			t.Fatal(err)
		}
		s.Fail(fault)
		conn, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "x\r\n")
		conn.Read(make([]byte, 1))
		s.Close()
		s.Close()
		conn.Close()
		if _, err := net.Dial("tcp", s.Addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v: a closed server accepts: %v", fault, err)
		}
	}
}

func TestCloseWithoutADataConnection(t *testing.T) {
	t.Parallel()
	s, err := ftpd.New(ftpd.Options{Tree: files})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "USER me\r\nPASS me\r\nEPSV\r\nRETR db/file\r\n")
	r := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "150"); line, err = r.ReadString('\n') {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
}

func TestCloseClientConnections(t *testing.T) {
	t.Parallel()
	s := nntpd.Start(t, nntpd.Options{})
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	r.ReadString('\n')
	s.CloseClientConnections()
	if _, err := r.ReadByte(); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection lives: %v", err)
	}
	if got := dialogue(t, s, "QUIT\r\n", nil); !strings.HasSuffix(got, "205 bye\r\n") {
		t.Errorf("then %q", got)
	}
	if n := s.Accepted(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

func TestListenAddresses(t *testing.T) {
	t.Parallel()
	if _, err := queryd.New(queryd.Options{Scheme: "finger", Listen: "127.0.0.1:none"}); !strings.Contains(fmt.Sprint(err), "unknown port") {
		t.Errorf("a port that is none: %v", err)
	}
	s := waisd.Start(t, waisd.Options{Public: "wais.example:210"})
	if s.Addr != "wais.example:210" || s.URL != "wais://wais.example:210" {
		t.Errorf("address %q, URL %q", s.Addr, s.URL)
	}
	if s := ftpd.Start(t, ftpd.Options{}); s.URL != "ftp://"+s.Addr || !strings.HasPrefix(s.Addr, "127.0.0.1:") {
		t.Errorf("address %q, URL %q", s.Addr, s.URL)
	}
}

func TestMaxClientLine(t *testing.T) {
	t.Parallel()
	s := queryd.Start(t, queryd.Options{Scheme: "finger"})
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	line := bytes.Repeat([]byte("x"), 64<<10)
	for range 64 {
		if _, err = conn.Write(line); err != nil {
			break
		}
	}
	if _, err := io.ReadAll(conn); errors.Is(err, os.ErrDeadlineExceeded) || len(s.Log()) > 0 {
		t.Errorf("the server still waits for the end of the line: %v", err)
	}
}

// TestCertificateHoldsInBubbles checks that the certificate, which is shared with tests in a bubble
// of testing/synctest, is valid by both clocks.
func TestCertificateHoldsInBubbles(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T) {
		opts := x509.VerifyOptions{Roots: clientTLS.RootCAs, DNSName: "localhost"}
		if _, err := serverTLS.Certificates[0].Leaf.Verify(opts); err != nil {
			t.Error(err)
		}
	}
	check(t)
	synctest.Test(t, check)
}
