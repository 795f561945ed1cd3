// Package lab starts real servers for the integration tests, or finds them in docker-compose, and
// describes the files that they serve.
//
//	func TestVsftpd(t *testing.T) {
//		s := lab.Start(t, "vsftpd")
//		conn, err := net.Dial("tcp", s.Addr("plain"))
//		...
//	}
//
// If the server runs as a service of docker-compose.yml, the lab uses that. A server for the test's
// own files starts in a container of the same image. Otherwise, the server starts as a child
// process, from the Debian packages of integration/packages.sh. The lab stops everything that it
// started when the test ends. If none of this is possible, it skips the test with the reason.
//
// The environment variable URLGET_LAB is a comma-separated list of words. "compose" allows only
// containers, "process" allows only child processes, and "required" turns a skip into a failure.
package lab

import (
	"bytes"
	"crypto/x509"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The account of every server with accounts. It is public.
const (
	User     = "labuser"
	Password = "s3cret"
)

// A Server is a running real server. All of its ports have responded.
type Server struct {
	// Name is the name passed to Start.
	Name string
	// Root is a folder on this machine with the files that the server serves. It must not be
	// changed, unless it was passed to StartRoot.
	Root string
	// User and Password are the login of the server. They are empty if it has no accounts.
	User, Password string
	// Compose is set if the server runs in docker-compose, and Container if it runs in a container
	// of its own.
	Compose, Container bool

	t        testing.TB
	addrs    map[string]string
	inner    map[string]string // compose: addresses in its network
	log      func() string
	unserved []string
}

// Addr returns the address, as host:port, of the named port of the server. [Services] lists the
// names. Addr ends the test if there is no such port.
func (s *Server) Addr(port string) string {
	s.t.Helper()
	addr, ok := s.addrs[port]
	if !ok {
		s.t.Fatalf("lab: %s has no port %q", s.Name, port)
	}
	return addr
}

// Port returns the number of the named port. See [Server.Addr].
func (s *Server) Port(port string) string {
	s.t.Helper()
	_, number, _ := net.SplitHostPort(s.Addr(port))
	return number
}

// AddrFrom returns the address of a port for another server of the lab, such as a proxy. It skips
// the test if one of them runs in a container and the other does not.
func (s *Server) AddrFrom(other *Server, port string) string {
	s.t.Helper()
	addr := s.Addr(port)
	if s.Compose != other.Compose {
		skip(s.t, fmt.Sprintf("%s and %s do not share a network: one is in docker-compose, the other a "+
			"child process", other.Name, s.Name))
	}
	if s.Compose {
		return s.inner[port]
	}
	return addr
}

// Serves reports whether the server serves the file. Some servers refuse certain names.
func (s *Server) Serves(f File) bool { return !slices.Contains(s.unserved, f.Name) }

// Log returns the server's log so far.
func (s *Server) Log() string { return s.log() }

// newServer returns a server without addresses.
func newServer(t testing.TB, svc *service, root string, log func() string) *Server {
	s := &Server{
		Name: svc.name, Root: root,
		t: t, addrs: make(map[string]string), inner: make(map[string]string),
		log: log, unserved: svc.unserved,
	}
	if svc.accounts {
		s.User, s.Password = User, Password
	}
	return s
}

// logPlace logs where the server runs.
func (s *Server) logPlace() {
	s.t.Helper()
	where := "a child process"
	switch {
	case s.Compose:
		where = "in docker-compose"
	case s.Container:
		where = "in a container of its own"
	}
	s.t.Logf("lab: %s is %s", s.Name, where)
}

// Start returns the named server, ready and with the fixture tree (see [Fixture]). It is stopped
// when the test ends. If the test fails, the server's log is printed.
func Start(t testing.TB, name string) *Server {
	t.Helper()
	svc := lookup(t, name)
	m := modeFromEnv(t)
	root, err := Tree()
	if err != nil {
		t.Fatalf("lab: fixture tree: %v", err)
	}
	if m.compose {
		s, err := svc.inCompose(t, root)
		if err == nil {
			return s
		}
		if !m.process {
			skip(t, fmt.Sprintf("%s does not respond in docker-compose (%v): run integration/lab-up.sh", name,
				err))
		}
	}
	return startProcess(t, svc, root, "")
}

// StartRoot starts the named server with the files of root instead of the fixture tree. It runs in
// a container if Docker has the image. Every user must be able to enter root; see [TempDir]. News
// servers post each file news/*.eml below root.
func StartRoot(t testing.TB, name, root string) *Server {
	t.Helper()
	svc := lookup(t, name)
	m := modeFromEnv(t)
	var image string
	if m.compose {
		if image = svc.image(); image == "" && !m.process {
			skip(t, fmt.Sprintf("Docker has no image of %s: run integration/lab-up.sh", name))
		}
	}
	return startProcess(t, svc, root, image)
}

// TempDir returns a new folder for [StartRoot], which is removed when the test ends. Unlike
// [testing.TB.TempDir], servers can enter it as any user.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "urlget-lab-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Services maps the servers of the lab to the names of their ports.
func Services() map[string][]string {
	list := make(map[string][]string, len(services))
	for _, svc := range services {
		for _, p := range svc.ports {
			list[svc.name] = append(list[svc.name], p.name)
		}
	}
	return list
}

// CA returns a pool with the CA of all server certificates. The certificates are for localhost,
// 127.0.0.1 and ::1.
func CA() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caPEM)
	return pool
}

// CAFile writes the CA certificate to a PEM file, which is removed when the test ends.
func CAFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, caPEM, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Key returns the private key of all servers in PEM format. It is public.
func Key() []byte { return bytes.Clone(keyPEM) }

var (
	//go:embed tls/ca.pem
	caPEM []byte
	//go:embed tls/chain.pem
	chainPEM []byte
	//go:embed tls/key.pem
	keyPEM []byte
)

// A mode lists the allowed ways to start a server.
type mode struct{ compose, process, required bool }

func parseMode(s string) (mode, error) {
	m := mode{compose: true, process: true}
	for word := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(word) {
		case "":
		case "required":
			m.required = true
		case "compose":
			m.process = false
		case "process":
			m.compose = false
		default:
			return mode{}, fmt.Errorf("URLGET_LAB: unknown word %q; want required, compose or process", word)
		}
	}
	if !m.compose && !m.process {
		return mode{}, fmt.Errorf("URLGET_LAB: compose and process exclude each other")
	}
	return m, nil
}

func modeFromEnv(t testing.TB) mode {
	t.Helper()
	m, err := parseMode(os.Getenv("URLGET_LAB"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if modeFromEnv(t).required {
		t.Fatalf("lab: required, but %s", reason)
	}
	t.Skipf("lab: %s", reason)
}

func lookup(t testing.TB, name string) *service {
	t.Helper()
	i := slices.IndexFunc(services, func(s *service) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("lab: no server %q", name)
	}
	return services[i]
}
