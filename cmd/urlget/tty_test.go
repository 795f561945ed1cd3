//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/urlget/urlget/fetchtest/servers"
	"github.com/urlget/urlget/fetchtest/servers/ftpd"
	"github.com/urlget/urlget/fetchtest/servers/imapd"
	"github.com/urlget/urlget/fetchtest/servers/popd"
	"golang.org/x/term"
)

// A screen is a pseudo-terminal that runs urlget.
type screen struct {
	t   *testing.T
	pty *os.File
	tty *os.File // kept open to inspect the terminal state
	cmd *exec.Cmd
	// before is the terminal state before urlget starts.
	before *term.State

	mu   sync.Mutex
	text bytes.Buffer
	more *sync.Cond
	end  bool
}

// start runs urlget in a temporary directory. Streams that cmd does not set are the terminal.
func start(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, pty: master, tty: tty, cmd: cmd}
	s.more = sync.NewCond(&s.mu)
	s.resize(80)
	if cmd.Dir == "" {
		cmd.Dir = t.TempDir()
	}
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1", "TZ=UTC", "HOME="+cmd.Dir, "GORACE="+quickExit)
	if cmd.Stdin == nil {
		cmd.Stdin = tty
	}
	if cmd.Stdout == nil {
		cmd.Stdout = tty
	}
	if cmd.Stderr == nil {
		cmd.Stderr = tty
	}
	cmd.ExtraFiles = []*os.File{tty}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	s.before = s.state()
	// Under nohup or in the background, signals are ignored, and children inherit that. Signals that
	// are caught here have their default effect in the child.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
		master.Close()
	})
	return s
}

// resize sets the width of the terminal.
func (s *screen) resize(columns uint16) {
	s.t.Helper()
	if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.end = err != nil
		s.more.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until text is shown, and consumes the output up to its end.
func (s *screen) expect(text string) {
	s.t.Helper()
	s.expectAll(text, func(string) {})
}

// expectAll is like expect and passes the consumed output to look.
func (s *screen) expectAll(text string, look func(string)) {
	s.t.Helper()
	timer := time.AfterFunc(waitLimit, func() {
		s.mu.Lock()
		s.end = true
		s.more.Broadcast()
		s.mu.Unlock()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := strings.Index(s.text.String(), text); i >= 0 {
			look(string(s.text.Next(i + len(text))))
			return
		}
		if s.end {
			s.t.Fatalf("%q was not shown, but %q", text, s.text.String())
		}
		s.more.Wait()
	}
}

func (s *screen) enter(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, text); err != nil {
		s.t.Fatal(err)
	}
}

// exit waits until the command ends, and checks its exit status and that it restored the terminal.
func (s *screen) exit(status int) {
	s.t.Helper()
	late := time.AfterFunc(waitLimit, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	late.Stop()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.mu.Lock()
		s.t.Errorf("exit status %d, want %d; %q", got, status, s.text.String())
		s.mu.Unlock()
	}
	if after := s.state(); *after != *s.before {
		s.t.Error("the terminal was left in another state")
	}
}

func (s *screen) state() *term.State {
	s.t.Helper()
	state, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.t.Fatal(err)
	}
	return state
}

func TestSessionAtATerminal(t *testing.T) {
	t.Parallel()
	s := start(t, urlget("x-chat:"))
	s.expect("escape character is ^]")
	s.expect("welcome\r\n")
	s.expect("[80x24]")
	s.enter("hi")
	s.expect("you said hi")
	s.enter("\x03") // in raw mode it is sent to the server
	s.expect("you said \x03")
	if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	s.expect("[100x30]")
	s.enter("\x1d")
	s.expect("> ")
	s.enter("status\n")
	s.expect(`chatting\x1b`)
	s.enter("what\n")
	s.expect("what?")
	s.enter("b\n")
	s.expect("[break]")
	s.enter("\x1d\n")
	s.expect("> ")
	s.enter("again")
	s.expect("you said again")
	s.enter("bye")
	s.expect("you said bye")
	s.expect("connection closed")
	s.exit(0)
}

func TestSessionOfMessagesAtATerminal(t *testing.T) {
	t.Parallel()
	site := newSite()
	defer site.Close()
	s := start(t, urlget("ws"+strings.TrimPrefix(site.URL, "http")+"/socket"))
	s.expect("each line is a message")
	s.enter("hello\n")
	s.expect("hello\r\nhello\r\n") // the terminal's echo and the server's
	s.enter("\x04")
	s.exit(0)
}

func TestSSHPrompts(t *testing.T) {
	t.Parallel()
	known, key, addr := newLockedSSH(t)
	home := t.TempDir()
	if err := os.WriteFile(home+"/key", key, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() *screen {
		cmd := urlget("-qO-", "--identity", home+"/key", "sftp://me@"+addr+"/pub/hello.txt")
		cmd.Dir = home // start also uses it as the home directory
		return start(t, cmd)
	}
	s := run()
	s.expect("Unknown SSH server [127.0.0.1]")
	s.expect("SHA256:")
	s.expect("(yes/no)? ")
	s.enter("no\n")
	s.expect("is unknown:")
	s.exit(5)
	s = run()
	s.expect("(yes/no)? ")
	s.enter("yes\n")
	s.expect("Passphrase of ")
	s.enter("sesame\r")
	s.expect("hello")
	s.exit(0)
	if got, err := os.ReadFile(home + "/.ssh/known_hosts"); string(got) != string(known) || err != nil {
		t.Errorf("known_hosts has %q, %v", got, err)
	}
	s = run()
	s.expect("Passphrase of ")
	s.enter("sesame\r")
	s.expect("hello")
	s.exit(0)
}

func TestEscapeClosesASession(t *testing.T) {
	t.Parallel()
	s := start(t, urlget("x-chat:"))
	s.expect("[80x24]")
	s.enter("\x1dclose\n")
	s.expect("connection closed")
	s.exit(0)
}

func TestSignalsRestoreTheTerminal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, urlget("x-chat:"))
			s.expect("[80x24]")
			s.enter("x")
			s.expect("you said x")
			s.cmd.Process.Signal(sig)
			s.exit(130)
		})
	}
}

func TestInterruptKeepsThePartialFile(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections) // what hangs would keep Close waiting
	s := start(t, urlget(site.URL+"/stall"))
	s.expect("stall")
	s.expect("97.7 of 976.6 KiB")
	s.enter("\x03")
	s.expect("\r\x1b[K") // erases the ^C that the terminal echoed
	s.expect("interrupted stall: 97.7 KiB are kept in stall.part\r\n")
	s.expect("run the same command with -c to resume")
	s.exit(130)
	if info, err := os.Stat(s.cmd.Dir + "/stall.part"); err != nil || info.Size() != 100_000 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(s.cmd.Dir + "/stall"); err == nil {
		t.Error("the incomplete file has the final name")
	}
}

func TestInterruptEndsAStuckWrite(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := urlget("-O", "-", site.URL+"/big") // larger than a pipe's buffer
	cmd.Stdout = w
	s := start(t, cmd)
	w.Close()
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGINT)
	s.exit(130)
}

func TestPasswordPrompt(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.Close)
	s := start(t, urlget("-O", "-", site.URL+"/private"))
	s.expect("User for the vault at 127.0.0.1: ")
	s.enter("joe\n")
	s.expect("Password for joe at 127.0.0.1: ")
	s.enter("secret\n")
	s.expect("\r\ntreasure")
	s.exit(0)

	// After a wrong password the prompt is repeated. ^C cancels it and restores the echo.
	s = start(t, urlget("--user", "joe", site.URL+"/private"))
	s.expect("Password for joe at 127.0.0.1: ")
	s.enter("wrong\n")
	s.expect("User for the vault at 127.0.0.1: ")
	s.enter("joe\n")
	s.expect("Password for joe at 127.0.0.1: ")
	s.enter("\x03")
	s.expect("\r\ninterrupted ")
	s.exit(130)

	s = start(t, urlget("-qO-", "--ask-password", "--user", "joe", site.URL+"/private"))
	s.expect("Password for joe at 127.0.0.1: ")
	s.enter("secret\n")
	s.expect("treasure")
	s.exit(0)
}

func TestTypedListEndsOnce(t *testing.T) {
	t.Parallel()
	s := start(t, urlget("-i", "-"))
	s.enter("\x04")
	s.expect("no URLs in standard input")
	s.exit(0)
}

func TestInterruptedListHasAResumeHint(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget("-j", "1", site.URL+"/stall", site.URL+"/nowhere"))
	s.expect("97.7 of 976.6 KiB")
	s.enter("\x03")
	s.expect("interrupted stall: 97.7 KiB are kept in stall.part\r\n")
	s.expect("run the same command with -c to resume")
	s.exit(130)

	s = start(t, urlget(site.URL+"/nowhere", site.URL+"/stall"))
	s.expect("not found")
	s.expect("97.7 of 976.6 KiB")
	s.enter("\x03")
	s.expect("1 failed, 1 interrupted: ")
	s.expect("  failed: ")
	s.expectAll("run the same command with -c to resume", func(text string) {
		if strings.Contains(text, "stall") {
			t.Errorf("%q: what was interrupted is among the failures", text)
		}
	})
	s.exit(8)
}

func TestInterruptedFilesAreNamed(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget("-j", "2", site.URL+"/stall", site.URL+"/stall?2"))
	s.expect("0 of 2 · 0.2 of 1.9 MiB")
	s.enter("\x03")
	s.expectAll("run the same command with -c to resume", func(text string) {
		for _, want := range []string{"interrupted stall: 97.7 KiB are kept in stall.part", "interrupted stall.1: 97.7 KiB are kept in stall.1.part"} {
			if strings.Count(text, want) != 1 {
				t.Errorf("%q: no line %q", text, want)
			}
		}
	})
	s.exit(130)
}

func TestInterruptedTreeHasAResumeHint(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections) // what hangs would keep Close waiting
	s := start(t, urlget("-r", site.URL+"/stall"))
	s.expect("97.7 of 976.6 KiB")
	s.enter("\x03")
	s.expect("run the same command again to resume")
	s.expect("interrupted")
	s.exit(130)
}

func TestForm(t *testing.T) {
	t.Parallel()
	s := start(t, urlget("-qO-", "--form", "Name=Joe", "x-form:"))
	s.expect("A form")
	s.expect("Please fill in")
	s.expect("Secret: ")
	s.enter("hidden\n")
	s.expect("Sure (yes or no): ")
	s.enter("perhaps\n")
	s.expect("Sure (yes or no): ")
	s.enter("Y\n")
	s.expect("Colour (red, blue) [red]: ")
	s.enter("2\n")
	s.expect("Story (several lines, ended by a single dot) [none]: ")
	s.enter("once\n")
	s.enter("upon\n")
	s.enter(".\n")
	s.expect("map[Colour:[blue] Name:[Joe] Secret:[hidden] Story:[once upon] Sure:[yes]]")
	s.exit(0)
}

func TestBinaryIsNotWrittenToATerminal(t *testing.T) {
	t.Parallel()
	s := start(t, urlget("x-text:binary"))
	s.expect("binary data is not written to a\r\n  terminal")
	s.expect("hint: ")
	s.exit(3)
	s = start(t, urlget("x-text:plain"))
	s.expect("plain text")
	s.exit(0)
	s = start(t, urlget("-O", "-", "x-text:binary"))
	s.expect("\x1b]0;title\x07")
	s.exit(0)
}

func TestListingAtATerminal(t *testing.T) {
	t.Parallel()
	cmd := urlget("file:///")
	cmd.Dir = t.TempDir()
	if err := os.WriteFile(cmd.Dir+"/a\x1b[2Jb", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd.Args[1] = "file://" + cmd.Dir + "/"
	s := start(t, cmd)
	s.expect(`a\x1b[2Jb`)
	s.exit(0)
}

func TestHelpReportsAFullDevice(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is full: %v", err)
	}
	defer full.Close()
	var b strings.Builder
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	status := execute(t.Context(), []string{"--help"}, stdio{in: r, out: full, err: w})
	w.Close()
	io.Copy(&b, r)
	if status != 3 || !strings.Contains(b.String(), "no space left on device") {
		t.Errorf("status %d, %q", status, b.String())
	}
}

func TestRemovedOutputDirectoryIsReported(t *testing.T) {
	t.Parallel()
	removed := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		w.Write(make([]byte, 100_000))
		w.(http.Flusher).Flush()
		select {
		case <-removed:
			w.Write(make([]byte, 900_000))
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(site.Close)
	s := start(t, urlget("-P", "gone", site.URL+"/x"))
	s.expect("97.7 of 976.6 KiB")
	if err := os.RemoveAll(s.cmd.Dir + "/gone"); err != nil {
		t.Fatal(err)
	}
	close(removed)
	s.expect("no such file or")
	s.expect("hint: the directory was removed")
	s.exit(3)
}

func TestLockedTreeHasAHint(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	first := start(t, urlget("-r", site.URL+"/stall"))
	first.expect("97.7 of 976.6 KiB")
	second := urlget("-r", site.URL+"/stall")
	second.Dir = first.cmd.Dir
	s := start(t, second)
	s.expect("state in use")
	s.expect("hint: wait until the other process ends")
	s.exit(3)
	first.enter("\x03")
	first.exit(130)
}

func TestSignalsInQuickSuccessionCountOnce(t *testing.T) {
	t.Parallel()
	site := newSite()
	t.Cleanup(site.CloseClientConnections)
	s := start(t, urlget(site.URL+"/stall"))
	s.expect("97.7 of 976.6 KiB")
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Process.Signal(os.Interrupt)
	s.expect("interrupted")
	s.exit(130)
	if info, err := os.Stat(s.cmd.Dir + "/stall.part"); err != nil || info.Size() != 100_000 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestRejectedPasswordsAreFinal checks that a password that was given is sent once, and neither asked
// for again nor followed by an empty one.
func TestRejectedPasswordsAreFinal(t *testing.T) {
	t.Parallel()
	web := func(challenge string) (address string, logins func() int) {
		var sent atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				sent.Add(1)
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		t.Cleanup(s.Close)
		return s.URL + "/x", func() int { return int(sent.Load()) }
	}
	counted := func(s *servers.Server, verb string) func() int {
		return func() (n int) {
			for _, line := range s.Log() {
				if strings.Contains(line, verb) {
					n++
				}
			}
			return n
		}
	}
	basic, basicLogins := web(`Basic realm="r"`)
	digest, digestLogins := web(`Digest realm="r", qop="auth", nonce="n", algorithm=SHA-256`)
	ftp := ftpd.Start(t, ftpd.Options{Users: map[string]string{"joe": "secret"}})
	mail := popd.Start(t, popd.Options{User: "joe", Password: "secret"})
	box := imapd.Start(t, imapd.Options{User: "joe", Password: "secret"})
	home := t.TempDir()
	if err := os.WriteFile(home+"/netrc", []byte("machine 127.0.0.1 login joe password wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	withLogin := func(address string) string { return strings.Replace(address, "://", "://joe:wrong@", 1) }
	for _, c := range []struct {
		name   string
		logins func() int
		args   []string
	}{
		{"Basic, flag", basicLogins, []string{"-u", "joe:wrong", basic}},
		{"Basic, URL", basicLogins, []string{withLogin(basic)}},
		{"Basic, file", basicLogins, []string{"--netrc-file", home + "/netrc", basic}},
		{"Digest, flag", digestLogins, []string{"-u", "joe:wrong", digest}},
		{"ftp, flag", counted(ftp.Server, "PASS"), []string{"-u", "joe:wrong", ftp.URL + "/x"}},
		{"ftp, URL", counted(ftp.Server, "PASS"), []string{withLogin(ftp.URL) + "/x"}},
		{"pop, URL", counted(mail.Server, "PASS"), []string{"--allow-plaintext-login", withLogin(mail.URL) + "/1"}},
		{"imap, URL", counted(box.Server, "LOGIN"), []string{"--allow-plaintext-login", withLogin(box.URL) + "/INBOX;UID=1"}},
	} {
		before := c.logins()
		s := start(t, urlget(c.args...))
		s.exit(6)
		if n := c.logins() - before; n != 1 {
			t.Errorf("%s: %d logins, want 1", c.name, n)
		}
	}
}

// TestTimesOfPartialFiles checks that a file which a transfer has just written is not taken for that of an earlier
// one.
func TestTimesOfPartialFiles(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 5, 6, 7, int(time.Millisecond), time.UTC)
	for after, want := range map[time.Duration]bool{
		-2 * time.Second: true, -4 * time.Millisecond: false, -time.Millisecond: false, 0: false, time.Minute: false,
	} {
		if got := isFromBefore(start.Add(after), start); got != want {
			t.Errorf("written %v after the start: from before is %v, want %v", after, got, want)
		}
	}
}
