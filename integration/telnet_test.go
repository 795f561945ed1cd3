//go:build integration

package integration

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/integration/lab"
	"github.com/urlget/urlget/protocols/telnet"
)

// A conversation reads a session up to expected text.
type conversation struct {
	t   *testing.T
	rw  io.ReadWriter
	all []byte // received, but not expected yet
}

// expect reads until want is received.
func (c *conversation) expect(want string) {
	c.t.Helper()
	buf := make([]byte, 4096)
	for {
		if i := bytes.Index(c.all, []byte(want)); i >= 0 {
			c.all = c.all[i+len(want):]
			return
		}
		n, err := c.rw.Read(buf)
		c.all = append(c.all, buf[:n]...)
		if err != nil {
			if i := bytes.Index(c.all, []byte(want)); i >= 0 {
				continue
			}
			c.t.Fatalf("waiting for %q: %v after %q", want, err, c.all)
		}
	}
}

// send types s.
func (c *conversation) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.rw, s); err != nil {
		c.t.Fatal(err)
	}
}

// dialSession opens a session, which must end within half a minute.
func dialSession(t *testing.T, opts telnet.Options, url string) *conversation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	client := fetch.New(nil, telnet.With(opts))
	t.Cleanup(func() { client.Close() })
	s, err := client.Dial(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &conversation{t: t, rw: s.ReadWriteCloser}
}

func TestTelnetd(t *testing.T) {
	s := lab.Start(t, "telnetd")
	c := dialSession(t, telnet.Options{TermType: "vt220"}, "telnet://"+s.Addr("plain"))
	if err := c.rw.(fetch.Terminal).Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	c.expect("login: ")
	c.send(s.User + "\r")
	c.expect("Password: ")
	c.send(s.Password + "\r")
	c.expect("Welcome " + s.User + " on vt220")
	c.expect("$ ")
	c.send("size\r")
	c.expect("43 132")
	c.send("exit\r")
	c.expect("Goodbye")
	if _, err := io.Copy(io.Discard, c.rw); err != nil {
		t.Error(err)
	}
}

func TestTelnetdLogin(t *testing.T) {
	s := lab.Start(t, "telnetd")
	c := dialSession(t, telnet.Options{Login: true}, "telnet://"+s.User+":"+s.Password+"@"+s.Addr("plain"))
	c.expect("Welcome " + s.User)
}

func TestRlogind(t *testing.T) {
	s := lab.Start(t, "rlogind")
	c := dialSession(t, telnet.Options{TermType: "vt220"}, "rlogin://"+s.User+"@"+s.Addr("plain"))
	if err := c.rw.(fetch.Terminal).Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	c.expect("Password: ")
	c.send(s.Password + "\r")
	c.expect("$ ")
	c.send("stty size; echo over-$TERM; exit\r")
	c.expect("43 132")
	c.expect("over-vt220")
}

// startAtTerminal runs the command on a new terminal of 80 by 24. It returns the terminal's state
// before the start.
func startAtTerminal(t *testing.T, args ...string) (c *conversation, cmd *exec.Cmd, slave *os.File, before *term.State) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "urlget")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/urlget").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	if err := pty.Setsize(slave, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	if before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "TERM=vt220", "HOME="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(30*time.Second, func() { master.Close(); cmd.Process.Kill() })
	t.Cleanup(func() { watchdog.Stop() })
	return &conversation{t: t, rw: master}, cmd, slave, before
}

// awaitLine waits until a file contains a line.
func awaitLine(t *testing.T, name, line string) {
	t.Helper()
	giveUp := time.After(20 * time.Second)
	for tick := time.Tick(5 * time.Millisecond); ; {
		data, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(data), line+"\n") {
			return
		}
		select {
		case <-tick:
		case <-giveUp:
			t.Fatalf("no line %s (%v) in\n%s", line, err, data)
		}
	}
}

// TestTelnetAtTerminal types as a user does.
func TestTelnetAtTerminal(t *testing.T) {
	s := lab.Start(t, "telnetd")
	tests := []struct {
		name  string
		leave func(c *conversation, cmd *exec.Cmd)
	}{
		{"close", func(c *conversation, _ *exec.Cmd) {
			c.send("\x1d")
			c.expect("> ")
			c.send("status\r")
			c.expect("vt220")
			c.send("close\r")
		}},
		{"exit", func(c *conversation, _ *exec.Cmd) { c.send("exit\r"); c.expect("Goodbye") }},
		{"SIGTERM", func(_ *conversation, cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			transcript := filepath.Join(t.TempDir(), "transcript")
			c, cmd, slave, before := startAtTerminal(t, "--transcript", transcript, "telnet://"+s.Addr("plain")+"/")
			c.expect("login: ")
			c.send(s.User + "\r")
			c.expect("Password: ")
			c.send(s.Password + "\r")
			c.expect("Welcome " + s.User + " on vt220")
			if err := pty.Setsize(slave, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
				t.Fatal(err)
			}
			c.expect("$ ")
			awaitLine(t, transcript, `> SB NAWS "\x00d\x00\x1e"`)
			c.send("size\r")
			c.expect("30 100")
			tt.leave(c, cmd)
			go io.Copy(io.Discard, c.rw) // until the terminal is closed
			cmd.Wait()
			after, err := term.GetState(int(slave.Fd()))
			if err != nil {
				t.Fatal(err)
			}
			if *after != *before {
				t.Error("the terminal settings were not restored")
			}
		})
	}
}
