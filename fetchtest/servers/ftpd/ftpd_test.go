package ftpd_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var tree = fstest.MapFS{"file": {Data: []byte("0123456789")}, "other": {Data: []byte("other")}}

// A peer is a control connection with a login.
type peer struct {
	net.Conn
	*bufio.Reader
	t *testing.T
}

func dial(t *testing.T, s *ftpd.Server) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(5 * time.Minute))
	p := &peer{conn, bufio.NewReader(conn), t}
	p.expect("", "220 Ready.")
	p.expect("USER me", "331 Password please.")
	p.expect("PASS me", "230 Logged in.")
	return p
}

// Read reads buffered data first.
func (p *peer) Read(b []byte) (int, error) { return p.Reader.Read(b) }

// expect sends a command, unless it is empty, and checks the reply.
func (p *peer) expect(command, want string) {
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
func (p *peer) transfer(command, begin string, limit int64) string {
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

// A countingFS counts the bytes that are read from its files.
type countingFS struct {
	fs.FS
	read atomic.Int64
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &countedFile{f, c}, nil
}

type countedFile struct {
	fs.File
	fs *countingFS
}

func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *countedFile) ReadAt(p []byte, offset int64) (int, error) {
	n, err := f.File.(io.ReaderAt).ReadAt(p, offset)
	f.fs.read.Add(int64(n))
	return n, err
}

// After REST, only the rest of a file is read from the tree.
func TestReadsOnlyTheRest(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	data := make([]byte, size)
	copy(data[size-10:], "0123456789")
	counting := &countingFS{FS: fstest.MapFS{"large": {Data: data}}}
	p := dial(t, ftpd.Start(t, ftpd.Options{Tree: counting}))
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

func TestFalseSize(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: tree, Sizes: map[string]int64{"file": 3}})
	p := dial(t, s)
	p.expect("SIZE file", "213 3")
	p.expect("SIZE other", "213 5")
	if got := p.transfer("RETR file", "150 Here it comes.", 100); got != "0123456789" {
		t.Errorf("content %q", got)
	}
	p.expect("", "226 Done.")
}

func TestAnnouncedSizes(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: tree, Announce: true})
	p := dial(t, s)
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

func TestStrayReply(t *testing.T) {
	t.Parallel()
	p := dial(t, ftpd.Start(t, ftpd.Options{Tree: tree, Stray: "226 Done, as I said.\r\n"}))
	p.transfer("RETR file", "150 Here it comes.", 100)
	p.expect("", "226 Done.")
	p.expect("PWD", "226 Done, as I said.")
	p.expect("", `257 "/" is where you are.`)
}

func TestEndlessListing(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: tree})
	s.Arm(servers.Failure{Fault: servers.Endless, On: "LIST"})
	got := dial(t, s).transfer("LIST", "150 Here it comes.", 100_000)
	lines := strings.Split(strings.TrimSuffix(got, "\r\n"), "\r\n")
	lines = lines[:len(lines)-1] // the last line may be incomplete
	if len(got) != 100_000 || slices.ContainsFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, "-") || !strings.HasSuffix(l, " file") && !strings.HasSuffix(l, " other")
	}) {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
}

func TestDrippingGreeting(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{})
	s.Arm(servers.Failure{Fault: servers.Drip, On: servers.Greeting, After: -1, Every: time.Millisecond})
	begin := time.Now()
	dial(t, s)
	if took := time.Since(begin); took < time.Duration(len("220 Ready.\r\n"))*time.Millisecond {
		t.Errorf("the greeting took %v", took)
	}
}

func TestOneByOne(t *testing.T) {
	t.Parallel()
	s := ftpd.Start(t, ftpd.Options{Tree: tree, OneByOne: true})
	p := dial(t, s)
	io.WriteString(p.Conn, "PWD\r\nSIZE file\r\nSIZE other\r\n")
	p.expect("", `257 "/" is where you are.`)
	p.expect("TYPE I", "200 Type set.")
	if want := []string{"USER me", "PASS me", "PWD", "TYPE I"}; !slices.Equal(s.Log(), want) {
		t.Errorf("the server heard %q, want %q", s.Log(), want)
	}
}
