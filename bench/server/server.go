//go:build linux

// Package server starts nginx and vsftpd for benchmarks, with the files of a directory. It installs
// nothing.
package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNone is returned if the machine does not have the server.
var ErrNone = errors.New("not installed; run integration/packages.sh")

// Find returns the path of a server program. It looks in PATH, in Debian's folders, and in the
// packages of integration/packages.sh. If the program is missing, the error is ErrNone.
func Find(name string) (string, error) {
	if program, err := exec.LookPath(name); err == nil {
		return program, nil
	}
	for _, program := range []string{"/usr/sbin/" + name,
		"/var/cache/urlget-lab/packages/" + name + "/usr/sbin/" + name} {
		if _, err := os.Stat(program); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrNone)
}

// A Place is the address and the files of a server.
type Place struct {
	Root   string   // the directory to serve; it and its parent become accessible to all users
	Host   string   // the address to listen on
	SeenAs string   // the address for clients
	More   []string // further addresses that nginx listens on with TLS, on the same port
}

// Nginx starts nginx with HTTP, and with HTTP/2 over TLS. It writes its files to dir, with the
// certificate as cert.pem. Paths below /slow/ are limited to 1 MiB/s per connection. Nginx returns
// the URLs of the root.
func Nginx(dir string, at Place) (http, https string, stop func(), err error) {
	program, err := Find("nginx")
	if err != nil {
		return "", "", nil, err
	}
	if err := errors.Join(readable(at.Root),
		selfSigned(dir, append([]string{at.SeenAs}, at.More...)...)); err != nil {
		return "", "", nil, err
	}
	clear, err := freePort(at.Host)
	if err != nil {
		return "", "", nil, err
	}
	tls, err := freePort(at.Host)
	if err != nil {
		return "", "", nil, err
	}
	var more strings.Builder
	for _, host := range at.More {
		fmt.Fprintf(&more, "\t\tlisten %s ssl http2;\n", net.JoinHostPort(host, tls))
	}
	config := filepath.Join(dir, "nginx.conf")
	err = os.WriteFile(config,
		[]byte(strings.NewReplacer("DIR", dir, "ROOT", at.Root, "CLEAR", net.JoinHostPort(at.Host, clear),
			"TLS", net.JoinHostPort(at.Host, tls), "MORE", more.String()).Replace(`
user root;
worker_processes 1;
daemon off;
pid DIR/pid;
error_log DIR/errors;
events { worker_connections 4096; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 100000;
	client_body_temp_path DIR/body;
	proxy_temp_path DIR/proxy;
	fastcgi_temp_path DIR/fastcgi;
	uwsgi_temp_path DIR/uwsgi;
	scgi_temp_path DIR/scgi;
	server {
		listen CLEAR;
		listen TLS ssl http2;
MORE		ssl_certificate DIR/cert.pem;
		ssl_certificate_key DIR/key.pem;
		root ROOT;
		location /slow/ {
			alias ROOT/;
			limit_rate 1m;
		}
	}
}
`)), 0o600)
	if err != nil {
		return "", "", nil, err
	}
	stop, err = start(net.JoinHostPort(at.Host, tls), program, "-c", config, "-p", dir)
	return "http://" + net.JoinHostPort(at.SeenAs, clear), "https://" +
		net.JoinHostPort(at.SeenAs, tls), stop, err
}

// Vsftpd starts vsftpd for anonymous users and writes its files to dir. Unlike the server of the
// tests, it keeps no log of commands, which would be measured too. Vsftpd returns its address.
func Vsftpd(dir string, at Place) (address string, stop func(), err error) {
	program, err := Find("vsftpd")
	if err != nil {
		return "", nil, err
	}
	if err := readable(at.Root); err != nil {
		return "", nil, err
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o555); err != nil {
		return "", nil, err
	}
	port, err := freePort(at.Host)
	if err != nil {
		return "", nil, err
	}
	config := filepath.Join(dir, "vsftpd.conf")
	if err := os.WriteFile(config,
		[]byte("listen=YES\nlisten_ipv6=NO\nlisten_address="+at.Host+"\nlisten_port="+port+"\nbackground=NO\n"+
			"ftp_username=daemon\nanonymous_enable=YES\nno_anon_password=YES\nlocal_enable=NO\nseccomp_sandbox=NO\nconnect_from_port_20=NO\n"+
			"anon_root="+at.Root+"\npasv_address="+at.SeenAs+"\nsecure_chroot_dir="+empty+"\n"), 0o600); err != nil {
		return "", nil, err
	}
	stop, err = start(net.JoinHostPort(at.Host, port), program, config)
	return net.JoinHostPort(at.SeenAs, port), stop, err
}

// start starts a server and waits until it accepts connections at addr.
func start(addr, program string, args ...string) (stop func(), err error) {
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
	for range 100 {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			return stop, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return nil, fmt.Errorf("%s does not respond", program)
}

// readable lets other users reach dir, which is in a temporary directory that only its owner may
// enter.
func readable(dir string) error {
	for _, dir := range []string{filepath.Dir(dir), dir} {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&0o005 != 0o005 {
			if err := os.Chmod(dir, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// selfSigned writes a certificate for the hosts and its key to dir.
func selfSigned(dir string, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: time.Now().Add(-time.Hour),
		NotAfter:  time.Now().Add(24 * time.Hour), DNSNames: []string{"localhost"}, IsCA: true,
		BasicConstraintsValid: true}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert},
		"key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// freePort returns an unused port of host.
func freePort(host string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
