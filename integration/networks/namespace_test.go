//go:build integration && linux

package networks

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// variable names the test that runs in a network of its own, in the environment of its process.
const variable = "URLGET_NETWORK"

// inside reports whether the test runs in a network of its own. If not, it runs the test in one:
// in another process, as namespaces belong to threads. There, commands are the arguments of ip and
// iptables that make the network.
func inside(t *testing.T, commands ...string) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		prepare(t, commands)
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("only root makes networks")
	}
	for _, program := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
	return false
}

// prepare makes the network, and the files of this machine that say where names are looked up: from
// nameServer, and nowhere else.
func prepare(t *testing.T, commands []string) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil { // for namespaces with names
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"resolv.conf": "nameserver " + nameServer + "\noptions attempts:2 timeout:1\n",
		"hosts":       "",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(file, "/etc/"+name, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { // before the folder goes
		unix.Unmount("/etc/resolv.conf", unix.MNT_DETACH)
		unix.Unmount("/etc/hosts", unix.MNT_DETACH)
	})
	run(t, "ip link set lo up")
	for _, line := range commands {
		run(t, line)
	}
}

// run runs a command, whose words are divided by blanks.
func run(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// in starts a test of this package as a server in the namespace of that name, and returns the first
// line that it prints. It ends with the test that started it.
func in(t *testing.T, namespace, server string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", namespace, self, "-test.run", "^"+server+"$")
	cmd.Env = append(os.Environ(), variable+"="+server)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // which is what the server waits for
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("%s does not say where it listens: %v", server, lines.Err())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return lines.Text()
}

// serving is what a server that was started by in does with its address: it says it, and returns
// when it is no longer needed.
func serving(addr string) {
	fmt.Println(addr)
	_, _ = os.Stdin.Read(make([]byte, 1))
}
