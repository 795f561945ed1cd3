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

// variable is the environment variable that names the test to run in a network namespace.
const variable = "URLGET_NETWORK"

// inNamespace reports whether the test runs in a network namespace of its own. Otherwise, it runs
// the test in one, in a new process, because namespaces belong to threads. The commands are
// arguments of ip and iptables that set up the network.
func inNamespace(t *testing.T, commands ...string) bool {
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

// prepare sets up the network, and the resolver configuration with nameServer as the only source of
// names.
func prepare(t *testing.T, commands []string) {
	t.Helper()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil { // for named namespaces
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
	t.Cleanup(func() { // before the folder is removed
		unix.Unmount("/etc/resolv.conf", unix.MNT_DETACH)
		unix.Unmount("/etc/hosts", unix.MNT_DETACH)
	})
	run(t, "ip link set lo up")
	for _, line := range commands {
		run(t, line)
	}
}

// run runs a command line, split at spaces.
func run(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
}

// startInNamespace starts a test of this package as a server in the named namespace, and returns
// the first line of its output. The server ends with the calling test.
func startInNamespace(t *testing.T, namespace, server string) string {
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
		stdin.Close() // ends the server
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", server, err)
		}
	})
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("%s does not print its address: %v", server, lines.Err())
	}
	go func() {
		for lines.Scan() {
		}
	}()
	return lines.Text()
}

// serveUntilClosed prints the address of a server started by startInNamespace, and returns when the
// server should stop.
func serveUntilClosed(addr string) {
	fmt.Println(addr)
	_, _ = os.Stdin.Read(make([]byte, 1))
}
