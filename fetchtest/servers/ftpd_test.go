package servers_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

var ftpTree = fstest.MapFS{"file": {Data: []byte("0123456789")}, "other": {Data: []byte("other")}}

// An ftpPeer is a control connection with a login.
type ftpPeer struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func ftpDial(t *testing.T, s *ftpd.Server) *ftpPeer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	p := &ftpPeer{conn, bufio.NewReader(conn), t}
	p.expect("", "220 Ready.")
	p.expect("USER me", "331 Password please.")
	p.expect("PASS me", "230 Logged in.")
	return p
}

// expect sends a command, unless it is empty, and checks the reply.
func (p *ftpPeer) expect(command, want string) {
	p.t.Helper()
	if command != "" {
		io.WriteString(p.Conn, command+"\r\n")
	}
	got, err := p.ReadString('\n')
	if got != want+"\r\n" {
		p.t.Fatalf("%s: %q, %v; want %q", command, got, err, want)
	}
}

// transfer performs a transfer and reads up to limit bytes.
func (p *ftpPeer) transfer(command, begin string, limit int64) string {
	p.t.Helper()
	io.WriteString(p.Conn, "EPSV\r\n")
	reply, _ := p.ReadString('\n')
	f := strings.Split(reply, "|")
	if len(f) != 5 {
		p.t.Fatalf("EPSV: %q", reply)
	}
	data, err := net.Dial("tcp", "127.0.0.1:"+f[3])
	if err != nil {
		p.t.Fatal(err)
	}
	defer data.Close()
	data.SetDeadline(time.Now().Add(5 * time.Minute))
	p.expect(command, begin)
	got, err := io.ReadAll(io.LimitReader(data, limit))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(got)
}

// After REST, only the rest of a file is read from the tree.
func TestFTPReadsOnlyTheRest(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	data := make([]byte, size)
	copy(data[size-10:], "0123456789")
	counting := &countingFS{FS: fstest.MapFS{"large": {Data: data}}}
	p := ftpDial(t, ftpd.Start(t, ftpd.Options{Tree: counting}))
	p.expect(fmt.Sprint("REST ", size-10), fmt.Sprintf("350 Restarting at %d.", size-10))
	if got := p.transfer("RETR large", "150 Here it comes.", 100); got != "0123456789" {
		t.Errorf("content %q", got)
	}
	p.expect("", "226 Done.")
	p.expect(fmt.Sprint("REST ", size+1), fmt.Sprintf("350 Restarting at %d.", size+1))
	if got := p.transfer("RETR large", "150 Here it comes.", 100); got != "" {
		t.Errorf("content after the end: %q", got)
	}
	p.expect("", "226 Done.")
	if n := counting.read.Load(); n != 10 {
		t.Errorf("%d bytes of the file were read, want 10", n)
	}
}

func TestFTPFalseSize(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: ftpTree, Sizes: map[string]int64{"file": 3}})
	p := ftpDial(t, s)
	p.expect("SIZE file", "213 3")
	p.expect("SIZE other", "213 5")
	if got := p.transfer("RETR file", "150 Here it comes.", 100); got != "0123456789" {
		t.Errorf("content %q", got)
	}
	p.expect("", "226 Done.")
}

func TestFTPAnnouncedSizes(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: ftpTree, Announce: true})
	p := ftpDial(t, s)
	for fault, want := range map[servers.Fault]string{servers.None: "0123456789", servers.Short: "01234"} {
		s.Fail(fault)
		got := p.transfer("RETR file", "150 Opening BINARY mode data connection for file (10 bytes).", 100)
		if got != want {
			t.Errorf("%v: content %q, want %q", fault, got, want)
		}
		p.expect("", "226 Done.")
	}
	p.expect("REST 4", "350 Restarting at 4.")
	p.transfer("RETR file", "150 Opening BINARY mode data connection for file (6 bytes).", 100)
	p.expect("", "226 Done.")
	if got := p.transfer("NLST", "150 Here it comes.", 100); got != "file\r\nother\r\n" {
		t.Errorf("listing %q", got)
	}
}

func TestFTPStrayReply(t *testing.T) {
	t.Parallel()
	p := ftpDial(t, ftpd.Start(t, ftpd.Options{Tree: ftpTree, Stray: "226 Done, as I said.\r\n"}))
	p.transfer("RETR file", "150 Here it comes.", 100)
	p.expect("", "226 Done.")
	p.expect("PWD", "226 Done, as I said.")
	p.expect("", `257 "/" is where you are.`)
}

func TestFTPEndlessListing(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: ftpTree})
	s.Arm(servers.Failure{Fault: servers.Endless, On: "LIST"})
	got := ftpDial(t, s).transfer("LIST", "150 Here it comes.", 100_000)
	lines := strings.Split(strings.TrimSuffix(got, "\r\n"), "\r\n")
	lines = lines[:len(lines)-1] // the last line may be incomplete
	if len(got) != 100_000 || slices.ContainsFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, "-") || !strings.HasSuffix(l, " file") && !strings.HasSuffix(l, " other")
	}) {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
}

func TestFTPDrippingGreeting(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{})
	s.Arm(servers.Failure{Fault: servers.Drip, On: servers.Greeting, After: -1, Every: time.Millisecond})
	begin := time.Now()
	ftpDial(t, s)
	if took := time.Since(begin); took < time.Duration(len("220 Ready.\r\n"))*time.Millisecond {
		t.Errorf("the greeting took %v", took)
	}
}

func TestFTPOneByOne(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: ftpTree, OneByOne: true})
	p := ftpDial(t, s)
	io.WriteString(p.Conn, "PWD\r\nSIZE file\r\nSIZE other\r\n")
	p.expect("", `257 "/" is where you are.`)
	p.expect("TYPE I", "200 Type set.")
	if want := []string{"USER me", "PASS me", "PWD", "TYPE I"}; !slices.Equal(s.Log(), want) {
		t.Errorf("the server heard %q, want %q", s.Log(), want)
	}
}
