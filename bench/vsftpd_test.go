//go:build linux

package bench

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// startVsftpd starts vsftpd for anonymous users of root, and returns the address at which it is
// found on the host seenAs, which leads to the address host. Unlike the server of the tests it
// keeps no log of commands, whose writing would be measured too.
func startVsftpd(b *testing.B, root, host, seenAs string) string {
	b.Helper()
	program, err := exec.LookPath("vsftpd")
	if found, _ := filepath.Glob("/var/cache/urlget-lab/packages/vsftpd/usr/sbin/vsftpd"); err != nil && len(found) > 0 {
		program, err = found[0], nil
	}
	if err != nil {
		b.Skip("no vsftpd: run integration/packages.sh")
	}
	for dir := root; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	empty := filepath.Join(b.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o555); err != nil {
		b.Fatal(err)
	}
	port := freePort(b, host)
	config := filepath.Join(b.TempDir(), "vsftpd.conf")
	if err := os.WriteFile(config, []byte("listen=YES\nlisten_ipv6=NO\nlisten_address="+host+"\nlisten_port="+port+"\nbackground=NO\n"+
		"ftp_username=daemon\nanonymous_enable=YES\nno_anon_password=YES\nlocal_enable=NO\nseccomp_sandbox=NO\nconnect_from_port_20=NO\n"+
		"anon_root="+root+"\npasv_address="+seenAs+"\nsecure_chroot_dir="+empty+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, config)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 100 {
		if conn, err := net.Dial("tcp", net.JoinHostPort(host, port)); err == nil {
			conn.Close()
			return net.JoinHostPort(seenAs, port)
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("vsftpd does not answer")
	return ""
}

// freePort returns a port of host that nobody listens on.
func freePort(b *testing.B, host string) string {
	b.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return port
}
